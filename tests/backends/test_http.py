"""HTTP tools against a real server on loopback, through the whole gate."""

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from toolcrib.backends.declared import Unfit
from toolcrib.core.jsontext import parse

from .http_server import Vault, answered, as_json, ask, declared

PERSON = {"type": "object", "properties": {"id": {"type": "string"}, "age": {"type": "integer"}}}


def pairs(target: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(target).query, keep_blank_values=True, strict_parsing=True)


def test_the_arguments_of_a_get_become_query_parameters(tmp_path: Path) -> None:
    """A9, A12."""
    result, server = ask(tmp_path, answered("fine"), {"city": "São Paulo", "days": 3, "metric": True})
    assert result.data == "fine"
    [seen] = server.seen
    assert seen.method == "GET"
    assert pairs(seen.target) == [("city", "São Paulo"), ("days", "3"), ("metric", "true")]
    assert seen.body == b""


@pytest.mark.parametrize("method", ["DELETE", "HEAD"])
def test_so_do_those_of_methods_that_have_no_body(tmp_path: Path, method: str) -> None:
    result, server = ask(tmp_path, answered(status="200 OK"), {"id": "7"}, method=method)
    assert result.success
    assert (server.seen[0].method, server.seen[0].target) == (method, "/?id=7")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_the_arguments_of_others_are_sent_as_json(tmp_path: Path, method: str) -> None:
    """A13."""
    args = {"name": 'Bob "the" Builder\n', "n": 10**25, "deep": {"a": [1, None]}}
    result, server = ask(tmp_path, answered("ok"), args, method=method)
    assert result.success
    [seen] = server.seen
    assert (seen.method, seen.target, seen.header("content-type")) == (method, "/", "application/json")
    assert parse(seen.body) == args


def test_a_body_template_is_filled_as_json_is_built(tmp_path: Path) -> None:
    """A13: a text that is only a placeholder becomes the value with its type; one outside quotes is taken so too."""
    template = '{"file": "${file}", "n": ${n}, "about": "the ${n}th of ${file}", "literal": "$${n}", "gone": "${none}"}'
    result, server = ask(
        tmp_path, answered("ok"), {"file": 'a", "x": "y', "n": 4}, method="POST", body_template=template
    )
    assert result.success
    assert parse(server.seen[0].body) == {
        "file": 'a", "x": "y', "n": 4, "about": 'the 4th of a", "x": "y', "literal": "${n}",
    }  # fmt: skip


def test_a_body_template_may_be_a_mapping(tmp_path: Path) -> None:
    template = {"model": "m", "messages": [{"role": "user", "content": "${text}"}, "${none}"]}
    _, server = ask(tmp_path, answered("ok"), {"text": "hi"}, method="PUT", body_template=template)
    assert parse(server.seen[0].body) == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_arguments_stand_in_the_url(tmp_path: Path) -> None:
    """A11: each is one part of it, percent-encoded whole."""
    result, server = ask(
        tmp_path,
        answered("ok"),
        {"id": "a/b?c#d e", "q": "x&y=z", "rest": "r"},
        path="/users/${id}/mail?q=${q}&fixed=1",
    )
    assert result.success
    target = server.seen[0].target
    assert urlsplit(target).path == "/users/a%2Fb%3Fc%23d%20e/mail"
    assert pairs(target) == [("q", "x&y=z"), ("fixed", "1"), ("rest", "r")]


def test_a_query_pair_falls_away_whose_argument_is_missing(tmp_path: Path) -> None:
    _, server = ask(
        tmp_path,
        answered("ok"),
        {"a": "1", "n": None},
        path="/?a=${a}&b=${b}&n=${n}",
        query={"c": "${c}", "d": "${a}!"},
    )
    assert server.seen[0].target == "/?a=1&d=1%21"


def test_a_default_of_the_schema_stands_for_what_is_not_given(tmp_path: Path) -> None:
    parameters = {"type": "object", "properties": {"units": {"type": "string", "default": "metric"}}}
    _, server = ask(tmp_path, answered("ok"), {}, parameters=parameters)
    assert server.seen[0].target == "/?units=metric"


