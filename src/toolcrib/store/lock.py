"""One at a time in a directory, whatever process it is in. Nobody waits for ever: who holds a lock may be stopped."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOCK_SECONDS = 5.0
_PAUSE = 0.001


@contextmanager
def alone_in(directory: str, *, follow: bool = True, stalled: set[str] | None = None) -> Iterator[None]:
    """Until the block ends. A process that is killed lets go of it.

    With `stalled` (`Home.stalled`), what was waited for in vain is not waited for again.

    Raises:
        BlockingIOError: another process has held the lock all the time.
        OSError: the directory is not there; or it is a link, and none is to be followed.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    fd = os.open(directory, flags)
    known = set() if stalled is None else stalled
    try:
        try:
            _take(fd, directory, seconds=0.0 if directory in known else LOCK_SECONDS)
        except BlockingIOError:
            known.add(directory)
            raise
        known.discard(directory)
        yield
    finally:
        os.close(fd)


def _take(fd: int, path: str, *, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                held = f"another process has held the lock for {LOCK_SECONDS:g} s"
                raise BlockingIOError(errno.EAGAIN, held, path) from None
        time.sleep(_PAUSE)
