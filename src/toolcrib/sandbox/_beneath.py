"""Opening below a directory and never outside it, and the real path of what was opened."""

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

LOOK = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_CLOEXEC
"""To know what a thing is. With O_PATH that does not open it, so that a FIFO's other end notices nothing."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
FOLDER = LOOK | os.O_DIRECTORY
"""To reach what is in a directory, which need not be readable for that."""
BY_KERNEL = sys.platform == "linux"
"""Whether the kernel resolves paths. Where it cannot, `_walk` does; tests switch this off to see that it holds."""
_MOST_LINKS = 40  # as Linux has it


class Opened(NamedTuple):
    fd: int
    real: str
    """Where it really lies: absolute, without links."""


def open_root(real: str) -> Opened:
    """The directory at a path without links. Nobody may have put a link there since the path was resolved.

    Raises:
        OSError: EXDEV when somebody did.
    """
    fd = os.open(real, FOLDER)
    try:
        now = _path_of(fd) if sys.platform == "darwin" or (BY_KERNEL and os.path.exists("/proc/self/fd")) else real
        if now.casefold() != real.casefold():  # a file system that ignores case may give the name in another one
            raise OSError(errno.EXDEV, "was replaced by a link")
        return Opened(fd, now)
    except BaseException:
        os.close(fd)
        raise


def open_beneath(root: Opened, path: str, flags: int) -> Opened:
    """What a relative path names below `root`; a link is followed as long as it stays below it. Creates nothing.

    Raises:
        OSError: EXDEV when the path leads out; ELOOP for links in a circle; ENOENT and the like as usual.
    """
    if not _kernel_resolves():
        return _walk(root, path, flags)
    from . import _openat2

    try:
        fd = _openat2.open_beneath(root.fd, path, flags)
    except OSError as exc:
        if exc.errno != errno.EAGAIN:
            raise
        return _walk(root, path, flags)  # wherever things are renamed or mounted all the time, it trusts no `..`
    try:
        real = _path_of(fd)
        if not is_below(real, root.real):
            raise OSError(errno.EXDEV, "was moved out")
        return Opened(fd, real)
    except BaseException:
        os.close(fd)
        raise


@contextmanager
def holding(root: str, path: str) -> Iterator[tuple[int, str]]:
    """The directory below `root` in which something lies, opened through no link, and what it is called there."""
    *names, name = path.split("/")
    top = os.open(root, FOLDER | os.O_NOFOLLOW)
    try:
        folder = descend(top, names)
    finally:
        os.close(top)
    try:
        yield folder, name
    finally:
        os.close(folder)


def reading_in(folder: int) -> Callable[[str, int], int]:
    """For `open`: reads a name in a directory, by no link, and waits for no pipe.

    What turns out to be a directory is closed again; a descriptor that `open` is given stays open then.
    """
    return lambda name, _: os.open(name, _READ, dir_fd=folder)


def is_below(real: str, directory: str) -> bool:
    """Whether a path without links is the directory or lies in it."""
    return real == directory or real.startswith(directory.rstrip("/") + "/")


def _kernel_resolves() -> bool:
    if not BY_KERNEL:
        return False
    from . import _openat2  # late: ctypes costs more than most calls that touch no file

    return _openat2.AVAILABLE


def _path_of(fd: int) -> str:
    if sys.platform == "darwin":
        import fcntl

        return os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
    real = os.readlink(f"/proc/self/fd/{fd}")
    gone = real.endswith(" (deleted)") and not os.fstat(fd).st_nlink  # replaced or removed since it was opened
    return real.removesuffix(" (deleted)") if gone else real


def _walk(root: Opened, path: str, flags: int) -> Opened:
    """Without openat2: one name after the other, each opened in the directory before it and through no link.

    A link is read and its target is walked instead. `..` goes back to the root and down again, since the directory
    above the one that is open may be another one by now.
    """
    todo, flags = _steps(path, flags)
    done: list[str] = []
    links = 0
    here = os.dup(root.fd)
    try:
        while todo:
            step = todo.pop()
            if step == "..":
                if not done:
                    raise OSError(errno.EXDEV, "leads upwards")
                done.pop()
                above = descend(root.fd, done)
                os.close(here)
                here = above
                continue
            below = _enter(here, step, FOLDER if todo else flags)
            if isinstance(below, str):
                links += 1
                if below.startswith("/"):
                    raise OSError(errno.EXDEV, "leads away")
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                more, wanted = _steps(below, flags)
                if not todo:
                    flags = wanted
                todo += more
                continue
            done.append(step)
            os.close(here)
            here = below
        if not done or stat.S_ISDIR(os.fstat(here).st_mode):  # ended at `.` or `..`: opened for passing through only
            again = os.open(".", flags, dir_fd=here)
            os.close(here)
            here = again
        return Opened(here, _path_of(here) if sys.platform == "darwin" else os.path.join(root.real, *done))
    except BaseException:
        os.close(here)
        raise


def _steps(path: str, flags: int) -> tuple[list[str], int]:
    """The names of a path, last first; what ends in a slash or a dot must be a directory."""
    names = path.split("/")
    if names[-1] in ("", ".", ".."):
        flags |= os.O_DIRECTORY
    return [name for name in reversed(names) if name not in ("", ".")], flags


def _enter(here: int, name: str, flags: int) -> int | str:
    """A descriptor for what `name` is in a directory; where a link leads."""
    try:
        fd = os.open(name, flags | os.O_NOFOLLOW, dir_fd=here)
    except OSError as exc:
        link = exc.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)  # systems disagree
        if link and stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
            return _target(here, name)
        raise
    if not stat.S_ISLNK(os.fstat(fd).st_mode):
        return fd
    os.close(fd)  # O_PATH opened the link itself
    return _target(here, name)


def _target(here: int, name: str) -> str:
    try:
        return os.readlink(name, dir_fd=here)
    except OSError as exc:
        if exc.errno == errno.EINVAL:  # it was a link just now
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
        raise


def descend(root: int, names: Sequence[str]) -> int:
    """The directory that these names lead to, each in the one before it and none of them a link."""
    here = os.dup(root)
    try:
        for name in names:
            below = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        return here
    except BaseException:
        os.close(here)
        raise
