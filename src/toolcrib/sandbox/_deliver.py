"""Putting a file into an open directory: whole or not at all, and diverted by no link."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from ._beneath import FOLDER

_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def deliver(folder: int, name: str, data: bytes, *, like: os.stat_result | None = None) -> None:
    """Put a file into an open directory under its name in one step: nobody sees half of it, and no link diverts it."""
    draft = f".toolcrib-{os.urandom(8).hex()}"
    fd = os.open(draft, _DRAFT, 0o644 if like is None else 0o600, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            if like is not None:
                _resemble(fd, like)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


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
