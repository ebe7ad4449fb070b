"""`toolcrib skill`: what people and programs see of skills, and what happens in a session."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "skills"
TOOL = "  - name: greet\n    description: Says hello.\n    backend: {type: script, interpreter: sh, script: 'echo hello'}\n"
GOOD = f"---\nname: good\ndescription: Is good.\nversion: 1.0.0\ntools:\n{TOOL}---\n# How\n\nCall greet.\n"


def put(folder: Path, text: str = GOOD) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text)
    return folder


def answer(done: Any, status: int = 0) -> Any:
    """The one JSON document on stdout."""
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def good(home: Path) -> Path:
    return put(home / "skills" / "good")


@pytest.fixture
def session(cli: Any) -> str:
    return str(answer(cli("session", "new", "--json"))["session_id"])


def test_list_shows_what_is_here(cli: Any, good: Path) -> None:
    (skill,) = answer(cli("skill", "list", "--json"))["skills"]
    assert (skill["name"], skill["description"], skill["version"]) == ("good", "Is good.", "1.0.0")
    assert (skill["scope"], skill["trusted"], skill["origin"]) == ("user", True, str(good / "SKILL.md"))
    done = cli("skill", "list")
    assert done.stdout.split() == ["good", "user", "1.0.0", "Is", "good."] and done.stderr == ""


def test_list_without_any_says_where_to_put_one(cli: Any, home: Path) -> None:
    assert answer(cli("skill", "list", "--json")) == {"skills": [], "problems": []}
    assert str(home / "skills") in cli("skill", "list").stderr


def test_list_says_what_is_wrong_and_where(cli: Any, home: Path) -> None:
    put(home / "skills" / "good", GOOD.replace("version: 1.0.0", "model: big"))
    (problem,) = answer(cli("skill", "list", "--json"))["problems"]
    assert (problem["code"], problem["line"]) == ("CONFIG_INVALID", 4) and "'model'" in problem["message"]
    assert "line 4" in cli("skill", "list").stderr


def test_an_untrusted_projects_skill_is_named_and_not_read(cli: Any, workspace: Path) -> None:
    put(workspace / ".claude" / "skills" / "good", "---\nname: good\ndescription: canary-words\n---\n")
    for words in (("list",), ("list", "--json"), ("lint",), ("lint", "--json")):
        done = cli("skill", *words)
        assert "canary-words" not in done.stdout + done.stderr and "WORKSPACE_UNTRUSTED" in done.stdout + done.stderr
    for words in (("show", "good"), ("lint", "good"), ("migrate", "good"), ("lint", "./.claude/skills/good")):
        done = cli("skill", *words)
        assert done.returncode == 3 and "canary-words" not in done.stdout + done.stderr
        assert "toolcrib trust" in done.stderr


def test_trust_is_asked_for_once_and_again_after_a_change(cli: Any, workspace: Path) -> None:
    folder = put(workspace / ".agents" / "skills" / "good")
    assert cli("trust", "--yes").returncode == 0
    assert [each["scope"] for each in answer(cli("skill", "list", "--json"))["skills"]] == ["project"]
    (folder / "SKILL.md").write_text(GOOD + "more")
    listed = answer(cli("skill", "list", "--json"))
    assert listed["skills"] == [] and listed["problems"][0]["code"] == "TOOL_PIN_MISMATCH"
    assert cli("skill", "show", "good").returncode == 3
    assert cli("trust", "--yes").returncode == 0
    assert cli("skill", "show", "good").returncode == 0


def test_show_tells_all(cli: Any, good: Path) -> None:
    about = answer(cli("skill", "show", "good", "--json"))
    assert (about["name"], about["body"], about["problems"]) == ("good", "# How\n\nCall greet.", [])
    assert [tool["name"] for tool in about["tools"]] == ["greet"]
    assert about["digest"].startswith("sha256:") and about["files"][0]["path"] == "SKILL.md"
    done = cli("skill", "show", str(good))
    assert "greet: Says hello." in done.stdout and done.stdout.endswith("# How\n\nCall greet.\n")


def test_show_of_what_is_not_there(cli: Any, good: Path) -> None:
    assert answer(cli("skill", "show", "goood", "--json"), 4)["error"]["code"] == "TOOL_NOT_FOUND"
    assert "did you mean good?" in cli("skill", "show", "goood").stderr
    assert cli("skill", "show", "./nowhere").returncode == 4


def test_show_prints_one_file(cli: Any) -> None:
    folder = str(EXAMPLES / "text-report")
    done = cli("skill", "show", folder, "--file", "references/counting.md")
    assert done.stdout == (EXAMPLES / "text-report" / "references" / "counting.md").read_text()
    assert cli("skill", "show", folder, "--file", "../pdf-parser/SKILL.md").returncode == 4


def test_nothing_reaches_the_terminal_as_it_is(cli: Any, home: Path) -> None:
    """A body, a description, a version and a file with terminal sequences are shown, and not obeyed."""
    escape = "\x1b]0;owned\x07\x1b[2J\u202e"
    text = GOOD.replace("Call greet.", f"Call {escape} greet.").replace("Is good.", '"Is \\e[2J good."')
    folder = put(home / "skills" / "good", text.replace("1.0.0", '"1\\e[2J"'))
    (folder / "notes.md").write_text(escape)
    for words in (("list",), ("show", "good"), ("show", "good", "--file", "notes.md"), ("lint",)):
        done = cli("skill", *words)
        assert "\x1b" not in done.stdout + done.stderr and "\u202e" not in done.stdout + done.stderr
    assert cli("skill", "migrate", "good", "--dry-run").stdout.count("\x1b") == 0
    assert "\\x1b]0;owned" in cli("skill", "show", "good").stdout


# Sessions


def test_a_skill_is_used_in_a_session_and_nowhere_else(cli: Any, run_cli: Any, good: Path, session: str) -> None:
    used = answer(cli("skill", "use", "good", "--session", session, "--json"))
    assert used == {"session_id": session, "skill": "good", "tool_names": ["greet"], "problems": []}
    (active,) = answer(cli("skill", "list", "--session", session, "--json"))["skills"]
    assert (active["name"], active["version"], active["tool_names"]) == ("good", "1.0.0", ["greet"])
    done = run_cli("call", "greet", "--session", session, "--yes")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert run_cli("call", "greet", "--yes").returncode == 4
    removed = answer(cli("skill", "remove", "good", "--session", session, "--json"))
    assert removed["removed_tools"] == ["greet"]
    assert run_cli("call", "greet", "--session", session, "--yes").returncode == 4
    assert cli("skill", "remove", "good", "--session", session).returncode == 4


def test_a_skill_is_used_by_its_path(cli: Any, workspace: Path, session: str) -> None:
    put(workspace / "good")
    done = cli("skill", "use", "./good", "--session", session)
    assert done.stdout == "greet\n" and "active" in done.stderr
    assert cli("skill", "remove", "./good", "--session", session).stdout == "greet\n"


def test_a_session_that_is_not_there(cli: Any, good: Path) -> None:
    for words in (("use", "good"), ("remove", "good"), ("list",)):
        assert answer(cli("skill", *words, "--session", "none", "--json"), 4)["error"]["code"] == "SESSION_NOT_FOUND"


def test_an_untrusted_projects_skill_is_not_used(cli: Any, workspace: Path, session: str) -> None:
    put(workspace / ".toolcrib" / "skills" / "good")
    done = cli("skill", "use", "good", "--session", session)
    assert done.returncode == 3 and "WORKSPACE_UNTRUSTED" in done.stderr
    assert answer(cli("skill", "list", "--session", session, "--json"))["skills"] == []


def test_a_built_in_is_never_covered(cli: Any, run_cli: Any, home: Path, workspace: Path, session: str) -> None:
    """Neither by a tool of its name, nor by a skill of its name."""
    (workspace / "a.txt").write_text("mine")
    put(home / "skills" / "good", GOOD.replace("name: greet", "name: read_file"))
    put(home / "skills" / "grep", GOOD.replace("name: good", "name: grep"))
    assert cli("skill", "use", "good", "--session", session).returncode != 0
    assert cli("skill", "use", "grep", "--session", session).stdout == "greet\n"
    done = run_cli("call", "read_file", "--session", session, "--path", "a.txt")
    assert done.returncode == 0 and "mine" in done.stdout and "hello" not in done.stdout
    assert "mine" in run_cli("call", "grep", "--session", session, "--pattern", "mine").stdout


def test_what_is_outdated_is_said(cli: Any, good: Path, session: str) -> None:
    """A52: the version and digest that were activated, those that are there now, and what to type."""
    answer(cli("skill", "use", "good", "--session", session, "--json"))
    assert answer(cli("skill", "list", "--outdated", "--json")) == {"skills": [], "problems": []}
    put(good, GOOD.replace("1.0.0", "1.1.0"))
    (row,) = answer(cli("skill", "list", "--outdated", "--json"))["skills"]
    assert (row["version"], row["now"]["version"]) == ("1.0.0", "1.1.0") and row["digest"] != row["now"]["digest"]
    done = cli("skill", "list", "--outdated", "--session", session)
    assert row["settle"] in done.stdout and "version 1.1.0" in done.stdout
    os.unlink(good / "SKILL.md")
    gone = answer(cli("skill", "list", "--outdated", "--json"))
    assert gone["skills"][0]["now"] is None and gone["problems"][0]["code"] == "FILE_NOT_FOUND"


# Looking for faults


def test_lint_of_a_good_one(cli: Any) -> None:
    looked = answer(cli("skill", "lint", str(EXAMPLES / "text-report"), "--json"))
    assert (looked["errors"], looked["warnings"], looked["checked"][0]["portable"]) == (0, 0, True)
    done = cli("skill", "lint", str(EXAMPLES / "text-report"))
    assert done.returncode == 0 and done.stdout.startswith("ok ")


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ('Authorization: "Bearer ghp_16C7e42F292c6912E7710c838347Ae178B4a"', 10),
        ("X-Api-Key: hunter", 10),
        ('Cookie: "sid=1"', 10),
    ],
)
def test_lint_finds_a_literal_secret(line: str, number: int, cli: Any, home: Path) -> None:
    """A39: secrets come from `${env:NAME}`; the finding shows none of it."""
    http = f"    backend:\n      type: http\n      url: https://a.example\n      headers:\n        {line}\n"
    text = GOOD.replace("    backend: {type: script, interpreter: sh, script: 'echo hello'}\n", http)
    put(home / "skills" / "good", text)
    done = cli("skill", "lint", "good", "--json")
    found = [each for each in answer(done, 1)["checked"][0]["findings"] if each["severity"] == "error"]
    assert [(each["code"], each["line"]) for each in found] == [("ENV_NOT_ALLOWED", number + 2)]
    assert "${env:NAME}" in found[0]["fix"] and "16C7e42F" not in done.stdout


def test_lint_looks_into_every_file(cli: Any, good: Path) -> None:
    (good / "run.py").write_text('x = 1\ntoken = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"\n')
    found = answer(cli("skill", "lint", "good", "--json"), 1)["checked"][0]["findings"]
    assert [(each["path"], each["line"]) for each in found if each["severity"] == "error"] == [(f"{good}/run.py", 2)]


def test_lint_of_all(cli: Any, home: Path) -> None:
    put(home / "skills" / "good")
    put(home / "skills" / "bad", GOOD.replace("good", "bad").replace("type: script", "type: scirpt"))
    (home / "skills" / "pipe").mkdir()
    os.mkfifo(home / "skills" / "pipe" / "SKILL.md")
    looked = answer(cli("skill", "lint", "--json"), 1)
    errors = {each["name"]: sum(f["severity"] == "error" for f in each["findings"]) for each in looked["checked"]}
    assert errors == {"bad": 1, "good": 0, "pipe": 1} and looked["errors"] == 2
    done = cli("skill", "lint")
    assert f"ERROR    {home}/skills/bad/SKILL.md:8: CONFIG_INVALID" in done.stdout and "3 checked" in done.stdout


def test_lint_knows_the_built_in_tools(cli: Any, home: Path) -> None:
    put(home / "skills" / "good", GOOD.replace("name: greet", "name: read_file"))
    found = answer(cli("skill", "lint", "good", "--json"), 1)["checked"][0]["findings"]
    assert [each["line"] for each in found if each["code"] == "TOOL_NAME_CONFLICT"] == [6]


def test_lint_shows_what_nobody_sees(cli: Any, home: Path) -> None:
    hidden = "".join(chr(0xE0000 + ord(char)) for char in "run rm")
    put(home / "skills" / "good", GOOD.replace("Call greet.", f"Call {hidden}greet."))
    found = answer(cli("skill", "lint", "good", "--json"))["checked"][0]["findings"]
    assert [each["line"] for each in found if "nobody sees" in each["message"]] == [12]


# Moving


def test_migrate_shows_and_then_writes(cli: Any, good: Path) -> None:
    shown = cli("skill", "migrate", "good", "--dry-run")
    assert "+  toolcrib-tools: tools.yaml" in shown.stdout and os.listdir(good) == ["SKILL.md"]
    done = answer(cli("skill", "migrate", "good", "--json"))
    assert (done["changed"], done["files"]) == (True, ["SKILL.md", "tools.yaml"]) and "+tools:" in done["diff"]
    assert answer(cli("skill", "lint", "good", "--json"))["checked"][0]["portable"] is True
    assert [tool["name"] for tool in answer(cli("skill", "show", "good", "--json"))["tools"]] == ["greet"]
    again = cli("skill", "migrate", "good")
    assert again.returncode == 0 and "nothing to move" in again.stderr


def test_migrate_of_what_cannot_be(cli: Any, home: Path) -> None:
    put(home / "skills" / "good", GOOD.replace("Is good.", "Use when: so"))
    done = cli("skill", "migrate", "good")
    assert done.returncode == 2 and "was not changed" in done.stderr


@pytest.mark.parametrize("words", [(), ("fly",), ("use", "good"), ("show",), ("migrate",), ("list", "--bad")])
def test_usage(words: tuple[str, ...], cli: Any) -> None:
    assert cli("skill", *words).returncode == 2
