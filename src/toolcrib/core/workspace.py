"""File access for tools, confined to one directory tree: a path is checked by opening it, never by its spelling."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import ToolError

_NONBLOCK = os.O_NONBLOCK | os.O_CLOEXEC
_LOOK = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC


class Workspace:
    """Guarded files below `root`. What was read and written is noted in `report`."""

    def __init__(self, root: str | os.PathLike[str], report: dict[str, Any] | None = None) -> None:
        self.root = os.path.abspath(root)
        self.report = report if report is not None else {}

    def read(self, path: str) -> bytes:
        """Raises: `FILE_NOT_FOUND`, `PATH_OUTSIDE_WORKSPACE`, `PATH_NOT_REGULAR`, `READ_ERROR`."""
        with self._opened(path, os.O_RDONLY | _NONBLOCK) as fd:
            _regular(fd, path)
            with os.fdopen(os.dup(fd), "rb") as file:
                data = file.read()
        self._note("bytes_read", path, len(data))
        return data

    def read_text(self, path: str) -> str:
        return self.read(path).decode("utf-8", "backslashreplace")

    def write(self, path: str, data: bytes | str) -> None:
        """Replace a file's content, or make the file. Raises as `read` does."""
        raw = data.encode() if isinstance(data, str) else data
        with self._opened(path, os.O_WRONLY | os.O_CREAT | _NONBLOCK) as fd:
            _regular(fd, path)
            os.ftruncate(fd, 0)
            with os.fdopen(os.dup(fd), "wb") as file:
                file.write(raw)
        self._note("bytes_written", path, len(raw))

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except ToolError as exc:
            if exc.code == "FILE_NOT_FOUND":
                return False
            raise
        return True

    def stat(self, path: str) -> os.stat_result:
        with self._opened(path, _LOOK) as fd:
            return os.fstat(fd)

    def list(self, path: str = ".") -> list[str]:
        with self._opened(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as fd:
            return sorted(os.listdir(fd))

    def unlink(self, path: str) -> None:
        parent, name = os.path.split(path.rstrip("/"))
        if name in ("", ".", ".."):
            raise _outside(path)
        with self._opened(parent or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as fd, _readable_errors(path):
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
            root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fd = _open_beneath(root, relative, flags)
            finally:
                os.close(root)
        try:
            yield fd
        finally:
            os.close(fd)


def _open_beneath(root: int, path: str, flags: int) -> int:
    if "\0" in path:
        raise ValueError("a path cannot hold a NUL")
    if sys.platform == "linux":
        from . import _openat2  # late: ctypes costs more than most calls that touch no file

        fd = _openat2.open_beneath(root, path, flags, 0o644)
        if fd is not None:
            return fd
    return _walk(root, path, flags)


def _walk(root: int, path: str, flags: int) -> int:
    """Without openat2: one component after the other, through no symlink and never upwards."""
    steps = [step for step in path.split("/") if step not in ("", ".")] or ["."]
    here = os.dup(root)
    try:
        for step in steps[:-1]:
            if step == "..":
                raise PermissionError("..")
            below = os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = below
        if steps[-1] == "..":
            raise PermissionError("..")
        return os.open(steps[-1], flags | os.O_NOFOLLOW, 0o644, dir_fd=here)
    finally:
        os.close(here)


@contextmanager
def _readable_errors(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f"File not found: {path}", code="FILE_NOT_FOUND", details={"path": path}) from None
    except (PermissionError, OSError, ValueError) as exc:
        if isinstance(exc, OSError) and exc.errno in _ESCAPES or isinstance(exc, PermissionError) and exc.errno is None:
            raise _outside(path) from None
        raise ToolError(f"{path}: {exc}", code="READ_ERROR", details={"path": path}) from None


import errno as _errno  # noqa: E402

_ESCAPES = (_errno.EXDEV, _errno.ELOOP)


def _outside(path: str) -> ToolError:
    return ToolError(
        f"{path} is outside the workspace; use a path inside it", code="PATH_OUTSIDE_WORKSPACE", details={"path": path}
    )


def _regular(fd: int, path: str) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise ToolError(f"{path} is not a regular file", code="PATH_NOT_REGULAR", details={"path": path})
