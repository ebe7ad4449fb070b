"""File access for tools, confined to their places: a path is checked by opening it, never by its spelling."""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any

from ..core.errors import Refused, ToolError
from ._beneath import FOLDER, LOOK
from ._deliver import deliver, directories
from .places import Found, Places

_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # without O_NONBLOCK, a FIFO waits for its other end
_MOST_NEW_DIRECTORIES = 64
_SHOWN = 300


class GuardedFiles:
    """The files in some places, and no others. What was read and written is noted in `report`.

    `judged` says where paths led when the call was judged: whatever leads elsewhere now is refused.
    """

    def __init__(
        self,
        places: Places | str | os.PathLike[str],
        report: dict[str, Any] | None = None,
        judged: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.places = places if isinstance(places, Places) else Places(os.fspath(places))
        self.report = report if report is not None else {}
        self.judged = judged

    def read(self, path: str) -> bytes:
        with self._opened(path, _READ) as found:
            _check_readable(os.fstat(found.fd), found.owner, path)
            with open(found.fd, "rb", closefd=False) as file:
                data = file.read()
        self._note("bytes_read", path, len(data))
        return data

    def write(self, path: str, data: bytes | str) -> None:
        """Replace a file's content whole, or make the file and the directories above it, or change nothing.

        The new content takes the old one's place under its name, so that another name of the same file (a hard link,
        perhaps from outside) keeps the old one.
        """
        with _readable_errors(path, "EXECUTION_ERROR"):
            raw = data.encode() if isinstance(data, str) else data
            try:
                self._replace(path, raw)
            except FileNotFoundError:
                self._create(path, raw)
        self._note("bytes_written", path, len(raw))

    def exists(self, path: str) -> bool:
        try:
            return bool(self.stat(path))
        except ToolError as exc:
            if exc.code != "FILE_NOT_FOUND":
                raise
            return False

    def stat(self, path: str) -> os.stat_result:
        with self._opened(path, LOOK) as found:
            return os.fstat(found.fd)

    def list(self, path: str = ".") -> list[str]:
        with self._opened(path, _LIST) as found:
            return sorted(os.listdir(found.fd))

    def unlink(self, path: str) -> None:
        """Remove a file; of a link the link itself, never what it leads to."""
        with _readable_errors(path, "EXECUTION_ERROR"):
            parent, name = os.path.split(path)
            if name in ("", ".", ".."):
                with self.places.open(path, LOOK):
                    raise _not_regular(path)
            with self.places.open(parent or ".", FOLDER) as folder:
                about = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
                real = os.path.join(folder.real, name)
                self._check_writable(path, real, leads_to=self._target(path) if stat.S_ISLNK(about.st_mode) else real)
                if stat.S_ISDIR(about.st_mode):
                    raise _not_regular(path)
                os.unlink(name, dir_fd=folder.fd)
        self._note("bytes_written", path, 0)

    def _replace(self, path: str, data: bytes) -> None:
        with self.places.open(path, LOOK) as old:
            about = os.fstat(old.fd)
            self._check_writable(path, old.real, leads_to=old.real)
            if not stat.S_ISREG(about.st_mode):
                raise _not_regular(path)
            parent, name = os.path.split(old.real)
            with self.places.open(parent, FOLDER) as folder:
                if folder.real != parent:
                    raise OSError(errno.ESTALE, "it was moved while it was being written")
                if not os.access(name, os.W_OK, dir_fd=folder.fd):
                    raise PermissionError(errno.EACCES, "read-only")  # putting another in its place would be possible
                deliver(folder.fd, name, data, like=about)

    def _create(self, path: str, data: bytes) -> None:
        with self.places.nearest(path) as (folder, names):
            if path.endswith(("/", "/.")):
                raise _not_regular(path)
            real = os.path.join(folder.real, *names)
            self._check_writable(path, real, leads_to=real)
            if _is_link(names[0], folder.fd):
                message = f"{_shown(path)} goes through a link to nothing; write to the place that the link names"
                raise ToolError(message, code="FILE_NOT_FOUND", details={"path": _shown(path)})
            if len(names) > _MOST_NEW_DIRECTORIES:
                message = f"{_shown(path)} would take {len(names) - 1} new directories; use a shorter path"
                raise ToolError(message, code="EXECUTION_ERROR", details={"path": _shown(path)})
            with directories(folder.fd, names[:-1]) as inner:
                deliver(inner, names[-1], data)

    def _target(self, path: str) -> str:
        with suppress(OSError), self.places.open(path, LOOK) as found:
            return found.real
        return ""

    def _check_writable(self, path: str, real: str, *, leads_to: str) -> None:
        if real != self.judged.get(path, real):
            self._check_judged(path, leads_to)
        if not self.places.is_writable(real):
            raise _protected(path, "the directory is configured for reading only")
        if why := self.places.why_protected(real):
            raise _protected(path, why)

    def _check_judged(self, path: str, real: str) -> None:
        if real != self.judged.get(path, real):
            message = f"{_shown(path)} leads elsewhere than when it was judged; call again to have it judged anew"
            raise Refused(message, code="APPROVAL_DENIED", details={"path": _shown(path)})

    def _note(self, what: str, path: str, count: int) -> None:
        self.report[what] = self.report.get(what, 0) + count
        files = self.report.setdefault("files_accessed", [])
        if (shown := _shown(path)) not in files:
            files.append(shown)

    @contextmanager
    def _opened(self, path: str, flags: int) -> Iterator[Found]:
        with _readable_errors(path, "READ_ERROR"), self.places.open(path, flags) as found:
            self._check_judged(path, found.real)
            yield found


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _check_readable(about: os.stat_result, owner: int, path: str) -> None:
    """A regular file, and none that somebody else's file may be by another name.

    Hard links are ordinary in package stores and worktrees. One to a foreign file is suspicious: its owner is neither
    that of the root nor, unless we are root and could read everything, ourselves.
    """
    if not stat.S_ISREG(about.st_mode):
        raise _not_regular(path)
    if about.st_nlink > 1 and about.st_uid not in (owner, os.geteuid() or owner):
        message = f"{_shown(path)} is a second name of a file that belongs to somebody else; copy the file instead"
        raise ToolError(message, code="PATH_OUTSIDE_WORKSPACE", details={"path": _shown(path)})


_SAYINGS = {
    errno.EACCES: "permission denied; ask the user to allow it, or use another path",
    errno.ENAMETOOLONG: "the name is too long; use a shorter one",
    errno.ENOSPC: "the disk is full; remove something, or write less",
    errno.EDQUOT: "the disk quota is used up; remove something, or write less",
    errno.EROFS: "the file system is read-only; use another path",
    errno.EAGAIN: "the directories above it are being renamed; try again",
}


@contextmanager
def _readable_errors(path: str, code: str) -> Iterator[None]:
    shown = _shown(path)
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
            raise _not_regular(path) from None
        saying = _SAYINGS.get(exc.errno or 0, f"{exc.strerror}; try again, or use another path")
        raise ToolError(f"{shown}: {saying}", code=code, details=details) from None


def _not_regular(path: str) -> ToolError:
    message = f"{_shown(path)} is not a regular file; use the path of one"
    return ToolError(message, code="PATH_NOT_REGULAR", details={"path": _shown(path)})


def _protected(path: str, why: str) -> Refused:
    message = f"{_shown(path)} is protected from writing: {why}; write elsewhere, or ask the user to change it"
    return Refused(message, code="PATH_PROTECTED", details={"path": _shown(path), "reason": why})


def _shown(path: str) -> str:
    """A path that can be sent and printed: no halves of surrogate pairs, and not longer than anybody reads."""
    plain = path.encode("utf-8", "backslashreplace").decode()
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}… ({len(plain)} characters)"
