"""One writer at a time for a file that is read, changed and written whole."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Until the block ends, nobody else who asks for this file is in one: what one writes, the other has read.

    Raises:
        OSError: the lock beside the file cannot be made.
    """
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    fd = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
