"""A thousand hostile values in every place of a template. The server looks at what it got: never one more header, query
parameter, path segment, form field or JSON key than the template has, and the value whole in its place."""

import asyncio
import email.policy
import random
from collections.abc import Callable, Iterator
from email.parser import BytesParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest

from toolcrib.backends.http import HttpBackend
from toolcrib.backends.network import Network
from toolcrib.core.errors import Refused, ToolError
from toolcrib.core.jsontext import parse
from toolcrib.testing import fake_context

from .http_server import Seen, Vault, answered, declared, serving

_PARTS = [
    "\r", "\n", "\r\n", "\0", "\t", " ", '"', "'", "\\", "/", "//", "../", "..", ".", "?", "&", "=", "#", ";", ":", "@", "%",
    "%0d%0a", "%2f", "%2e%2e", "%00", "${env:KEY}", "${x}", "$${x}", "${", "}", "{", "[", "]", "<", ">", ",", "X-Evil: 1",
    "\r\nX-Evil: 1", "\r\n\r\nGET /evil HTTP/1.1\r\nHost: x\r\n\r\n", "&evil=1", "?evil=1", '", "evil": "1', "\u2028",
    "\u0085", "\x7f", "\x9b", "é", "日本", "😀", "\u200b", "\u202e", "--boundary", "\r\n--", "; filename=evil", "a", "b", "1",
    "Transfer-Encoding: chunked", "content-length: 0", "\ud800", "null", "true", "/etc/passwd", "http://evil.example/",
]  # fmt: skip
_NAUGHTY = Path(__file__).parents[3] / "shared" / "corpora" / "big-list-of-naughty-strings" / "blns.json"
_OTHERS: list[Any] = [0, -1, 10**30, 1.5, True, False, [], ["a", "b"], {}, {"evil": 1}, [{"a": None}], "", "x" * 5000]


def values() -> Iterator[Any]:
    chosen = random.Random(20)
    for _ in range(1000):
        yield "".join(chosen.choice(_PARTS) for _ in range(chosen.randrange(1, 7)))
    yield from _OTHERS


def naughty() -> Iterator[Any]:
    if not _NAUGHTY.is_file():
        pytest.skip("the public test data big-list-of-naughty-strings is not on this machine")
    yield from parse(_NAUGHTY.read_bytes())


def text_of(value: Any) -> str:
    """How a value is written that is not text."""
    import json

    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def probed(
    given: Iterator[Any],
    fields: dict[str, Any],
    look: Callable[[Seen, Any], None],
    *,
    name: str = "x",
    files: Callable[[Any], dict[str, bytes]] = lambda value: {},
) -> tuple[int, int]:
    """Send each value as an argument, and look at each request that came. How many came, and how many were refused."""

    async def run() -> tuple[int, int]:
        sent = refused = 0
        async with serving(answered("ok")) as server:
            backend = declared(
                {**fields, "url": server.url(fields["url"])}, allow=(server.netloc,), secret=Vault(KEY="s3cr3t")
            ).backend
            assert isinstance(backend, HttpBackend)
            assert backend.network.listed(server.host, server.port)
            for value in given:
                server.seen.clear()
                try:
                    await backend.run({name: value}, fake_context(files(value)))
                except ToolError as exc:
                    assert not isinstance(exc, Refused)
                    assert exc.code == "VALIDATION_ERROR", exc
                    assert server.seen == []
                    refused += 1
                    continue
                [seen] = server.seen
                look(seen, value)
                assert b"s3cr3t" not in seen.body
                assert "s3cr3t" not in str(seen.headers) + seen.target
                sent += 1
        return sent, refused

    return asyncio.run(run())


def plain(seen: Seen, *more: str) -> None:
    """The headers are those that everybody sends, and `more`."""
    assert sorted(name.lower() for name, _ in seen.headers) == sorted(
        ["host", "user-agent", "accept", "accept-encoding", *more]
    )


def in_path(seen: Seen, value: Any) -> None:
    plain(seen)
    path, _, query = seen.target.partition("?")
    assert query == "k=1"
    empty, first, middle, last = path.split("/")
    assert (empty, first, unquote(middle), last) == ("", "a", text_of(value), "z")


def in_query(seen: Seen, value: Any) -> None:
    plain(seen)
    path, _, query = seen.target.partition("?")
    assert path == "/a"
    pairs = [(unquote(name), unquote(each)) for name, _, each in (pair.partition("=") for pair in query.split("&"))]
    assert pairs == [("q", text_of(value)), ("k", "1"), ("m", f"<{text_of(value)}>")]


def in_rest(seen: Seen, value: Any) -> None:
    plain(seen)
    path, _, query = seen.target.partition("?")
    assert path == "/a"
    [pair] = query.split("&")
    assert [unquote(each) for each in pair.split("=")] == ["a&b=c", text_of(value)]


