"""File access for tools, confined to one directory tree: a path is checked by opening it, never by its spelling."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.errors import ToolError

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_NONBLOCK | os.O_CLOEXEC  # without O_NONBLOCK, opening a FIFO would wait for its other end
_LOOK = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC


class GuardedFiles:
    """The files below `root`, and no others. What was read and written is noted in `report`."""

    def __init__(self, root: str | os.PathLike[str], report: dict[str, Any] | None = None) -> None:
        self.root = os.path.abspath(root)
        self.report = report if report is not None else {}

    def read(self, path: str) -> bytes:
        with self._opened(path, os.O_RDONLY | _FILE) as fd, open(_regular(fd, path), "rb", closefd=False) as file:
            data = file.read()
        self._note("bytes_read", path, len(data))
        return data

    def write(self, path: str, data: bytes | str) -> None:
        raw = data.encode() if isinstance(data, str) else data
        with self._opened(path, os.O_WRONLY | os.O_CREAT | _FILE) as fd:
            os.ftruncate(_regular(fd, path), 0)
            with open(fd, "wb", closefd=False) as file:
                file.write(raw)
        self._note("bytes_written", path, len(raw))

    def exists(self, path: str) -> bool:
        try:
            return bool(self.stat(path))
        except ToolError as exc:
            if exc.code != "FILE_NOT_FOUND":
                raise
            return False

    def stat(self, path: str) -> os.stat_result:
        with self._opened(path, _LOOK) as fd:
            return os.fstat(fd)

    def list(self, path: str = ".") -> list[str]:
        with self._opened(path, _DIRECTORY) as fd:
            return sorted(os.listdir(fd))

    def unlink(self, path: str) -> None:
        parent, name = os.path.split(path.rstrip("/"))
        if name in ("", ".", ".."):
            raise _outside(path)
        with self._opened(parent or ".", _DIRECTORY) as fd, _readable_errors(path):
            os.unlink(name, dir_fd=fd)
        self._note("bytes_written", path, 0)

    def _note(self, what: str, path: str, count: int) -> None:
        self.report[what] = self.report.get(what, 0) + count
        files = self.report.setdefault("files_accessed", [])
        if path not in files:
            files.append(path)

    @contextmanager
    def _opened(self, path: str, flags: int) -> Iterator[int]:
        relative = os.path.relpath(path, self.root) if os.path.isabs(path) else path
        with _readable_errors(path):
            root = os.open(self.root, _DIRECTORY)
            try:
                fd = _open_beneath(root, relative, flags)
            finally:
                os.close(root)
        try:
            yield fd
        finally:
            os.close(fd)


def _open_beneath(root: int, path: str, flags: int) -> int:
    if sys.platform == "linux":
        from . import _openat2  # late: ctypes costs more than most calls that touch no file

        fd = _openat2.open_beneath(root, path, flags, 0o644)
        if fd is not None:
            return fd
    return _walk(root, path, flags)


def _walk(root: int, path: str, flags: int) -> int:
    """Without openat2: one component after the other, through no symlink and never upwards."""
    steps = [step for step in path.split("/") if step not in ("", ".")] or ["."]
    if ".." in steps:
        raise OSError(errno.EXDEV, "leads upwards")
    if path.endswith("/"):
        flags |= os.O_DIRECTORY
    here = os.dup(root)
    try:
        for step in steps[:-1]:
            below = os.open(step, _DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        return os.open(steps[-1], flags | os.O_NOFOLLOW, 0o644, dir_fd=here)
    finally:
        os.close(here)


@contextmanager
def _readable_errors(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f"File not found: {path}", code="FILE_NOT_FOUND", details={"path": path}) from None
    except (OSError, ValueError) as exc:
        if getattr(exc, "errno", None) in (errno.EXDEV, errno.ELOOP):
            raise _outside(path) from None
        raise ToolError(f"{path}: {exc}", code="READ_ERROR", details={"path": path}) from None


def _outside(path: str) -> ToolError:
    message = f"{path} is outside the workspace; use a path inside it"
    return ToolError(message, code="PATH_OUTSIDE_WORKSPACE", details={"path": path})


def _regular(fd: int, path: str) -> int:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise ToolError(f"{path} is not a regular file", code="PATH_NOT_REGULAR", details={"path": path})
    return fd
