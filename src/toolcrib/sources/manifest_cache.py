"""What is known of the folders of one tools directory, kept between runs with the state of every file."""

import marshal
import zlib
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import __version__
from ..backends.folder import MANIFEST

_FORMAT = f"4 of {__version__}"
"""Another version of this package may read a manifest otherwise, so it reads them all again."""
_SUM_BYTES = 4
_ALL_BITS = 2**64 - 1
STATE_BYTES = 3 * 8
"""Of one path."""
PROBLEM, TOOL, DECLARED = 4, 7, 2
"""How many fields an answer has that is a problem, one that is a tool, and one that is a tool with a `backend:`."""
MORE = TOOL - 1
"""Where in a tool's answer stands what few tools say; nothing, where it says none of it."""


class More(NamedTuple):
    """What few tools say of themselves."""

    seconds: float | None = None
    output_bytes: int | None = None
    claims: tuple[str, ...] = ()
    wishes: tuple[tuple[str, ...], ...] = ()
    """As `backends.wishes` orders them; or none at all."""
    replaces: tuple[str, ...] = ()
    warm: bool = False
    closed: bool = True
    """Whether the schema takes no other arguments than those it names."""


Kept = tuple[str, bytes, str, tuple[Any, ...]]
"""What is known of one folder, a plain tuple as `marshal` gives it, for there are thousands:

- the paths that its state depends on, below the tools directory, with a NUL between each;
- their states as `backends.folder` finds them, packed; none when the folder is to be read again;
- the listing of its files, as `backends.folder` writes it; empty for a folder that is no tool;
- the answer: description, version, entrypoint, schema, argument names, digest and the rest of a tool; or code, message,
  line and column of a problem; or the declaration, as JSON, and digest of a tool with a `backend:`; or nothing where it
  was not parsed.
"""


def packed(states: Sequence[int]) -> bytes:
    """Eight bytes each: a thousand folders have nine thousand, and one text is read quicker than so many numbers."""
    try:
        return array("q", states).tobytes()
    except OverflowError:  # an inode may have all bits
        return array("Q", [each & _ALL_BITS for each in states]).tobytes()


class ManifestCache:
    """One file for a tools directory. Losing it costs time, nothing else.

    It is written by `marshal`, which reads a thousand folders in a fraction of the time that JSON takes, and which must
    not see what a crash or a bad disk made of it: so a sum stands in front.
    """

    def __init__(
        self, directory: str, read: Callable[[str], bytes | None], write: Callable[[str, bytes], None]
    ) -> None:
        self._directory, self._read, self._write = directory, read, write
        self._key = f"{directory}//{MANIFEST}"
        """No directory is called so, and what programs said of themselves is kept elsewhere."""

    def recall(self) -> tuple[list[int], dict[str, Kept]]:
        """The state of the directory itself, and its folders; nothing where nothing good is kept."""
        raw = self._read(self._key) or b""
        data = memoryview(raw)[_SUM_BYTES:]
        if _sum(data) == raw[:_SUM_BYTES]:
            try:
                made_by, directory, stamp, folders = marshal.loads(data)
                if (made_by, directory) == (_FORMAT, self._directory):
                    return stamp, folders
            except (ValueError, TypeError, EOFError):  # another version of Python wrote it
                pass
        return [], {}

    def keep(self, stamp: list[int], folders: dict[str, Kept]) -> None:
        data = marshal.dumps((_FORMAT, self._directory, stamp, folders))
        try:
            self._write(self._key, _sum(data) + data)
        except OSError:  # a full or read-only home: slower, but right
            pass


def _sum(data: "bytes | memoryview") -> bytes:
    return zlib.crc32(data).to_bytes(_SUM_BYTES)
