"""Some hosts and no others: the proxy that lets through to them, and the bridge that leads to it from a sandbox."""

import asyncio
import contextlib
import os
import shutil
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from toolcrib.backends.network import Network
from toolcrib.backends.url import parse_host
from toolcrib.core.errors import Refused, ToolError
from toolcrib.core.process import Completed
from toolcrib.sandbox import bridge, bubblewrap, proxy
from toolcrib.sandbox.cage import BUBBLEWRAP, Cage
from toolcrib.sandbox.confined import Confined

NO_BUBBLEWRAP = bubblewrap.canary()
contained = pytest.mark.skipif(NO_BUBBLEWRAP != "", reason=f"no bubblewrap here: {NO_BUBBLEWRAP}")
HOSTS = ("allowed.example", "*.wide.example", "odd.example:8443")


class Internet:
    """A server that answers every request with what it was asked, and what was connected to by which name."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.heads: list[str] = []
        self.came = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    async def connect(self, host: str, port: int) -> socket.socket:
        self.asked.append((host, port))
        made = socket.socket()
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", self.port))
        return made

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                made, _ = self._listening.accept()
            except OSError:
                return
            self.came += 1
            with made:
                head = b""
                while b"\r\n\r\n" not in head and (chunk := made.recv(4096)):
                    head += chunk
                self.heads.append(head.decode())
                made.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nwelcome")


@pytest.fixture
def internet() -> Iterator[Internet]:
    made = Internet()
    yield made
    made.close()


@pytest.fixture
def door(internet: Internet, tmp_path: Path) -> Iterator[str]:
    made = proxy.Proxy(str(tmp_path / "proxy"), internet.connect, parse_host)
    yield made.socket_for(HOSTS)
    made.close()


def connected(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(30)
    made.connect(path)
    return made


def everything(made: socket.socket) -> bytes:
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := made.recv(65536):
            said += chunk
    return said


def exchange(path: str, request: bytes) -> str:
    """All that is answered to this, with nothing more to come."""
    with connected(path) as made:
        with contextlib.suppress(BrokenPipeError):
            made.sendall(request)
        return everything(made).decode()


def status(path: str, request: bytes) -> int:
    answer = exchange(path, request)
    code = int(answer.split(" ", 2)[1])
    if code >= 400:
        said(answer)
    return code


def said(answer: str) -> str:
    """Why the proxy refused, from an answer of its own that any client understands."""
    head, _, body = answer.partition("\r\n\r\n")
    first, *fields = head.split("\r\n")
    version, code, phrase = first.split(" ", 2)
    assert (version, phrase) == ("HTTP/1.1", HTTPStatus(int(code)).phrase)
    assert fields == ["Content-Type: text/plain", f"Content-Length: {len(body)}", "Connection: close"]
    assert body.startswith("toolcrib: ") and body.endswith("\n")
    return body.removeprefix("toolcrib: ").removesuffix("\n")


# What is let through


def test_a_tunnel_to_a_host_on_the_list(door, internet) -> None:
    with connected(door) as made:
        made.sendall(b"CONNECT Allowed.Example:443 HTTP/1.1\r\nHost: allowed.example:443\r\n\r\n")
        assert made.recv(1000) == b"HTTP/1.1 200 Connection established\r\n\r\n"
        made.sendall(b"GET /inside HTTP/1.1\r\n\r\n")
        assert everything(made).endswith(b"welcome")
    assert (internet.asked, internet.heads) == ([("allowed.example", 443)], ["GET /inside HTTP/1.1\r\n\r\n"])


def test_a_plain_request_is_handed_on_as_the_proxys_own(door, internet) -> None:
    """Another host in a header is not believed, and what is between program and proxy goes no further."""
    answer = exchange(
        door,
        b"POST http://allowed.example/a?b=c HTTP/1.1\r\nHost: evil.example\r\nX-One: 1\r\nProxy-Authorization: secret\r\n"
        b"Proxy-Connection: keep-alive\r\nConnection: x-two, keep-alive\r\nX-Two: 2\r\nContent-Length: 0\r\n\r\n",
    )
    assert answer.endswith("welcome")
    assert internet.asked == [("allowed.example", 80)]
    assert internet.heads == [
        "POST /a?b=c HTTP/1.1\r\nHost: allowed.example\r\nX-One: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ]


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("CONNECT allowed.example:80", ("allowed.example", 80)),
        ("CONNECT a.wide.example:443", ("a.wide.example", 443)),
        ("CONNECT a.b.wide.example:80", ("a.b.wide.example", 80)),
        ("CONNECT odd.example:8443", ("odd.example", 8443)),
        ("GET HTTP://allowed.example", ("allowed.example", 80)),
        ("GET http://allowed.example:443?q", ("allowed.example", 443)),
    ],
)
def test_hosts_on_the_list(door, internet, target, wanted) -> None:
    assert status(door, f"{target} HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n".encode()) == 200
    assert internet.asked == [wanted]


def test_who_says_all_and_then_listens_is_answered(door, internet) -> None:
    with connected(door) as made:
        made.sendall(b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n")
        made.shutdown(socket.SHUT_WR)
        assert everything(made).endswith(b"welcome")


# What is not

NOT_LISTED = """
CONNECT evil.example:443
CONNECT example:443
CONNECT allowed.example.evil.example:443
CONNECT notallowed.example:443
CONNECT sub.allowed.example:443
CONNECT wide.example:443
CONNECT evilwide.example:443
CONNECT wide.example.evil.example:443
CONNECT allowed.example:22
CONNECT allowed.example:8443
CONNECT odd.example:443
CONNECT 127.0.0.1:80
CONNECT [::1]:80
CONNECT [::ffff:127.0.0.1]:443
CONNECT 169.254.169.254:80
CONNECT localhost:443
GET http://evil.example/
GET http://evil.example/?http://allowed.example/
GET http://allowed.example:22/
"""
NOT_PLAIN = r"""
CONNECT allowed.example
CONNECT allowed.example:
CONNECT :443
CONNECT allowed.example:0
CONNECT allowed.example:65536
CONNECT allowed.example:+443
CONNECT allowed.example:443x
CONNECT allowed.example:443:443
CONNECT allowed.example.:443
CONNECT .allowed.example:443
CONNECT allowed..example:443
CONNECT *.wide.example:443
CONNECT allowed.example\x00.evil.example:443
CONNECT evil.example\x00allowed.example:443
CONNECT evil.example\x00.wide.example:443
CONNECT evil.example%00.wide.example:443
CONNECT allowed.example\t:443
CONNECT allowed.example\x0b:443
CONNECT allowed.example\r:443
CONNECT allowed.example\n:443
CONNECT allowed%2eexample:443
CONNECT user@allowed.example:443
CONNECT allowed.example:443@evil.example:443
CONNECT allowed.example:443/
CONNECT http://allowed.example:443/
CONNECT 127.1:80
CONNECT 0x7f.1:80
CONNECT 0177.0.0.1:80
CONNECT 2130706433:80
CONNECT [127.0.0.1]:80
CONNECT [::1%25lo]:80
CONNECT ::1:80
CONNECT \xc3\xa4llowed.example:443
CONNECT allowed\xe3\x80\x82example:443
GET http://user@allowed.example/
GET http://allowed.example:80@evil.example/
GET http://evil.example#@allowed.example/
GET http://evil.example\\@allowed.example/
GET http://evil.example\\.wide.example/
GET http://allowed.example/#part
GET https://allowed.example/
GET ftp://allowed.example/
GET //allowed.example/
GET /
GET *
OPTIONS *
GET allowed.example/
GET http:allowed.example/
GET http:///allowed.example/
GET http:\\\\allowed.example/
GET http://\xc3\xa4.wide.example/
connect allowed.example:443
"""


def lines(text: str) -> list[bytes]:
    return [line.encode("latin-1").decode("unicode_escape").encode("latin-1") for line in text.strip().splitlines()]


def test_hosts_that_are_not_on_the_list_are_refused_before_anything_is_looked_up(door, internet) -> None:
    said = {line: status(door, line + b" HTTP/1.1\r\nHost: allowed.example\r\n\r\n") for line in lines(NOT_LISTED)}
    assert {line: code for line, code in said.items() if code != 403} == {}
    assert (internet.asked, internet.came) == ([], 0)


def test_hosts_that_are_not_plainly_written_are_understood_by_nobody(door, internet) -> None:
    said = {line: status(door, line + b" HTTP/1.1\r\nHost: allowed.example\r\n\r\n") for line in lines(NOT_PLAIN)}
    assert {line: code for line, code in said.items() if code != 400} == {}
    assert (internet.asked, internet.came) == ([], 0)


@pytest.mark.parametrize(
    "request_",
    [
        b"\r\n\r\n",
        b"CONNECT allowed.example:443\r\n\r\n",
        b"CONNECT  allowed.example:443 HTTP/1.1\r\n\r\n",
        b"CONNECT allowed.example:443 HTTP/1.1 \r\n\r\n",
        b"CONNECT allowed.example:443 HTTP/2.0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT allowed.example:443 HTTP/1.1\r\nHost\r\n\r\n",
        b"CONNECT allowed.example:443 HTTP/1.1\r\nHost : x\r\n\r\n",
        b"CONNECT allowed.example:443 HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
        b"CONNECT allowed.example:443 HTTP/1.1\r\nA: b\nC: d\r\n\r\n",
        b"CONNECT allowed.example:443 HTTP/1.1\r\nA: b\0\r\n\r\n",
        b"\x05\x01\x00\r\n\r\n",
        b"\x04\x01\x01\xbb\0\0\0\x01x\0allowed.example\0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
    ],
)
def test_what_is_not_a_request_is_refused(door, internet, request_) -> None:
    assert (status(door, request_), internet.came) == (400, 0)


def test_no_hosts_are_none_and_not_all(internet, tmp_path) -> None:
    made = proxy.Proxy(str(tmp_path / "proxy"), internet.connect, parse_host)
    try:
        assert status(made.socket_for(()), b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n") == 403
    finally:
        made.close()
    assert internet.asked == []


def test_each_list_has_a_socket_of_its_own(internet, tmp_path) -> None:
    made = proxy.Proxy(str(tmp_path / "proxy"), internet.connect, parse_host)
    try:
        one, other = made.socket_for(("one.example",)), made.socket_for(("other.example",))
        assert made.socket_for(("one.example",)) == one != other
        request = b"GET http://one.example/ HTTP/1.1\r\n\r\n"
        assert [status(one, request), status(other, request)] == [200, 403]
    finally:
        made.close()


@pytest.mark.parametrize(
    "host",
    [
        "", "*", "*.", "a b", "host:0", "host:x", "host:", "host:65536", "host:100000", "host:\u0664", "http://host", "0x7f.1",
        "*.*.com",
    ],
)  # fmt: skip
def test_a_list_with_what_is_no_host_is_refused(internet, tmp_path, host) -> None:
    """And nothing of it can be reached."""
    made = proxy.Proxy(str(tmp_path / "proxy"), internet.connect, parse_host)
    with pytest.raises(ValueError):
        made.socket_for(("allowed.example", host))
    made.close()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refused("not there", code="NETWORK_DENIED"), 403),
        (ToolError("nobody listens"), 502),
        (ConnectionRefusedError("no"), 502),
    ],
)
def test_what_the_network_refuses_is_said(tmp_path, error, code) -> None:
    async def connect(host: str, port: int) -> socket.socket:
        raise error

    made = proxy.Proxy(str(tmp_path / "proxy"), connect, parse_host)
    try:
        answer = exchange(made.socket_for(HOSTS), b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n")
    finally:
        made.close()
    assert answer.startswith(f"HTTP/1.1 {code} ")
    assert said(answer) == str(error)


def test_a_name_on_the_list_that_leads_to_this_machine_is_refused(tmp_path, internet) -> None:
    """The network's own rules hold for the address, whatever the list says of the name."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    network = Network(resolve=resolve)

    async def connect(host: str, port: int) -> socket.socket:
        return await network.connect(host, port, secure=True, ports=(port,), timeout=10)

    made = proxy.Proxy(str(tmp_path / "proxy"), connect, parse_host)
    try:
        hosts = (f"allowed.example:{internet.port}",)
        answer = exchange(made.socket_for(hosts), f"CONNECT {hosts[0]} HTTP/1.1\r\n\r\n".encode())
    finally:
        made.close()
    assert (answer.split()[1], "127.0.0.1" in answer, asked, internet.came) == ("403", True, ["allowed.example"], 0)


