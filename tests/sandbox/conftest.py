"""A yard to run real programs in: a sandbox, a directory, and eyes for what a program leaves behind."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.context import new_id
from toolcrib.core.limits import Limits
from toolcrib.core.process import Command, Completed
from toolcrib.sandbox.canary import Ground
from toolcrib.sandbox.processes import Processes

SETSID_C = r"""
#include <signal.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {              /* holds [hang]: a grandchild in its own session keeps our output */
    int ready[2]; char word;
    pipe(ready);
    if (fork() == 0) { setsid(); signal(SIGTERM, SIG_IGN); write(ready[1], "x", 1); for (;;) pause(); }
    read(ready[0], &word, 1);
    write(1, "done\n", 5);
    if (argc > 1) for (;;) pause();
    return 0;
}
"""
SETSID_PY = """#!/usr/bin/env python3
import os, signal, sys
reads, writes = os.pipe()
if os.fork() == 0:
    os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN); os.write(writes, b"x")
    while True: signal.pause()
os.read(reads, 1); os.write(1, b"done\\n")
if len(sys.argv) > 1: signal.pause()
"""


class Yard:
    """Runs programs in a sandbox and says what is left of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.id = new_id()
        self.sandbox = Processes(self.id)
        self._count = 0

    def script(self, text: str, *, interpreter: str = "/bin/sh") -> str:
        """An executable file with this text, and its path."""
        self._count += 1
        path = self.root / f"program{self._count}"
        path.write_text(f"#!{interpreter}\n{text}")
        path.chmod(0o755)
        return str(path)

    def python(self, text: str) -> str:
        return self.script(text, interpreter=sys.executable)

    def command(self, *argv: str, **about: Any) -> Command:
        self._count += 1
        mark = f"{self.id}-{self._count}"
        env = {"PATH": os.environ["PATH"], "TOOLCRIB_CALL_ID": mark, **about.pop("env", {})}
        limits = Limits(30, about.pop("keep", 1024 * 1024), about.pop("memory", None))
        return Command(argv, about.pop("cwd", str(self.root)), mark, env, limits=limits, **about)

    async def exec(self, *argv: str, **about: Any) -> Completed:
        return await self.sandbox.exec(self.command(*argv, **about))

    def run(self, *argv: str, **about: Any) -> Completed:
        return asyncio.run(self.exec(*argv, **about))

    def sh(self, text: str, **about: Any) -> Completed:
        return self.run("/bin/sh", "-c", text, **about)

    def left(self) -> list[int]:
        """Processes that carry a mark of this yard. A zombie has no environment and does not count."""
        return marked(self.id)


def marked(word: str) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if word.encode() in file.read():
                        found.append(int(name))
            except OSError:
                pass
    return found


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    yard = Yard(tmp_path)
    yield yard
    yard.sandbox.close()
    assert not os.path.exists(yard.sandbox.scratch.root), "a scratch directory is left"
    assert yard.left() == [], "a process is left"


@pytest.fixture
def carriers() -> Callable[[str], list[int]]:
    """The processes whose environment holds a word."""
    return marked


@pytest.fixture
def until() -> Callable[..., None]:
    """Waits for a condition, and fails when it does not come true in time."""

    def wait(condition: Callable[[], object], what: str, *, seconds: float = 10) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"in {seconds} s it did not happen that {what}"
            time.sleep(0.002)

    return wait


@pytest.fixture(scope="session")
def holder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A program that leaves a grandchild in a session of its own, deaf to TERM, which holds its output."""
    root = tmp_path_factory.mktemp("holder")
    if compiler := shutil.which("cc"):
        (root / "holder.c").write_text(SETSID_C)
        subprocess.run([compiler, "-O1", "-w", "-o", root / "holder", root / "holder.c"], check=True)
    else:
        (root / "holder").write_text(SETSID_PY)
        (root / "holder").chmod(0o755)
    return str(root / "holder")


@pytest.fixture
def drive(tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs Python text in an interpreter of its own, for what must not happen to the test's."""

    def run(text: str, *args: str, **about: Any) -> "subprocess.CompletedProcess[str]":
        about = {"capture_output": True, "text": True, "timeout": 60, "cwd": tmp_path} | about
        done = subprocess.run([sys.executable, "-c", text, *args], **about)
        assert done.returncode == 0, done.stderr or done.stdout
        return done

    return run


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    """A home with a project in it, and places outside of both, for canaries."""
    (tmp_path / "ground").mkdir()
    made = Ground(str(tmp_path / "ground"))
    yield made
    made.clear()
    assert not os.path.lexists(made.root) and not os.path.lexists(made.far), "something is left"
