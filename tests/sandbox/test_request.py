"""What is asked of a proxy: what it is read as, and what of it goes on to the host."""

import pytest

from toolcrib.sandbox._request import Request, Unreadable, read_request


def parse(host: str) -> str:
    """A host as it is compared."""
    if "forbidden" in host:
        raise ValueError(host)
    return host.strip("[]").lower()


def read(*lines: str) -> Request:
    return read_request("\r\n".join((*lines, "", "")).encode("latin-1"), parse)


@pytest.mark.parametrize(
    ("target", "host", "port"),
    [
        ("One.example:443", "one.example", 443),
        ("one.example:1", "one.example", 1),
        ("one.example:65535", "one.example", 65535),
        ("one.example:00080", "one.example", 80),
        ("[::1]:80", "::1", 80),
        ("127.0.0.1:80", "127.0.0.1", 80),
    ],
)
def test_a_tunnel(target, host, port) -> None:
    request = read(f"CONNECT {target} HTTP/1.1", "Host: another.example", "X: y")
    assert (request, request.tunnel) == (Request(host, port, b""), True)


@pytest.mark.parametrize(
    ("url", "host", "port", "shown", "path"),
    [
        ("http://One.example", "one.example", 80, "one.example", "/"),
        ("http://one.example/", "one.example", 80, "one.example", "/"),
        ("HTTP://one.example:80/a/b?c=d", "one.example", 80, "one.example", "/a/b?c=d"),
        ("http://one.example?c=d", "one.example", 80, "one.example", "/?c=d"),
        ("http://one.example:8080/a", "one.example", 8080, "one.example:8080", "/a"),
        ("http://[::1]/a", "::1", 80, "[::1]", "/a"),
        ("http://[::1]:81/a", "::1", 81, "[::1]:81", "/a"),
    ],
)
@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
def test_a_plain_request(url, host, port, shown, path, version) -> None:
    request = read(f"PUT {url} {version}", "Host: another.example", "Content-Length: 0")
    forwarded = f"PUT {path} {version}\r\nHost: {shown}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    assert (request, request.tunnel) == (Request(host, port, forwarded.encode()), False)


def test_headers_go_on_in_their_order_as_they_were_written() -> None:
    fields = ("X-One: 1", "x-one:  2", "A:", "X-\xe4: no", "B: \xe4\t\xff")
    with pytest.raises(Unreadable):
        read("GET http://one.example/ HTTP/1.1", *fields)
    kept = (*fields[:3], fields[4])
    request = read("GET http://one.example/ HTTP/1.1", *kept)
    assert request.forwarded.decode("latin-1").split("\r\n")[2:-3] == list(kept)


@pytest.mark.parametrize(
    "name",
    ["Host", "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "TE", "Upgrade", "hOST"],
)
def test_what_is_between_a_program_and_its_proxy_goes_no_further(name) -> None:
    request = read("GET http://one.example/ HTTP/1.1", f"{name}: x", "Y: kept")
    assert request.forwarded == b"GET / HTTP/1.1\r\nHost: one.example\r\nY: kept\r\nConnection: close\r\n\r\n"


def test_nor_does_what_is_called_so_by_either_of_two_headers() -> None:
    fields = ("One: 1", "Connection: close, ONE ,two", "Two: 2", "CONNECTION: three", "three: 3", "Four: 4", "Close: 5")
    request = read("GET http://one.example/ HTTP/1.1", *fields)
    assert request.forwarded == b"GET / HTTP/1.1\r\nHost: one.example\r\nFour: 4\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "first line"),
        ("GET http://one.example/", "first line"),
        ("GET http://one.example/ HTTP/1.2", "first line"),
        ("GET http://one.example/ HTTP/11", "first line"),
        ("GET  http://one.example/ HTTP/1.1", "first line"),
        ("get http://one.example/ HTTP/1.1", "first line"),
        (f"{'A' * 21} http://one.example/ HTTP/1.1", "first line"),
        (f"GET http://one.example/{'a' * 8192} HTTP/1.1", "first line"),
        ("GET /path HTTP/1.1", "CONNECT host:port"),
        ("GET https://one.example/ HTTP/1.1", "http://host/"),
        ("GET http:/// HTTP/1.1", "host"),
        ("GET http://one.example:0/ HTTP/1.1", "port"),
        ("GET http://one.example:65536/ HTTP/1.1", "port"),
        ("GET http://one.example./ HTTP/1.1", "host"),
        ("GET http://forbidden.example/ HTTP/1.1", "host"),
        ("CONNECT one.example HTTP/1.1", "CONNECT without a port"),
        ("CONNECT one.example: HTTP/1.1", "host"),
        ("CONNECT one.example:0 HTTP/1.1", "port"),
        ("CONNECT one.example:65536 HTTP/1.1", "port"),
        ("CONNECT one.example.:443 HTTP/1.1", "host"),
        ("CONNECT forbidden.example:443 HTTP/1.1", "host"),
    ],
)
def test_what_is_not_plainly_written_is_not_understood(line, why) -> None:
    with pytest.raises(Unreadable, match=why):
        read(line, "Host: one.example")


@pytest.mark.parametrize(
    "field", ["", "no colon", ": no name", " folded: x", "spaced : x", "a\x00b: c", "a: b\x00", "a: b\nc"]
)
def test_a_header_that_is_none(field) -> None:
    with pytest.raises(Unreadable, match="header"):
        read("CONNECT one.example:443 HTTP/1.1", "A: b", field, "C: d")
