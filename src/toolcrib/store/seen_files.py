"""Which files each named session has read, for the next process that serves it."""

import re
import time
import zlib
from collections.abc import Iterable

from ..core.errors import ConfigError
from .home import Home
from .state import Database, plain

_SPAN = 7 * 86_400.0
_LONGEST = 256 * 1024
"""Of a content that is kept; of a longer one, only that it was read."""

_MADE_UP = re.compile(r"tc[0-9a-f]{16}")
"""The session of a server, which ends with it: nobody comes back to it."""

Stamp = tuple[int, int, int, int]


class SeenFiles:
    """Files as they were when a session last read them."""

    def __init__(self, home: Home) -> None:
        self._database = Database(home)

    def load(self, session: str, path: str) -> tuple[Stamp, bytes | None] | None:
        """None where it never did, or where that is not known any more: then it reads the file once more."""
        if not self._database.exists:
            return None
        try:
            with self._database.use() as db:
                query = "SELECT inode, size, mtime, ctime, content FROM seen_files WHERE session = ? AND path = ?"
                row = db.execute(query, (plain(session), plain(path))).fetchone()
            return None if row is None else (row[:4], row[4] and zlib.decompress(row[4]))
        except (ConfigError, zlib.error):
            return None

    def save(self, readings: Iterable[tuple[str, str, Stamp, bytes | None]]) -> None:
        """As far as that can be done: what is lost is only that a file was read."""
        now = time.time()
        rows = [
            (plain(session), plain(path), *stamp, _packed(content), now)
            for session, path, stamp, content in readings
            if not _MADE_UP.fullmatch(session)
        ]
        if not rows:
            return
        try:
            with self._database.use() as db:
                db.execute("DELETE FROM seen_files WHERE at < ?", (now - _SPAN,))
                db.executemany("INSERT OR REPLACE INTO seen_files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        except (ConfigError, OSError):
            pass


def _packed(content: bytes | None) -> bytes | None:
    return None if content is None or len(content) > _LONGEST else zlib.compress(content, 1)
