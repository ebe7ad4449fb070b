"""Reading source files, one by one, below a directory that is open: no link is followed on the way to them."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

LARGEST = 1024 * 1024
"""A longer file was written by a program, and is of no interest."""
LONGEST_WORD = 256
_SHORT = 64 * 1024
"""In a file of no more than that, no word is too long to be kept."""
_SMALLEST_MINIFIED, _LONG_LINE = 16 * 1024, 1000
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_OPEN = 32
_IN_WORDS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz" + bytes(range(128, 256))
_SPACED = bytes(byte if byte in _IN_WORDS else 32 for byte in range(256))
_UPWARD = frozenset(("", ".", ".."))
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Descent:
    """Opens directories below one that is open. Those on the way to the last one are kept, for its neighbours."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._path: list[str] = []
        self._open: list[int] = []
        self._last = -1
        """A directory that is deeper than what is kept open."""

    def __enter__(self) -> "Descent":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._back_to(0)

    def folder(self, path: str) -> int:
        """The descriptor of a directory, which stays ours.

        Raises:
            OSError: there is none, a link is on the way, or the path is not one that only leads down.
        """
        names = path.split("/") if path else []
        if not _UPWARD.isdisjoint(names):
            raise FileNotFoundError(errno.ENOENT, "it does not only lead down", path)
        common = 0
        for ours, theirs in zip(self._path, names, strict=False):
            if ours != theirs:
                break
            common += 1
        self._back_to(common)
        for name in names[common:_MOST_OPEN]:
            self._open.append(os.open(name, _FOLDER, dir_fd=self._open[-1] if self._open else self._root))
            self._path.append(name)
        for name in names[_MOST_OPEN:]:
            below = os.open(name, _FOLDER, dir_fd=self._open[-1] if self._last < 0 else self._last)
            if self._last >= 0:
                os.close(self._last)
            self._last = below
        return self._last if self._last >= 0 else self._open[-1] if self._open else self._root

    def _back_to(self, depth: int) -> None:
        if self._last >= 0:
            os.close(self._last)
            self._last = -1
        while len(self._open) > depth:
            os.close(self._open.pop())
            self._path.pop()


@contextmanager
def opened(name: str, folder: int, owner: int) -> Iterator[tuple[int, os.stat_result]]:
    """A regular file in a directory, and its state before anything of it was read.

    Raises:
        OSError: it cannot be opened, is not a regular file, or may be somebody else's by another name: it has several,
            and belongs neither to `owner` nor to us.
    """
    fd = os.open(name, _READ, dir_fd=folder)
    try:
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if seen.st_nlink > 1 and seen.st_uid not in (owner, os.geteuid() or owner):
            raise OSError(errno.EPERM, "it is a second name of a file that belongs to somebody else")
        yield fd, seen
    finally:
        os.close(fd)


def contents(fd: int, size: int, most: int) -> bytes:
    """A file that had `size` bytes; no more than `most` of it, also when it grows meanwhile."""
    data = os.read(fd, min(size + 1, most))
    if len(data) <= size:
        return data
    parts = [data]
    left = most - len(data)
    while left and (more := os.read(fd, left)):
        parts.append(more)
        left -= len(more)
    return b"".join(parts)


def as_utf8(data: bytes, language: str) -> bytes:
    """Source text as UTF-8, where its first bytes say that it is something else."""
    if data.startswith(_UTF16):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    if language == "python" and b"coding" in data[:1024]:
        from .encoding import recoded  # late: few files say it

        return recoded(data)
    return data


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:8192] and not data.startswith(_UTF16)


def is_minified(data: bytes) -> bool:
    """Whether no person wrote these lines."""
    return len(data) > _SMALLEST_MINIFIED and len(data) > _LONG_LINE * (data.count(b"\n") + 1)


def words_of(data: bytes) -> set[bytes]:
    """All that may be an identifier, in any language; numbers too, which do no harm."""
    words = set(data.translate(_SPACED).split())
    if len(data) > _SHORT and max(map(len, words), default=0) > LONGEST_WORD:
        words = {word for word in words if len(word) <= LONGEST_WORD}
    return words
