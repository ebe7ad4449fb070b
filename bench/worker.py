"""The parent's half of the bench protocol: a subject in a process of its own, timed on command."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from bench.measure import Contender


class WorkerFailed(Exception):
    """A worker ended, or said something that is not a number."""


class Worker:
    """A warmed-up process that runs its subject N times and says how many nanoseconds that took.

    Raises:
        WorkerFailed: it did not come up, or stopped, with the last line of its stderr.
    """

    def __init__(self, name: str, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self.name = name
        self._complaints = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  # lives as long as the worker
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(env),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )
        if self._answer() != "ready":
            raise self._failure("did not come up")

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def nanoseconds(self, calls: int) -> float:
        """The mean time of one call in a batch of `calls`."""
        assert self._process.stdin
        self._process.stdin.write(f"{calls}\n")
        self._process.stdin.flush()
        answer = self._answer()
        if not answer.isdigit():
            raise self._failure("stopped in the middle")
        return int(answer) / calls

    def contender(self, *, calls: int) -> Contender:
        """This worker as something `interleave` can sample."""
        return Contender(self.name, lambda: self.nanoseconds(calls))

    def _answer(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def _failure(self, what: str) -> WorkerFailed:
        """What is wrong, in the worker's own last words."""
        self._complaints.seek(0)
        words = self._complaints.read().strip().splitlines() or ["nothing on stderr"]
        self._end()
        return WorkerFailed(f"{self.name} {what} (status {self._process.returncode}): {words[-1]}")

    def _end(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._complaints.close()
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