@pytest.mark.parametrize(
    ("path", "args", "says"),
    [
        ("/${id}", {}, "id is needed"),
        ("/${id}", {"id": None}, "id is needed"),
        ("/${id}/x", {"id": ""}, "would change the path"),
        ("/${id}", {"id": ".."}, "would change the path"),
        ("/a/${id}", {"id": "../../admin"}, "would change the path"),
        ("/a/${id}", {"id": "x\\..\\y"}, "would change the path"),
        ("/a/.${id}", {"id": "."}, "would change the path"),
        ("/${id}", {"id": "x" * 70_000}, "characters"),
    ],
)
def test_a_path_that_would_be_another_is_refused_and_nothing_is_sent(
    tmp_path: Path, path: str, args: dict[str, object], says: str
) -> None:
    result, server = ask(tmp_path, answered("ok"), args, path=path)
    assert result.error is not None
    assert result.error.code == "VALIDATION_ERROR"
    assert says in str(result.error.details)
    assert server.connections == 0


def test_headers_take_arguments_and_secrets(tmp_path: Path) -> None:
    """A9, A10: a secret is asked for by its name, for the literal host of the tool, and shown nowhere."""
    vault = Vault(API_KEY="s3cr3t-value")
    result, server = ask(
        tmp_path, as_json('{"ok": true}'), {"trace": "t-1"}, secret=vault,
        headers={"Authorization": "Bearer ${env:API_KEY}", "X-Trace": "${trace}", "X-Number": 5},
    )  # fmt: skip
    assert result.data == {"ok": True}
    [seen] = server.seen
    assert seen.header("authorization") == "Bearer s3cr3t-value"
    assert (seen.header("x-trace"), seen.header("x-number")) == ("t-1", "5")
    assert seen.target == "/"
    assert vault.asked == [("ask", "API_KEY", "127.0.0.1", "127.0.0.1")]
    assert "s3cr3t" not in str(result.to_dict())


def test_a_secret_in_the_url_shows_only_its_name(tmp_path: Path) -> None:
    """A10."""
    result, server = ask(
        tmp_path,
        answered("no", status="500 Oops"),
        {"q": "x"},
        secret=Vault(KEY="s3cr3t&v"),
        path="/a?key=${env:KEY}&q=${q}",
    )
    assert pairs(server.seen[0].target) == [("key", "s3cr3t&v"), ("q", "x")]
    assert "s3cr3t" not in str(result.to_dict())
    assert result.metadata["url"] == f"{server.url('/a')}?key=${{env:KEY}}&q=x"


def test_a_secret_that_is_not_allowed_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    result, server = ask(tmp_path, answered("ok"), headers={"Authorization": "${env:OTHER}"})
    assert result.error is not None
    assert result.error.code == "ENV_NOT_ALLOWED"
    assert server.connections == 0


def test_a_secret_with_a_line_end_does_not_become_a_header(tmp_path: Path) -> None:
    result, server = ask(
        tmp_path, answered("ok"), secret=Vault(K="a\r\nX-Evil: 1"), headers={"Authorization": "${env:K}"}
    )
    assert result.error is not None
    assert result.error.code == "ENV_NOT_ALLOWED"
    assert "X-Evil" not in str(result.to_dict())
    assert server.connections == 0


def test_a_value_that_no_header_carries_is_refused(tmp_path: Path) -> None:
    result, server = ask(tmp_path, answered("ok"), {"x": "a\r\nB: c"}, headers={"X": "${x}"})
    assert result.error is not None
    assert result.error.code == "VALIDATION_ERROR"
    assert server.connections == 0


def test_a_form_is_sent_where_the_headers_say_so(tmp_path: Path) -> None:
    _, server = ask(
        tmp_path, answered("ok"), {"a": "x&y=z", "b": [1]}, method="POST",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )  # fmt: skip
    assert parse_qsl(server.seen[0].body.decode(), strict_parsing=True) == [("a", "x&y=z"), ("b", "[1]")]
    assert server.seen[0].header("content-type") == "application/x-www-form-urlencoded"


