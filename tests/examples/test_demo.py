"""`make demo`: the demonstration runs to its end and checks itself."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def run(tmp_path: Path, path: str) -> "subprocess.CompletedProcess[str]":
    (tmp_path / "home").mkdir()
    env = {"PATH": path, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path), "GIT_DIR": "/nowhere"}
    return subprocess.run([sys.executable, DEMO], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=120)


def test_every_step_goes_as_it_says(tmp_path) -> None:
    done = run(tmp_path, os.environ["PATH"])
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    for word in (
        "APPROVAL_REQUIRED",
        "VALIDATION_ERROR",
        "TIMEOUT",
        "EXECUTION_ERROR",
        "artifact show",
        "none changed",
    ):
        assert word in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].lstrip().split(" ")[0].endswith("toolcrib")
    assert "Three things to type next" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert list((tmp_path / "home").iterdir()) == []  # the person's own home was not touched


def test_without_node_and_git_it_says_so_and_shows_the_rest(tmp_path) -> None:
    bare = tmp_path / "bin"
    bare.mkdir()
    for name in ("sh", "env", "cat", "seq", "sleep", "grep", "rm", "bash", "python3"):
        found = sys.executable if name == "python3" else shutil.which(name)
        assert found
        (bare / name).symlink_to(found)
    done = run(tmp_path, str(bare))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "node is not installed" in done.stdout
    assert "git is not installed" in done.stdout


def test_a_step_that_goes_wrong_is_seen(tmp_path, monkeypatch, capsys) -> None:
    """The demonstration is only as good as its own check."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    steps = runpy.run_path(str(DEMO))
    for wanted, exit_status in (({"shows": "toolcrib"}, 0), ({"shows": "something else"}, 1), ({"status": 3}, 1)):
        monkeypatch.setattr(steps["Demo"], "run", lambda demo, wanted=wanted: demo.type("--version", **wanted))
        assert steps["main"]() == exit_status
        assert ("This did not go as it should" in capsys.readouterr().out) == bool(exit_status)
