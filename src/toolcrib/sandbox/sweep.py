"""Finding and ending what a program left behind, also what left its session.

Every process a call starts carries the call's mark in its environment, and so does everything that one starts. Only
marked processes are touched. A program that clears its children's environment can hide them from this.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import cache

LINUX = sys.platform == "linux"
TRUSTED_RANGE_SECONDS = 0.5
"""So long no pid was given out twice."""
_LONG_RANGE = 2000
_ROUNDS = 200
_QUIET_ROUNDS = 8
_LOOKS = 100
_READ = 65536
_MEMORY, _ENVIRONMENT = 20, 47
"""Where the size of its memory and the start of its environment stand in a process's `stat`, after its name."""


def newest_pid() -> int:
    """The pid that was given out last, or 0 where nobody says."""
    try:
        return int(os.pread(_loadavg(), 128, 0).rsplit(None, 1)[-1])
    except (OSError, ValueError):
        return 0


@cache
def _loadavg() -> int:
    """Kept open: every call asks."""
    return os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)


def end_marked(mark: str, *, first: int = 0, seconds: float = float("inf")) -> int:
    """Kill everything that carries `mark`, until nothing does. Returns how many were found.

    `first` is the pid of the program and `seconds` how long it ran: pids are given out in order, so after a short run
    only the few that are newer need a look, and none if there are none.
    """
    found = quiet = 0
    for round_ in range(_ROUNDS):  # what is being killed may still be forking
        newest = newest_pid()
        if newest == first and seconds < TRUSTED_RANGE_SECONDS:
            break
        ended = signal_marked(mark, signal.SIGKILL, first=first, seconds=seconds)
        found += ended
        if ended:
            quiet = 0
        elif quiet == _QUIET_ROUNDS or newest_pid() == newest:
            break
        else:  # nothing, but others were born meanwhile: one that flees by forking is among those
            quiet, first, seconds = quiet + 1, newest, 0.0
            continue
        if round_ > 2:
            time.sleep(0.001)  # a process in the kernel dies when it comes out
    return found


def signal_marked(mark: str, number: int, *, first: int = 0, seconds: float = float("inf")) -> int:
    """Send a signal to everything that carries `mark`. Returns to how many."""
    if not LINUX:
        return 0
    needle = mark.encode()
    reached = 0
    looked_at = candidates(first, seconds)
    for _ in range(_LOOKS):
        unclear = []
        for pid in looked_at:
            environ = _environ(pid)
            if environ is None:
                continue
            if not environ and _is_changing_program(pid):
                unclear.append(pid)
            elif needle + b"\0" in environ or needle + b"," in environ:
                try:
                    os.kill(pid, number)
                    reached += 1
                except OSError:
                    pass
        if not unclear:
            break
        looked_at = unclear
        time.sleep(0.0002)
    return reached


def have_died(pids: Sequence[int]) -> bool:
    """Wait until these, which were killed, are gone or dead; not for ever."""
    for _ in range(_ROUNDS):
        pids = [pid for pid in pids if _lives(pid)]
        if not pids:
            return True
        time.sleep(0.001)
    return False


def candidates(first: int, seconds: float) -> list[int]:
    """All that may have been born since the program `first` was started, so many seconds ago."""
    newest = newest_pid()
    if first and seconds < TRUSTED_RANGE_SECONDS and first <= newest < first + _LONG_RANGE:
        return list(range(first + 1, newest + 1))
    own = os.getpid()
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != own]


def _lives(pid: int) -> bool:
    """One that is dead, and that nobody has asked for yet, does nothing any more."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return file.read().rsplit(b") ", 1)[-1][:1] not in (b"Z", b"X")
    except OSError:
        return False


def _environ(pid: int) -> bytes | None:
    """The environment a process was started with; None for one that is gone, or not ours to read."""
    try:
        fd = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    environ = b""
    try:
        while chunk := os.read(fd, _READ):
            environ += chunk
            if len(chunk) < _READ:  # there is no more, and asking costs as much as being told
                break
    except OSError:
        return None
    finally:
        os.close(fd)
    return environ


def _is_changing_program(pid: int) -> bool:
    """Whether one that shows no environment is in the middle of an exec: it has memory, and no environment yet."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            fields = file.read().rsplit(b") ", 1)[-1].split()
        memory, start, end = fields[_MEMORY], fields[_ENVIRONMENT], fields[_ENVIRONMENT + 1]
    except (OSError, IndexError):
        return False
    return memory != b"0" and (start == b"0" or start != end)