def test_what_is_refused_is_said_with_what_may_be_reached(door, internet, tmp_path) -> None:
    request = b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n"
    why = said(exchange(door, request))
    assert "evil.example:443" in why and why.endswith("allowed.example, *.wide.example, odd.example:8443")
    made = proxy.Proxy(str(tmp_path / "none"), internet.connect, parse_host)
    try:
        assert said(exchange(made.socket_for(()), request)).endswith("none")
    finally:
        made.close()


def test_what_is_said_is_plain_text(tmp_path) -> None:
    async def connect(host: str, port: int) -> socket.socket:
        raise ToolError("\xe4\u2028 is not there")

    made = proxy.Proxy(str(tmp_path / "proxy"), connect, parse_host)
    try:
        answer = exchange(made.socket_for(HOSTS), b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n")
    finally:
        made.close()
    assert said(answer) == r"\xe4\u2028 is not there"


@pytest.mark.parametrize(
    ("hosts", "reached"),
    [
        (("One.example",), [("one.example", 80), ("one.example", 443)]),
        (("one.example:1",), [("one.example", 1)]),
        (("one.example:65535",), [("one.example", 65535)]),
        (("one.example", "one.example:8443"), [("one.example", port) for port in (80, 443, 8443)]),
        (("::1",), [("::1", 80), ("::1", 443)]),
        (("[::1]",), [("::1", 80), ("::1", 443)]),
        (("[2001:db8::1]:8443",), [("2001:db8::1", 8443)]),
        (("*.wide.example:81",), [("a.wide.example", 81), ("a.b.wide.example", 81)]),
        (("wide.example", "*.wide.example"), [("wide.example", 80), ("a.wide.example", 443)]),
        ((), []),
    ],
)
def test_which_hosts_and_ports_a_list_names(hosts, reached) -> None:
    allowed = proxy.Allowed(hosts, parse_host)
    names = ("one.example", "a.one.example", "wide.example", "a.wide.example", "a.b.wide.example", "awide.example")
    every = {(host, port) for host in (*names, "::1", "2001:db8::1") for port in (1, 80, 81, 443, 8443, 65535)}
    found = {wanted for wanted in every if wanted in allowed}
    assert allowed.hosts == hosts
    assert set(reached) <= found
    assert {host for host, _ in found} - {"a.b.wide.example", "a.wide.example"} <= {host for host, _ in reached}
    assert {port for _, port in found} == {port for _, port in reached}


# Bounds


def test_a_head_that_is_too_long(door, internet) -> None:
    assert status(door, b"CONNECT allowed.example:443 HTTP/1.1\r\nA: " + b"b" * 20_000 + b"\r\n\r\n") == 431
    assert internet.came == 0


def test_who_says_nothing_is_not_waited_for(door, internet, monkeypatch) -> None:
    monkeypatch.setattr(proxy, "HEAD_SECONDS", 0.05)
    with connected(door) as silent, connected(door) as slow:
        slow.sendall(b"CONNECT allowed.ex")
        assert [everything(each).split()[1] for each in (silent, slow)] == [b"408", b"408"]
    assert internet.came == 0


def test_a_connection_over_which_nothing_goes_is_ended(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(proxy, "IDLE_SECONDS", 0.05)
    ours, theirs = socket.socketpair()

    async def connect(host: str, port: int) -> socket.socket:
        theirs.setblocking(False)
        return theirs

    made = proxy.Proxy(str(tmp_path / "proxy"), connect, parse_host)
    try:
        with ours, connected(made.socket_for(HOSTS)) as near:
            near.sendall(b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n")
            assert everything(near).split()[1] == b"200"
            assert everything(ours) == b""
    finally:
        made.close()


def test_a_connection_over_which_something_went_is_ended_so_long_after_that(tmp_path, monkeypatch) -> None:
    ours, theirs = socket.socketpair()

    async def connect(host: str, port: int) -> socket.socket:
        theirs.setblocking(False)
        return theirs

    made = proxy.Proxy(str(tmp_path / "proxy"), connect, parse_host)
    try:
        with ours, connected(made.socket_for(HOSTS)) as near:
            near.sendall(b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n")
            assert near.recv(1000).split()[1] == b"200"
            ours.settimeout(30)
            for one, other in ((near, ours), (ours, near)):
                one.sendall(b"word")
                assert other.recv(100) == b"word"
            monkeypatch.setattr(proxy, "IDLE_SECONDS", 0.05)
            ours.sendall(b"last word")
            assert everything(near) == b"last word"
    finally:
        made.close()


def test_a_host_that_does_not_answer_is_not_waited_for(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(proxy, "CONNECT_SECONDS", 0.05)
    ended: list[str] = []

    async def connect(host: str, port: int) -> socket.socket:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(host)
        raise AssertionError("nobody sets it")

    made = proxy.Proxy(str(tmp_path / "proxy"), connect, parse_host)
    try:
        answer = exchange(made.socket_for(HOSTS), b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n")
    finally:
        made.close()
    assert (answer.split()[1], ended) == ("504", ["allowed.example"])
    assert "allowed.example:443" in said(answer) and "0.05 s" in said(answer)


def test_who_ends_before_the_head_does_is_told(door, internet) -> None:
    with connected(door) as made:
        made.sendall(b"CONNECT allowed.example:443 HTTP/1.1\r\n")
        made.shutdown(socket.SHUT_WR)
        answer = everything(made).decode()
    assert (answer.split()[1], internet.came) == ("400", 0)
    assert "before its head" in said(answer)


@pytest.mark.parametrize("stays", [True, False])
def test_a_host_that_said_all_is_still_told_what_comes_within_a_moment(tmp_path, monkeypatch, stays) -> None:
    """And who asked is let go after it, who would stay for ever."""
    ours, theirs = socket.socketpair()

    async def connect(host: str, port: int) -> socket.socket:
        theirs.setblocking(False)
        return theirs

    monkeypatch.setattr(proxy, "_LINGER_SECONDS", 0.02 if stays else 30)
    made = proxy.Proxy(str(tmp_path / "proxy"), connect, parse_host)
    try:
        with ours, connected(made.socket_for(HOSTS)) as near:
            near.sendall(b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n")
            assert near.recv(1000).split()[1] == b"200"
            ours.settimeout(30)
            ours.sendall(b"answer")
            ours.shutdown(socket.SHUT_WR)
            assert everything(near) == b"answer"
            if not stays:
                near.sendall(b"late")
                near.shutdown(socket.SHUT_WR)
            assert everything(ours) == (b"" if stays else b"late")
    finally:
        made.close()


def test_only_so_many_connections_at_once(door, internet, monkeypatch, until) -> None:
    monkeypatch.setattr(proxy, "MOST_CONNECTIONS", 3)
    held = [connected(door) for _ in range(3)]
    request = b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n"
    assert status(door, request) == 503
    assert "3 connections" in said(exchange(door, request))
    assert internet.came == 0
    held.pop().close()
    until(lambda: status(door, request) == 200, "there is room again")
    for each in held:
        each.close()


def test_who_does_not_read_is_not_read_for(tmp_path) -> None:
    """What a host sends and the program does not take stays where it is."""
    ours, theirs = socket.socketpair()

    async def connect(host: str, port: int) -> socket.socket:
        theirs.setblocking(False)
        return theirs

    made = proxy.Proxy(str(tmp_path / "proxy"), connect, parse_host)
    try:
        with ours, connected(made.socket_for(HOSTS)) as near:
            near.sendall(b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n")
            assert near.recv(1000).split()[1] == b"200"
            ours.settimeout(1)
            taken = 0
            with contextlib.suppress(TimeoutError):
                while taken < 64 << 20:
                    taken += ours.send(b"x" * 65536)
    finally:
        made.close()
    assert taken < 8 << 20


def test_closing_ends_all_connections_and_leaves_nothing(internet, tmp_path) -> None:
    ours, theirs = socket.socketpair()

    async def connect(host: str, port: int) -> socket.socket:
        theirs.setblocking(False)
        return theirs

    descriptors, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    made = proxy.Proxy(str(tmp_path / "proxy"), connect, parse_host)
    path = made.socket_for(HOSTS)
    with connected(path) as near, connected(path) as silent:
        near.sendall(b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n")
        assert near.recv(1000).split()[1] == b"200"
        made.close()
        assert [everything(each) for each in (near, silent, ours)] == [b"", b"", b""]
    ours.close()
    assert (os.listdir(tmp_path), threading.active_count()) == ([], threads)
    assert len(os.listdir("/proc/self/fd")) == descriptors - 2  # the pair
    with pytest.raises(ToolError, match="closed") as failure:
        made.socket_for(HOSTS)
    assert (failure.value.code, failure.value.before_effect) == ("SANDBOX_UNAVAILABLE", True)
    made.close()
    assert os.listdir(tmp_path) == []


def test_closing_takes_away_what_is_its_own_and_is_still_there(internet, tmp_path) -> None:
    made = proxy.Proxy(str(tmp_path / "proxy"), internet.connect, parse_host)
    first, second = made.socket_for(("one.example",)), made.socket_for(("other.example",))
    os.unlink(first)
    (tmp_path / "proxy" / "another").touch()
    made.close()
    assert (os.path.exists(second), os.listdir(tmp_path / "proxy")) == (False, ["another"])


def test_one_that_was_never_asked_leaves_a_directory_alone(internet, tmp_path) -> None:
    proxy.Proxy(str(tmp_path), internet.connect, parse_host).close()
    assert tmp_path.is_dir()


def test_what_lies_where_a_socket_is_to_be_is_taken_away(internet, tmp_path) -> None:
    """As a runtime that was killed leaves it, for all to enter."""
    (tmp_path / "proxy").mkdir(mode=0o755)
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(tmp_path / "proxy" / "1"))
    made = proxy.Proxy(str(tmp_path / "proxy"), internet.connect, parse_host)
    try:
        path = made.socket_for(HOSTS)
        assert (path, status(path, b"GET http://allowed.example/ HTTP/1.1\r\n\r\n")) == (f"{tmp_path}/proxy/1", 200)
        assert stat.S_IMODE(os.stat(tmp_path / "proxy").st_mode) == 0o700
    finally:
        made.close()


@pytest.mark.parametrize("full", [True, False], ids=["threads", "sockets"])
def test_one_that_cannot_be_made_leaves_nothing_open_and_can_be_later(internet, tmp_path, monkeypatch, full) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    before, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    made = proxy.Proxy(str(tmp_path / "proxy"), internet.connect, parse_host)
    with monkeypatch.context() as patch, pytest.raises(ToolError) as failure:
        if full:
            patch.setattr(threading.Thread, "start", fail)
        else:
            patch.setattr(os, "chmod", fail)
        made.socket_for(HOSTS)
    assert (failure.value.code, failure.value.before_effect) == ("SANDBOX_UNAVAILABLE", True)
    assert "can't start new thread" in str(failure.value) and str(tmp_path / "proxy") in str(failure.value)
    assert not full or len(os.listdir("/proc/self/fd")) == before
    assert status(made.socket_for(HOSTS), b"GET http://allowed.example/ HTTP/1.1\r\n\r\n") == 200
    made.close()
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == (before, threads)


def test_nobody_else_can_use_it(door) -> None:
    modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (os.path.dirname(door), door)]
    assert modes == [0o700, 0o600]


def test_a_place_with_a_long_name(internet, tmp_path) -> None:
    """Longer than the kernel takes for the name of a socket."""
    made = proxy.Proxy(str(tmp_path / ("x" * 120) / "proxy"), internet.connect, parse_host)
    try:
        path = made.socket_for(HOSTS)
        assert stat.S_ISSOCK(os.stat(path).st_mode)
        with bridge._connected(path) as near:
            near.sendall(b"GET http://allowed.example/ HTTP/1.1\r\n\r\n")
            assert everything(near).endswith(b"welcome")
    finally:
        made.close()


def test_where_no_socket_can_be_made_is_said(internet, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    made = proxy.Proxy(str(tmp_path / "file" / "proxy"), internet.connect, parse_host)
    with pytest.raises(ToolError) as failure:
        made.socket_for(HOSTS)
    assert (failure.value.code, failure.value.before_effect) == ("SANDBOX_UNAVAILABLE", True)
    made.close()


# The bridge

FETCH = """
import sys, urllib.error, urllib.request
for url in sys.argv[1:]:
    try: print(urllib.request.urlopen(url, timeout=30).read().decode())
    except urllib.error.HTTPError as exc: print(exc.code)
    except OSError as exc: print(exc)
"""


def bridged(yard: Any, door: str, *argv: str, **about: Any) -> Completed:
    return yard.run(*bridge.through(list(argv), door), **about)


def test_the_program_becomes_what_it_would_be_without_the_bridge(yard, door) -> None:
    """Its words, input, output, exit status, death by a signal, and all its children are its own."""
    script = 'read line; echo "$line" "$@"; echo error >&2; exit 7'
    done = bridged(yard, door, "/bin/sh", "-c", script, "sh", "a b", stdin=b"in\n")
    assert (done.code, done.stdout.text(), done.stderr.text()) == (7, "in a b\n", "error\n")
    assert bridged(yard, door, "/bin/sh", "-c", "kill -PIPE $$").code == 128 + 13
    wait = "import os\ntry: os.wait()\nexcept ChildProcessError: print('no children')"
    assert bridged(yard, door, sys.executable, "-c", wait).stdout.text() == "no children\n"


def test_the_environment_is_as_it_was_and_names_the_bridge(yard, door) -> None:
    given = {"ALL_PROXY": "socks5://evil", "no_proxy": "*", "HTTP_PROXY": "http://evil", "ODD": "a\nb=c"}
    done = bridged(yard, door, "/usr/bin/env", "-0", env=given)
    got = dict(pair.split("=", 1) for pair in done.stdout.head.decode().split("\0") if pair)
    there = got.pop("HTTP_PROXY")
    names = {"HTTPS_PROXY", "http_proxy", "https_proxy"}
    assert there.startswith("http://127.0.0.1:")
    assert {got.pop(name) for name in names} == {there}
    assert (got.pop("NO_PROXY"), got.pop("no_proxy"), got.pop("ODD")) == ("", "", "a\nb=c")
    assert sorted(got) == ["PATH", "TMPDIR", "TOOLCRIB_CALL_ID"]


def test_a_descriptor_that_the_program_was_handed_reaches_it_and_nobody_else(yard, door) -> None:
    ours, theirs = os.pipe()
    try:
        script = 'echo handed >&"$TOOLCRIB_CHANNEL"'
        assert bridged(yard, door, "/bin/bash", "-c", script, channel=theirs).code == 0
        os.close(theirs)
        theirs = -1
        with os.fdopen(os.dup(ours)) as said:
            assert said.read() == "handed\n"  # and its end
    finally:
        for fd in (ours, theirs):
            if fd >= 0:
                os.close(fd)


def test_a_program_that_is_not_there(yard, door, tmp_path) -> None:
    (tmp_path / "plain").write_text("")
    assert bridged(yard, door, "/nowhere/program").code == 127
    done = bridged(yard, door, str(tmp_path / "plain"))
    assert (done.code, "could not be started" in done.stderr.text()) == (126, True)


def test_programs_find_the_hosts_by_way_of_the_bridge(yard, door, internet) -> None:
    done = bridged(yard, door, sys.executable, "-c", FETCH, "http://allowed.example/", "http://evil.example/")
    assert done.stdout.text() == "welcome\n403\n"
    assert internet.asked == [("allowed.example", 80)]


def test_many_connections_through_the_bridge(yard, door, internet) -> None:
    text = """
import concurrent.futures, urllib.request
def fetch(_): return urllib.request.urlopen("http://allowed.example/", timeout=30).read()
with concurrent.futures.ThreadPoolExecutor(16) as pool: print(set(pool.map(fetch, range(100))))
"""
    done = bridged(yard, door, sys.executable, "-c", text)
    assert (done.stdout.text(), internet.came) == ("{b'welcome'}\n", 100)


# In the sandbox


def caged(yard: Any, door: str, tmp_path: Path, *argv: str) -> Completed:
    workspace = tmp_path.resolve() / "workspace"
    workspace.mkdir(exist_ok=True)
    readable = tuple(dict.fromkeys((os.path.realpath(sys.base_prefix), os.path.realpath(sys.prefix))))
    cage = Cage(BUBBLEWRAP, str(workspace), readable=readable, hosts=HOSTS, proxy=door)
    return asyncio.run(Confined(yard.sandbox, cage).exec(yard.command(*argv, cwd=str(workspace))))


PYTHON = os.path.realpath(sys.executable)


@contained
def test_a_confined_program_reaches_the_hosts_on_its_list_and_no_others(yard, door, internet, tmp_path) -> None:
    """K49: and by no other way."""
    done = caged(yard, door, tmp_path, PYTHON, "-c", FETCH, "http://allowed.example/", "http://evil.example/")
    assert (done.stdout.text(), done.stderr.text()) == ("welcome\n403\n", "")
    assert (internet.asked, internet.came) == ([("allowed.example", 80)], 1)


@contained
def test_a_confined_program_that_does_not_ask_the_proxy_reaches_nobody(yard, door, internet, tmp_path) -> None:
    text = f"""
import socket
def tried(act):
    try: act(); return "done"
    except OSError: return "no"
print(tried(lambda: socket.create_connection(("127.0.0.1", {internet.port}), 10)),
    tried(lambda: socket.create_connection(("192.0.2.1", 80), 10)),
    tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))),
    tried(lambda: socket.getaddrinfo("allowed.example", 80)),
    tried(lambda: socket.socket(40, socket.SOCK_STREAM)))
"""
    assert caged(yard, door, tmp_path, PYTHON, "-c", text).stdout.text() == "no no no no no\n"
    assert internet.came == 0


@contained
@pytest.mark.skipif(shutil.which("curl", path="/usr/bin:/bin") is None, reason="curl is not installed")
def test_curl_in_the_sandbox(yard, door, internet, tmp_path) -> None:
    script = """
curl -sS http://allowed.example/; echo " $?"
curl -sS http://evil.example/ -o /dev/null -w '%{http_code}'; echo " $?"
curl -sS https://evil.example/ 2>&1; echo " $?"
curl -sS --noproxy '*' http://allowed.example/ 2>/dev/null; echo "direct $?"
curl -sS --noproxy '*' http://127.0.0.1:PORT/ 2>/dev/null; echo "direct $?"
""".replace("PORT", str(internet.port))
    done = caged(yard, door, tmp_path, "/bin/sh", "-c", script)
    assert done.stdout.text().splitlines() == [
        "welcome 0", "403 0", "curl: (56) CONNECT tunnel failed, response 403", " 56", "direct 6", "direct 7",
    ]  # fmt: skip
    assert internet.asked == [("allowed.example", 80)]


@contained
def test_a_confined_program_that_fails_is_seen_to_fail(yard, door, tmp_path) -> None:
    assert caged(yard, door, tmp_path, "/bin/sh", "-c", "exit 9").code == 9
    assert caged(yard, door, tmp_path, "/bin/sh", "-c", "kill -TERM $$").code == 128 + 15
