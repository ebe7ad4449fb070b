"""`toolcrib grant`: one tool sees one more variable, until it changes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOOL = """#!/bin/sh
case $1 in
  description) echo '{"name": "region", "description": "Say it.", "input_schema": {"type": "object"}}' ;;
  run) echo "${REGION-unset}" ;;
  *) exit 1 ;;
esac
"""
SET = {"REGION": "north"}


@pytest.fixture
def tool(make_tool: Callable[..., Path]) -> Path:
    return make_tool("region", TOOL)


def seen(cli: Callable[..., Any]) -> str:
    return str(cli("call", "region", "--yes", env=SET).stdout).strip()


def granted(cli: Callable[..., Any]) -> list[str]:
    return [row["variable"] for row in json.loads(cli("policy", "approvals", "--json").stdout)["grants"]]


def test_a_variable_is_seen_after_it_is_granted_and_not_before(cli: Callable[..., Any], tool: Path) -> None:
    assert seen(cli) == "unset"
    done = cli("grant", "region", "env", "REGION", "--json", env=SET)
    assert (done.returncode, json.loads(done.stdout)["env"]) == (0, ["REGION"])
    assert seen(cli) == "north"


def test_a_changed_tool_loses_it_and_is_told(cli: Callable[..., Any], tool: Path) -> None:
    cli("grant", "region", "env", "REGION", env=SET)
    tool.write_text(TOOL + "# changed\n")
    assert seen(cli) == "unset"
    again = cli("grant", "region", "env", "OTHER", env=SET)
    assert "changed since; what it was granted before is gone: REGION" in again.stderr
    assert granted(cli) == ["OTHER"]


def test_it_can_be_taken_back(cli: Callable[..., Any], tool: Path) -> None:
    cli("grant", "region", "env", "REGION", "OTHER", env=SET)
    assert "taken back: 1" in cli("grant", "region", "env", "REGION", "--remove").stderr
    assert (seen(cli), granted(cli)) == ("unset", ["OTHER"])
    cli("grant", "region", "env", "--remove")
    assert granted(cli) == []


def test_another_tool_does_not_see_it(cli: Callable[..., Any], tool: Path, make_tool: Callable[..., Path]) -> None:
    make_tool("other", TOOL.replace('"region"', '"other"'))
    cli("grant", "other", "env", "REGION", env=SET)
    assert seen(cli) == "unset"


@pytest.mark.parametrize("kind", ["network", "files"])
def test_what_comes_with_the_sandbox_is_refused(cli: Callable[..., Any], tool: Path, kind: str) -> None:
    done = cli("grant", "region", kind, "example.org")
    assert (done.returncode, "comes with the sandbox" in done.stderr) == (2, True)
    assert granted(cli) == []


@pytest.mark.parametrize(
    "words",
    [("region", "env"), ("region", "everything", "X"), ("region", "env", "A=B"), ("region", "env", ""), ("region",),
     ("region", "env", "TOOLCRIB_HOME"), ("region", "env", "A", "b c")],
    ids=" ".join,
)  # fmt: skip
def test_words_that_make_no_sense_are_refused(cli: Callable[..., Any], tool: Path, words: tuple[str, ...]) -> None:
    assert cli("grant", *words).returncode == 2
    assert granted(cli) == []


def test_a_tool_that_is_not_there_gets_nothing(cli: Callable[..., Any], tool: Path) -> None:
    assert cli("grant", "regio", "env", "REGION").returncode == 4
    assert granted(cli) == []


def test_a_variable_that_is_not_set_is_said_to_be(cli: Callable[..., Any], tool: Path) -> None:
    done = cli("grant", "region", "env", "REGION")
    assert (done.returncode, "REGION is not set here" in done.stderr) == (0, True)


def test_a_file_that_is_not_ours_is_an_error_and_nothing_is_seen(cli, tool: Path, home: Path) -> None:
    cli("grant", "region", "env", "REGION", env=SET)
    (home / "grants.json").write_text("{}")
    done = cli("grant", "region", "env", "REGION", env=SET)
    assert (done.returncode, "grant anew" in done.stderr) == (2, True)
    assert "north" not in seen(cli)


def test_a_tool_does_not_grant_itself_anything(cli: Callable[..., Any], tool: Path) -> None:
    done = cli("grant", "region", "env", "REGION", env={"TOOLCRIB_CALL_ID": "tc1-1"})
    assert (done.returncode, "a person answers" in done.stderr) == (3, True)
    assert granted(cli) == []
