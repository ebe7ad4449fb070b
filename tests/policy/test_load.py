"""`policy.yaml`: every key known, every value checked, every example tried, every error with its line."""

import os
from pathlib import Path

import pytest

from toolcrib.core.errors import ConfigError
from toolcrib.core.policy import Decision
from toolcrib.policy.load import Loader
from toolcrib.policy.rule import Rule
from toolcrib.sandbox.places import Places
from toolcrib.store.yamltext import parse


def load(text: str, workspace: Path) -> list[Rule]:
    loader = Loader(os.path.realpath(workspace), Places(str(workspace)))
    return loader.file(parse(text.encode(), "policy.yaml"), "user policy")


def test_all_that_a_rule_can_say(workspace: Path) -> None:
    (rule,) = load(
        """
rules:
  - id: notes
    tool: [read_file, "notes_*"]
    source: [builtin, mcp]
    capabilities: idempotent
    args: {/format: [md, txt], /deep/0: 1}
    paths: ["notes/**", ~/notes]
    access: read
    reason: notes are for everybody
    approval: preApproved
""",
        workspace,
    )
    assert rule.decision is Decision.PRE_APPROVED
    assert (rule.origin.layer, rule.origin.path, rule.origin.line, rule.origin.id) == (
        "user policy",
        "policy.yaml",
        3,
        "notes",
    )
    assert [pattern.text for pattern in rule.tools] == ["read_file", "notes_*"]
    assert rule.sources == {"builtin", "mcp"}
    assert rule.capabilities == {"idempotent"}
    assert [pattern.pointer for pattern in rule.arguments] == ["/format", "/deep/0"]
    assert rule.access == "read"
    assert rule.verdict.reason == "notes are for everybody (policy.yaml:3 (notes))"


def test_the_short_form_of_shell_rules(workspace: Path) -> None:
    """G4: `pattern` means tokens, never the beginning of a text."""
    (rule,) = load(
        """
rules:
- {pattern: "git ", approval: preApproved, match: [git status, git log --oneline],
   not_match: [gitk, "git -c core.pager=x log", git status; rm x, "git status\\rrm x"]}
""",
        workspace,
    )
    assert [str(pattern) for pattern in rule.commands] == ["git"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("- 1", 1, "mapping with the key rules"),
        ("rule: []", 1, "unknown key 'rule'"),
        ("rules: {}", 1, "must be a list"),
        ("rules:\n- ask", 2, "a rule is a mapping"),
        ("rules:\n- tool: x", 2, "a rule says approval"),
        ("rules:\n- approval: ask", 2, "match every call"),
        ("rules:\n- tool: x\n  approval: allow", 3, "not one of preApproved, ask, blocked"),
        ("rules:\n- tool: x\n  approval: true", 3, "not one of preApproved, ask, blocked"),
        ("rules:\n- tool: x\n  aproval: ask", 3, "did you mean approval?"),
        ("rules:\n- tool: x\n  approval: ask\n  zzz: 1", 4, "known are"),
        ("rules:\n- tool: ba*\n  approval: ask", 2, "whole segments"),
        ("rules:\n- tool: 1\n  approval: ask", 2, "is not text"),
        ("rules:\n- source: web\n  approval: ask", 2, "not one of"),
        ("rules:\n- capabilities: [writes]\n  approval: ask", 2, "not one of"),
        ("rules:\n- args: [a]\n  approval: ask", 2, "JSON pointers"),
        ("rules:\n- args: {path: x}\n  approval: ask", 2, "begins with /"),
        ("rules:\n- paths: ../x\n  approval: ask", 2, "upwards"),
        ("rules:\n- hosts: [https://x]\n  approval: ask", 2, "not a host"),
        ("rules:\n- hosts: a.b\n  paths: c\n  approval: ask", 2, "one of command, paths, hosts"),
        ("rules:\n- tool: x\n  access: read\n  approval: ask", 3, "access belongs to paths"),
        ("rules:\n- paths: x\n  access: execute\n  approval: ask", 3, "not one of read, write"),
        ("rules:\n- tool: x\n  options: [-x]\n  approval: ask", 3, "options belong to a command"),
        ("rules:\n- command: ls\n  options: [x]\n  approval: ask", 3, "not an option"),
        ("rules:\n- command: ''\n  approval: ask", 2, "command"),
        ("rules:\n- command: 'git; rm'\n  approval: ask", 2, "command"),
        ("rules:\n- command: git status\n  approval: ask\n  match:\n  - git status\n  - git push", 6, "is not matched"),
        ("rules:\n- command: git\n  approval: ask\n  not_match:\n  - ls\n  - git push", 6, "is matched"),
        ("rules:\n- command: git\n  approval: preApproved\n  match: [git -c x status]", 4, "is not matched"),
        ("rules:\n- command: git\n  approval: preApproved\n  match: [git status && ls]", 4, "is not matched"),
        ("rules:\n- tool: bash\n  approval: ask\n  match: [bash_session]", 4, "is not matched"),
        ("rules:\n- paths: src\n  approval: ask\n  match: [src-evil/x]", 4, "is not matched"),
        ("rules:\n- hosts: a.com\n  approval: ask\n  match: [a.com.evil.net]", 4, "is not matched"),
        ("rules:\n- tool: x\n  approval: ask\n  match: [{tol: x}]", 4, "unknown key"),
        ("rules:\n- tool: x\n  approval: ask\n  match: [1]", 4, "a text or a mapping"),
        ("rules:\n- tool: x\n  approval: ask\n  match: x", 4, "must be a list"),
        ("rules:\n- tool: x\n  approval: ask\n  tool: y", 4, "tool"),
        ("rules: &a\n- tool: x\n  approval: ask\n  id: *a", None, ""),
    ],
)
def test_what_is_wrong_is_said_with_its_line(workspace: Path, text: str, line: int | None, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text, workspace)
    assert says in str(caught.value)
    if line is not None:
        assert str(caught.value).startswith(f"policy.yaml:{line}: ")


@pytest.mark.parametrize("text", ["", "rules:", "rules: []", "# nothing\n"])
def test_no_rules_are_fine(workspace: Path, text: str) -> None:
    assert load(text, workspace) == []


def test_examples_may_be_whole_calls(workspace: Path) -> None:
    rules = load(
        """
rules:
- args: {/mode: force}
  approval: blocked
  match: [{tool: anything, args: {mode: force}}]
  not_match: [{args: {mode: soft}}, {tool: x}]
- tool: run_command
  command: ls
  approval: preApproved
  match: [{argv: [ls, -l]}, {tool: run_command, command: ls -l | ls}]
  not_match: [{tool: other, argv: [ls]}, {argv: [ls, "a\\nb"], command: rm x}]
- paths: [secrets]
  approval: blocked
  match: [{read: secrets/x}, {write: secrets/new}, {read: a/../secrets/x}]
  not_match: [{read: secret}]
- hosts: ["*.example.com"]
  approval: preApproved
  match: [{url: https://api.example.com/x}, api.example.com]
  not_match: [example.com]
""",
        workspace,
    )
    assert len(rules) == 4