def test_plain_text_is_sent_where_the_headers_say_so(tmp_path: Path) -> None:
    _, server = ask(
        tmp_path, answered("ok"), {"a": "1\n2"}, method="POST", headers={"Content-Type": "text/plain; charset=utf-8"},
        body_template="Dear ${a},\n",
    )  # fmt: skip
    assert server.seen[0].body == b"Dear 1\n2,\n"


def test_no_cookie_is_kept(tmp_path: Path) -> None:
    def answer(seen: object, writer: object) -> bytes:
        return answered("ok", "Set-Cookie: id=1; Path=/", "Location: /next", status="302 Found")

    _, server = ask(tmp_path, answer, redirects=2)
    assert [seen.header("cookie") for seen in server.seen] == [None, None, None]


def test_the_environment_names_no_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    result, server = ask(tmp_path, answered("direct"))
    assert result.data == "direct"


def test_a_dry_run_shows_the_request_and_sends_nothing(tmp_path: Path) -> None:
    vault = Vault(KEY="s3cr3t")
    result, server = ask(
        tmp_path, answered("ok"), {"q": "a b", "n": 1}, secret=vault, method="POST", path="/?k=${env:KEY}&q=${q}",
        headers={"Authorization": "Bearer ${env:KEY}"}, body_template={"n": "${n}", "key": "${env:KEY}"},
        call={"dry_run": True},
    )  # fmt: skip
    assert result.data == {
        "dry_run": True,
        "tool": "ask",
        "method": "POST",
        "url": f"{server.url('/')}?k=${{env:KEY}}&q=a%20b",
        "headers": {
            "Authorization": "Bearer ${env:KEY}", "User-Agent": "toolcrib", "Accept": "*/*",
            "Accept-Encoding": "gzip, deflate",
        },
        "body": {"n": 1, "key": "${env:KEY}"},
    }  # fmt: skip
    assert server.connections == 0
    assert vault.asked == []


def test_the_defaults_are_those_that_are_written_down() -> None:
    """A8, A14: 30 seconds, 100 KiB, and what it says of itself."""
    made = declared({"url": "https://api.example.com/"})
    assert (made.limits.seconds, made.limits.output_bytes) == (30.0, 102_400)
    assert made.capabilities.accesses_network
    assert made.capabilities.idempotent
    assert not declared({"url": "https://api.example.com/", "method": "POST"}).capabilities.idempotent


def test_both_limits_can_be_set() -> None:
    """A8, A14."""
    made = declared({"url": "https://api.example.com/", "timeout_ms": 1500, "max_output": 10})
    assert (made.limits.seconds, made.limits.output_bytes) == (1.5, 10)


def test_the_gate_is_told_the_host_and_the_files() -> None:
    made = declared({"url": "https://API.example.com./x", "method": "POST", "files": {"f": "${path}", "g": "${other}"}})
    assert made.hooks.touches is not None
    assert made.hooks.touches({"path": "a/b.txt"}) == [("host", ("api.example.com:443",)), ("read", ("a/b.txt",))]


