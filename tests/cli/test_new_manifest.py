"""`toolcrib new manifest`: a folder that passes `check` and `test` at once, in every language (F2 to F6, F23 to F25)."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HOME = os.environ.get("HOME", "")
"""Where a compiler keeps what it needs."""
RUNS = {
    "python": ("python3", "--version"),
    "bash": ("bash", "--version"),
    "node": ("node", "--version"),
    "go": ("go", "version"),
    "rust": ("rustc", "--version"),
}
PARAMETERS = ("--parameter", "day:string:required", "--parameter", "n:number", "--parameter", "loud:boolean")


def everything(*places: Path) -> set[str]:
    return {str(path) for place in places for path in place.rglob("*")}


@pytest.mark.parametrize("language", list(RUNS))
def test_a_new_tool_passes_check_and_test_and_answers(cli, home: Path, workspace: Path, language: str) -> None:
    """F3, F5, F6, F45, F50: the compiled ones are built, and their manifest names the program (F25)."""
    program, word = RUNS[language]
    env = os.environ | {"HOME": HOME}
    if shutil.which(program) is None or subprocess.run((program, word), env=env, capture_output=True).returncode:
        pytest.skip(f"{program} is not installed")
    written = cli("new", "manifest", "since", "--lang", language, *PARAMETERS, "--json", env={"HOME": HOME})
    assert written.returncode == 0, written.stderr
    report = json.loads(written.stdout)
    assert (report["name"], report["language"]) == ("custom_tool_since", language)
    folder = home / "tools" / "since"
    assert sorted(report["files"]) == sorted(str(path) for path in folder.iterdir())
    checked = cli("check", "since", "--json")
    assert (checked.returncode, json.loads(checked.stdout)["warnings"]) == (0, 0), checked.stdout
    odd = "ü \"q\" $(x) `y` \\ {} 'z'"
    done = cli("call", "since", "--yes", "--day", odd, "--n", "2", "--no-loud")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"since works.\nday: {odd}\nn: 2\nloud: false\n", "")
    tried = cli("test", "since", "--yes", "--cases", "6", "--json")
    (tool,) = json.loads(tried.stdout)["tools"]
    assert (tried.returncode, tool["examples"], tool["failures"]) == (0, 1, []), tried.stdout
    assert (tool["made_up"], tool["wrong"]) == ({"answered": 6, "declined": 0}, {"refused": 6})
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.iterdir()))
    assert list(workspace.iterdir()) == []


def test_words_for_people(cli, home: Path) -> None:
    done = cli("new", "manifest", "since", "--parameter", "day:string:required", "--description", "Days since.")
    assert done.returncode == 0
    folder = home / "tools" / "since"
    assert done.stdout == f"wrote {folder}/tool.yaml\nwrote {folder}/since.py\n"
    next_steps = [line.split("  ")[1] for line in done.stderr.splitlines()[1:]]
    assert next_steps == ["toolcrib call since --day=hello", "toolcrib check since", "toolcrib test since"]
    assert 'description: "Days since."' in (folder / "tool.yaml").read_text()


def test_hostile_words_are_kept_and_nothing_runs(cli, home: Path, workspace: Path, tmp_path: Path) -> None:
    """F12: as one word of a command line, through the manifest, to the listing."""
    words = "a \"b\" 'c' $(touch x) `touch x` #{} */ \n---\nname: other 😀 \\"
    assert cli("new", "manifest", "one", "--description", words).returncode == 0
    (tool,) = [each for each in json.loads(cli("list", "--json").stdout)["tools"] if each["source"] == "manifest"]
    assert tool["description"].startswith(words)
    assert cli("test", "one", "--yes").returncode == 0
    assert not list(tmp_path.rglob("x")) and list(workspace.iterdir()) == []
    assert sorted(path.name for path in (home / "tools").iterdir()) == ["one"]


@pytest.mark.parametrize("name", ["../x", "a/b", ".", "..", "", "a b", "ü", "n" * 60, "a\x1b[2J", ".hidden"])
def test_a_name_that_is_none_is_refused(cli, home: Path, workspace: Path, name: str) -> None:
    done = cli("new", "manifest", name)
    assert done.returncode == 2
    assert done.stderr.startswith("TOOL_NAME_INVALID") and "\x1b" not in done.stderr
    assert not (home / "tools").exists() and list(workspace.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("manifest", "one", "--parameter", "a:integer"),
        ("manifest", "one", "--parameter", "a:string:always"),
        ("manifest", "one", "--parameter", "a:"),
        ("manifest", "one", "--parameter", ":string"),
        ("manifest", "one", "--parameter", "a b:string"),
        ("manifest", "one", "--parameter", "a", "--parameter", "a"),
        ("manifest", "one", "--description", ""),
        ("manifest", "one", "--lang", "cobol"),
        ("executable", "one", "--description", "x"),
        ("executable", "one", "--parameter", "a:string"),
        ("executable", "one", "--lang", "rust"),
        ("skill", "one"),
    ],
)
def test_words_that_mean_nothing(cli, home: Path, words: tuple[str, ...]) -> None:
    done = cli("new", *words)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr
    assert not (home / "tools").exists() or list((home / "tools").iterdir()) == []


def test_a_parameter_without_a_type_is_text(cli, home: Path) -> None:
    assert cli("new", "manifest", "one", "--parameter", "a").returncode == 0
    assert "    type: string\n" in (home / "tools" / "one" / "tool.yaml").read_text()


def test_nothing_is_overwritten(cli, home: Path) -> None:
    assert cli("new", "executable", "mine").returncode == 0
    before = everything(home)
    done = cli("new", "manifest", "mine")
    assert (done.returncode, "is there already" in done.stderr) == (1, True)
    assert everything(home) == before
    assert cli("new", "manifest", "other").returncode == 0
    (home / "tools" / "other" / "other.py").write_text("precious")
    assert cli("new", "manifest", "other", "--lang", "bash").returncode == 1
    assert cli("new", "executable", "other").returncode == 1
    assert (home / "tools" / "other" / "other.py").read_text() == "precious"


@pytest.mark.parametrize("language", ["go", "rust"])
def test_without_the_compiler_it_says_what_to_install(cli, home: Path, tmp_path: Path, language: str) -> None:
    """The folder is written, so that nothing has to be typed again; it is no tool yet (F30)."""
    done = cli("new", "manifest", "later", "--lang", language, env={"PATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (1, "")
    assert f"wrote {home}/tools/later, but it is not a tool yet" in done.stderr
    assert "is not installed; install" in done.stderr and "toolcrib build later" in done.stderr
    assert (home / "tools" / "later" / "tool.yaml").exists()
    assert "custom_tool_later" not in cli("list").stdout


def test_what_a_compiler_says_is_shown(cli, home: Path, tmp_path: Path) -> None:
    """With nothing in it that a terminal would obey."""
    fake = tmp_path / "bin" / "go"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nprintf 'one.go:3: \\033[2Jno\\n' >&2\nexit 7\n")
    fake.chmod(0o755)
    done = cli("new", "manifest", "one", "--lang", "go", env={"PATH": f"{fake.parent}:{os.environ['PATH']}"})
    assert done.returncode == 1
    assert "it was not built" in done.stderr and "one.go:3: \\x1b[2Jno" in done.stderr and "\x1b" not in done.stderr


def test_into_the_project(cli, home: Path, workspace: Path, tmp_path: Path, monkeypatch) -> None:
    """Trusted first, and then offered; never through a link that leads away."""
    done = cli("new", "manifest", "shared", "--project")
    assert done.returncode == 0 and "toolcrib trust" in done.stderr
    folder = workspace / ".toolcrib" / "tools" / "shared"
    assert (folder / "tool.yaml").stat().st_mode & 0o777 == 0o644 and os.access(folder / "shared.py", os.X_OK)
    assert not (home / "tools").exists()
    assert cli("test", "shared", "--yes").returncode == 3
    assert cli("trust", "--yes").returncode == 0
    assert cli("test", "shared", "--yes").returncode == 0
    away, hostile = tmp_path / "away", tmp_path / "hostile"
    away.mkdir()
    (hostile / ".toolcrib").mkdir(parents=True)
    (hostile / ".toolcrib" / "tools").symlink_to(away)
    monkeypatch.chdir(hostile)
    done = cli("new", "manifest", "shared", "--project")
    assert (done.returncode, "leads out of the project" in done.stderr) == (1, True)
    assert list(away.iterdir()) == []
