"""A machine that fails on demand, a tool that leaves a mark when it runs, and what must hold after every fault."""

import asyncio
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unconfined import NO_TIER

import toolcrib
import toolcrib.cli
from toolcrib.core.jsontext import parse
from toolcrib.observe.verify import records, verify
from toolcrib.sandbox import bubblewrap, choose, landlock

MARK = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "mark", "description": "Leave a mark.", "input_schema": {"type": "object"}}'; exit
fi
echo ran >> "$TOOLCRIB_WORKSPACE/marks"
echo done
"""
SLOW = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "slow", "description": "Wait for a word.", "input_schema": {"type": "object"}}'; exit
fi
setsid sleep 600 &
echo ran >> "$TOOLCRIB_WORKSPACE/marks"
while [ ! -e "$TOOLCRIB_WORKSPACE/go" ]; do sleep 0.05; done
echo done
"""
TIERS = ("process", "landlock", "bubblewrap")
"""In which the tools run while something fails."""
RECOVERY_SECONDS = 2.0
"""Of work. Waiting is bounded by the tests' own patience: other programs take turns on the machine."""
PATIENCE_SECONDS = 30.0


def until(what: Callable[[], object], why: str) -> None:
    """Look again and again until it is so."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < deadline, why
        select.select([], [], [], 0.01)


class Site:
    """A home, a workspace and a place for temporary files, and what is to be seen of them from outside."""

    def __init__(self, home: Path, workspace: Path, tmp: Path, environment: dict[str, str]) -> None:
        self.home, self.workspace, self.tmp, self.environment = home, workspace, tmp, environment
        self.audit = home / "audit"

    # Doing

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "toolcrib", *words]

    def start(self, *words: str, before: tuple[str, ...] = (), **more: Any) -> "subprocess.Popen[str]":
        """The command, as a process that runs."""
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [*before, *self.command(*words)], cwd=self.workspace, env=self.environment, text=True, **(streams | more)
        )

    def run(self, *words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
        """The command, to its end."""
        process = self.start(*words, **{"stdin": subprocess.DEVNULL} | more)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def call(self, name: str = "mark", *words: str, **more: Any) -> dict[str, Any]:
        """A call by the command; the result it prints."""
        done = self.run("call", name, "--yes", "--json", *words, **more)
        assert "Traceback" not in done.stderr, done.stderr
        return parse(done.stdout)

    def open(self, **more: Any) -> Any:
        """A crib in this process, with nobody to ask and nothing to ask about."""
        return toolcrib.open(home=self.home, workspace=self.workspace, approver=toolcrib.SaysYes(), **more)

    def call_here(self, name: str = "custom_tool_mark") -> toolcrib.Result:
        """A call by a crib in this process that is opened for it."""

        async def go() -> toolcrib.Result:
            async with self.open() as crib:
                return await crib.call(name)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(tempfile, "tempdir", str(self.tmp))
            return asyncio.run(asyncio.wait_for(go(), PATIENCE_SECONDS))

    # Looking

    def marks(self) -> int:
        """How often a tool ran."""
        try:
            return (self.workspace / "marks").read_text().count("ran\n")
        except FileNotFoundError:
            return 0

    def records(self, event: str | None = None) -> list[dict[str, Any]]:
        return [each for each in records(str(self.audit)) if event in (None, each["event"])]

    def alive(self) -> list[int]:
        """Processes of calls in this workspace."""
        found, mark = [], f"TOOLCRIB_WORKSPACE={self.workspace}".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if mark in Path(f"/proc/{pid}/environ").read_bytes():
                    found.append(int(pid))
            except OSError:
                continue
        return found

    def assert_nothing_is_left(self) -> None:
        until(lambda: not self.alive(), "processes are left")
        until(lambda: not list(self.tmp.iterdir()), f"temporary files are left: {list(self.tmp.iterdir())}")
        drafts = [path for path in self.home.rglob("*") if ".draft" in path.name or path.name.endswith(".new")]
        assert not drafts, "half-written files are left"

    def assert_recovers(self) -> None:
        """The next start calls as if nothing had been: soon, once, and with a record that is whole."""
        before, began = self.marks(), time.process_time()

        result = self.call_here()
        assert (result.error, result.data) == (None, "done\n")
        assert self.marks() == before + 1
        assert time.process_time() - began < RECOVERY_SECONDS
        assert verify(str(self.audit)).fault is None
        self.assert_nothing_is_left()


@pytest.fixture(params=TIERS)
def home(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The path of a socket is short, and pytest's own directories are long. It is remembered which tier holds: a fault
    that is made to happen does not happen to a canary first."""
    why = {"bubblewrap": bubblewrap.canary, "landlock": landlock.canary}
    if request.param in why and (reason := why[request.param]()):
        pytest.skip(f"{request.param} does not hold here: {reason}")
    place = Path(tempfile.mkdtemp(prefix="tc")).resolve()
    (place / "home").mkdir(mode=0o700)
    choose.remember(str(place / "home" / "cache"), {**NO_TIER, request.param: ""})
    yield place / "home"
    shutil.rmtree(place)


@pytest.fixture
def site(
    home: Path, workspace: Path, tmp_path: Path, environment: dict[str, str], make_tool: Callable[..., Path]
) -> Iterator[Site]:
    """With the tools `mark` and `slow`; what is still alive at the end of a test is ended."""
    make_tool("mark", MARK)
    make_tool("slow", SLOW)
    tmp = tmp_path / "tmp"
    tmp.mkdir()
    made = Site(home, workspace, tmp, environment | {"TMPDIR": str(tmp)})
    yield made
    for pid in made.alive():
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def warm(site: Site) -> Site:
    """The same, after a first call: the tools are probed, the record is begun, and nothing ran since."""
    assert site.call_here().success
    (site.workspace / "marks").unlink()
    return site


@pytest.fixture
def limits() -> Callable[[int, int], Callable[[], None]]:
    """`limits(RLIMIT_NOFILE, 10)` is what a child does before it becomes the command."""
    return lambda which, most: lambda: resource.setrlimit(which, (most, most))


@pytest.fixture
def failing(tmp_path: Path) -> Callable[..., tuple[str, ...]]:
    """`failing("write:error=EIO:when=1", at=path)`: what a command begins with to have its system calls fail so."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace to make system calls fail")
    probe = [strace, "-f", "-o", os.devnull, "-e", "inject=getppid:error=EIO", "true"]
    if subprocess.run(probe, capture_output=True).returncode != 0:
        pytest.skip("strace may not trace here")

    def words(inject: str, *, at: Path | None = None) -> tuple[str, ...]:
        place = () if at is None else ("-P", str(at))
        return (strace, "-f", "-o", os.devnull, *place, "-e", f"inject={inject}")

    return words


@pytest.fixture
def cli(
    site: Site, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """`cli("session", "list")` is `site.run` without the cost of a process."""
    for name in os.environ:
        monkeypatch.delenv(name)
    for name, value in site.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(site.workspace)
    monkeypatch.setattr(tempfile, "tempdir", str(site.tmp))

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        capfd.readouterr()
        status = toolcrib.cli.main(list(words))
        shown = capfd.readouterr()
        return subprocess.CompletedProcess(words, status, shown.out, shown.err)

    return run
