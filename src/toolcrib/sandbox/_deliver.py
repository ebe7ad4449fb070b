"""Putting a file into an open directory: whole or not at all, and diverted by no link."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from ..core.errors import ToolError
from ._beneath import FOLDER

_LOCK_TRIES, _LOCK_SECONDS = 20, 0.001
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def deliver(folder: int, name: str, data: bytes, *, like: os.stat_result | None = None) -> os.stat_result:
    """Put a file into an open directory under its name in one step: nobody sees half of it, and no link diverts it.

    It takes the place of what it is `like`; otherwise there must be nothing of that name.

    Raises:
        FileExistsError: there is.
    """
    mode, draft = 0o644 if like is None else 0o600, f".toolcrib-{os.urandom(8).hex()}"
    fd = _unnamed(folder, mode)
    named = fd is None
    if fd is None:
        fd = os.open(draft, _DRAFT, mode, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            if like is not None:
                _resemble(fd, like)
            if not named:  # a process that is killed before this leaves nothing
                target = name if like is None else draft
                os.link(f"/proc/self/fd/{fd}", target, dst_dir_fd=folder, follow_symlinks=True)
                named = like is not None
            if like is not None:
                os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            elif named:
                _give_name(folder, draft, name)
            return os.fstat(fd)
    except BaseException:
        if named:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
        raise


def _unnamed(folder: int, mode: int) -> int | None:
    """A file that has no name yet, in an open directory, or None where the system knows no such thing."""
    if not os.path.exists("/proc/self/fd"):
        return None
    try:
        return os.open(".", os.O_TMPFILE | os.O_WRONLY, mode, dir_fd=folder)
    except OSError:
        return None


def _give_name(folder: int, draft: str, name: str) -> None:
    """A name that nothing has."""
    try:
        os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.unlink(draft, dir_fd=folder)
    except PermissionError:  # a file system without links; whoever writes through us has the directory for himself
        with suppress(FileNotFoundError):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            raise FileExistsError(name) from None
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)


@contextmanager
def alone_in(folder: int) -> Iterator[None]:
    """While no other call writes in this directory, whichever process it is in.

    What cannot be opened to be looked into (it may only be passed through) cannot be locked, and is not.

    Raises:
        ToolError: somebody holds it for longer than a write takes.
    """
    try:
        fd = os.open(".", os.O_RDONLY, dir_fd=folder)
    except PermissionError:
        yield
        return
    try:
        _lock(fd)
        yield
    finally:
        os.close(fd)


def _lock(fd: int) -> None:
    import fcntl  # late: most calls write nothing

    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(_LOCK_SECONDS)
        except OSError:  # a file system without locks
            return
    message = "another program holds a lock on the directory; try again"
    raise ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True)


def _resemble(fd: int, like: os.stat_result) -> None:
    """The old file's owner, as far as we may give it, and its mode without setuid and its kin."""
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
        with suppress(PermissionError):
            os.fchown(fd, like.st_uid, like.st_gid)
    os.fchmod(fd, like.st_mode & 0o777)


@contextmanager
def directories(folder: int, names: Sequence[str]) -> Iterator[int]:
    """Make directories, each in the one before and through no link; take them away again when their purpose failed."""
    made: list[tuple[str, int]] = []
    with ExitStack() as held:
        try:
            for name in names:
                try:
                    os.mkdir(name, dir_fd=folder)
                    made.append((name, folder))
                except FileExistsError:
                    pass  # somebody else made it just now; it is opened like the others
                folder = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=folder)
                held.callback(os.close, folder)
            yield folder
        except BaseException:
            for name, parent in reversed(made):
                with suppress(OSError):
                    os.rmdir(name, dir_fd=parent)
            raise
