"""One writer at a time for a file that is read, changed and written whole."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOCK_SECONDS = 5.0
"""How long others may hold the lock: whoever does may have been stopped."""
_PAUSE = 0.001


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Until the block ends, nobody else who asks for this file is in one: what one writes, the other has read.

    Raises:
        OSError: the lock beside the file cannot be made, or another process has held it all the time.
    """
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    fd = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _take(fd, path)
        yield
    finally:
        os.close(fd)


def _take(fd: int, path: str) -> None:
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                held = f"another process has held the lock for {LOCK_SECONDS:g} s"
                raise BlockingIOError(errno.EAGAIN, held, f"{path}.lock") from None
        time.sleep(_PAUSE)
