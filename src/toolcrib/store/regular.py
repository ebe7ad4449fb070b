"""Files that a user wrote, or that stand in the place of one: a pipe there is not waited for."""

import os
import stat

from ..core.errors import ConfigError

MAX_BYTES = 1024 * 1024


def regular_bytes(path: str, *, most: int = MAX_BYTES) -> bytes | None:
    """What is in a file that is one, or in the one that a link leads to; None when nothing is there. Of what is too
    long there is one byte more than is allowed.

    Raises:
        ConfigError: it is something else, or cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise ConfigError("it is not a regular file", path=path)
            with open(fd, "rb", closefd=False) as file:
                return file.read(most + 1)
        finally:
            os.close(fd)
    except FileNotFoundError:
        if os.path.islink(path):
            raise ConfigError("a link that leads nowhere", path=path) from None
        return None
    except OSError as exc:
        raise ConfigError(f"it cannot be read: {exc.strerror}", path=path) from None