def in_header(seen: Seen, value: Any) -> None:
    plain(seen, "x-one", "x-two")
    assert seen.target == "/a"
    assert seen.header("x-one") == text_of(value).strip(" \t")
    assert seen.header("x-two") == f"[{text_of(value)}]"


def in_json(seen: Seen, value: Any) -> None:
    plain(seen, "content-type", "content-length")
    assert parse(seen.body) == {
        "whole": value, "part": f"<{text_of(value)}>", "deep": [{"whole": value}], "fixed": "1",
    }  # fmt: skip


def in_form(seen: Seen, value: Any) -> None:
    plain(seen, "content-type", "content-length")
    pairs = parse_qsl(seen.body.decode("ascii"), keep_blank_values=True, strict_parsing=True)
    assert pairs == [("x", text_of(value)), ("k", "1")]


def in_parts(seen: Seen, value: Any) -> None:
    plain(seen, "content-type", "content-length")
    kind = seen.header("content-type")
    assert kind is not None
    boundary = kind.partition("boundary=")[2].encode()
    parts = seen.body.split(b"--" + boundary)
    assert (parts[0], parts[-1]) == (b"", b"--\r\n")
    assert len(parts) == 4
    field, file = (part.removeprefix(b"\r\n").removesuffix(b"\r\n").partition(b"\r\n\r\n") for part in parts[1:-1])
    assert field[0] == b'Content-Disposition: form-data; name="x"'
    assert field[2].decode() == text_of(value)
    read = BytesParser(policy=email.policy.HTTP).parsebytes(file[0] + b"\r\n\r\n")
    assert [name.lower() for name in read] == ["content-disposition", "content-type"]
    assert file[2] == b"--" + b"content"


PLACES: dict[str, tuple[dict[str, Any], Callable[[Seen, Any], None], int]] = {
    "path": ({"url": "/a/${x}/z?k=1"}, in_path, 400),
    "query": ({"url": "/a?q=${x}&k=1", "query": {"m": "<${x}>"}}, in_query, 700),
    "header": ({"url": "/a", "headers": {"X-One": "${x}", "X-Two": "[${x}]"}}, in_header, 200),
    "json": (
        {
            "url": "/a",
            "method": "POST",
            "body_template": '{"whole": ${x}, "part": "<${x}>", "deep": [{"whole": "${x}"}], "fixed": "1"}',
        },
        in_json,
        900,
    ),
    "form": (
        {
            "url": "/a",
            "method": "PUT",
            "headers": {"Content-Type": "application/x-www-form-urlencoded"},
            "body_template": {"x": "${x}", "k": 1},
        },
        in_form,
        900,
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_thousand_generated_values(place: str) -> None:
    """A10, A11, A12, A13."""
    fields, look, least = PLACES[place]
    sent, refused = probed(values(), fields, look)
    assert sent > least
    assert refused > 0


@pytest.mark.parametrize("place", PLACES)
def test_the_naughty_strings(place: str) -> None:
    fields, look, _ = PLACES[place]
    sent, _ = probed(naughty(), fields, look)
    assert sent > 250


def test_arguments_that_no_placeholder_names() -> None:
    """A12: their names are as hostile as their values."""
    sent, _ = probed(values(), {"url": "/a"}, in_rest, name="a&b=c")
    assert sent > 700


def test_names_of_files_and_fields_beside_them() -> None:
    """A48."""
    fields = {
        "url": "/a", "method": "POST", "body_template": {"x": "${x}"}, "files": {"f": "dir/${x}"},
    }  # fmt: skip
    sent, _ = probed(values(), fields, in_parts, files=lambda value: {f"dir/{text_of(value)}": b"--content"})
    assert sent > 900


def test_what_is_sent_of_a_url_is_what_was_judged() -> None:
    """The host that the gate was told is the one in every request, whatever the arguments are."""
    backend = declared({"url": "https://api.example.com/a/${x}?q=${x}", "query": {"m": "${x}"}}).backend
    assert isinstance(backend, HttpBackend)
    for value in values():
        try:
            url = backend.filled({"x": value, "rest": value}, lambda name: "").url
        except ToolError:
            continue
        assert (url.scheme, url.host, url.port) == ("https", "api.example.com", 443)
        assert str(url).isascii()
        assert str(url).isprintable()
        assert " " not in str(url)


def test_the_network_of_a_tool_lists_what_the_user_listed_and_nothing_else() -> None:
    backend = declared({"url": "https://api.example.com/"}, allow=("127.0.0.1:1",)).backend
    assert isinstance(backend, HttpBackend)
    assert isinstance(backend.network, Network)
    assert not backend.network.listed("127.0.0.1", 2)
