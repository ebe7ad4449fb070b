"""Taking a downloaded archive apart: only plain files and directories, only below the directory it is put into.

An archive is written by somebody else. Every header is read and checked by us, whatever two readers could understand
differently is refused, and what comes out is bounded in number, size, depth and time. It is unpacked whole, or
nothing of it is left.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple, Protocol

from . import archive_tar, archive_zip
from .archive_member import Bounds, Member, Unsafe

_PROGRAM, _FILE, _DIRECTORY = 0o755, 0o644, 0o700
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Unpacked(NamedTuple):
    """One file that was in an archive."""

    path: str
    program: bool
    """Somebody may execute it. All other rights that the archive names are its own wishes."""
    digest: str


def contents(archive: BinaryIO, *, stopped: Callable[[], bool] = lambda: False) -> list[Unpacked]:
    """The files of a `.tar.gz` or `.zip`, sorted by path, and each with its digest. Nothing is written.

    Raises:
        Unsafe: it is no archive of these kinds, or one that is not taken apart.
    """
    return _read(archive, _Hashed(), stopped)


def unpack(archive: BinaryIO, folder: str, *, stopped: Callable[[], bool] = lambda: False) -> list[Unpacked]:
    """Put the files of a `.tar.gz` or `.zip` into a new directory, and say which they are, sorted by path.

    Raises:
        Unsafe: it is no archive of these kinds, or one that is not taken apart; the directory is not there.
        OSError: there is such a directory already, or no room; nothing was changed.
    """
    os.mkdir(folder, _DIRECTORY)
    try:
        root = os.open(folder, _OPEN_DIRECTORY)
        try:
            return _read(archive, _Written(root), stopped)
        finally:
            os.close(root)
    except BaseException:
        shutil.rmtree(folder)
        raise


def _read(archive: BinaryIO, tree: "_Tree", stopped: Callable[[], bool]) -> list[Unpacked]:
    length = archive.seek(0, os.SEEK_END)
    archive.seek(0)
    begin = archive.read(4)
    bounds = Bounds(length, stopped)
    if begin.startswith(b"\x1f\x8b"):
        members = archive_tar.members(archive, bounds)
    elif begin in (b"PK\x03\x04", b"PK\x05\x06"):
        members = archive_zip.members(archive, length, bounds)
    else:
        raise Unsafe("it is neither a .tar.gz nor a .zip")
    found = []
    for member in members:
        if member.is_directory:
            tree.directory(member.path)
        else:
            found.append(tree.file(member))
    if not found:
        raise Unsafe("the archive has no file")
    return sorted(found)


class _Tree(Protocol):
    """Where members go."""

    def directory(self, path: str) -> None: ...

    def file(self, member: Member) -> Unpacked: ...


class _Hashed:
    """Nowhere: only their digests are of interest."""

    def directory(self, path: str) -> None:
        pass

    def file(self, member: Member) -> Unpacked:
        hashed = hashlib.sha256()
        for chunk in member.chunks:
            hashed.update(chunk)
        return Unpacked(member.path, member.program, f"sha256:{hashed.hexdigest()}")


class _Written:
    """Into an open directory, step by step, and through no link."""

    def __init__(self, root: int) -> None:
        self._root = root

    def directory(self, path: str) -> None:
        if path:
            with self._inside(path):
                pass

    def file(self, member: Member) -> Unpacked:
        above, _, name = member.path.rpartition("/")
        hashed = hashlib.sha256()
        with self._inside(above) as folder, open(os.open(name, _NEW_FILE, 0o600, dir_fd=folder), "wb") as file:
            for chunk in member.chunks:
                hashed.update(chunk)
                file.write(chunk)
            os.fchmod(file.fileno(), _PROGRAM if member.program else _FILE)
        return Unpacked(member.path, member.program, f"sha256:{hashed.hexdigest()}")

    @contextmanager
    def _inside(self, path: str) -> Iterator[int]:
        """A directory below the root, made where it is missing."""
        fd = os.dup(self._root)
        try:
            for name in path.split("/") if path else ():
                with suppress(FileExistsError):
                    os.mkdir(name, _DIRECTORY, dir_fd=fd)
                deeper = os.open(name, _OPEN_DIRECTORY, dir_fd=fd)
                os.close(fd)
                fd = deeper
            yield fd
        finally:
            os.close(fd)
