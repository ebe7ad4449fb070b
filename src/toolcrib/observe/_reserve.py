"""Room on the disk that is held back beside the record, so that the end of what runs can be written when it is full."""

import errno
import os

BYTES = 64 * 1024
NAME = ".ballast"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_PIECE = 4096


def hold(path: str) -> None:
    """See that all of it is there.

    Raises:
        OSError: there is no room for it.
    """
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        size = 0
    missing = BYTES - size
    if missing <= 0:
        return
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.pwrite(fd, os.urandom(missing), size) != missing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    finally:
        os.close(fd)


def give_up_piece(path: str) -> bool:
    """Make a little room, so that what is left is still held back from everybody else. Says whether there was any."""
    try:
        size = os.stat(path).st_size
        if size == 0:
            return False
        try:
            os.truncate(path, max(0, size - _PIECE))
        except OSError:  # some file systems need room even for that
            os.unlink(path)
    except FileNotFoundError:
        return False
    return True
