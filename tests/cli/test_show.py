"""`toolcrib show`: everything about one tool."""

import hashlib
import json
from pathlib import Path


def test_everything_about_a_tool(run_cli, repeat: Path, home: Path, workspace: Path) -> None:
    """K20, G12: what it is, where it is from, what it may, and what would be asked and why."""
    done = run_cli("show", "repeat")
    assert (done.returncode, done.stderr) == (0, "")
    digest = "sha256:" + hashlib.sha256(repeat.read_bytes()).hexdigest()
    for words in (
        "custom_tool_repeat\n", "Print the arguments.", str(repeat), "1.2.3", digest, "you have not been asked yet",
        "30 s, 1048576 bytes", "--name STRING  a name", "--json STRING  (only in --input",
        "ask: nothing is configured for it",
    ):  # fmt: skip
        assert words in done.stdout
    assert not (home / "state.db").exists()  # looking leaves nothing behind
    facts = json.loads(run_cli("show", "custom_tool_repeat", "--json").stdout)
    assert (facts["digest"], facts["approval"], facts["approved_at_terminal"]) == (digest, "ask", False)
    assert facts["input_schema"]["properties"]["age"] == {"type": "integer"}
    assert not (workspace / "ran").exists()


def test_what_a_person_said_is_shown(run_cli, terminal, repeat: Path) -> None:
    at = terminal("call", "repeat")
    at.read_until("[y/N] ")
    at.send("y\n")
    assert at.finish() == 0
    assert "you allowed this very version" in run_cli("show", "repeat").stdout
    repeat.write_text(repeat.read_text() + "# more\n")
    assert "it has CHANGED since" in run_cli("show", "repeat").stdout


def test_what_is_not_there(run_cli, repeat: Path, make_tool, workspace: Path) -> None:
    done = run_cli("show", "repaet", "--json")
    assert done.returncode == 4
    assert json.loads(done.stdout)["error"]["code"] == "TOOL_NOT_FOUND"
    assert "did you mean custom_tool_repeat" in done.stderr
    make_tool("theirs", "#!/bin/sh\n", directory=workspace / ".toolcrib" / "tools")
    held = run_cli("show", "theirs")
    assert held.returncode == 3
    assert held.stderr.startswith("WORKSPACE_UNTRUSTED")


def test_hostile_words_reach_no_terminal(run_cli, make_tool) -> None:
    description = json.dumps(
        {
            "name": "sly",
            "description": "One.\n\x1b[2J",
            "version": "1\x1b[0m",
            "input_schema": {"type": "object", "properties": {"\x1b]0;x\x07": {"description": "\u202e"}}},
        }
    )
    make_tool("sly", f"#!/bin/sh\ncat <<'END'\n{description}\nEND\n")
    done = run_cli("show", "sly")
    assert done.returncode == 0
    assert done.stdout.replace("\n", "").isprintable()
