"""`run_custom_tool`: another tool by its name, never past the gate."""

import json
import os

import pytest

HELLO = """#!/bin/sh
case $1 in
  description) echo '{"name": "hello", "description": "Greet.", "input_schema": {"type": "object",
    "properties": {"name": {"type": "string"}}, "additionalProperties": false}}' ;;
  run) : > "$TOOLCRIB_WORKSPACE/ran"; cat; echo aside >&2 ;;
esac
"""


@pytest.fixture
def hello(shop, make_tool):
    make_tool("hello", HELLO)
    return shop


def records(shop):
    lines = [line for file in sorted((shop.home / "audit").glob("*.jsonl")) for line in file.read_text().splitlines()]
    return [each for each in map(json.loads, lines) if each["event"] == "call"]


@pytest.mark.parametrize("name", ["hello", "custom_tool_hello"])
def test_by_its_bare_or_its_whole_name(hello, name) -> None:
    """F7, F8, F9, F21: what it printed, its stderr and its exit status."""
    result = hello.call("run_custom_tool", {"tool_name": name, "arguments": {"name": "Bob"}})
    assert result.data == '{"name":"Bob"}'
    assert (result.exit_code, result.metadata["stderr"]) == (0, "aside\n")


def test_it_is_asked_about_and_recorded_as_itself(hello) -> None:
    """F20, F38, X7."""
    hello.call("run_custom_tool", {"tool_name": "hello"})
    assert hello.person.names == ["custom_tool_hello"]
    inner, outer = records(hello)
    assert (inner["tool"], inner["asker"], inner["approval"]) == ("custom_tool_hello", "tool run_custom_tool", "ask")
    assert (outer["tool"], outer["approval"], outer["custom_tool"]) == (
        "run_custom_tool", "preApproved", "custom_tool_hello"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("config", "refuses", "code"),
    [
        ("", ("custom_tool_hello",), "APPROVAL_DENIED"),
        ("approval: {tools: {custom_tool_hello: blocked}}", (), "BLOCKED_BY_POLICY"),
        ("approval: {tools: {run_custom_tool: blocked}}", (), "BLOCKED_BY_POLICY"),
        ("approval: {default: blocked}", (), "BLOCKED_BY_POLICY"),
    ],
)
def test_it_is_no_way_around_a_no(hello, config, refuses, code) -> None:
    (hello.home / "config.yaml").write_text(config)
    hello.person.refuses = refuses
    result = hello.call("run_custom_tool", {"tool_name": "hello"})
    assert result.error.code == code
    assert not (hello.workspace / "ran").exists()


def test_to_allow_it_allows_nothing_else(hello) -> None:
    (hello.home / "config.yaml").write_text("approval: {tools: {run_custom_tool: preApproved}}")
    hello.person.refuses = ("custom_tool_hello",)
    assert hello.call("run_custom_tool", {"tool_name": "hello"}).error.code == "APPROVAL_DENIED"
    assert not (hello.workspace / "ran").exists()


def test_wrong_arguments_are_the_called_tool_s_to_refuse(hello) -> None:
    result = hello.call("run_custom_tool", {"tool_name": "hello", "arguments": {"name": 5}})
    assert (result.error.code, result.error.details[0]["pointer"]) == ("VALIDATION_ERROR", "/name")
    assert hello.person.asked == []
    assert not (hello.workspace / "ran").exists()


def test_a_failure_is_passed_on_whole(shop, make_tool) -> None:
    """F21, F39."""
    make_tool("hello", HELLO.replace("cat;", "echo part; echo why >&2; exit 7;"))
    result = shop.call("run_custom_tool", {"tool_name": "hello"})
    assert (result.error.code, result.exit_code) == ("EXECUTION_ERROR", 7)
    assert result.error.details == {"exit_code": 7, "stdout": "part\n", "stderr": "why\n"}
    assert "custom_tool_hello failed with exit status 7: why" in result.error.message


def test_it_takes_no_longer_than_it_is_given(shop, make_tool) -> None:
    """F10, F39."""
    make_tool("hello", HELLO.replace("cat;", "sleep 60;"))
    result = shop.call("run_custom_tool", {"tool_name": "hello", "timeout": 0.3})
    assert (result.error.code, result.error.details["seconds"]) == ("TIMEOUT", 0.3)


def test_nobody_is_given_more_time_than_the_user_says(shop, make_tool) -> None:
    make_tool("hello", HELLO.replace("cat;", "sleep 60;"))
    (shop.home / "config.yaml").write_text("tools: {custom_tool_hello: {timeout: 300ms}}")
    result = shop.call("run_custom_tool", {"tool_name": "hello", "timeout": 60})
    assert (result.error.code, result.error.details["seconds"]) == ("TIMEOUT", 0.3)


@pytest.mark.parametrize("seconds", [0, -1, 3601, "5", None])
def test_a_limit_is_a_number_of_seconds_up_to_an_hour(hello, seconds) -> None:
    result = hello.call("run_custom_tool", {"tool_name": "hello", "timeout": seconds})
    assert result.error.code == "VALIDATION_ERROR"
    assert not (hello.workspace / "ran").exists()


@pytest.mark.parametrize("name", ["read_file", "run_command", "run_custom_tool"])
def test_other_tools_are_called_directly(hello, name) -> None:
    result = hello.call("run_custom_tool", {"tool_name": name, "arguments": {"command": "touch ran", "path": "x"}})
    assert (result.error.code, "call it directly" in result.error.message) == ("TOOL_NOT_FOUND", True)
    assert not (hello.workspace / "ran").exists()


def test_who_is_not_there_is_told_who_is(hello) -> None:
    result = hello.call("run_custom_tool", {"tool_name": "helo"})
    assert (result.error.code, result.error.details) == ("TOOL_NOT_FOUND", {"nearest": ["custom_tool_hello"]})


def test_a_name_that_an_untrusted_project_holds_answers_so(shop) -> None:
    program = shop.workspace / ".toolcrib/tools/evil"
    program.parent.mkdir(parents=True)
    program.write_text(HELLO)
    os.chmod(program, 0o755)
    result = shop.call("run_custom_tool", {"tool_name": "evil"})
    assert result.error.code == "WORKSPACE_UNTRUSTED"
    assert not (shop.workspace / "ran").exists()