@pytest.mark.parametrize(
    ("fields", "pointer", "says"),
    [
        ({}, "/url", "missing"),
        ({"url": "ftp://example.com/"}, "/url", "http or https"),
        ({"url": "https://${h}/"}, "/url", "no placeholder"),
        ({"url": "https://a${id}.example.com/"}, "/url", "no placeholder"),
        ({"url": "https://example.com:${id}/"}, "/url", "no placeholder"),
        ({"url": "https://example.com${id}"}, "/url", "no placeholder"),
        ({"url": "${id}"}, "/url", "no placeholder"),
        ({"url": "https://me:pw@example.com/"}, "/url", "user"),
        ({"url": "https://example.com/#${id}"}, "/url", "never sent"),
        ({"url": "https://example.com/${id"}, "/url", "not well formed"),
        ({"url": "https://example.com/", "verb": "GET"}, "/verb", "no field"),
        ({"url": "https://example.com/", "method": "TRACE"}, "/method", "TRACE"),
        ({"url": "https://example.com/", "timeout_ms": 0}, "/timeout_ms", "from 1"),
        ({"url": "https://example.com/", "timeout_ms": True}, "/timeout_ms", "whole number"),
        ({"url": "https://example.com/", "max_output": -1}, "/max_output", "from 1"),
        ({"url": "https://example.com/", "redirects": 6}, "/redirects", "to 5"),
        ({"url": "https://example.com/", "stream": "yes"}, "/stream", "true or false"),
        ({"url": "https://example.com/", "headers": {"Host": "x"}}, "/headers/Host", "leave it out"),
        ({"url": "https://example.com/", "headers": {"content-length": 1}}, "/headers/content-length", "leave it out"),
        ({"url": "https://example.com/", "headers": {"Transfer-Encoding": "x"}}, "/headers/Transfer-Encoding", "leave"),
        ({"url": "https://example.com/", "headers": {"Connection": "x"}}, "/headers/Connection", "leave"),
        ({"url": "https://example.com/", "headers": {"A b": "x"}}, "/headers/A b", "name"),
        ({"url": "https://example.com/", "headers": {"A": "x\ny"}}, "/headers/A", "character"),
        ({"url": "https://example.com/", "headers": {"A": "1", "a": "2"}}, "/headers/a", "twice"),
        ({"url": "https://example.com/", "headers": {"A": ["x"]}}, "/headers/A", "text"),
        ({"url": "https://example.com/", "headers": []}, "/headers", "mapping"),
        ({"url": "https://example.com/", "query": {"${id}": "x"}}, "/query/${id}", "placeholder"),
        ({"url": "https://example.com/", "body_template": "{}"}, "/body_template", "no body"),
        ({"url": "https://example.com/", "method": "POST", "body_template": "a=${id}"}, "/body_template", "JSON"),
        ({"url": "https://example.com/", "method": "POST", "body_template": {"${id}": 1}}, "/body_template/${id}", "key"),
        (
            {"url": "https://example.com/", "method": "POST", "headers": {"Content-Type": "text/xml"},
             "body_template": "<a>${id}</a>"},
            "/headers", "text/xml",
        ),
        (
            {"url": "https://example.com/", "method": "POST", "headers": {"Content-Type": "${id}"}},
            "/headers/Content-Type", "no placeholder",
        ),
        ({"url": "https://example.com/", "files": {"f": "${id}"}}, "/files", "GET"),
        ({"url": "https://example.com/", "method": "POST", "files": {"f": "${env:K}"}}, "/files/f", "secret"),
        ({"url": "https://example.com/${nobody}"}, "", "not one of the parameters"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_said_when_the_tool_is_made(fields: dict[str, object], pointer: str, says: str) -> None:
    with pytest.raises(Unfit) as found:
        declared(fields, PERSON)
    assert found.value.pointer == pointer
    assert says in str(found.value)


def test_without_the_library_the_answer_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "toolcrib.backends.http_client", raising=False)
    monkeypatch.setitem(sys.modules, "httpcore2", None)
    result, server = ask(tmp_path, answered("ok"))
    assert result.error is not None
    assert (result.error.code, "toolcrib[http]" in result.error.message) == ("ENGINE_NOT_AVAILABLE", True)
    assert server.connections == 0


def test_a_call_is_described_in_its_metadata(tmp_path: Path) -> None:
    result, server = ask(tmp_path, as_json('{"a": 1}'), {"q": "x"})
    about = {name: result.metadata[name] for name in ("method", "url", "status", "bytes", "content_type", "truncated")}
    assert about == {
        "method": "GET", "url": server.url("/?q=x"), "status": 200, "bytes": 8, "content_type": "application/json",
        "truncated": False,
    }  # fmt: skip
