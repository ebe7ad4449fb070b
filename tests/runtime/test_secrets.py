"""Secrets on their way through the whole runtime: who gets them, and that nobody sees them."""

import asyncio
import base64
import json
import os
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.policy.grants import Grants
from toolcrib.runtime.config import Config
from toolcrib.runtime.gate import Vault

SECRET = 'tc/Sec+ret "quoted" \u00fc-4711'
TOOL = """#!/usr/bin/env python3
import base64, json, os, sys, urllib.parse
if sys.argv[1] == "description":
    print(json.dumps({"name": "NAME", "description": "Say it.", "input_schema": {"type": "object"}}))
    sys.exit()
value = os.environ.get("API_KEY", "")
BODY
"""


def forms(value: str) -> list[bytes]:
    raw = value.encode()
    return [
        raw,
        base64.b64encode(raw).rstrip(b"="),
        base64.urlsafe_b64encode(raw).rstrip(b"="),
        urllib.parse.quote(value).encode(),
        urllib.parse.quote_plus(value).encode(),
        json.dumps(value)[1:-1].encode(),
        json.dumps(value, ensure_ascii=False)[1:-1].encode(),
    ]


def seen_in(directory: Path) -> list[str]:
    """Files below a directory in which the secret stands, in any of its forms."""
    files = [each for each in directory.rglob("*") if each.is_file()]
    return [str(each) for each in files if any(form in each.read_bytes() for form in forms(SECRET))]


