"""What tests of a whole program need: a home, a workspace, tools, and the command itself."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home of the product (`TOOLCRIB_HOME`)."""
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty directory to work in."""
    path = tmp_path / "work"
    path.mkdir()
    return path


@pytest.fixture
def make_tool(home: Path) -> Callable[..., Path]:
    """`make_tool(name, script, directory=None)` writes an executable file, by default into the user's tools."""

    def write(name: str, script: str, *, directory: Path | None = None) -> Path:
        path = (directory or home / "tools") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script)
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def environment(home: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of the command: nothing of the person's own who runs the tests, but the path."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TOOLCRIB_HOME": str(home), "LC_ALL": "C.UTF-8"}


@pytest.fixture
def run_cli(workspace: Path, environment: dict[str, str]) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """`run_cli("list", "--json")` runs the command in the workspace, with no terminal, and returns what it did."""

    def run(
        *args: str, input: str | None = None, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "toolcrib", *args],
            **({"stdin": subprocess.DEVNULL} if input is None else {"input": input}),
            capture_output=True,
            text=True,
            errors="surrogateescape",
            cwd=cwd or workspace,
            env=environment | dict(env or {}),
            timeout=60,
        )

    return run
