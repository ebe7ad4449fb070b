"""`toolcrib list --outdated`: approvals, grants and trust that are for another version than the one on offer."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from toolcrib.policy.remember import project_key
from toolcrib.store.home import Home
from toolcrib.store.state import MIGRATIONS, State

SCRIPT = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "NAME", "version": "VERSION", "description": "Is NAME.", "input_schema": {"type": "object"}}'; exit
fi
cat
"""
NOTHING = "nothing is outdated: all that was approved, granted or trusted is for what is here now\n"


def script(name: str = "tool", version: str = "1.0.0") -> str:
    return SCRIPT.replace("NAME", name).replace("VERSION", version)


@pytest.fixture(autouse=True)
def programs_alone(home: Path) -> None:
    (home / "config.yaml").write_text("toolsets: {}\n")


@pytest.fixture
def outdated(cli):
    """What the command finds."""

    def ask() -> list[dict[str, Any]]:
        done = cli("list", "--outdated", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)["outdated"]

    return ask


def digest(cli, name: str = "tool") -> str:
    return json.loads(cli("show", name, "--json").stdout)["digest"]


def allowed(at) -> bool:
    """Say yes to what is asked, and wait for the end."""
    at.read_until("[y/N] ")
    at.send("y\n")
    return at.finish() == 0


def test_an_approval_of_another_version(cli, terminal, make_tool, outdated) -> None:
    """K71, F47: asked at a terminal, changed since; and settled by the command that is shown."""
    make_tool("tool", script())
    assert allowed(terminal("call", "tool"))
    assert outdated() == []
    old = digest(cli)
    make_tool("tool", script(version="1.1.0"))
    (row,) = outdated()
    assert row == {
        "name": "custom_tool_tool",
        "kind": "approval",
        "id": row["id"],
        "about": "allowed typed at a terminal: this tool, with any arguments",
        "then": {"version": "1.0.0", "digest": old},
        "now": {"version": "1.1.0", "digest": digest(cli)},
        "since": row["since"],
        "settle": "toolcrib call custom_tool_tool",
    }
    assert any(each["id"] == row["id"] for each in json.loads(cli("policy", "approvals", "--json").stdout)["approvals"])
    drawn = cli("list", "--outdated").stdout
    assert "custom_tool_tool  1.0.0 -> 1.1.0\n" in drawn and row["id"] in drawn and row["settle"] in drawn
    assert allowed(terminal(*row["settle"].split()[1:]))
    assert outdated() == []


def test_what_was_approved_elsewhere_or_again_is_not_outdated(cli, make_tool, outdated, home, workspace) -> None:
    """An answer for another project says nothing here; one that was given anew, for the same thing, is settled."""
    make_tool("tool", script())
    state, tool = State(Home(home)), "executable:custom_tool_tool"
    anything = {"any": True}
    state.add(tool, "sha256:old", anything, shown="x", scope="project", key="/elsewhere 1:2")
    assert outdated() == []
    here = state.add(
        tool, "sha256:old", anything, shown="x", scope="project", key=project_key(str(workspace)), version="0.9"
    )
    everywhere = state.add(tool, "sha256:old", {"arguments": "sha256:1"}, shown="y", scope="user")
    found = {row["id"]: row for row in outdated()}
    assert set(found) == {here, everywhere}
    assert (found[here]["then"]["version"], found[everywhere]["then"]["version"]) == ("0.9", None)
    assert found[everywhere]["settle"] == f"toolcrib policy revoke {everywhere}"
    state.add(tool, digest(cli), anything, shown="x", scope="project", key=project_key(str(workspace)))
    assert [row["id"] for row in outdated()] == [everywhere]
    assert cli(*found[everywhere]["settle"].split()[1:]).returncode == 0
    assert outdated() == []
    assert cli("list", "--outdated").stderr == NOTHING


