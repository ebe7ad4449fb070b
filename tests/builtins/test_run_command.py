"""`run_command`, alone with a fake context, and through the gate."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins.run_command import run_command
from toolcrib.core.process import Captured, Completed
from toolcrib.testing import ScriptedApprover, ScriptedSandbox, fake_context


def call(home: Path, workspace: Path, args: dict[str, Any], approver: Any = None) -> toolcrib.Result:
    return toolcrib.call_sync("run_command", args, workspace=workspace, home=home, approver=approver)


def test_a_text_goes_to_a_shell_that_takes_nothing_from_the_environment() -> None:
    sandbox = ScriptedSandbox(b"out")
    ctx = fake_context(sandbox=sandbox)
    assert asyncio.run(run_command.backend.run({"command": "ls && ls"}, ctx)) == "out"
    (command,) = sandbox.commands
    assert command.argv[-2:] == ("-c", "ls && ls")
    assert command.cwd == ctx.cwd


def test_words_go_to_no_shell(tmp_path: Path) -> None:
    """I4"""
    program = tmp_path / "show"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    sandbox = ScriptedSandbox(b"")
    ctx = fake_context(sandbox=sandbox, environ={"PATH": f"/nowhere:{tmp_path}"})
    asyncio.run(run_command.backend.run({"argv": ["show", "$(id)", "; rm x", "*"]}, ctx))
    assert sandbox.commands[0].argv == (str(program), "$(id)", "; rm x", "*")


def test_failure_has_the_exit_status_and_both_streams() -> None:
    sandbox = ScriptedSandbox(Completed(3, Captured(b"o", total=1), Captured(b"e", total=1)))
    with pytest.raises(toolcrib.ToolError) as caught:
        asyncio.run(run_command.backend.run({"command": "x"}, fake_context(sandbox=sandbox)))
    assert caught.value.details == {"exit_code": 3, "stdout": "o", "stderr": "e"}


def test_an_answer_that_looks_like_an_error_is_an_answer() -> None:
    sandbox = ScriptedSandbox(b'{"error": "not mine"}')
    answer = asyncio.run(run_command.backend.run({"command": "cat x"}, fake_context(sandbox=sandbox)))
    assert answer == '{"error": "not mine"}'


def test_running_is_asked_about(home: Path, workspace: Path) -> None:
    """G9: the default for what runs something is to ask; a no means that nothing ran."""
    approver = ScriptedApprover(False, True)
    args = {"command": "touch made"}
    assert call(home, workspace, args).error.code == "APPROVAL_REQUIRED"  # type: ignore[union-attr]
    assert call(home, workspace, args, approver).error.code == "APPROVAL_DENIED"  # type: ignore[union-attr]
    assert list(workspace.iterdir()) == []
    assert call(home, workspace, args, approver).success
    assert [each.name for each in workspace.iterdir()] == ["made"]


def test_the_environment_is_the_plain_one(home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K33, K50"""
    monkeypatch.setenv("A_TOKEN", "not for you")
    monkeypatch.setenv("BASH_ENV", str(workspace / "evil"))
    (workspace / "evil").write_text("touch canary\n")
    result = call(home, workspace, {"command": "env"}, toolcrib.SaysYes())
    assert "A_TOKEN" not in result.output
    assert os.environ["PATH"] in result.output
    assert not (workspace / "canary").exists()


@pytest.mark.parametrize(
    "args", [{}, {"command": "a", "argv": ["a"]}, {"argv": []}, {"argv": "ls"}, {"command": ""}, {"command": ["ls"]}]
)
def test_either_a_text_or_words(home: Path, workspace: Path, args: dict[str, Any]) -> None:
    result = call(home, workspace, args, toolcrib.SaysYes())
    assert result.error is not None
    assert result.error.code == "VALIDATION_ERROR"


def test_seed_rules_in_the_configuration(home: Path, workspace: Path) -> None:
    """G3, G4: `toolsets.shell.rules`, where a pattern means tokens."""
    (home / "config.yaml").write_text('toolsets: {shell: {rules: [{pattern: "echo ", approval: preApproved}]}}\n')
    assert call(home, workspace, {"command": "echo a && echo b"}).data == "a\nb\n"
    for text in ("echo a; touch canary", "echo a > canary", "echo $(touch canary)", "echox", "touch canary"):
        assert call(home, workspace, {"command": text}).error.code == "APPROVAL_REQUIRED"  # type: ignore[union-attr]
    assert list(workspace.iterdir()) == []
    missing = toolcrib.call_sync("read_file", {"path": "x"}, workspace=workspace, home=home)
    assert missing.error is not None
    assert missing.error.code == "TOOL_NOT_FOUND"  # only the toolsets that are named are there


def test_nobody_can_approve_what_cannot_be_analysed(home: Path, workspace: Path) -> None:
    for text in ("echo a\rtouch canary", "echo 'a", "echo a;" * 65, "echo " + "a" * 40_000):
        result = call(home, workspace, {"command": text}, toolcrib.SaysYes())
        assert result.error is not None
        assert result.error.code == "COMMAND_NOT_ANALYSABLE"
    assert list(workspace.iterdir()) == []
