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
    return [row["value"] for row in json.loads(cli("policy", "approvals", "--json").stdout)["grants"]]


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


def test_the_network_hosts_and_files_are_granted_shown_and_taken_back(cli, tool: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    data = str((tmp_path / "data").resolve())
    for words in (("network",), ("network", "API.example.com", "*.example.org:8443"), ("files", "ro", data)):
        done = cli("grant", "region", *words, "--json")
        assert done.returncode == 0, done.stderr
    assert {key: json.loads(done.stdout)[key] for key in ("env", "network", "files")} == {
        "env": [], "network": ["*", "api.example.com", "*.example.org:8443"], "files": {"ro": [data], "rw": []},
    }  # fmt: skip
    shown = cli("policy", "approvals").stdout
    for words in ("uses the network", "reaches api.example.com", f"reads {data}"):
        assert words in shown
    assert "taken back: 1" in cli("grant", "region", "network", "api.example.com", "--remove").stderr
    assert "taken back: 1" in cli("grant", "region", "files", "--remove").stderr
    assert granted(cli) == ["*", "*.example.org:8443"]


@pytest.mark.parametrize("access", ["ro", "rw"])
@pytest.mark.parametrize(
    "path", ["/", "~", "~/..", "/etc", "/proc/self", "$HOME_OF_TOOLCRIB", "$HOME_OF_TOOLCRIB/tools"]
)
def test_what_would_give_everything_is_not_granted(cli, tool: Path, home: Path, path: str, access: str) -> None:
    path = path.replace("$HOME_OF_TOOLCRIB", str(home))
    done = cli("grant", "region", "files", access, path)
    assert (done.returncode, "cannot be granted" in done.stderr) == (2, True)
    assert granted(cli) == []


def test_a_place_that_is_not_there_is_not_granted(cli: Callable[..., Any], tool: Path, tmp_path: Path) -> None:
    done = cli("grant", "region", "files", "rw", str(tmp_path / "not-yet"))
    assert (done.returncode, "make it first" in done.stderr) == (2, True)
    assert granted(cli) == []


def test_what_a_link_leads_to_is_what_is_granted(cli: Callable[..., Any], tool: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to("data")
    cli("grant", "region", "files", "rw", str(tmp_path / "link"))
    assert granted(cli) == [str((tmp_path / "data").resolve())]


def test_what_starts_no_program_has_nothing_to_be_granted(cli: Callable[..., Any], tool: Path) -> None:
    done = cli("grant", "read_file", "network")
    assert (done.returncode, "nothing to grant" in done.stderr) == (2, True)
    assert granted(cli) == []


def test_a_built_in_tool_is_granted_by_its_name(cli: Callable[..., Any], home: Path) -> None:
    """Its digest changes with each version of ours, and says nothing of what it may do."""
    assert cli("grant", "run_command", "network").returncode == 0
    (row,) = json.loads((home / "grants.json").read_text())["grants"]
    assert (row["tool"], row["digest"], row["value"]) == ("builtin:run_command", "", "*")


@pytest.mark.parametrize(
    "words",
    [("region", "env"), ("region", "everything", "X"), ("region", "env", "A=B"), ("region", "env", ""), ("region",),
     ("region", "env", "TOOLCRIB_HOME"), ("region", "env", "A", "b c"), ("region", "files"), ("region", "files", "ro"),
     ("region", "files", "/tmp"), ("region", "network", "https://example.com"), ("region", "network", "a b"),
     ("region", "network", "user@example.com"), ("region", "network", "*.com"), ("region", "network", "")],
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


@pytest.mark.parametrize("what", ["env REGION", "network", "files rw /var/lib/x"])
def test_a_tool_does_not_grant_itself_anything(cli: Callable[..., Any], tool: Path, what: str) -> None:
    done = cli("grant", "region", *what.split(), env={"TOOLCRIB_CALL_ID": "tc1-1"})
    assert (done.returncode, "a person answers" in done.stderr) == (3, True)
    assert granted(cli) == []
