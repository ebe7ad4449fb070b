"""The whole way of a tool by the command line alone, and `toolcrib build`."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

WANTED = {
    "name": "shout",
    "description": "Say it loudly.",
    "language": "bash",
    "parameters": [{"name": "text", "required": True}],
}
SOURCE = """#!/bin/sh
for word in "$@"; do case $word in --text=*) printf '%s!\\n' "${word#--text=}" | tr a-z A-Z ;; esac; done
"""
MANIFEST = """\
name: shout
description: Say it loudly.
version: "0.2.0"
entrypoint: shout.sh
parameters:
  - {name: text, type: string, required: true}
examples:
  - {name: loud, input: {text: hello}, exit: 0, output: "HELLO!\\n"}
"""


def call(run_cli: Any, tool: str, args: dict[str, Any], *flags: str) -> Any:
    return run_cli("call", tool, "--input", json.dumps(args), *flags)


def test_from_the_first_wish_to_the_last(run_cli: Any, home: Path) -> None:
    """F1, F5, F26, F32, F36, F38: create, edit, build, test, use, change, delete."""
    made = call(run_cli, "create_custom_tool", WANTED, "--yes", "--json")
    folder = json.loads(made.stdout)["data"]["folder"]
    for name, content in (("shout.sh", SOURCE), ("tool.yaml", MANIFEST)):
        written = call(run_cli, "write_file", {"path": f"{folder}/{name}", "content": content}, "--yes")
        assert written.returncode == 0, written.stderr
    built = run_cli("build", "shout", "--yes")
    assert (built.returncode, "needs no build" in built.stdout) == (0, True)
    tested = run_cli("test", "shout", "--yes", "--cases", "3")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert run_cli("call", "shout", "--text", "hello", "--yes").stdout == "HELLO!\n"
    ran = call(run_cli, "run_custom_tool", {"tool_name": "shout", "arguments": {"text": "hi"}}, "--yes")
    assert ran.stdout == "HI!\n"
    listed = json.loads(call(run_cli, "list_custom_tools", {}).stdout)
    assert [(tool["name"], tool["version"]) for tool in listed["tools"]] == [("custom_tool_shout", "0.2.0")]
    before = json.loads(run_cli("show", "shout", "--json").stdout)["digest"]
    call(run_cli, "write_file", {"path": f"{folder}/shout.sh", "content": SOURCE.replace("%s!", "%s!!")}, "--yes")
    assert json.loads(run_cli("show", "shout", "--json").stdout)["digest"] != before
    assert run_cli("call", "shout", "--text", "hello", "--yes").stdout == "HELLO!!\n"
    assert call(run_cli, "delete_custom_tool", {"name": "shout"}, "--yes").returncode == 0
    assert run_cli("call", "shout", "--text", "hello", "--yes").returncode == 4
    assert list((home / "tools").iterdir()) == []


@pytest.mark.parametrize("verb", ["create", "build", "delete", "write"])
def test_without_a_terminal_there_is_nobody_to_say_yes(run_cli: Any, home: Path, verb: str) -> None:
    """F34, F35."""
    if verb != "create":
        assert call(run_cli, "create_custom_tool", WANTED, "--yes").returncode == 0
    before = {path: path.read_bytes() for path in home.glob("tools/**/*") if path.is_file()}
    path = str(home / "tools/shout/shout.sh")
    done = {
        "create": lambda: call(run_cli, "create_custom_tool", WANTED),
        "build": lambda: run_cli("build", "shout"),
        "delete": lambda: call(run_cli, "delete_custom_tool", {"name": "shout"}),
        "write": lambda: call(run_cli, "write_file", {"path": path, "content": "evil"}),
    }[verb]()
    assert (done.returncode, done.stderr.split()[0]) == (3, "APPROVAL_REQUIRED")
    assert {path: path.read_bytes() for path in home.glob("tools/**/*") if path.is_file()} == before


def test_at_a_terminal_the_place_is_shown_and_a_no_writes_nothing(terminal: Any, home: Path) -> None:
    """F34, F35."""
    at = terminal("call", "create_custom_tool", "--name", "shout", "--description", "Say it\x1b[2Jloudly.")
    shown = at.read_until("[y/N] ")
    assert f"makes        | {home}/tools/shout" in shown
    assert "with your rights, the network too" in shown
    assert "Say it\\u001b[2Jloudly." in shown and "\x1b[2J" not in shown
    at.send("n\n")
    assert at.finish() == 3
    assert not (home / "tools").exists()


@pytest.mark.skipif(not shutil.which("go"), reason="there is no Go compiler here")
def test_build_compiles(run_cli: Any, home: Path) -> None:
    """F24, F25."""
    assert call(run_cli, "create_custom_tool", {**WANTED, "language": "go"}, "--yes").returncode == 0
    assert run_cli("call", "shout", "--text", "x", "--yes").returncode != 0
    built = run_cli("build", "custom_tool_shout", "--yes", "--json")
    result = json.loads(built.stdout)
    assert (built.returncode, result["success"], result["metadata"]["tool"]) == (0, True, "build_custom_tool")
    assert "go build -o shout shout.go" in result["data"]
    assert run_cli("call", "shout", "--text", "x", "--yes").returncode == 0
    (home / "tools/shout/shout.go").write_text("package main\nfunc main() { nothing() }\n")
    failed = run_cli("build", "shout", "--yes")
    assert (failed.returncode, "undefined: nothing" in failed.stderr) == (1, True)


def test_what_is_not_there_cannot_be_built(run_cli: Any) -> None:
    done = run_cli("build", "nothing", "--yes")
    assert (done.returncode, done.stderr.split()[0]) == (4, "TOOL_NOT_FOUND")
    done = run_cli("build", "../x", "--yes", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, "VALIDATION_ERROR")


def test_help_has_an_example(run_cli: Any) -> None:
    shown = run_cli("build", "--help")
    assert (shown.returncode, "toolcrib build word_count" in shown.stdout) == (0, True)
