"""`toolcrib list`: true, quick, and harmless to the terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HEAVY = {"asyncio", "argparse", "json", "yaml", "orjson", "dataclasses", "typing", "jsonschema_rs", "pydantic", "re"}
Tool = Callable[..., Path]


def script(name: str, words: str = "Does something.") -> str:
    about = json.dumps({"name": name, "description": words, "input_schema": {"type": "object"}})
    return (
        f"#!/bin/sh\ncase $1 in\ndescription) cat <<'END'\n{about}\nEND\n;;\nrun) echo {name} ;;\n*) exit 1 ;;\nesac\n"
    )


@pytest.fixture(autouse=True)
def programs_alone(home: Path) -> None:
    """These tests are about programs; the tools that come with the package are left out."""
    (home / "config.yaml").write_text("toolsets: {}\n")


def listed(run_cli) -> dict[str, str]:
    """Name to description, of what is on offer."""
    done = run_cli("list", "--json")
    assert done.returncode == 0, done.stderr
    return {tool["name"]: tool["description"] for tool in json.loads(done.stdout)["tools"]}


def test_with_no_tools_nothing_changes(run_cli, workspace: Path, home: Path) -> None:
    """K59: an empty home and no project is no error, and says what to do."""
    done = run_cli("list")
    assert (done.returncode, done.stdout) == (0, "")
    assert str(home / "tools") in done.stderr and "toolcrib new" in done.stderr
    assert list(workspace.iterdir()) == []
    assert json.loads(run_cli("list", "--json").stdout) == {"tools": [], "problems": []}


def test_each_tool_with_its_description(run_cli, make_tool: Tool, home: Path) -> None:
    """K2, K7, K11, K12, K64: executable files of the user's directory, by name, with the prefix; no others."""
    make_tool("beta", script("beta", "Second."))
    make_tool("alpha", script("alpha", "First line.\nSecond line."))
    make_tool("plain", script("plain")).chmod(0o644)
    done = run_cli("list")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "custom_tool_alpha  ask          First line.\ncustom_tool_beta   ask          Second.\n"
    assert run_cli("list", "--names").stdout == "custom_tool_alpha\ncustom_tool_beta\n"
    (tool, _) = json.loads(run_cli("list", "--json").stdout)["tools"]
    assert tool == {
        "name": "custom_tool_alpha",
        "description": "First line.\nSecond line.",
        "input_schema": {"type": "object"},
        "source": "executable",
        "origin": str(home / "tools" / "alpha"),
        "version": "0.0.0",
        "approval": "ask",
        "digest": tool["digest"],
    }


def test_the_kept_answer_ends_with_any_change(run_cli, make_tool: Tool, home: Path, workspace: Path) -> None:
    """K5, K24: added, edited, made (not) executable, removed, configured, trusted: each is seen at once."""
    first = make_tool("first", script("first"))
    assert listed(run_cli) == listed(run_cli) == {"custom_tool_first": "Does something."}
    second = make_tool("second", script("second"))
    assert set(listed(run_cli)) == {"custom_tool_first", "custom_tool_second"}
    first.write_text(script("first", "Does anything."))  # as long as before
    assert listed(run_cli)["custom_tool_first"] == "Does anything."
    second.chmod(0o644)
    assert set(listed(run_cli)) == {"custom_tool_first"}
    second.chmod(0o755)
    assert set(listed(run_cli)) == {"custom_tool_first", "custom_tool_second"}
    second.unlink()
    assert set(listed(run_cli)) == {"custom_tool_first"}
    (home / "config.yaml").write_text("toolsets: {}\ncustom_tools: {prefix: my_}\n")
    assert set(listed(run_cli)) == {"my_first"}
    (home / "config.yaml").write_text("toolsets: {}\n")
    make_tool("third", script("third"), directory=workspace / ".toolcrib" / "tools")
    assert set(listed(run_cli)) == {"custom_tool_first"}
    run_cli("trust", "--yes")
    assert set(listed(run_cli)) == {"custom_tool_first", "custom_tool_third"}
    run_cli("untrust")
    assert set(listed(run_cli)) == {"custom_tool_first"}


def test_the_kept_answer_is_for_one_directory(run_cli, make_tool: Tool, workspace: Path, tmp_path: Path) -> None:
    make_tool("mine", script("mine"), directory=workspace / ".toolcrib" / "tools")
    run_cli("trust", "--yes")
    assert set(listed(run_cli)) == {"custom_tool_mine"}
    assert run_cli("list", "--names", cwd=tmp_path).stdout == ""


