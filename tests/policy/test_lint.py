"""`policy check`: which rules never decide, contradict each other, or allow more than they say."""

import os
from pathlib import Path

import pytest

from toolcrib.builtins import TOOLS
from toolcrib.policy.lint import Finding, lint
from toolcrib.policy.load import Loader
from toolcrib.sandbox.places import Places
from toolcrib.store.yamltext import parse


def findings(text: str, workspace: Path) -> list[Finding]:
    places = Places(str(workspace))
    rules = Loader(os.path.realpath(workspace), places).file(parse(text.encode(), "policy.yaml"), "user policy")
    return list(lint(rules, TOOLS, places))


def found(text: str, workspace: Path) -> list[tuple[str, int | None]]:
    return [(finding.kind, finding.rule.origin.line) for finding in findings(text, workspace)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- {command: git status, approval: preApproved}", []),
        ("- {tool: run_command, approval: ask}\n- {command: git push, approval: blocked}", []),
        ("- {tool: no_such_tool, approval: ask}", [("dead", 2)]),
        ("- {source: mcp, approval: ask}", [("dead", 2)]),
        ("- {tool: read_file, command: ls, approval: ask}", [("dead", 2)]),
        ("- {paths: /etc, approval: preApproved}", [("dead", 2)]),
        ("- {paths: .git, access: write, approval: preApproved}", [("dead", 2)]),
        ("- {paths: .git, access: write, approval: ask}", []),
        ("- {command: python, approval: preApproved}", [("interpreter", 2)]),
        ("- {command: bash, approval: preApproved}", [("interpreter", 2)]),
        ("- {command: 'node|ls', approval: preApproved}", [("interpreter", 2)]),
        ("- {command: sudo, approval: preApproved}", [("interpreter", 2)]),
        ("- {command: xargs, approval: preApproved}", [("interpreter", 2)]),
        ("- {command: [python, sudo], approval: blocked}", []),
        ("- {tool: run_command, approval: preApproved}", [("broad", 2)]),
        ("- {tool: '*', approval: preApproved}", [("broad", 2)]),
        ("- {tool: read_file, approval: preApproved}", []),
        ("- {command: ls, approval: ask}\n- {command: ls, approval: ask}", [("shadowed", 3)]),
        ("- {command: ls, approval: ask}\n- {command: ls, approval: blocked}", [("contradictory", 2)]),
        ("- {command: git log, approval: preApproved}\n- {command: git, approval: ask}", [("shadowed", 2)]),
        ("- {command: git log, approval: ask}\n- {command: git, approval: preApproved}", []),
        ("- {paths: src/a, approval: preApproved}\n- {paths: src, approval: ask}", [("shadowed", 2)]),
        ("- {paths: src, access: read, approval: ask}\n- {paths: src, access: write, approval: blocked}", []),
        ("- {tool: read_file, approval: ask}\n- {tool: '*', approval: blocked}", [("shadowed", 2)]),
        ("- {args: {/a: 1}, approval: ask}\n- {args: {/a: [1, 2]}, approval: blocked}", [("shadowed", 2)]),
        ("- {args: {/a: 1}, approval: ask}\n- {args: {/b: 1}, approval: blocked}", []),
        ("- {hosts: a.com, approval: ask}\n- {hosts: [a.com, b.com], approval: blocked}", [("shadowed", 2)]),
    ],
)
def test_findings(workspace: Path, text: str, expected: list[tuple[str, int]]) -> None:
    assert found(f"rules:\n{text}\n", workspace) == expected


@pytest.mark.parametrize(("place", "expected"), [("tools", []), ("tools/shout", []), ("elsewhere", [("dead", 2)])])
def test_a_rule_for_the_folders_of_tools_is_not_dead(
    tmp_path: Path, place: str, expected: list[tuple[str, int]]
) -> None:
    (tmp_path / "work").mkdir()
    places = Places(str(tmp_path / "work"), protected=[str(tmp_path / "tools")], bench=str(tmp_path / "tools"))
    text = f"rules:\n- {{paths: '{tmp_path}/{place}', access: write, approval: preApproved}}\n"
    rules = Loader(str(tmp_path / "work"), places).file(parse(text.encode(), "policy.yaml"), "user policy")
    assert [(finding.kind, finding.rule.origin.line) for finding in lint(rules, TOOLS, places)] == expected


def oddities(workspace: Path, *rules: str) -> list[tuple[str, int | None, str]]:
    places = Places(str(workspace))
    text = "rules:\n" + "".join(f"- {{{rule}}}\n" for rule in rules)
    made = Loader(os.path.realpath(workspace), places).file(parse(text.encode(), "policy.yaml"), "user policy")
    return [(each.kind, each.rule.origin.line, each.message) for each in lint(made, TOOLS, places)]


def test_oddities_come_in_the_order_of_the_rules(workspace: Path) -> None:
    """A reader goes down the file once, whatever the kinds are."""
    rules = (
        "command: ls, approval: ask",
        "tool: no_such_tool, approval: ask",
        "command: ls, approval: ask",
        "tool: '*', approval: preApproved",
    )
    assert [(kind, line) for kind, line, _ in oddities(workspace, *rules)] == [
        ("dead", 3),
        ("shadowed", 4),
        ("broad", 5),
    ]


def test_a_dead_rule_for_a_pattern_of_paths_is_judged_by_its_literal_part(workspace: Path) -> None:
    assert [kind for kind, *_ in oddities(workspace, "paths: '/etc/*.conf', approval: preApproved")] == ["dead"]
    assert oddities(workspace, "paths: 'src/*.py', approval: preApproved") == []


def test_rules_for_other_sources_do_not_shadow(workspace: Path) -> None:
    wide, narrow = "source: [builtin, function], approval: blocked", "source: builtin, approval: ask"
    assert [(kind, line) for kind, line, _ in oddities(workspace, narrow, wide)] == [("shadowed", 2)]
    other = "source: function, tool: read_file, approval: blocked"
    assert [kind for kind, *_ in oddities(workspace, narrow, other)] == ["dead"]


def test_the_same_arguments_are_the_same(workspace: Path) -> None:
    rules = ("args: {/a: 1}, approval: ask", "args: {/a: 1}, approval: blocked")
    assert [(kind, line) for kind, line, _ in oddities(workspace, *rules)] == [("contradictory", 2)]


def test_what_lint_says_names_what_to_do(workspace: Path) -> None:
    ((_, _, wrapper),) = oddities(workspace, "command: sudo, approval: preApproved")
    assert (
        wrapper == "`sudo` pre-approves sudo, which runs other programs; wrappers are seen through: name what they run"
    )
    ((_, _, dead),) = oddities(workspace, "tool: no_such_tool, approval: ask")
    assert dead == "no tool on offer is meant by it; see the names with: toolcrib list"


@pytest.mark.parametrize(("tool", "says"), [("run_command", "every command;"), ("'*'", "every tool and command,")])
def test_what_is_too_broad_is_named(workspace: Path, tool: str, says: str) -> None:
    (finding,) = findings(f"rules:\n- {{tool: {tool}, approval: preApproved}}\n", workspace)
    assert says in finding.message
