"""What each session has written down to be done, in the same file as the answers that last."""

import json
import time
from typing import Any

from .home import Home
from .state import Database, Odd, plain

MOST_LISTS = 1000
"""Of more, those are forgotten that nobody changed for longest. Not those of an age: a clock may be set ahead."""


class Todos:
    """One list for each session, replaced whole: of two writers, the later one's list is there, and all of it."""

    def __init__(self, home: Home) -> None:
        self._database = Database(home)

    def write(self, session: str, items: list[Any]) -> None:
        """
        Raises:
            ConfigError: it could not be kept.
        """
        row = (plain(session), json.dumps(items), time.time())
        with self._database.use() as db:
            if db.execute("SELECT 1 FROM todos WHERE session = ?", row[:1]).fetchone() is None:
                oldest = "SELECT session FROM todos ORDER BY changed DESC LIMIT -1 OFFSET ?"
                db.execute(f"DELETE FROM todos WHERE session IN ({oldest})", (MOST_LISTS - 1,))
            db.execute("INSERT OR REPLACE INTO todos (session, items, changed) VALUES (?, ?, ?)", row)

    def read(self, session: str) -> list[Any]:
        """
        Raises:
            ConfigError: it cannot be read.
        """
        if not self._database.exists:
            return []
        with self._database.use() as db:
            row = db.execute("SELECT items FROM todos WHERE session = ?", (plain(session),)).fetchone()
            return [] if row is None else _list(row[0])


def _list(text: str) -> list[Any]:
    try:
        items = json.loads(text)
    except ValueError as exc:
        raise Odd(f"what it holds is not JSON: {exc}") from None
    if not isinstance(items, list):
        raise Odd("what it holds is not what we write")
    return items
