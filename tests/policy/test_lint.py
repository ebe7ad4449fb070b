"""`policy check`: which rules never decide, contradict each other, or allow more than they say."""

import os
from pathlib import Path

import pytest

from toolcrib.builtins import TOOLS
from toolcrib.policy.lint import lint
from toolcrib.policy.load import Loader
from toolcrib.sandbox.places import Places
from toolcrib.store.yamltext import parse


def found(text: str, workspace: Path) -> list[tuple[str, int | None]]:
    places = Places(str(workspace))
    rules = Loader(os.path.realpath(workspace), places).file(parse(text.encode(), "policy.yaml"), "user policy")
    return [(finding.kind, finding.rule.origin.line) for finding in lint(rules, TOOLS, places)]


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
