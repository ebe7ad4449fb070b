"""`toolcrib session`, and `--session` on `list`, `call` and `skill`."""

import json
from pathlib import Path
from typing import Any

from tests.skill_texts import skill_text


def put_skill(home: Path, name: str, **tools: str) -> None:
    folder = home / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill_text(name, **tools))


def names(run_cli: Any, *more: str) -> set[str]:
    return {each["name"] for each in json.loads(run_cli("list", "--json", *more).stdout)["tools"]}


def test_a_session_begins_is_shown_and_ends(run_cli: Any) -> None:
    made = json.loads(run_cli("session", "new", "--json").stdout)
    assert list(made) == ["session_id"]
    ident = made["session_id"]
    assert run_cli("session", "list").stdout.split()[0] == ident
    listed = json.loads(run_cli("session", "list", "--json").stdout)
    assert [each["session_id"] for each in listed["sessions"]] == [ident]
    assert run_cli("session", "end", ident).returncode == 0
    gone = run_cli("session", "show", ident, "--json")
    assert gone.returncode == 4
    assert json.loads(gone.stdout)["error"]["code"] == "SESSION_NOT_FOUND"


def test_a_skill_is_used_in_a_session_from_one_command_to_the_next(home: Path, run_cli: Any) -> None:
    """A33, A34: its tools are there in the session, and nowhere else; remembered by the home."""
    put_skill(home, "sayer", say_hi="hi")
    run_cli("session", "new", "mine")
    assert "say_hi" not in names(run_cli, "--session", "mine")
    used = run_cli("skill", "use", "sayer", "--session", "mine", "--json")
    assert used.returncode == 0, used.stderr
    assert names(run_cli, "--session", "mine") - names(run_cli) == {"say_hi"}
    called = run_cli("call", "--session", "mine", "say_hi", "--yes", "--json")
    assert json.loads(called.stdout)["data"] == "hi\n"
    assert run_cli("call", "say_hi", "--session=mine", "--yes").stdout == "hi\n"
    assert run_cli("call", "say_hi", "--yes").returncode == 4
    shown = json.loads(run_cli("session", "show", "mine", "--json").stdout)
    assert [each["name"] for each in shown["skills"]] == ["sayer"]
    assert shown["stats"]["executions_by_tool"] == {"say_hi": 2}
    assert "sayer" in run_cli("session", "show", "mine").stdout
    assert run_cli("skill", "remove", "sayer", "--session", "mine").returncode == 0
    assert run_cli("call", "--session", "mine", "say_hi", "--yes").returncode == 4


def test_with_only_allowed_a_skill_narrows_the_session(home: Path, run_cli: Any) -> None:
    """`allowed-tools` never loosens: what was to be asked about still is."""
    put_skill(home, "sayer", say_hi="hi")
    file = home / "skills" / "sayer" / "SKILL.md"
    file.write_text(file.read_text().replace("version:", "allowed-tools: Read run_command Bash(git:*)\nversion:"))
    run_cli("session", "new", "mine")
    assert run_cli("skill", "use", "sayer", "--session", "mine", "--only-allowed").returncode == 0
    assert names(run_cli, "--session", "mine") == {"say_hi", "read_file", "run_command"}
    refused = run_cli("call", "--session", "mine", "run_command", "--command", "touch x", "--json")
    assert json.loads(refused.stdout)["error"]["code"] == "APPROVAL_REQUIRED"
    run_cli("skill", "remove", "sayer", "--session", "mine")
    assert "grep" in names(run_cli, "--session", "mine")


def test_what_cannot_be_the_name_of_a_session_is_refused(run_cli: Any) -> None:
    for words in (("session", "new", "a b"), ("call", "--session", "a b", "todo_read")):
        done = run_cli(*words)
        assert done.returncode == 2
        assert "A-Z a-z 0-9 _ . : -" in done.stderr
    assert "SESSION_NOT_FOUND" in run_cli("list", "--session", "nobody").stderr


def test_an_mcp_client_is_served_a_session(home: Path, run_cli: Any) -> None:
    put_skill(home, "sayer", say_hi="hi")
    run_cli("session", "new", "mine")
    run_cli("skill", "use", "sayer", "--session", "mine")
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in asked)
    done = run_cli("serve", "mcp", "--session", "mine", input=lines)
    answers = {each.get("id"): each for each in map(json.loads, done.stdout.splitlines())}
    assert "say_hi" in {tool["name"] for tool in answers[2]["result"]["tools"]}
    assert run_cli("serve", "mcp", "--session", "a b").returncode == 2


def test_help_shows_an_example(run_cli: Any) -> None:
    assert "toolcrib session new" in run_cli("session", "--help").stdout