@pytest.fixture(autouse=True)
def nothing_is_left(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """However a test ends, no file of the home holds the secret."""
    monkeypatch.setenv("API_KEY", SECRET)
    yield
    assert seen_in(home) == []


@pytest.fixture
def say(home: Path, workspace: Path, make_tool: Any) -> Any:
    """`say(body, config)` runs a tool that does `body` with `value`, the variable it may or may not have."""

    def run(body: str, config: str = "tools: {custom_tool_say: {secrets: [API_KEY]}}", **more: Any) -> toolcrib.Result:
        make_tool("say", TOOL.replace("NAME", "say").replace("BODY", body))
        (home / "config.yaml").write_text(config + "\n")
        args = more.pop("args", {})
        more.setdefault("approver", toolcrib.SaysYes())
        return toolcrib.call_sync("custom_tool_say", args, workspace=workspace, home=home, **more)

    return run


def test_a_tool_gets_what_the_user_allows_it(say: Any) -> None:
    """A39, K50"""
    assert say("print(len(value))").data == f"{len(SECRET)}\n"


@pytest.mark.parametrize(
    "config",
    [
        "",
        "tools: {custom_tool_other: {secrets: [API_KEY]}}",
        "tools: {custom_tool_say: {secrets: [OTHER]}}",
        "tools: {say: {secrets: [API_KEY]}}",
    ],
)
def test_nobody_else_does(say: Any, config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER", "another value")
    assert say("print([value])", config).data == "['']\n"


FORMS = [
    "print(value)",
    "print('[' + value + ']')",
    "print(base64.b64encode(value.encode()).decode())",
    "print(base64.b64encode(b'x' + value.encode() + b'yz').decode())",
    "print(base64.urlsafe_b64encode(b'ab' + value.encode()).decode())",
    "print(urllib.parse.quote(value))",
    "print(urllib.parse.quote_plus(value))",
    "print(urllib.parse.quote(value, safe=''))",
    "print(json.dumps({'key': value}))",
    "print(json.dumps({'key': value}, ensure_ascii=False))",
    "print(value.encode().hex())",
    "sys.stdout.write(''.join(value[i] + '' for i in range(len(value))))",
]


@pytest.mark.parametrize("body", FORMS)
@pytest.mark.parametrize("stream", ["stdout", "stderr", "failure"])
def test_it_is_in_no_answer(say: Any, body: str, stream: str) -> None:
    """I6: output, errors and what goes with them."""
    if stream != "stdout":
        body = f"sys.stdout = sys.stderr\\n{body}".replace("\\n", "\n")
    if stream == "failure":
        body += "\nsys.exit(3)"
    result = say(body)
    text = json.dumps(result.to_dict(), ensure_ascii=False).encode()
    assert not any(form in text for form in forms(SECRET))
    assert SECRET.encode().hex() not in text.decode()
    assert b"[redacted:API_KEY]" in text


def test_it_is_in_no_answer_when_it_comes_in_pieces(say: Any) -> None:
    result = say("""
import time
for char in value:
    sys.stdout.write(char); sys.stdout.flush(); time.sleep(0.004)
""")
    assert result.data == "[redacted:API_KEY]"


def test_it_is_in_no_artifact(say: Any, home: Path) -> None:
    """What is too long to show is kept whole, and without secrets."""
    result = say("print(('x' * 997 + value) * 300)")
    (artifact,) = result.metadata["artifacts"]
    kept = Path(artifact["path"]).read_bytes()
    assert kept.count(b"[redacted:API_KEY]") == 300
    assert artifact["bytes"] == len(kept)
    assert seen_in(home) == []


def test_it_is_not_in_the_record_or_the_approval(say: Any, home: Path, workspace: Path) -> None:
    """Arguments that hold it (a model was told it, somehow) are neither recorded nor stored."""
    say("print(1)", args={"key": SECRET}, approver=None)
    say("print(value)", args={SECRET: 1})
    assert (home / "audit").exists()
    assert seen_in(home) == []


def test_a_running_tool_can_log_ask_and_report_without_showing_it(home: Path, workspace: Path) -> None:
    (home / "config.yaml").write_text("tools: {talk: {secrets: [API_KEY]}}\n")
    asked: list[str] = []
    told: list[Any] = []

    class Listening:
        async def approve(self, question: toolcrib.Question) -> toolcrib.Answer:
            asked.append(str(question.message))
            return toolcrib.Answer(allowed=True, by="test")

    @toolcrib.tool
    async def talk(ctx: toolcrib.Context) -> dict[str, Any]:
        """Talk."""
        value = os.environ["API_KEY"]
        ctx.log.info(f"using {value}")
        ctx.progress(1, 2, f"with {value}")
        await ctx.confirm(f"send {value}?")
        if asked:
            return {"nested": [{value: value}], "more": f"x{value}y"}
        raise AssertionError

    async def use() -> toolcrib.Result:
        async with toolcrib.open(workspace=workspace, home=home, tools=[talk], approver=Listening()) as crib:
            return await crib.call("talk", {}, progress=lambda *step: told.append(step))

    result = asyncio.run(use())
    assert result.success
    everything = json.dumps([result.to_dict(), asked, told], ensure_ascii=False)
    assert SECRET not in everything
    assert json.dumps(SECRET, ensure_ascii=False)[1:-1] not in everything
    assert everything.count("[redacted:API_KEY]") == 5


def test_an_exception_does_not_show_it(home: Path, workspace: Path) -> None:
    (home / "config.yaml").write_text("tools: {fail: {secrets: [API_KEY]}}\n")

    @toolcrib.tool
    def fail() -> str:
        """Fail."""
        raise ValueError(f"401 for {os.environ['API_KEY']}")

    result = toolcrib.call_sync("fail", {}, workspace=workspace, home=home, tools=[fail])
    assert result.error is not None
    assert result.error.message == "401 for [redacted:API_KEY]"


def test_variables_made_from_secrets(say: Any) -> None:
    """`${env:NAME}`: only what is allowed, expanded once, at the moment of use."""
    config = "tools: {custom_tool_say: {secrets: [API_KEY], env: {TOKEN: 'Bearer ${env:API_KEY}', PLAIN: x}}}"
    body = "print(len(os.environ['TOKEN']), os.environ['TOKEN'][:7], os.environ['PLAIN'], 'API_KEY' in os.environ)"
    assert say(body, config).data == f"{len(SECRET) + 7} Bearer  x False\n"
    assert "[redacted:API_KEY]" in say("print(os.environ['TOKEN'])", config).data


@pytest.mark.parametrize("template", ["${env:API_KEY}", "${env:OTHER}", "x${env:HOME}y"])
def test_a_template_names_only_what_is_allowed(say: Any, workspace: Path, template: str) -> None:
    result = say("open('canary', 'w')", f"tools: {{custom_tool_say: {{env: {{TOKEN: '{template}'}}}}}}")
    assert result.error is not None
    assert result.error.code == "ENV_NOT_ALLOWED"
    assert "tools: {custom_tool_say: {secrets: [" in result.error.message
    assert list(workspace.iterdir()) == []


def test_a_value_is_not_expanded_again(say: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTER", "${env:API_KEY}")
    config = "tools: {custom_tool_say: {secrets: [OUTER], env: {TOKEN: '<${env:OUTER}>'}}}"
    assert say("print(len(os.environ['TOKEN']))", config).data == f"{len('<${env:API_KEY}>')}\n"


def test_what_is_not_set_is_said_before_anything_runs(say: Any, workspace: Path) -> None:
    result = say("open('canary', 'w')", "tools: {custom_tool_say: {secrets: [NOT_SET_ANYWHERE]}}")
    assert result.error is not None
    assert result.error.code == "ENV_NOT_ALLOWED"
    assert "NOT_SET_ANYWHERE" in result.error.message
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize(
    "config",
    [
        "tools: {x: {env: {TOKEN: '${env:'}}}",
        "tools: {x: {env: {TOKEN: '${env:bad name}'}}}",
        "tools: {x: {env: {'BAD NAME': x}}}",
        "tools: {x: {env: {TOKEN: 1}}}",
        "tools: {x: {secrets: API_KEY}}",
        "tools: {x: {secrets: ['1x']}}",
        "tools: {x: {secrets: {API_KEY: ['https://a']}}}",
    ],
)
def test_what_is_wrong_with_secrets_in_the_configuration(say: Any, config: str) -> None:
    with pytest.raises(toolcrib.ConfigError, match=r"config.yaml:1: tools"):
        say("pass", config)


def test_a_project_gives_no_secrets(home: Path, workspace: Path, make_tool: Any, run_cli: Any) -> None:
    """A project may only tighten: what it would give is ignored and reported."""
    make_tool("say", TOOL.replace("NAME", "say").replace("BODY", "print([value])"))
    project = workspace / ".toolcrib"
    project.mkdir()
    (project / "config.yaml").write_text(
        "tools: {custom_tool_say: {secrets: [API_KEY], env: {TOKEN: '${env:API_KEY}'}}}\n"
    )
    assert run_cli("trust", "--yes").returncode == 0
    said = run_cli("call", "say", "--yes", "--json", env={"API_KEY": SECRET})
    assert json.loads(said.stdout)["data"] == "['']\n"
    problems = json.loads(run_cli("list", "--json").stdout)["problems"]
    assert sum("would loosen" in problem["message"] for problem in problems) == 2


def test_a_variable_that_looks_secret_is_hidden_too(say: Any) -> None:
    config = "tools: {custom_tool_say: {env: [API_KEY]}}"
    assert say("print(value)", config).data == "[redacted:API_KEY]\n"


def test_without_secrets_nothing_is_hidden(home: Path) -> None:
    vault = Vault(Config(), {"API_KEY": SECRET}, Grants(str(home / "grants.json"), lambda data: None))
    value = {"a": [SECRET]}
    assert vault.conceal(value) is value
    assert vault.filter() is None


def test_the_prompt_names_secrets_and_shows_none(say: Any) -> None:
    asked: list[Any] = []

    class Reading:
        async def approve(self, question: Any) -> toolcrib.Answer:
            asked.append(question.request.to_dict())
            return toolcrib.Answer(allowed=False, by="test")

    say("print(value)", args={"key": SECRET}, approver=Reading())
    assert asked[0]["secrets"] == ["API_KEY"]
    assert SECRET not in json.dumps(asked, ensure_ascii=False)
