"""How a failed look at a file, or a refused one, is put to whoever asked for it."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from ..core.errors import Refused, ToolError

_SHOWN = 300
_SAYINGS = {
    errno.EACCES: "permission denied; ask the user to allow it, or use another path",
    errno.ENAMETOOLONG: "the name is too long; use a shorter one",
    errno.ENOSPC: "the disk is full; remove something, or write less",
    errno.EDQUOT: "the disk quota is used up; remove something, or write less",
    errno.EROFS: "the file system is read-only; use another path",
    errno.EAGAIN: "the directories above it are being renamed; try again",
}


@contextmanager
def readable_errors(path: str, code: str) -> Iterator[None]:
    shown = shown_path(path)
    details = {"path": shown}
    try:
        yield
    except FileNotFoundError:
        message = f"File not found: {shown}; list the directory to see what is there"
        raise ToolError(message, code="FILE_NOT_FOUND", details=details) from None
    except NotADirectoryError:
        message = f"{shown}: it, or a part of it, is not a directory; list the directory above to see what it is"
        raise ToolError(message, code="FILE_NOT_FOUND", details=details) from None
    except UnicodeError:
        message = f"{shown}: half of a surrogate pair cannot be written in UTF-8; leave it out"
        raise ToolError(message, code=code, details=details) from None
    except ValueError as exc:
        raise ToolError(f"{shown}: {exc}; use another path", code=code, details=details) from None
    except OSError as exc:
        if exc.errno in (errno.EXDEV, errno.ELOOP):
            message = f"{shown} is outside the workspace, or leads there; use a path inside it"
            raise ToolError(message, code="PATH_OUTSIDE_WORKSPACE", details=details) from None
        if exc.errno in (errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP, errno.EISDIR):
            raise not_regular(path) from None
        saying = _SAYINGS.get(exc.errno or 0, f"{exc.strerror}; try again, or use another path")
        raise ToolError(f"{shown}: {saying}", code=code, details=details) from None


def not_regular(path: str) -> ToolError:
    message = f"{shown_path(path)} is not a regular file; use the path of one"
    return ToolError(message, code="PATH_NOT_REGULAR", details={"path": shown_path(path)})


def protected(path: str, why: str) -> Refused:
    message = f"{shown_path(path)} is protected from writing: {why}; write elsewhere, or ask the user to change it"
    return Refused(message, code="PATH_PROTECTED", details={"path": shown_path(path), "reason": why})


def shown_path(path: str) -> str:
    """A path that can be sent and printed: no halves of surrogate pairs, and not longer than anybody reads."""
    plain = path.encode("utf-8", "backslashreplace").decode()
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}… ({len(plain)} characters)"
