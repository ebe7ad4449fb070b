"""What tests of the command line share: a tool that repeats its arguments, and a terminal."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import toolcrib.cli

REPEAT = """#!/bin/sh
case $1 in
  description) cat <<'JSON'
{"name": "repeat", "description": "Print the arguments.", "version": "1.2.3", "input_schema": {"type": "object",
 "properties": {
  "name": {"type": "string", "description": "a name"}, "age": {"type": "integer"}, "ratio": {"type": "number"},
  "loud": {"type": "boolean"}, "tags": {"type": "array", "items": {"type": "string"}},
  "counts": {"type": "array", "items": {"type": "integer"}}, "where": {"type": "object"},
  "max_depth": {"type": ["integer", "null"]}, "json": {"type": "string"}},
 "additionalProperties": false}}
JSON
  ;;
  run) : > ran; cat ;;
  *) exit 1 ;;
esac
"""


@pytest.fixture
def repeat_script() -> str:
    """The text of the tool `repeat`."""
    return REPEAT


@pytest.fixture
def repeat(make_tool: Callable[..., Path]) -> Path:
    """A tool that leaves the file `ran` in the workspace and prints its arguments as they came."""
    return make_tool("repeat", REPEAT)


class Terminal:
    """The command at a terminal of its own, where a person reads and types."""

    def __init__(self, argv: list[str], *, cwd: Path, env: dict[str, str], columns: int = 200, typed: str = "") -> None:
        self._fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self.send(typed)
        self._process = subprocess.Popen(
            argv, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=env, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        self.screen = ""

    def send(self, text: str) -> None:
        """Type something."""
        os.write(self._fd, text.encode())

    def read_until(self, text: str) -> str:
        """Read what is shown until this is."""
        while text not in self.screen:
            assert self._read(), f"ended without {text!r}: {self.screen!r}"
        return self.screen

    def finish(self) -> int:
        """Read to the end; the exit status."""
        while self._read():
            pass
        return self._process.wait(30)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._fd], [], [], 30)
        assert ready, f"nothing came for 30 s: {self.screen!r}"
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # the other end is closed
            return False
        self.screen += data.decode(errors="replace")
        return bool(data)

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)
        os.close(self._fd)


@pytest.fixture
def terminal(workspace: Path, environment: dict[str, str]) -> Iterator[Callable[..., Terminal]]:
    """`terminal("call", "hello")` starts the command at a terminal."""
    opened: list[Terminal] = []

    def start(*args: str, columns: int = 200, typed: str = "") -> Terminal:
        argv = [sys.executable, "-m", "toolcrib", *args]
        opened.append(Terminal(argv, cwd=workspace, env=environment, columns=columns, typed=typed))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.fixture
def gone() -> Callable[[int], bool]:
    """Whether a process is gone, given a moment: `gone(pid)`."""

    def wait(pid: int) -> bool:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return True
            select.select([], [], [], 0.01)
        return False

    return wait


@pytest.fixture
def cli(
    workspace: Path, environment: dict[str, str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """`cli("approve", "--json")` is `run_cli` without the cost of a process: for verbs that only look and answer."""
    for name in os.environ:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(workspace)

    def run(*args: str, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        capfd.readouterr()
        with monkeypatch.context() as patched:
            for name, value in (env or {}).items():
                patched.setenv(name, value)
            try:
                status = toolcrib.cli.main(list(args))
            except SystemExit as exc:
                status = int(exc.code or 0)
        shown = capfd.readouterr()
        return subprocess.CompletedProcess(args, status, shown.out, shown.err)

    return run