def test_an_unchanged_tool_is_not_started_again(run_cli, make_tool: Tool, tmp_path: Path) -> None:
    """K73: also when another tool changed, and also when it failed."""
    count = f'echo x >> "{tmp_path}/$(basename "$0").starts"\n'
    for name in ("good", "bad"):
        text = script(name) if name == "good" else "#!/bin/sh\nexit 3\n"
        make_tool(name, text.replace("#!/bin/sh\n", "#!/bin/sh\n" + count))
    for _ in range(2):
        run_cli("list")
    make_tool("another", script("another"))
    run_cli("list")
    assert [(tmp_path / f"{name}.starts").read_text().count("x") for name in ("good", "bad")] == [1, 1]


def test_the_quick_way_imports_nothing_heavy(run_cli, make_tool: Tool, workspace: Path, environment) -> None:
    for number in range(3):
        make_tool(f"tool{number}", script(f"tool{number}"))
    run_cli("list")
    code = "import sys\nfrom toolcrib.cli import main\nmain(sys.argv[1:])\nsys.stderr.write(' '.join(sys.modules))"
    for words in (["list"], ["list", "--json"], ["list", "--names"]):
        argv = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}", *words]
        done = subprocess.run(argv, cwd=workspace, env=environment, capture_output=True, text=True, check=True)
        assert "custom_tool_tool2" in done.stdout
        assert HEAVY & set(done.stderr.split()) == set()


