"""What the readers of archives have in common: what a member is, and the bounds that all members are held to."""

import re
import time
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..core.errors import Refused, ToolError

MOST_MEMBERS = 10_000
MOST_BYTES = 512 * 1024**2
MOST_RATIO = 100
"""How many times longer than the archive what comes out of it may be."""
MOST_SECONDS = 120.0
_RATIO_FROM = 4 * 1024**2
"""Something so short harms nobody, however little its archive has."""
_LONGEST_NAME, _LONGEST_PART, _DEEPEST = 1024, 255, 32
_DRIVE = re.compile(r"[A-Za-z]:")


class Unsafe(Refused):
    """An archive that is not taken apart."""

    code = "ARCHIVE_UNSAFE"


class Member(NamedTuple):
    """What a header says of what follows it."""

    path: str
    is_directory: bool
    program: bool
    chunks: Iterator[bytes]
    """Of a file; to be read before the next member is asked for."""


class Bounds:
    """Counts what comes out of one archive, and names that would fall together."""

    def __init__(self, archive_bytes: int, stopped: Callable[[], bool]) -> None:
        self._most = min(MOST_BYTES, max(_RATIO_FROM, archive_bytes * MOST_RATIO))
        self._stopped = stopped
        self._until = time.monotonic() + MOST_SECONDS
        self._members = 0
        self._bytes = 0
        self._names: dict[str, tuple[str, bool | None]] = {}

    def header(self) -> None:
        """One more header."""
        self._members += 1
        if self._members > MOST_MEMBERS:
            raise Unsafe(f"the archive has more than {MOST_MEMBERS} members")
        self._look()

    def grown(self, more: int) -> None:
        """So many more bytes came out."""
        self._bytes += more
        if self._bytes > self._most:
            raise Unsafe(
                f"what is in the archive is longer than {self._most} bytes; the bounds are {MOST_BYTES} bytes, and "
                f"{MOST_RATIO} times the length of the archive"
            )
        self._look()

    def named(self, raw: str, *, is_directory: bool) -> str:
        """The path of a member below the directory that it is put into; empty for that directory itself.

        Raises:
            Unsafe: it could lead elsewhere, cannot be drawn, or falls together with another.
        """
        path = raw.removeprefix("./")
        path = path.removesuffix("/") if is_directory else path
        if path in ("", ".") and is_directory:
            return ""
        check_name(path, raw)
        parts = path.split("/")
        for depth in range(1, len(parts)):
            self._claim("/".join(parts[:depth]), is_directory=True)
        self._claim(path, is_directory=is_directory)
        return path

    def _claim(self, path: str, *, is_directory: bool) -> None:
        """On some file systems, names are one that differ in case or in how a letter is composed."""
        folded = unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())
        known, was_directory = self._names.setdefault(folded, (path, None))
        if known != path:
            raise Unsafe(f"{path!r} and {known!r} in the archive are one name on some file systems")
        if was_directory is False or (was_directory and not is_directory):
            raise Unsafe(f"{path!r} is in the archive twice")
        self._names[folded] = (path, is_directory)

    def _look(self) -> None:
        if self._stopped():
            raise ToolError("nobody waits for the archive any more", code="CANCELLED")
        if time.monotonic() > self._until:
            raise Unsafe(f"taking the archive apart takes longer than {MOST_SECONDS:g} s")


def check_name(path: str, raw: str) -> None:
    """Raises: `Unsafe`, for a path that is not one below the directory that an archive is put into."""
    parts = path.split("/")
    if path.startswith("/") or _DRIVE.match(path):
        raise Unsafe(f"{raw!r} in the archive begins at the root")
    if ".." in parts:
        raise Unsafe(f"{raw!r} in the archive leads out of its directory")
    if "" in parts or "." in parts:
        raise Unsafe(f"{raw!r} in the archive has a part without a name")
    if "\\" in path or not path.isprintable():
        raise Unsafe(f"{raw!r} in the archive holds a backslash or a character that cannot be drawn")
    if (
        len(path.encode()) > _LONGEST_NAME
        or len(parts) > _DEEPEST
        or max(len(p.encode()) for p in parts) > _LONGEST_PART
    ):
        raise Unsafe(f"a name in the archive is too long or too deep: {raw[:80]!r}…")


def is_member(path: str) -> bool:
    """Whether this could be the path of a file in an archive."""
    try:
        check_name(path, path)
    except Unsafe:
        return False
    return True
