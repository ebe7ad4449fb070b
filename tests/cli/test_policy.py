"""`toolcrib policy`: explain and check, at the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

POLICY = """
rules:
  - id: look
    command: "git status|log"
    approval: preApproved
  - command: git push
    approval: ask
    reason: I want to see it
  - id: never
    command: git push --force
    approval: blocked
"""


def explain(run_cli: Any, name: str, args: Any, *more: str) -> dict[str, Any]:
    done = run_cli("policy", "explain", name, "--input", json.dumps(args), "--json", *more)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_it_says_what_decides_and_in_which_line(run_cli: Any, home: Path) -> None:
    (home / "policy.yaml").write_text(POLICY)
    found = explain(run_cli, "run_command", {"command": "git status && git push --force"})
    assert (found["decision"], found["rule"]) == ("blocked", f"{home}/policy.yaml:9 (never)")
    spoken = [
        (layer["about"], layer["layer"], layer["decision"], layer["decides"])
        for layer in found["layers"]
        if layer["decision"] and layer["layer"] == "user policy"
    ]
    assert spoken == [
        ("command git status", "user policy", "preApproved", True),
        ("command git push --force", "user policy", "ask", False),
        ("command git push --force", "user policy", "blocked", True),
    ]
    assert {layer["layer"] for layer in found["layers"]} == {
        "user policy", "project policy", "toolsets", "config", "toolset", "tool", "analysis", "default",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "args", "decision", "reason"),
    [
        ("run_command", {"command": "git log --oneline"}, "preApproved", "(look)"),
        ("run_command", {"argv": ["git", "status"]}, "preApproved", "(look)"),
        ("run_command", {"command": "git push origin"}, "ask", "I want to see it"),
        ("run_command", {"command": "git status; $(x)"}, "ask", "substitution"),
        ("run_command", {"command": "git status\rrm x"}, "blocked", "U+000D"),
        ("read_file", {"path": "x"}, "preApproved", "reading in the workspace"),
        ("read_file", {"path": "../x"}, "blocked", "outside the workspace"),
        ("write_file", {"path": "x", "content": ""}, "ask", "writing in the workspace"),
        ("write_file", {"path": ".git/x", "content": ""}, "blocked", "protected"),
    ],
)
def test_decisions(run_cli: Any, home: Path, name: str, args: Any, decision: str, reason: str) -> None:
    (home / "policy.yaml").write_text(POLICY)
    found = explain(run_cli, name, args)
    assert found["decision"] == decision
    assert reason in found["reason"]


def test_a_person_reads_it_in_eighty_columns(run_cli: Any, home: Path) -> None:
    (home / "policy.yaml").write_text(POLICY)
    args = {"command": "git push --force origin 'a\u202eb' \x1b[31m"[:34]}
    done = run_cli("policy", "explain", "run_command", "--input", json.dumps(args), env={"COLUMNS": "80"})
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\u202e" not in done.stdout
    assert "\\u202e" in done.stdout


def test_nothing_runs_and_nothing_is_recorded(run_cli: Any, home: Path, workspace: Path) -> None:
    explain(run_cli, "run_command", {"command": "touch canary"})
    assert list(workspace.iterdir()) == []
    assert not (home / "audit").exists() or "touch" not in str(list((home / "audit").iterdir()))


@pytest.mark.parametrize(
    ("argv", "status", "says"),
    [
        (("explain", "nope"), 4, "Unknown tool"),
        (("explain", "read_file", "--input", "{"), 2, "not valid JSON"),
        (("explain", "read_file", "--input", '{"pth": 1}'), 2, "VALIDATION_ERROR"),
        (("nope",), 2, "known are check, explain, approvals, revoke"),
        ((), 2, ""),
    ],
)
def test_what_is_wrong_is_said(run_cli: Any, argv: tuple[str, ...], status: int, says: str) -> None:
    done = run_cli("policy", *argv)
    assert done.returncode == status
    assert says in done.stderr


def test_a_wrong_rule_stops_everything_with_its_line(run_cli: Any, home: Path, workspace: Path) -> None:
    """I9: no call is decided by half a policy."""
    (home / "policy.yaml").write_text("rules:\n- {command: ls, approval: preApproved, match: [rm x]}\n")
    for argv in (("policy", "check"), ("call", "read_file", "--path", "x"), ("list",), ("serve", "mcp")):
        done = run_cli(*argv)
        assert done.returncode == 2, argv
        assert "policy.yaml:2: match" in done.stderr


def test_check_finds_what_is_odd(run_cli: Any, home: Path) -> None:
    (home / "policy.yaml").write_text(
        "rules:\n- {command: python, approval: preApproved}\n- {tool: x, approval: ask}\n"
    )
    done = run_cli("policy", "check")
    assert done.returncode == 1
    assert "policy.yaml:2: interpreter: `python` pre-approves an interpreter" in done.stdout
    assert "policy.yaml:3: dead: no tool on offer is meant by it" in done.stdout
    said = json.loads(run_cli("policy", "check", "--json").stdout)
    assert (said["rules"], [each["kind"] for each in said["findings"]]) == (2, ["interpreter", "dead"])


def test_check_of_a_good_policy(run_cli: Any, home: Path) -> None:
    (home / "policy.yaml").write_text(POLICY)
    done = run_cli("policy", "check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "3 rules, 0 findings\n")


def test_a_project_policy_only_tightens(run_cli: Any, home: Path, workspace: Path) -> None:
    """G14; a rule of a project that pre-approves is ignored and reported."""
    project = workspace / ".toolcrib"
    project.mkdir()
    (project / "policy.yaml").write_text(
        "rules:\n- {command: rm, approval: preApproved}\n- {tool: read_file, approval: blocked}\n"
    )
    assert explain(run_cli, "read_file", {"path": "x"})["decision"] == "preApproved"  # not trusted: not read
    assert run_cli("trust", "--yes").returncode == 0
    found = explain(run_cli, "read_file", {"path": "x"})
    assert (found["decision"], found["rule"]) == ("blocked", f"{workspace}/.toolcrib/policy.yaml:3")
    assert explain(run_cli, "run_command", {"command": "rm x"})["decision"] == "ask"
    problems = json.loads(run_cli("list", "--json").stdout)["problems"]
    assert ["cannot pre-approve" in problem["message"] for problem in problems] == [True]


def test_a_changed_project_policy_stays_as_it_was_trusted(run_cli: Any, home: Path, workspace: Path) -> None:
    """A project can only tighten, so changing or removing its rules must not loosen anything."""
    project = workspace / ".toolcrib"
    project.mkdir()
    policy = project / "policy.yaml"
    policy.write_text("rules:\n- {tool: read_file, approval: blocked}\n")
    assert run_cli("trust", "--yes").returncode == 0
    policy.write_text("rules: []\n")
    assert explain(run_cli, "read_file", {"path": "x"})["decision"] == "blocked"
    policy.unlink()
    assert explain(run_cli, "read_file", {"path": "x"})["decision"] == "blocked"


def test_the_list_shows_the_policy(run_cli: Any, home: Path) -> None:
    before = {tool["name"]: tool["approval"] for tool in json.loads(run_cli("list", "--json").stdout)["tools"]}
    assert {name: before[name] for name in ("read_file", "run_command", "write_file")} == {
        "read_file": "preApproved", "run_command": "ask", "write_file": "ask"
    }  # fmt: skip
    (home / "policy.yaml").write_text("rules:\n- {tool: run_command, approval: blocked}\n")
    after = {tool["name"]: tool["approval"] for tool in json.loads(run_cli("list", "--json").stdout)["tools"]}
    assert after == {**before, "run_command": "blocked"}
