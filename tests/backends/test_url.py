"""The one parser of URLs."""

import random
from ipaddress import IPv6Address
from pathlib import Path

import pytest

from toolcrib.backends.url import BadUrl, Url, joined_url, literal_address, parse_host, parse_url
from toolcrib.core.jsontext import parse

WPT = Path(__file__).parents[3] / "shared" / "corpora" / "url-wpt" / "tests" / "wpt"
FILES = ("urltestdata.json", "ada_extra_urltestdata.json", "urltestdata-javascript-only.json")


def cases() -> list[dict[str, str]]:
    """The public cases of what a URL is, each with what everybody agreed on."""
    if not WPT.is_dir():
        pytest.skip("the public test data url-wpt is not on this machine")
    found = []
    for name in FILES:
        text = (WPT / name).read_bytes().decode("utf-8", "replace")
        try:
            found += [each for each in parse(text) if isinstance(each, dict)]
        except ValueError:  # half characters, which only some languages can hold
            continue
    assert len(found) > 800
    return found


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.com", Url("https", "example.com", 443, "/")),
        ("HTTPS://EXAMPLE.com./a?b#c", Url("https", "example.com", 443, "/a", "b")),
        ("http://example.com:8080/?", Url("http", "example.com", 8080, "/", "")),
        ("http://127.0.0.1:80/a//b", Url("http", "127.0.0.1", 80, "/a//b")),
        ("http://[2001:DB8::0:1]/x", Url("http", "2001:db8::1", 80, "/x")),
        ("https://a_b.example/%41?x=[1]", Url("https", "a_b.example", 443, "/%41", "x=[1]")),
        ("https://e.example/a/./b/../c/%2E%2e/", Url("https", "e.example", 443, "/a/")),
        ('https://e.example/ü"<>{}', Url("https", "e.example", 443, "/%C3%BC%22%3C%3E%7B%7D")),
        ("https://xn--bcher-kva.example:443", Url("https", "xn--bcher-kva.example", 443, "/")),
    ],
)
def test_what_is_plain_is_read(text: str, url: Url) -> None:
    assert parse_url(text) == url
    assert parse_url(str(url)) == url


@pytest.mark.parametrize(
    "text",
    [
        "", "example.com", "//example.com", "ftp://example.com/", "file:///etc/passwd", "javascript:x", "http:/x", "http:x",
        "http://", "http:///x", "http://?x", "http://user@h/", "http://u:p@h/", "http://@h/", "http://h:0/", "http://h:65536/",
        "http://h:-1/", "http://h:８０/", "http://h:80a/", "http://h /", "http://h\t/", "http://h\n.example/", "http://h\\x",
        "http:\\\\h\\", "http://h\x00/", "http://h/\x7f", "http://h/\x85", " http://h/", "http://h/ ",
        "http://0177.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://0x7f000001/", "http://0x/",
        "http://1.2.3.4.5/", "http://256.1.1.1/", "http://127.0.0.01/", "http://127.0.0.1../", "http://1.2.3.08/",
        "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://ⓔxample.com/", "http://bücher.example/", "http://%31%32%37.0.0.1/",
        "http://a..b/", "http://.a/", "http://a/b@c:80/\\", "http://-a.example/", "http://[::1/", "http://::1/",
        "http://[::1]x/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[127.0.0.1]/", "http://[v1.x]/",
        "http://evil\0.google.com/", "http://" + "a" * 64 + ".example/", "http://" + "a." * 130 + "example/",
        "https://h/" + "x" * 70_000, "http://a%2fb/", "http://a:b:80/", "http://h:80:80/",
    ],
)  # fmt: skip
def test_what_is_not_plain_is_refused(text: str) -> None:
    with pytest.raises(BadUrl):
        parse_url(text)


@pytest.mark.parametrize("text", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "8.8.8.8"])
def test_an_address_is_known_as_one(text: str) -> None:
    assert literal_address(parse_host(text)) is not None


@pytest.mark.parametrize("text", ["example.com", "1.example", "0x.example", "a1", "127.0.0.1.example", "0x7f.0x0.y"])
def test_a_name_is_known_as_one(text: str) -> None:
    assert literal_address(parse_host(text)) is None


def test_where_the_public_cases_are_read_they_are_read_as_everybody_does() -> None:
    """A11: what we accept has the scheme, host and port that a browser would go to; the rest is refused."""
    read = refused = 0
    for case in cases():
        base = case.get("base")
        try:
            if base is None:
                url = parse_url(case["input"], schemes=("http", "https", "ws", "wss"))
            else:
                start = parse_url(base, schemes=("http", "https", "ws", "wss"))
                url = joined_url(start, case["input"], schemes=("http", "https", "ws", "wss"))
        except BadUrl:
            refused += 1
            continue
        read += 1
        assert not case.get("failure"), case["input"]
        host = case["hostname"].removesuffix(".")
        host = str(IPv6Address(host.strip("[]"))) if host.startswith("[") else host
        assert (url.scheme, url.host) == (case["protocol"][:-1], host), case["input"]
        assert str(url.port) == (case["port"] or {"http": "80", "https": "443", "ws": "80", "wss": "443"}[url.scheme])
    assert read > 100
    assert refused > 300


def test_a_reference_never_leads_to_another_host_unseen() -> None:
    """Generated: whatever a server sends, the host we go to is the one that is parsed again from what is shown."""
    chosen = random.Random(7)
    parts = ["/", "\\", "//", "?", "#", "@", ":", "%2f", "%5c", "..", ".", "evil.example", "http:", "https://", "[::1]", "80",
             "\t", " ", "\n", "é", "。", "a", "&", ";", "%00", "\0"]  # fmt: skip
    base = parse_url("https://good.example/a/b?c")
    for _ in range(5000):
        text = "".join(chosen.choice(parts) for _ in range(chosen.randrange(1, 9)))
        try:
            url = joined_url(base, text)
        except BadUrl:
            continue
        assert parse_url(str(url)) == url
        assert url.host == "good.example" or text.startswith(("//", "http:", "https:")), text
        assert url.path.startswith("/")
        assert not {".", ".."} & set(url.path.split("/"))
