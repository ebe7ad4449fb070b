"""`toolcrib new`: a tool that passes `check` at once (K67)."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

INTERPRETERS = {"python": "python3", "bash": "bash", "node": "node", "go": "go"}


@pytest.mark.parametrize("language", list(INTERPRETERS))
def test_a_new_tool_passes_check_and_answers(run_cli, home: Path, workspace: Path, language: str) -> None:
    """K67: in each language, with odd characters in its argument."""
    if shutil.which(INTERPRETERS[language]) is None:
        pytest.skip(f"{INTERPRETERS[language]} is not installed")
    written = run_cli("new", "executable", "shout-it", "--lang", language, "--json")
    assert written.returncode == 0, written.stderr
    assert json.loads(written.stdout)["name"] == "custom_tool_shout-it"
    checked = run_cli("check", "shout-it", "--json")
    report = json.loads(checked.stdout)
    assert (checked.returncode, report["faults"], report["warnings"]) == (0, 0, 1)  # the dash in its name
    odd = "ü \"q\" $(x) `y` \\ {} 'z'"
    done = run_cli("call", "shout-it", "--yes", "--text", odd)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"shout-it got: {odd}\n", "")
    assert run_cli("call", "shout-it", "--yes").returncode == 2
    assert (home / "tools" / "shout-it").stat().st_mode & 0o077 == 0
    assert list(workspace.iterdir()) == []


def test_a_bash_tool_needs_no_jq(run_cli, tmp_path: Path) -> None:
    """With python3 instead of jq, and with a clear word where neither is there."""
    run_cli("new", "executable", "plain", "--lang", "bash")
    few = tmp_path / "bin"
    few.mkdir()
    for name in ("bash", "env", "cat"):
        (few / name).symlink_to(str(shutil.which(name)))
    (few / "python3").symlink_to(os.path.realpath(sys.executable))
    done = run_cli("call", "plain", "--yes", "--text", 'a "b"\n', env={"PATH": str(few)})
    assert (done.returncode, done.stdout) == (0, 'plain got: a "b"\n')
    (few / "python3").unlink()
    done = run_cli("call", "plain", "--yes", "--text", "x", env={"PATH": str(few)})
    assert (done.returncode, "neither jq nor python3" in done.stderr) == (1, True)


def test_nothing_is_overwritten(run_cli, home: Path) -> None:
    assert run_cli("new", "executable", "mine").returncode == 0
    (home / "tools" / "mine").write_text("precious")
    done = run_cli("new", "executable", "mine", "--lang", "bash")
    assert (done.returncode, "is there already" in done.stderr) == (1, True)
    (home / "tools" / "link").symlink_to(home / "target")
    assert run_cli("new", "executable", "link").returncode == 1
    assert (home / "tools" / "mine").read_text() == "precious"
    assert not (home / "target").exists()


@pytest.mark.parametrize("name", ["a b", "../up", "a/b", "", "ü", "n" * 60, "a\x1b[2J", ".hidden"])
def test_a_name_that_is_none_is_refused(run_cli, home: Path, workspace: Path, name: str) -> None:
    """K47: no path, no odd character, and not too long with its prefix."""
    done = run_cli("new", "executable", name)
    assert done.returncode == 2
    assert done.stderr.startswith("TOOL_NAME_INVALID") and "\x1b" not in done.stderr
    assert not (home / "tools").exists() and list(workspace.iterdir()) == []


def test_into_the_project(run_cli, home: Path, workspace: Path, tmp_path: Path) -> None:
    """K3, K60: with the word that the project must be trusted first; never through a link that leads away."""
    done = run_cli("new", "executable", "shared", "--project")
    assert done.returncode == 0
    assert "toolcrib trust" in done.stderr
    assert os.access(workspace / ".toolcrib" / "tools" / "shared", os.X_OK)
    assert not (home / "tools").exists()
    assert run_cli("trust", "--yes").returncode == 0
    assert run_cli("check", "shared").returncode == 0
    away = tmp_path / "away"
    away.mkdir()
    hostile = tmp_path / "hostile"
    (hostile / ".toolcrib").mkdir(parents=True)
    (hostile / ".toolcrib" / "tools").symlink_to(away)
    done = run_cli("new", "executable", "shared", "--project", cwd=hostile)
    assert (done.returncode, "leads out of the project" in done.stderr) == (1, True)
    assert list(away.iterdir()) == []


def test_go_without_go_says_what_to_install(run_cli, home: Path, tmp_path: Path) -> None:
    done = run_cli("new", "executable", "gopher", "--lang", "go", env={"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert "go is not installed" in done.stderr and "go build -o gopher gopher.go" in done.stderr
    assert [file.name for file in (home / "tools").iterdir()] == ["gopher.go"]
