"""A program in namespaces of its own, seen from outside.

What we start is bubblewrap, which waits outside; the program and all it starts live in a namespace whose first process
is bubblewrap's, too. When that one is killed the kernel ends everything else in the namespace before it is gone itself,
so what is left of a program is certain, whatever the program did.
"""

import os
import re
import select
import signal
from contextlib import suppress

from ..core.errors import ToolError
from ..core.process import Captured
from .child import Child
from .poller import Poller
from .spawn import not_started

_END_SECONDS = 10.0
_FIRST = re.compile(rb'"child-pid": (\d+).*"pid-namespace": (\d+)')
_ENDED = b'"exit-code": '
_SAID = re.compile(r"^bwrap: (.*)$", re.MULTILINE)
_NOT_STARTED = re.compile(r"execvp .*: (.*)")
_NOT_ENTERED = re.compile(r"Can't chdir to .*: (.*)")
_STRERROR = {os.strerror(number): number for number in range(1, 134)}


class Contained(Child):
    """A child that is bubblewrap, and what runs inside."""

    whole = True

    def __init__(self, pid: int, poller: Poller, *, status: int, program: str, cwd: str) -> None:
        """`status` is a descriptor from which bubblewrap's own account of the program can be read."""
        super().__init__(pid, poller)
        self._status, self._said = status, b""
        self._program, self._cwd = program, cwd

    def signal(self, number: int) -> None:
        """To the program's group; the end, to all that is inside, which is gone when this returns."""
        first = self._first()
        if number != signal.SIGKILL:
            try:
                if first:  # the namespace's first process leads that group, and hears nothing it does not listen for
                    os.killpg(first, number)
            except OSError:
                pass
            return
        if first:
            _end(first)
        super().signal(number)

    def collect(self) -> int:
        code = super().collect()
        self._listen()
        if self._status >= 0:
            os.close(self._status)
            self._status = -1
        return code

    def failure(self, code: int, errors: Captured) -> ToolError | None:
        """Why nothing of the program ran, when it is so: then what stands on its errors is bubblewrap's."""
        if code != 1 or _ENDED in self._said:
            return None
        said = _SAID.findall(errors.text())
        if not said:
            return None
        if (why := _NOT_STARTED.search(said[-1])) is not None:
            number = _STRERROR.get(why[1], 0)
            return not_started(self._program, OSError(number, why[1], self._program))
        if (why := _NOT_ENTERED.search(said[-1])) is not None:
            number = _STRERROR.get(why[1], 0)
            return not_started(self._program, OSError(number, why[1], self._cwd))
        message = (
            f"bubblewrap could not confine it, and nothing ran: {said[-1]}; `toolcrib doctor` says what holds here"
        )
        return ToolError(message, code="SANDBOX_UNAVAILABLE", before_effect=True)

    def _listen(self) -> None:
        try:
            while self._status >= 0 and (chunk := os.read(self._status, 4096)):
                self._said += chunk
        except OSError:  # no more for now
            pass

    def _first(self) -> int:
        """The first process inside, by its number out here; 0 when there is none yet, or none any more."""
        self._listen()
        found = _FIRST.search(self._said)
        if found is None:
            return 0
        try:  # no program can make another namespace look like its own
            inside = os.readlink(f"/proc/{int(found[1])}/ns/pid") == f"pid:[{int(found[2])}]"
        except OSError:
            inside = False
        return int(found[1]) if inside else 0


def _end(first: int) -> None:
    """Kill the first process of a namespace, and wait until it and with it all others are gone."""
    try:
        fd = os.pidfd_open(first)
    except ProcessLookupError:
        return
    except OSError:  # no descriptor left
        with suppress(ProcessLookupError):
            os.kill(first, signal.SIGKILL)
        return
    try:
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        gone = select.poll()
        gone.register(fd, select.POLLIN)
        gone.poll(_END_SECONDS * 1000)
    except ProcessLookupError:
        pass
    finally:
        os.close(fd)
