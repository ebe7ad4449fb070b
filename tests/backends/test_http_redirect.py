"""Redirects: followed where that is harmless, and judged anew each time."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.call import Result

from .http_server import Seen, Server, Vault, answered, ask, calling, http_tool, serving


def leads(*locations: str, status: int = 302, then: bytes = b"") -> Callable[[Seen, Any], bytes]:
    """`/` leads to the first, that to the second, and so on; the last answers."""
    left = list(locations)

    def answer(seen: Seen, writer: Any) -> bytes:
        if left:
            return answered("moved", f"Location: {left.pop(0)}", status=f"{status} Moved")
        return then or answered("there")

    return answer


def between(
    root: Path, location: str, *, status: int = 302, allow_other: bool = True, **fields: Any
) -> tuple[Result, Server, Server]:
    """A call to one server that leads to another; `{other}` in the location is that one."""

    async def run() -> tuple[Result, Server, Server]:
        async with serving(answered("other")) as other:
            async with serving(leads(location.format(other=other.netloc), status=status)) as first:
                allow = (first.netloc, other.netloc) if allow_other else (first.netloc,)
                secret = Vault(KEY="s3cr3t")
                tool = http_tool({"url": first.url("/start"), **fields}, allow=allow, secret=secret)
                async with calling(root, tool) as call:
                    return await call({}), first, other

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/next", "/next"), ("next?a=1#f", "/a/next?a=1"), ("../up", "/up"), ("?q=1", "/a/b?q=1"), ("./", "/a/"),
        ("/%2e%2e/x", "/x"), ("/a/../../../b", "/b"), ("/ü", "/%C3%BC"), ("/a b", None), ("//", None), ("", None),
    ],
)  # fmt: skip
def test_within_its_origin_a_redirect_is_followed(tmp_path: Path, location: str, target: str | None) -> None:
    raw = location.encode().decode("latin-1")  # as a server sends it
    result, server = ask(tmp_path, leads(raw), path="/a/b", headers={"X-Own": "1"})
    if target is None:
        assert not result.success
        assert len(server.seen) == 1
        return
    assert result.data == "there"
    assert [seen.target for seen in server.seen] == ["/a/b", target]
    assert server.seen[1].header("x-own") == "1"
    assert result.metadata["redirects"] == [server.url(target)]


@pytest.mark.parametrize(
    ("method", "status", "then"),
    [
        ("GET", 301, "GET"), ("GET", 307, "GET"), ("HEAD", 302, "HEAD"), ("HEAD", 303, "HEAD"), ("POST", 301, "GET"),
        ("POST", 302, "GET"), ("POST", 303, "GET"), ("POST", 307, "POST"), ("POST", 308, "POST"), ("PUT", 301, "PUT"),
        ("PUT", 303, "GET"), ("DELETE", 302, "DELETE"), ("PATCH", 308, "PATCH"),
    ],
)  # fmt: skip
def test_the_method_follows_the_rules(tmp_path: Path, method: str, status: int, then: str) -> None:
    fields = {"body_template": {"a": 1}} if method in ("POST", "PUT", "PATCH") else {}
    result, server = ask(tmp_path, leads("/next", status=status), method=method, **fields)
    assert result.success
    first, second = server.seen
    assert (first.method, second.method) == (method, then)
    assert second.body == (first.body if then == method else b"")
    assert second.header("content-type") == (first.header("content-type") if second.body else None)


@pytest.mark.parametrize("location", ["http://{other}/x", "//{other}/x"])
def test_another_origin_is_told_nothing_of_who_asks(tmp_path: Path, location: str) -> None:
    result, first, other = between(
        tmp_path, location,
        headers={"Authorization": "Bearer ${env:KEY}", "X-Own": "1", "Cookie": "a=b", "Accept": "text/plain"},
    )  # fmt: skip
    assert result.data == "other"
    assert first.seen[0].header("authorization") == "Bearer s3cr3t"
    [seen] = other.seen
    assert dict(seen.headers) == {
        "Host": other.netloc, "Accept": "text/plain", "User-Agent": "toolcrib", "Accept-Encoding": "gzip, deflate",
    }  # fmt: skip


def test_a_harmless_header_with_a_secret_is_not_harmless(tmp_path: Path) -> None:
    _, _, other = between(tmp_path, "http://{other}/", headers={"User-Agent": "me ${env:KEY}"})
    assert other.seen[0].header("user-agent") is None


@pytest.mark.parametrize(
    ("method", "status"), [("POST", 307), ("POST", 308), ("PUT", 302), ("DELETE", 302), ("PATCH", 301)]
)
def test_what_changes_something_is_not_sent_to_another_origin(tmp_path: Path, method: str, status: int) -> None:
    result, first, other = between(tmp_path, "http://{other}/", status=status, method=method)
    assert result.error is not None
    assert result.error.code == "NETWORK_DENIED"
    assert (len(first.seen), other.connections) == (1, 0)


def test_a_post_that_becomes_a_get_leaves_its_body_behind(tmp_path: Path) -> None:
    result, _, other = between(
        tmp_path, "http://{other}/", status=303, method="POST", body_template={"k": "${env:KEY}"}
    )
    assert result.data == "other"
    assert (other.seen[0].method, other.seen[0].body) == ("GET", b"")


def test_a_host_that_is_not_listed_is_not_reached(tmp_path: Path) -> None:
    result, first, other = between(tmp_path, "http://{other}/", allow_other=False)
    assert result.error is not None
    assert result.error.code == "NETWORK_DENIED"
    assert (len(first.seen), other.connections) == (1, 0)


def test_what_is_listed_for_one_host_is_not_open_to_another_that_leads_there(tmp_path: Path) -> None:
    """A listed host names a listed address of this machine; only those who name it themselves get there."""

    async def run() -> tuple[Result, Server, Server]:
        async with serving(answered("inner")) as inner:
            async with serving(leads(inner.url("/admin")), host="127.0.0.2") as outer:
                tool = http_tool({"url": outer.url("/")}, allow=(outer.netloc, inner.netloc))
                async with calling(tmp_path, tool) as call:
                    return await call({}), outer, inner

    result, outer, inner = asyncio.run(run())
    assert result.error is not None
    assert result.error.code == "NETWORK_DENIED"
    assert (len(outer.seen), inner.connections) == (1, 0)


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:70/", "data:text/plain,x", "javascript:alert(1)",
        "ws://127.0.0.1/", "http:/x", "http:127.0.0.1", "http://", "http:///x", "http://user:pw@127.0.0.1/",
        "http://[::1", "http://127.0.0.1:99999/", "http://a\tb/", "\\\\127.0.0.1\\x", "http:\\\\127.0.0.1\\",
    ],
)  # fmt: skip
def test_a_location_that_is_no_place_for_a_request_is_an_error(tmp_path: Path, location: str) -> None:
    result, server = ask(tmp_path, leads(location))
    assert result.error is not None
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:1", "localhost:{port}", "127.1:{port}", "0x7f000001:{port}", "2130706433:{port}", "0177.0.0.1:{port}",
        "0.0.0.0:{port}", "[::1]:{port}", "[::ffff:127.0.0.1]:{port}", "[::127.0.0.1]:{port}", "[64:ff9b::7f00:1]:{port}",
        "[2002:7f00:1::]:{port}", "169.254.169.254", "10.0.0.1", "192.0.0.192", "168.63.129.16", "100.64.0.1",
        "127.0.0.1.:{port}", "①②⑦.⓪.⓪.①:{port}", "127。0。0。1:{port}", "%31%32%37.0.0.1:{port}",
    ],
)  # fmt: skip
def test_a_redirect_never_leads_inside(tmp_path: Path, host: str) -> None:
    """The server that leads there is the only one that is listed, by another of its addresses."""

    async def run() -> tuple[Result, Server, Server]:
        async with serving(answered("inside")) as inside:
            location = f"http://{host.format(port=inside.port)}/".encode().decode("latin-1")
            async with serving(leads(location), host="127.0.0.2") as first:
                async with calling(tmp_path, http_tool({"url": first.url("/")}, allow=(first.netloc,))) as call:
                    return await call({}), first, inside

    result, first, inside = asyncio.run(run())
    assert result.error is not None
    assert (len(first.seen), inside.connections) == (1, 0)


def test_a_loop_is_given_up(tmp_path: Path) -> None:
    def answer(seen: Seen, writer: Any) -> bytes:
        return answered("", "Location: /", status="302 Found")

    result, server = ask(tmp_path, answer)
    assert result.error is not None
    assert "given up" in result.error.message
    assert len(server.seen) == 6


def test_five_are_followed(tmp_path: Path) -> None:
    result, server = ask(tmp_path, leads("/1", "/2", "/3", "/4", "/5"))
    assert result.data == "there"
    assert len(server.seen) == 6


def test_a_tool_may_follow_none(tmp_path: Path) -> None:
    result, server = ask(tmp_path, leads("/next"), redirects=0)
    assert result.error is not None
    assert result.error.details == {"status": 302, "body": "moved", "location": "/next"}
    assert len(server.seen) == 1


def test_a_redirect_without_a_place_is_an_answer_that_failed(tmp_path: Path) -> None:
    result, _ = ask(tmp_path, answered("", status="304 Not Modified"))
    assert result.error is not None
    assert "answered 304" in result.error.message