def test_an_approval_from_before_versions_were_kept(cli, make_tool, outdated, home: Path) -> None:
    """The file is brought up to date; of what was in it, only the digest is known."""
    make_tool("tool", script())
    steps = MIGRATIONS[: next(at for at, step in enumerate(MIGRATIONS) if "ADD COLUMN version" in step)]
    with sqlite3.connect(home / "state.db") as db:
        for step in steps:
            db.execute(step)
        db.execute(f"PRAGMA user_version = {len(steps)}")
        row = ("1", "executable:custom_tool_tool", "sha256:old", '{"any": true}', "x", "user", "", 1.0, None)
        db.execute("INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    db.close()
    (row,) = outdated()
    assert row["then"] == {"version": None, "digest": "sha256:old"}
    assert "unknown -> 1.0.0" in cli("list", "--outdated").stdout


def test_a_grant_to_another_version(cli, make_tool, outdated) -> None:
    make_tool("tool", script())
    assert cli("grant", "tool", "env", "LANG").returncode == 0
    assert outdated() == []
    make_tool("tool", script(version="2.0.0"))
    (row,) = outdated()
    assert (row["kind"], row["about"], row["then"]["version"], row["now"]["version"]) == (
        "grant",
        "sees LANG",
        "1.0.0",
        "2.0.0",
    )
    assert cli(*row["settle"].split()[1:]).returncode == 0
    assert outdated() == []


def test_grants_from_before_versions_were_kept(cli, make_tool, outdated, home: Path) -> None:
    make_tool("tool", script())
    row = {
        "id": "abcdefgh",
        "tool": "executable:custom_tool_tool",
        "digest": "sha256:old",
        "variable": "LANG",
        "at": 1.5,
    }
    (home / "grants.json").write_text(json.dumps({"version": 1, "grants": [row]}))
    assert [(each["id"], each["then"]["version"]) for each in outdated()] == [("abcdefgh", None)]


def test_what_a_project_was_trusted_with(cli, make_tool, outdated, workspace: Path, tmp_path: Path) -> None:
    """A changed program, a changed file of a folder, one that is gone; and nothing of them is started to find out."""
    tools = workspace / ".toolcrib" / "tools"
    make_tool("first", script("first"), directory=tools)
    make_tool("second", script("second"), directory=tools)
    folder = make_tool("run.sh", "#!/bin/sh\n", directory=tools / "deep").parent
    (folder / "tool.yaml").write_text("name: deep\ndescription: Is deep.\nversion: 1.0.0\nentrypoint: run.sh\n")
    (folder / "part").write_text("one")
    assert cli("trust", "--yes").returncode == 0
    assert outdated() == []
    make_tool("first", f"#!/bin/sh\n: > {tmp_path}/canary\n", directory=tools)
    (tools / "second").unlink()
    (folder / "part").write_text("two")
    rows = outdated()
    assert [(row["name"], row["kind"], row["about"].removeprefix("trusted .toolcrib/tools/")) for row in rows] == [
        (".toolcrib/tools/second", "trust", "second"),
        ("custom_tool_deep", "trust", "deep/part"),
        ("custom_tool_first", "trust", "first"),
    ]
    assert rows[0]["now"]["digest"] is None and rows[1]["now"]["digest"] != rows[1]["then"]["digest"]
    assert not (tmp_path / "canary").exists()
    assert {row["settle"] for row in rows} == {f"toolcrib trust {workspace}"}
    assert cli("trust", "--yes").returncode == 0
    assert outdated() == []


def test_a_tool_that_is_gone_is_nothing_that_could_be_outdated(cli, make_tool, outdated, home) -> None:
    make_tool("tool", script())
    State(Home(home)).add("executable:custom_tool_tool", "sha256:old", {"any": True}, shown="x", scope="user")
    assert len(outdated()) == 1
    (home / "tools" / "tool").unlink()
    assert outdated() == []


def test_looking_makes_no_file_and_hostile_words_reach_no_terminal(cli, make_tool, home: Path) -> None:
    make_tool("tool", script())
    assert cli("list", "--outdated").stdout == ""
    assert not (home / "state.db").exists()
    words = "\x1b[2J\u202eevil"
    State(Home(home)).add("executable:custom_tool_tool", "old", {"any": True}, shown=words, scope="user", version=words)
    drawn = cli("list", "--outdated").stdout
    assert "evil" in drawn and all(char.isprintable() or char == "\n" for char in drawn)


def test_it_does_not_go_with_other_views(cli, home: Path) -> None:
    for other in ("--names", "--watch"):
        done = cli("list", "--outdated", other)
        assert (done.returncode, done.stdout) == (2, "") and f"does not go with {other}" in done.stderr
    (home / "state.db").write_bytes(b"no database at all, and long enough not to be taken for an empty one")
    done = cli("list", "--outdated", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, "CONFIG_INVALID")