def test_a_damaged_kept_answer_is_asked_for_again(run_cli, make_tool: Tool, home: Path) -> None:
    make_tool("one", script("one"))
    run_cli("list")
    (kept,) = (home / "cache").glob("list-*")
    whole = kept.read_bytes()
    for damage in (b"", b"\x00", whole[: len(whole) // 2], b"i\x01\x00\x00\x00", b"\xff" * 100):
        kept.write_bytes(damage)
        assert run_cli("list", "--names").stdout == "custom_tool_one\n"


def test_what_is_skipped_is_told_with_its_reason_and_recorded(run_cli, make_tool: Tool, home: Path) -> None:
    """K10, K85: a malformed description skips one tool, says why, and takes nothing else with it."""
    make_tool("fine", script("fine"))
    bad = make_tool("bad", "#!/bin/sh\necho nonsense here\n")
    make_tool("na\x1b[31mme", "#!/bin/sh\nprintf 'oops \\033]0;x\\007' >&2; exit 9\n")
    done = run_cli("list")
    assert (done.returncode, done.stdout.split()[0]) == (0, "custom_tool_fine")
    assert f"VALIDATION_ERROR {bad}: `description` must print one JSON object" in done.stderr
    assert "oops \\x1b]0;x\\x07" in done.stderr and "na\\x1b[31mme" in done.stderr
    assert "\x1b" not in done.stderr
    problems = json.loads(run_cli("list", "--json").stdout)["problems"]
    assert sorted(problem["code"] for problem in problems) == ["EXECUTION_ERROR", "VALIDATION_ERROR"]
    recorded = "".join(file.read_text() for file in (home / "audit").glob("*.jsonl"))
    assert str(bad) in recorded and "must print one JSON object" in recorded


def test_a_name_that_is_not_utf8_takes_nothing_else_with_it(run_cli, make_tool: Tool, home: Path) -> None:
    make_tool("fine", script("fine"))
    with open(bytes(home / "tools") + b"/bad\xff", "w", opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
        file.write("#!/bin/sh\nexit 3\n")
    done = run_cli("list")
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["custom_tool_fine"])
    assert run_cli("call", "fine", "--yes").returncode == 0
    checked = json.loads(run_cli("check", "--json").stdout)["checked"]
    assert [each["findings"][0]["code"] for each in checked if each["findings"]] == ["TOOL_NAME_INVALID"]


def test_hostile_words_reach_no_terminal(run_cli, make_tool: Tool) -> None:
    words = "Nice.\x1b[2J\x1b]0;owned\x07\u202egnp\x9b31m\x00\nsecond"
    make_tool("nice", script("nice", words))
    drawn = run_cli("list").stdout
    assert drawn.rstrip("\n").isprintable()
    raw = run_cli("list", "--json").stdout
    assert raw.isascii() and raw.rstrip("\n").isprintable()
    assert json.loads(raw)["tools"][0]["description"] == words


@pytest.mark.parametrize("words", ["x" * 300, "漢" * 300, "é" * 300])
def test_a_line_fits_the_terminal(terminal, make_tool: Tool, words: str) -> None:
    make_tool("long", script("long", words))
    at = terminal("list", columns=70)
    assert at.finish() == 0
    (line,) = at.screen.rstrip("\r\n").split("\r\n")
    assert line.endswith("…")
    assert 68 <= sum(2 if char == "漢" else 1 for char in line) <= 70


def test_the_projects_tool_covers_the_users(run_cli, make_tool: Tool, workspace: Path) -> None:
    """K3, K6, K60: the project's directory is committed with it, and counts from `trust` on."""
    mine = make_tool("same", script("same", "The user's."))
    theirs = make_tool("same", script("same", "The project's."), directory=workspace / ".toolcrib" / "tools")
    before = json.loads(run_cli("list", "--json").stdout)
    assert before["tools"] == []  # held by an untrusted file: it does not fall back
    assert before["problems"][0]["code"] == "WORKSPACE_UNTRUSTED"
    run_cli("trust", "--yes")
    assert json.loads(run_cli("list", "--json").stdout)["tools"][0]["origin"] == str(theirs)
    theirs.unlink()
    assert json.loads(run_cli("list", "--json").stdout)["tools"][0]["origin"] == str(mine)


def test_nothing_of_an_untrusted_project_runs(run_cli, make_tool: Tool, workspace: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    evil = f"#!/bin/sh\n: > {canary}\n"
    make_tool("evil", evil, directory=workspace / ".toolcrib" / "tools")
    (workspace / ".toolcrib" / "config.yaml").write_text("custom_tools: {global_dir: .}\nthis is: [not yaml\n")
    for words in (["list"], ["show", "evil"], ["call", "evil", "--yes"], ["check"], ["check", "evil"], ["trust"]):
        run_cli(*words)
    path = str(workspace / ".toolcrib" / "tools" / "evil")
    statuses = [run_cli("check", path).returncode, run_cli("call", "evil", "--yes").returncode]
    assert statuses == [3, 3]
    assert not canary.exists()


@pytest.mark.parametrize("verb", [["list"], ["call", "x"], ["show", "x"], ["check"], ["new", "executable", "x"]])
def test_a_wrong_configuration_stops_every_command(run_cli, home: Path, verb: list[str]) -> None:
    """K56: with path, line and what would be right."""
    (home / "config.yaml").write_text("custom_tools:\n  enabld: true\n")
    done = run_cli(*verb)
    assert done.returncode == (1 if verb == ["check"] else 2)
    assert f"{home}/config.yaml:2: unknown key 'enabld'; did you mean enabled?" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_what_the_configuration_says_of_tools(run_cli, make_tool: Tool, home: Path, tmp_path: Path) -> None:
    """K4, K37 to K43: directories with `~`, limits and variables; what is not said keeps its default."""
    make_tool("mine", script("mine"), directory=tmp_path / "elsewhere")
    config = home / "config.yaml"
    config.write_text("toolsets: {}\ncustom_tools: {global_dir: ~/elsewhere}\n")
    facts = json.loads(run_cli("show", "mine", "--json").stdout)
    assert facts["origin"] == str(tmp_path / "elsewhere" / "mine")
    assert facts["limits"] == {"seconds": 30.0, "output_bytes": 1048576, "memory_bytes": None}
    assert facts["environment"] == ["PATH", "HOME", "USER"]
    config.write_text(
        "custom_tools: {global_dir: ~/elsewhere, timeout: 1500ms, max_output_size: 2048, env_whitelist: [LANG]}\n"
    )
    facts = json.loads(run_cli("show", "mine", "--json").stdout)
    assert facts["limits"] == {"seconds": 1.5, "output_bytes": 2048, "memory_bytes": None}
    assert facts["environment"] == ["LANG"]
    config.write_text("toolsets: {}\ncustom_tools: {global_dir: ~/elsewhere, enabled: false}\n")
    done = run_cli("list")
    assert (done.returncode, done.stdout) == (0, "")
    assert "enabled: false" in done.stderr


def test_an_unknown_word_is_a_usage_error(run_cli) -> None:
    assert run_cli("list", "--jsn").returncode == 2
    assert run_cli("lst").returncode == 2
    assert "toolcrib list --json" in run_cli("list", "--help").stdout
