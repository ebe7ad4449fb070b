"""The sessions of a home and the skills that are active in each, in the same file as the answers that last."""

import json
import os
import re
import sqlite3
import time
from typing import Any, NamedTuple

from ..core.errors import ToolcribError
from .home import Home
from .state import Database, Odd, plain

NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
"""What a session may be called; matched whole."""
MOST_SKILLS = 100
"""Active in one session."""
_SETTLED_NS = 50_000_000
_COLUMNS = "name, origin, content, version, digest, description, tools, at, only_tools"


class KeptSkill(NamedTuple):
    """A skill that is active in a session."""

    name: str
    origin: str
    """The path of its SKILL.md; empty for one that was handed over as text."""
    content: str
    """That text; empty for one that lies in a folder."""
    version: str
    digest: str
    """Of what was activated. What lies in the folder may be something else by now."""
    description: str
    tool_names: tuple[str, ...]
    at: float
    """When it was activated."""
    only: tuple[str, ...] | None = None
    """While it is active, of all tools that no skill brings, only these are there; None: all of them."""


class KeptSession(NamedTuple):
    """One session."""

    id: str
    workspace: str
    """Where it was begun."""
    created: float
    skills: tuple[KeptSkill, ...]
    """In the order in which they were activated."""


class SessionNotFound(ToolcribError):
    """There is no such session, or no longer."""

    def __init__(self, session: str) -> None:
        message = f"there is no session {session}; see: toolcrib session list, or begin one: toolcrib session new"
        super().__init__(message, code="SESSION_NOT_FOUND")


class KeptSessions:
    """All that is acknowledged is on disk: whoever is told of a session or a skill finds it after a crash, too.

    Every method may raise `ConfigError`, for a file that cannot be read or written.
    """

    def __init__(self, home: Home) -> None:
        self._database = Database(home)

    def stamp(self) -> tuple[int, ...]:
        """Other than before when another process may have changed something."""
        try:
            seen = os.stat(self._database.path)
        except OSError:
            return ()
        if time.time_ns() - seen.st_mtime_ns < _SETTLED_NS:  # it may change again without a new time stamp
            return (time.monotonic_ns(),)
        return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size

    def create(self, session: str, workspace: str) -> KeptSession:
        """
        Raises:
            ToolcribError: there is one of this name.
        """
        now = time.time()
        with self._database.use() as db:
            try:
                db.execute("INSERT INTO sessions VALUES (?, ?, ?)", (plain(session), plain(workspace), now))
            except sqlite3.IntegrityError:
                message = f"there is a session {session} already; use it, or choose another name"
                raise ToolcribError(message, code="VALIDATION_ERROR") from None
        return KeptSession(session, workspace, now, ())

    def get(self, session: str) -> KeptSession | None:
        if not self._database.exists:
            return None
        with self._database.use() as db:
            row = db.execute("SELECT id, workspace, created FROM sessions WHERE id = ?", (plain(session),)).fetchone()
            return None if row is None else _session(db, row)

    def all(self) -> list[KeptSession]:
        """The oldest first."""
        if not self._database.exists:
            return []
        with self._database.use() as db:
            rows = db.execute("SELECT id, workspace, created FROM sessions ORDER BY created, id").fetchall()
            return [_session(db, row) for row in rows]

    def end(self, session: str) -> bool:
        """Forget a session and all that was kept for it alone. Says whether it was there."""
        if not self._database.exists:
            return False
        ident = (plain(session),)
        with self._database.use() as db:
            if not db.execute("DELETE FROM sessions WHERE id = ?", ident).rowcount:
                return False
            for table in ("session_skills", "todos", "seen_files", "pending"):
                db.execute(f"DELETE FROM {table} WHERE session = ?", ident)
            db.execute("DELETE FROM approvals WHERE scope = 'session' AND key = ?", ident)
        return True

    def put(self, session: str, skill: KeptSkill) -> None:
        """Keep a skill as active; one of the same name is replaced, in its place.

        Raises:
            SessionNotFound: somebody ended the session.
            ToolcribError: too many are active.
        """
        with self._database.use() as db:
            _must_be(db, session)
            query = "SELECT position FROM session_skills WHERE session = ? AND name = ?"
            held = db.execute(query, (plain(session), plain(skill.name))).fetchone()
            query = "SELECT coalesce(max(position), 0) + 1, count(*) FROM session_skills WHERE session = ?"
            last, active = db.execute(query, (plain(session),)).fetchone()
            if held is None and active >= MOST_SKILLS:
                message = f"{MOST_SKILLS} skills are active in session {session}; remove some of them"
                raise ToolcribError(message, code="RESOURCE_EXHAUSTED")
            *plainly, names, at, only = skill
            row = (*map(plain, plainly), json.dumps(names), at, json.dumps(only))
            values = (plain(session), last if held is None else held[0], *row)
            marks = ", ".join("?" * len(values))
            db.execute(
                f"INSERT OR REPLACE INTO session_skills (session, position, {_COLUMNS}) VALUES ({marks})", values
            )

    def remove(self, session: str, name: str) -> bool:
        """Says whether it was active. Raises: `SessionNotFound`."""
        with self._database.use() as db:
            _must_be(db, session)
            query = "DELETE FROM session_skills WHERE session = ? AND name = ?"
            return db.execute(query, (plain(session), plain(name))).rowcount == 1


def _must_be(db: sqlite3.Connection, session: str) -> None:
    if db.execute("SELECT 1 FROM sessions WHERE id = ?", (plain(session),)).fetchone() is None:
        raise SessionNotFound(session)


def _session(db: sqlite3.Connection, row: tuple[Any, ...]) -> KeptSession:
    ident, workspace, created = row
    query = f"SELECT {_COLUMNS} FROM session_skills WHERE session = ? ORDER BY position"
    return KeptSession(ident, workspace, created, tuple(_skill(each) for each in db.execute(query, (ident,))))


def _skill(row: tuple[Any, ...]) -> KeptSkill:
    name, origin, content, version, digest, description, tools, at, only = row
    names, allowed = _texts(tools), _texts(only)
    about = (version, digest, description, tuple(names or ()), at)
    return KeptSkill(name, origin, content, *about, None if allowed is None else tuple(allowed))


def _texts(stored: str) -> list[str] | None:
    try:
        found = json.loads(stored)
    except ValueError as exc:
        raise Odd(f"what it holds is not JSON: {exc}") from None
    if found is not None and not (isinstance(found, list) and all(isinstance(each, str) for each in found)):
        raise Odd("what it holds is not what we write")
    return found
