"""A process that is a child of ours: told when it has exited, and collected when all is done with it."""

import os
import threading
import time
from collections.abc import Callable
from typing import Protocol

from ..core.errors import ToolError
from ..core.process import Captured
from .poller import Poller
from .sweep import LINUX

UNKNOWN = -1
"""The exit status of a program whose end somebody else collected."""
_REAP_TRIES = 1000


class Launched(Protocol):
    """A program that was started, by whomever."""

    pid: int
    """It leads its own session and group. 0 while that is not known."""
    borrowed: bool
    """It is a fork of a worker, and no child of ours."""
    whole: bool
    """Killed and collected, it is gone with all it started, and nothing need be looked for."""

    def on_exit(self, callback: Callable[[], None]) -> None:
        """Call back once it has exited. Until it is collected its pid is its own."""
        ...

    def signal(self, number: int) -> None:
        """To its whole group, if there still is one."""
        ...

    def collect(self) -> int:
        """Its exit status, 128+N for death by signal N. It was killed, or has exited."""
        ...

    def failure(self, code: int, errors: Captured) -> ToolError | None:
        """It was collected with this status, and this is what it said: why nothing of it ran, if that is so."""
        ...

    def close(self) -> None:
        """Do not call back any more."""
        ...


class Child:
    borrowed = whole = False

    def __init__(self, pid: int, poller: Poller) -> None:
        self.pid, self._poller = pid, poller
        self._fd = -1

    def on_exit(self, callback: Callable[[], None]) -> None:
        try:
            if not LINUX:
                raise OSError
            self._fd = os.pidfd_open(self.pid)
            self._poller.on_readable(self._fd, callback)
        except OSError:  # no pidfd here, or no descriptor left for one
            threading.Thread(target=self._wait, args=(callback,), daemon=True).start()

    def signal(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except OSError:
            pass

    def collect(self) -> int:
        try:
            for _ in range(_REAP_TRIES):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    code = os.waitstatus_to_exitcode(status)
                    return code if code >= 0 else 128 - code
                time.sleep(0.001)  # killed a moment ago
            threading.Thread(target=_wait_for, args=(self.pid, 0), daemon=True).start()
        except ChildProcessError:
            pass  # the host program waits for all children itself; how this one ended is its secret
        return UNKNOWN

    def failure(self, code: int, errors: Captured) -> ToolError | None:
        return None

    def close(self) -> None:
        if self._fd >= 0:
            self._poller.forget(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _wait(self, callback: Callable[[], None]) -> None:
        _wait_for(self.pid, os.WNOWAIT)
        try:
            self._poller.loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop is over, and with it everybody who wanted to know
            pass


def _wait_for(pid: int, flags: int) -> None:
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | flags)
    except ChildProcessError:
        pass
