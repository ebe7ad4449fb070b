"""What tests of a whole program need: a home, a workspace, tools, and the command itself."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.unconfined import NO_TIER, unconfined

from toolcrib.sandbox import choose


@pytest.fixture(autouse=True)
def no_tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sandbox: auto` means a plain process here, but in tests that are marked `confined`."""
    if request.node.get_closest_marker("confined") is None:
        monkeypatch.setattr(choose, "_canaries", lambda: {tier: lambda why=why: why for tier, why in NO_TIER.items()})


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
def environment(request: pytest.FixtureRequest, home: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of the command: nothing of the person's own who runs the tests, but the path."""
    if request.node.get_closest_marker("confined") is None:
        unconfined(home)
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


@pytest.fixture
def typed(workspace: Path, tmp_path: Path, environment: dict[str, str]) -> Callable[[str], str]:
    """`typed("toolcrib list | head -1")` is what a person would see who typed that, without a terminal."""
    command = tmp_path / "bin" / "toolcrib"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolcrib "$@"\n')
    command.chmod(0o755)
    env = environment | {"PATH": f"{command.parent}:{environment['PATH']}", "COLUMNS": "120"}

    def show(line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line], cwd=workspace, env=env, text=True, timeout=60,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        shown = done.stdout if done.stdout.endswith("\n") or not done.stdout else f"{done.stdout}\n"
        return shown + (f"[exit status {done.returncode}]\n" if done.returncode else "")

    return show


@pytest.fixture
def check_console(typed: Callable[[str], str]) -> Callable[[str], int]:
    """`check_console(page)` types every `$ …` of its console blocks, in their order, and holds what is shown to what
    stands below; `…` is any text within a line. Returns how many there were."""

    def check(page: str) -> int:
        blocks = re.findall(r"^```console\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        steps = [step.partition("\n") for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
        for line, _, expected in steps:
            shown = typed(line)
            assert re.fullmatch(re.escape(expected).replace("…", ".*"), shown), f"$ {line}\n{shown}"
        return len(steps)

    return check


@pytest.fixture
def own_mounts() -> tuple[str, ...]:
    """What a command begins with to have mounts of its own: a disk can be full or read-only for it alone."""
    words = ("unshare", "--user", "--map-root-user", "--mount")
    try:
        works = subprocess.run([*words, "true"], capture_output=True, timeout=10).returncode == 0
    except FileNotFoundError:
        works = False
    if not works:
        pytest.skip("needs unshare(1) and user namespaces to mount a small disk")
    return words
