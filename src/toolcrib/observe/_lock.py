"""The lock that keeps those who write and read one record in order, and how long anybody waits for it."""

import errno
import os
import time
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

LOCK_SECONDS = 5.0
"""How long others may hold the lock: one that was stopped while it wrote must not stop everybody for good."""
_LONGEST_PAUSE = 0.001
_AT_ONCE = LOCK_EX | LOCK_NB


class Lock:
    """A file that is locked by whoever writes. The one that was opened, while that is the one that lies there."""

    def __init__(self) -> None:
        self._fd = -1
        self._path = ""
        self._device = self._inode = 0
        self._is_stalled = False

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def open(self, path: str) -> None:
        self._fd, self._path = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), path
        seen = os.fstat(self._fd)
        self._device, self._inode = seen.st_dev, seen.st_ino

    def take(self) -> bool:
        """Wait for it. Says no, and has not taken it, when another one lies there now, or none.

        Raises:
            BlockingIOError: it was not to be had. Nobody waits a second time for what one has waited for in vain: all
                that runs in this process stands still meanwhile.
        """
        try:
            flock(self._fd, _AT_ONCE)
        except BlockingIOError:
            seconds, self._is_stalled = 0.0 if self._is_stalled else LOCK_SECONDS, True
            wait_for(self._fd, LOCK_EX, self._path, seconds=seconds)
        self._is_stalled = False
        try:
            seen = os.stat(self._path)
            if seen.st_ino == self._inode and seen.st_dev == self._device:
                return True
        except OSError:
            pass
        self.release()
        return False

    def release(self) -> None:
        flock(self._fd, LOCK_UN)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def wait_for(fd: int, how: int, path: str, *, seconds: float) -> None:
    """
    Raises:
        BlockingIOError: another process has held the lock all the time.
    """
    pause, until = 0.00005, time.monotonic() + seconds
    while True:
        try:
            return flock(fd, how | LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                held = f"another process has held the lock for {LOCK_SECONDS:g} s"
                raise BlockingIOError(errno.EAGAIN, held, path) from None
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
