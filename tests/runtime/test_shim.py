"""Declarations and one function that returns text, for agents that were written around these two."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins import TOOLS as BUILT_IN
from toolcrib.builtins.delete_file import delete_file
from toolcrib.builtins.read_file import read_file
from toolcrib.builtins.run_command import run_command
from toolcrib.core.errors import Refused, ToolError
from toolcrib.observe.verify import verify

GEMINI = {"type", "description", "properties", "items", "required", "enum"}


@pytest.fixture
def execute(home: Path, workspace: Path) -> Callable[..., str]:
    """`execute(name, args, confirm)` in the workspace of the test."""

    def call(name: str, args: Mapping[str, Any] | None = None, confirm: Any = None, **more: Any) -> str:
        return asyncio.run(toolcrib.execute_tool(name, args, confirm, workspace=workspace, home=home, **more))

    return call


class Person:
    """Answers as it was told, and keeps what it was asked."""

    def __init__(self, answer: Any, *, later: bool = False) -> None:
        self.answer, self.later, self.asked = answer, later, list[str]()

    def __call__(self, message: str) -> bool | Awaitable[bool]:
        self.asked.append(message)
        return self._later() if self.later else self.answer

    async def _later(self) -> bool:
        await asyncio.sleep(0)
        return self.answer  # type: ignore[no-any-return]


# Declarations


def test_the_declarations_are_of_all_built_in_tools() -> None:
    """C5, C49, C26: one object with a list of functions."""
    (declared,) = toolcrib.TOOLS
    assert list(declared) == ["functionDeclarations"]
    named = {each["name"]: each for each in declared["functionDeclarations"]}
    assert set(named) == {tool.name for tool in BUILT_IN}
    for tool in BUILT_IN:
        assert set(named[tool.name]) == {"name", "description", "parameters"}
        assert named[tool.name]["description"] == tool.description
        assert set(named[tool.name]["parameters"]["properties"]) == set(tool.input_schema["properties"])
    json.dumps(toolcrib.TOOLS)


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    yield schema
    for inner in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from schemas(inner)


def test_parameters_are_in_the_dialect_of_gemini() -> None:
    """C7: type, description, properties, items, required and enum; and nothing else, at any depth."""
    (declared,) = toolcrib.TOOLS
    every = [each for tool in declared["functionDeclarations"] for each in schemas(tool["parameters"])]
    assert {key for each in every for key in each} == GEMINI
    assert all(each["type"] in {"object", "string", "integer", "number", "boolean", "array"} for each in every)


# Answers


def test_text_is_given_as_it_is(execute: Any, workspace: Path) -> None:
    """C50"""
    (workspace / "a.txt").write_text('{"a": 1}\nß\n')
    assert execute("read_file", {"path": "a.txt"}) == '{"a": 1}\nß\n'


def test_anything_else_is_pretty_json(execute: Any, workspace: Path) -> None:
    """C50: two spaces, and nothing escaped that need not be."""
    (workspace / "ß").write_text("x")
    said = execute("list_files")
    assert said == json.dumps(json.loads(said), indent=2, ensure_ascii=False) and "\n  " in said and "ß" in said


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("no_such_tool", {}, "Error: Unknown tool: no_such_tool"),
        ("read_file", {}, "Error: Invalid parameters"),
        ("read_file", {"path": "../x"}, "Error: read_file is blocked: ../x is outside the workspace"),
    ],
)
def test_what_went_wrong_is_an_error_in_words(execute: Any, name: str, args: dict[str, Any], message: str) -> None:
    """C50"""
    assert execute(name, args) == message


def test_a_missing_file_is_an_error(execute: Any) -> None:
    assert execute("read_file", {"path": "a"}).startswith("Error: ")


# Asking


@pytest.mark.parametrize("later", [False, True])
def test_confirm_is_asked_where_a_person_would_be(execute: Any, workspace: Path, later: bool) -> None:
    """C49: whether it answers at once or later; it sees what is about to happen."""
    person = Person(True, later=later)
    assert execute("write_file", {"path": "a", "content": "x"}, person).startswith("wrote 1 byte")
    assert (workspace / "a").read_text() == "x"
    (asked,) = person.asked
    assert asked.startswith('write_file {"path":"a","content":"x"}: ')


@pytest.mark.parametrize("answer", [False, None, 0, 1, "yes", "True", [True]])
def test_all_but_a_plain_yes_is_no(execute: Any, workspace: Path, answer: Any) -> None:
    said = execute("write_file", {"path": "a", "content": "x"}, Person(answer))
    assert said == "Error: write_file was not approved (confirm)" and os.listdir(workspace) == []


def test_without_confirm_nobody_says_yes(execute: Any, workspace: Path) -> None:
    said = execute("write_file", {"path": "a", "content": "x"})
    assert said.startswith("Error: write_file needs approval") and os.listdir(workspace) == []


def test_a_confirm_that_fails_is_no(execute: Any, workspace: Path) -> None:
    def broken(message: str) -> bool:
        raise OSError("no terminal")

    assert execute("write_file", {"path": "a", "content": "x"}, broken).startswith("Error: ")
    assert os.listdir(workspace) == []


def test_what_is_blocked_is_not_asked_about(execute: Any, home: Path, workspace: Path) -> None:
    (home / "policy.yaml").write_text("rules:\n  - {tool: write_file, approval: blocked}\n")
    person = Person(True)
    assert "blocked" in execute("write_file", {"path": "a", "content": "x"}, person)
    assert person.asked == [] and os.listdir(workspace) == []


def test_a_yes_is_for_one_call(execute: Any) -> None:
    person = Person(True)
    for _ in range(2):
        execute("write_file", {"path": "a", "content": "x"}, person)
    assert len(person.asked) == 2


def test_control_characters_are_spelled_out_for_who_draws_them(execute: Any) -> None:
    person = Person(False)
    execute("write_file", {"path": "a\x1b[2J\r", "content": "\u202e"}, person)
    assert person.asked[0].isascii() and person.asked[0].isprintable()


def test_every_call_is_recorded(execute: Any, home: Path) -> None:
    """C6: the function goes through the executor, as every door does."""
    execute("list_files")
    execute("write_file", {"path": "a", "content": "x"}, Person(False))
    (log,) = (home / "audit").glob("*.jsonl")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(each["tool"], each["asker"]) for each in records if each["event"] == "call"] == [
        ("list_files", "execute_tool"),
        ("write_file", "execute_tool"),
    ]
    assert verify(str(home / "audit")).fault is None


def test_the_users_own_tools_and_profiles_can_be_used(execute: Any, home: Path, make_tool: Any) -> None:
    make_tool(
        "hello",
        "#!/bin/sh\ncase $1 in description) "
        """echo '{"name": "hello", "description": "x", "input_schema": {"type": "object"}}';; run) echo hi;; esac\n""",
    )
    assert execute("custom_tool_hello", {}, Person(True)) == "hi\n"
    (home / "profiles").mkdir()
    (home / "profiles" / "p.yaml").write_text("sources: {without: [custom_tool_hello]}\n")
    assert execute("custom_tool_hello", {}, Person(True), profile="p") == "Error: Unknown tool: custom_tool_hello"


def test_what_would_go_on_after_the_call_is_refused(execute: Any, workspace: Path) -> None:
    """A crib is closed with its call, and would take the command with it."""
    if "background" not in run_command.input_schema["properties"]:
        pytest.skip("there are no commands in the background")
    said = execute("run_command", {"command": "touch ran", "background": True}, Person(True))
    assert said == "Error: Invalid parameters" and os.listdir(workspace) == []


def test_importing_the_package_does_not_make_the_declarations() -> None:
    code = "import sys, toolcrib; assert 'toolcrib.runtime.shim' not in sys.modules; toolcrib.TOOLS"
    subprocess.run([sys.executable, "-c", code], check=True)


# A context of one's own


def alone(tool: Any, args: dict[str, Any], ctx: toolcrib.Context) -> Any:
    return asyncio.run(tool.backend.run(args, ctx))


def test_a_default_context_is_enough_to_run_a_tool(workspace: Path) -> None:
    """C48, C56, C20: a tool, its arguments and a context; no agent, no configuration, no home."""
    (workspace / "a.txt").write_text("hello\n")
    ctx = toolcrib.create_default_context(workspace)
    assert alone(read_file, {"path": "a.txt"}, ctx) == "hello\n"
    assert ctx.cwd == str(workspace) and ctx.report["bytes_read"] >= 6
    alone(delete_file, {"path": "a.txt"}, ctx)
    assert os.listdir(workspace) == []


def test_the_workspace_is_where_one_stands(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    assert toolcrib.create_default_context().cwd == str(workspace)


@pytest.mark.parametrize("path", ["../secret", "link", "/etc/passwd"])
def test_its_files_are_guarded(tmp_path: Path, workspace: Path, path: str) -> None:
    (tmp_path / "secret").write_text("s")
    (workspace / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(ToolError) as caught:
        alone(read_file, {"path": path}, toolcrib.create_default_context(workspace))
    assert caught.value.code == "PATH_OUTSIDE_WORKSPACE"


def test_it_starts_nothing_and_calls_nothing(workspace: Path) -> None:
    """What has no gate in front of it has no hands either."""
    ctx = toolcrib.create_default_context(workspace)
    with pytest.raises(Refused) as refused:
        alone(run_command, {"command": "touch ran"}, ctx)
    assert refused.value.code == "SANDBOX_UNAVAILABLE" and "toolcrib.open()" in str(refused.value)
    with pytest.raises(ToolError, match=r"toolcrib\.open\(\)"):
        asyncio.run(ctx.call("run_command", {"command": "touch ran"}))
    assert os.listdir(workspace) == []


def test_it_asks_whom_it_was_given(workspace: Path) -> None:
    person = Person(True, later=True)
    assert asyncio.run(toolcrib.create_default_context(workspace, confirm=person).confirm("Sure?")) is True
    assert person.asked == ["Sure?"]
    assert asyncio.run(toolcrib.create_default_context(workspace).confirm("Sure?")) is False


def test_it_logs_where_python_logs(workspace: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = toolcrib.create_default_context(workspace).log
    with caplog.at_level("DEBUG", logger="toolcrib.tool"):
        for write in (log.debug, log.info, log.warn, log.error):
            write("50 %")
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        (level, "50 %") for level in ("DEBUG", "INFO", "WARNING", "ERROR")
    ]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("read_file", {"path": "a.txt"}),
        ("list_files", {}),
        ("file_info", {"path": "a.txt"}),
        ("read_file", {"path": "b"}),
    ],
)
def test_the_old_way_and_the_new_one_give_the_same(
    execute: Any, home: Path, workspace: Path, name: str, args: dict[str, Any]
) -> None:
    """C5, C51: an agent can move from one to the other call by call."""
    (workspace / "a.txt").write_text("hello\n")
    new = toolcrib.call_sync(name, args, workspace=workspace, home=home)
    old = execute(name, args)
    if new.error is not None:
        assert old == f"Error: {new.error.message}"
    else:
        assert old == new.data if isinstance(new.data, str) else json.loads(old) == new.data
