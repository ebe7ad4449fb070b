"""What is remembered between runs, in one SQLite file with numbered migrations."""

import os
import sqlite3
import time
from contextlib import closing

from ..core.errors import ConfigError
from .home import PRIVATE_FILE, Home

_MIGRATIONS = (
    """
    CREATE TABLE approvals (
      tool TEXT NOT NULL, digest TEXT NOT NULL, scope TEXT NOT NULL, at REAL NOT NULL,
      PRIMARY KEY (tool, digest, scope)
    ) WITHOUT ROWID
    """,
)


class State:
    """Opened for each use: a runtime that never asks never touches it."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def remember(self, tool: str, digest: str, scope: str) -> None:
        """A person said yes to this very tool."""
        with closing(self._open()) as db, db:
            db.execute("INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?)", (tool, digest, scope, time.time()))

    def remembers(self, tool: str, digest: str, scope: str) -> bool:
        with closing(self._open()) as db:
            query = "SELECT 1 FROM approvals WHERE tool = ? AND digest = ? AND scope = ?"
            return db.execute(query, (tool, digest, scope)).fetchone() is not None

    def knew(self, tool: str, scope: str) -> bool:
        """Whether any version of this tool was ever approved: then the one at hand is a changed one."""
        with closing(self._open()) as db:
            query = "SELECT 1 FROM approvals WHERE tool = ? AND scope = ?"
            return db.execute(query, (tool, scope)).fetchone() is not None

    def _open(self) -> sqlite3.Connection:
        self._home.directory()
        path = self._home.file("state.db")
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE))
        try:
            return self._migrated(sqlite3.connect(path, timeout=10))
        except sqlite3.DatabaseError as exc:
            raise ConfigError(f"{exc}; move the file away, and what it remembered is asked again", path=path) from None

    def _migrated(self, db: sqlite3.Connection) -> sqlite3.Connection:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version < len(_MIGRATIONS):
            with db:
                db.execute("BEGIN IMMEDIATE")  # another process may be doing the same
                (version,) = db.execute("PRAGMA user_version").fetchone()
                for number, step in enumerate(_MIGRATIONS[version:], version + 1):
                    db.execute(step)
                    db.execute(f"PRAGMA user_version = {number}")
        return db
