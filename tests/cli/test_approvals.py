"""`toolcrib policy approvals` and `revoke`: what was allowed can be listed and taken back."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.policy.grants import Grants
from toolcrib.store.home import Home
from toolcrib.store.pending import PendingCalls
from toolcrib.store.state import State

GREET, OTHER = "executable:custom_tool_greet", "executable:custom_tool_other"


@pytest.fixture
def held(home: Path) -> dict[str, str]:
    """Two approvals, a grant and a call that waits, by their ids."""
    place = Home(home)
    state = State(place)
    grants = Grants(place.file("grants.json"), lambda data: place.replace(data, "grants.json"))
    call = {"session": "s-1", "tool_id": GREET, "digest": "1", "call_digest": "c", "tool": "custom_tool_greet"}
    return {
        "greet": state.add(
            GREET, "1", {"any": True}, shown="this tool, with \x1b[2J any", scope="project", key="/ws 1:2"
        ),
        "other": state.add(OTHER, "1", {"argv": ["a"]}, shown="exactly: a", scope="user"),
        "grant": grants.add(GREET, "1", ["LANG"])[0].id,
        "call": PendingCalls(place).ask({**call, "id": "waiting1", "asker": "mcp"}).id,
    }


def listed(cli: Callable[..., Any]) -> dict[str, list[str]]:
    done = cli("policy", "approvals", "--json")
    assert done.returncode == 0, done.stderr
    return {kind: [row["id"] for row in rows] for kind, rows in json.loads(done.stdout).items()}


def test_nothing_is_said_to_be_nothing(cli: Callable[..., Any], home: Path) -> None:
    assert listed(cli) == {"approvals": [], "waiting": [], "grants": []}
    assert "nothing was approved" in cli("policy", "approvals").stderr
    assert not (home / "state.db").exists()


def test_everything_is_listed(cli: Callable[..., Any], held: dict[str, str]) -> None:
    assert listed(cli) == {
        "approvals": [held["greet"], held["other"]],
        "waiting": [held["call"]],
        "grants": [held["grant"]],
    }
    shown = cli("policy", "approvals").stdout
    assert all(each in shown for each in held.values())
    assert "| this tool, with \\x1b[2J any" in shown and "\x1b" not in shown
    assert "in one project (/ws)\n" in shown and "since 20" in shown and ", until 20" in shown
    assert "sees LANG" in shown


@pytest.mark.parametrize(
    ("what", "left"),
    [
        ("greet", ["other", "grant", "call"]),
        ("other", ["greet", "grant", "call"]),
        ("grant", ["greet", "other", "call"]),
        ("call", ["greet", "other", "grant"]),
    ],
)
def test_one_is_taken_back_by_its_id(cli, held: dict[str, str], what: str, left: list[str]) -> None:
    assert cli("policy", "revoke", held[what]).returncode == 0
    assert {each for ids in listed(cli).values() for each in ids} == {held[each] for each in left}


@pytest.mark.parametrize("name", ["custom_tool_greet", GREET, "greet"])
def test_all_of_a_tool_is_taken_back_by_its_name(cli, held: dict[str, str], name: str) -> None:
    done = cli("policy", "revoke", name, "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"revoked": 3})
    assert listed(cli) == {"approvals": [held["other"]], "waiting": [], "grants": []}


def test_everything_is_taken_back(cli: Callable[..., Any], held: dict[str, str]) -> None:
    assert json.loads(cli("policy", "revoke", "--all", "--json").stdout) == {"revoked": 4}
    assert listed(cli) == {"approvals": [], "waiting": [], "grants": []}


@pytest.mark.parametrize("words", [(), ("x", "--all")])
def test_it_must_be_said_what(cli: Callable[..., Any], held: dict[str, str], words: tuple[str, ...]) -> None:
    assert cli("policy", "revoke", *words).returncode == 2
    assert len(listed(cli)["approvals"]) == 2


@pytest.mark.parametrize("what", ["nothing", "custom_tool_gree", "%", "", "' OR 1=1 --"])
def test_what_is_not_there_takes_nothing_back(cli, held: dict[str, str], what: str) -> None:
    assert cli("policy", "revoke", what).returncode == 1
    assert sum(map(len, listed(cli).values())) == 4


PAGE = Path(__file__).parents[2] / "docs" / "approvals.md"


def test_the_examples_in_the_docs_are_true(cli: Callable[..., Any], home: Path) -> None:
    """In their order; `…` stands for any text within a line."""
    shutil.copytree(PAGE.parents[1] / "examples" / "tools", home / "tools")
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    steps = [step.split("\n", 1) for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert len(steps) >= 6
    for typed, expected in steps:
        program, *words = typed.split()
        done = cli(*words)
        shown = done.stdout + done.stderr + (f"[exit status {done.returncode}]\n" if done.returncode else "")
        assert program == "toolcrib"
        assert re.fullmatch(re.escape(expected).replace("…", ".*"), shown), f"$ {typed}\n{shown}"
