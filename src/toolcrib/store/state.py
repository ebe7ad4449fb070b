"""What is remembered between runs, in one SQLite file with numbered migrations: here, the answers that last."""

import errno
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple

from ..core.errors import ConfigError
from .home import PRIVATE_FILE, Home
from .lock import LOCK_SECONDS

DAY = 86_400.0
SPANS: Mapping[str, float | None] = {"session": DAY, "project": 90 * DAY, "user": 90 * DAY, "terminal": None}
"""How long an answer lasts, in seconds, by its scope. What is typed at a terminal is allowed until the tool changes."""

MIGRATIONS = (
    """
    CREATE TABLE approvals (
      tool TEXT NOT NULL, digest TEXT NOT NULL, scope TEXT NOT NULL, at REAL NOT NULL,
      PRIMARY KEY (tool, digest, scope)
    ) WITHOUT ROWID
    """,
    "ALTER TABLE approvals RENAME TO terminal_approvals",
    """
    CREATE TABLE approvals (
      id TEXT PRIMARY KEY, tool TEXT NOT NULL, digest TEXT NOT NULL, pattern TEXT NOT NULL, shown TEXT NOT NULL,
      scope TEXT NOT NULL, key TEXT NOT NULL, created REAL NOT NULL, expires REAL,
      UNIQUE (tool, digest, scope, key, pattern)
    ) WITHOUT ROWID
    """,
    """
    INSERT INTO approvals
    SELECT lower(hex(randomblob(4))), tool, digest, '{"any": true}', 'this tool, with any arguments',
           scope, '', at, NULL
    FROM terminal_approvals
    """,
    "CREATE TABLE versions (tool TEXT NOT NULL, scope TEXT NOT NULL, digest TEXT NOT NULL, at REAL NOT NULL,"
    " PRIMARY KEY (tool, scope)) WITHOUT ROWID",
    "INSERT OR REPLACE INTO versions SELECT tool, scope, digest, at FROM terminal_approvals ORDER BY at",
    "DROP TABLE terminal_approvals",
    """
    CREATE TABLE pending (
      id TEXT PRIMARY KEY, session TEXT NOT NULL, tool TEXT NOT NULL, digest TEXT NOT NULL, call_digest TEXT NOT NULL,
      request TEXT NOT NULL, created REAL NOT NULL, expires REAL NOT NULL, state TEXT NOT NULL, answered_by TEXT
    ) WITHOUT ROWID
    """,
    "CREATE UNIQUE INDEX one_waits ON pending (session, call_digest) WHERE state = 'waiting'",
    "ALTER TABLE approvals ADD COLUMN version TEXT",  # of answers from before, nobody knows it
    "CREATE TABLE seen_files (session TEXT NOT NULL, path TEXT NOT NULL, inode INTEGER, size INTEGER, mtime INTEGER,"
    " ctime INTEGER, content BLOB, at REAL NOT NULL, PRIMARY KEY (session, path)) WITHOUT ROWID",
    "CREATE TABLE todos (session TEXT PRIMARY KEY, items TEXT NOT NULL, changed REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, workspace TEXT NOT NULL, created REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE session_skills (session TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL,"
    " origin TEXT NOT NULL, content TEXT NOT NULL, version TEXT NOT NULL, digest TEXT NOT NULL,"
    " description TEXT NOT NULL, tools TEXT NOT NULL, at REAL NOT NULL, only_tools TEXT NOT NULL,"
    " PRIMARY KEY (session, name)) WITHOUT ROWID",
)
_NO_LINKS = (errno.EPERM, errno.EACCES, errno.EOPNOTSUPP)
"""How a file system says that it has none."""
_COLUMNS = "id, tool, digest, pattern, shown, scope, key, created, expires, version"
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class Approval(NamedTuple):
    """A yes that lasts: for one version of one tool, for what its pattern covers."""

    id: str
    tool: str
    """The tool's id."""
    digest: str
    pattern: Mapping[str, Any]
    shown: str
    """The words a person was shown for the pattern."""
    scope: str
    key: str
    """Which session, or which project; empty where there is but one."""
    created: float
    expires: float | None
    version: str | None = None
    """What the tool called this version of itself; None where that was not kept."""

    def holds(self, now: float) -> bool:
        """Within its span. One from the future was made by a clock that went backwards since, and does not count."""
        return self.created <= now and (self.expires is None or now < self.expires)


class Database:
    """The file itself. Opened for each use: a runtime that never asks never touches it."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.path = home.file("state.db")

    @property
    def exists(self) -> bool:
        """Where nothing was ever remembered there is no file yet, and looking must not make it."""
        return os.path.exists(self.path)

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """One transaction, alone: all of it happens, or nothing.

        Raises:
            ConfigError: the file cannot be read or written.
        """
        try:
            with closing(self._connect()) as db:
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield db
                except BaseException:
                    db.rollback()
                    raise
                db.commit()
            self._home.stalled.discard(self.path)
        except sqlite3.OperationalError as exc:
            if getattr(exc, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:  # Python itself raises some without
                self._home.stalled.add(self.path)
            advice = "see that the directory can be written to, has room, and that no other program holds the file"
            raise ConfigError(f"{exc}; {advice}", path=self.path) from None
        except (sqlite3.DatabaseError, Odd) as exc:
            raise ConfigError(
                f"{exc}; move the file away, and what it remembered is asked again", path=self.path
            ) from None
        except OSError as exc:
            raise ConfigError(f"{exc.strerror}; nothing can be remembered here", path=self.path) from None

    def _connect(self) -> sqlite3.Connection:
        if not self.exists:
            self._make()
        timeout = 0.0 if self.path in self._home.stalled else LOCK_SECONDS
        db = sqlite3.connect(self.path, timeout=timeout, isolation_level=None)
        try:
            self._migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _make(self) -> None:
        """An empty file of our own, put in its place by name: to close a file is to give up all locks of this process
        on it, so nobody but SQLite may open and close the one that is in use."""
        self._home.directory()
        draft = self._home.draft_of(self.path)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))
        try:
            os.link(draft, self.path)
        except FileExistsError:  # another was quicker
            pass
        except OSError as exc:
            if exc.errno not in _NO_LINKS:
                raise
            os.rename(draft, self.path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)

    def _migrate(self, db: sqlite3.Connection) -> None:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == len(MIGRATIONS):
            return
        if version > len(MIGRATIONS):
            raise Odd("it was written by a newer version of toolcrib; use that one, or start anew")
        db.execute("BEGIN IMMEDIATE")  # another process may be doing the same
        (version,) = db.execute("PRAGMA user_version").fetchone()
        for step in MIGRATIONS[version:]:
            db.execute(step)
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        db.commit()


class Odd(Exception):
    """What is in the file is not what we write."""


class State:
    """The answers that last, and which version of a tool was approved last."""

    def __init__(self, home: Home) -> None:
        self._database = Database(home)

    def add(
        self,
        tool: str,
        digest: str,
        pattern: Mapping[str, Any],
        *,
        shown: str,
        scope: str,
        key: str = "",
        version: str | None = None,
    ) -> str:
        """Keep a yes. The same one again lasts from now on. Returns its id.

        Raises:
            ConfigError: it could not be kept.
        """
        if scope not in SPANS or (scope in ("session", "project")) != bool(key):
            raise ValueError(f"an approval of scope {scope!r} with key {key!r} would count for nobody or for too many")
        now, span = time.time(), SPANS[scope]
        row = [plain(each) for each in (tool, digest, json.dumps(dict(pattern), sort_keys=True), shown, scope, key)]
        with self._database.use() as db:
            same = "tool = ? AND digest = ? AND scope = ? AND key = ? AND pattern = ?"
            db.execute(f"DELETE FROM approvals WHERE {same}", [row[at] for at in (0, 1, 4, 5, 2)])
            ident = _new_id(db, "approvals")
            values = (ident, *row, now, span and now + span, version and plain(version))
            db.execute(f"INSERT INTO approvals ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            _note(db, row[0], row[1], scope, now)
        return ident

    def find(self, tool: str, digest: str, *, session: str, project: str) -> list[Approval]:
        """What was allowed to this very version of a tool, here and now; `terminal` is asked for by name.

        Raises:
            ConfigError: the memory cannot be read.
        """
        if not self._database.exists:
            return []
        now, here = time.time(), {"session": plain(session), "project": plain(project), "user": ""}
        with self._database.use() as db:
            _forget_expired(db, now)
            query = f"SELECT {_COLUMNS} FROM approvals WHERE tool = ? AND digest = ?"
            rows = [_approval(row) for row in db.execute(query, (plain(tool), plain(digest)))]
        return [row for row in rows if row.holds(now) and here.get(row.scope) == row.key]

    def approvals(self) -> list[Approval]:
        """All that still hold, the oldest first."""
        if not self._database.exists:
            return []
        now = time.time()
        with self._database.use() as db:
            _forget_expired(db, now)
            rows = [_approval(row) for row in db.execute(f"SELECT {_COLUMNS} FROM approvals ORDER BY created, id")]
        return [row for row in rows if row.holds(now)]

    def revoke(self, *, id: str | None = None, tool: str | None = None) -> int:
        """Take back one, all of one tool, or (without either) all. Says how many."""
        if not self._database.exists:
            return 0
        with self._database.use() as db:
            query = "DELETE FROM approvals WHERE (?1 IS NULL OR id = ?1) AND (?2 IS NULL OR tool = ?2)"
            return db.execute(query, (id and plain(id), tool and plain(tool))).rowcount

    def note(self, tool: str, digest: str, *, scope: str = "once") -> None:
        """A person said yes to this version, whether or not that lasts."""
        with self._database.use() as db:
            _note(db, plain(tool), plain(digest), scope, time.time())

    def knew(self, tool: str, digest: str) -> str | None:
        """The version that a person approved last: this digest, when it was this one; None, when none ever was."""
        if not self._database.exists:
            return None
        with self._database.use() as db:
            query = "SELECT digest FROM versions WHERE tool = ? ORDER BY at DESC, digest = ? DESC"
            row = db.execute(query, (plain(tool), plain(digest))).fetchone()
        return None if row is None else str(row[0])

    # A person who types a call at a terminal is asked once for each version of a tool.

    def remember(self, tool: str, digest: str, scope: str = "terminal", *, version: str | None = None) -> None:
        words = "this tool, with any arguments"
        self.add(tool, digest, {"any": True}, shown=words, scope=scope, version=version)

    def remembers(self, tool: str, digest: str, scope: str = "") -> bool:
        """Whether an answer of this scope, or of any, still holds for this version."""
        if not self._database.exists:
            return False
        with self._database.use() as db:
            query = f"SELECT {_COLUMNS} FROM approvals WHERE tool = ?1 AND digest = ?2 AND ?3 IN ('', scope)"
            rows = db.execute(query, (plain(tool), plain(digest), scope)).fetchall()
        return any(_approval(row).holds(time.time()) for row in rows)


def _approval(row: tuple[Any, ...]) -> Approval:
    ident, tool, digest, pattern, *rest = row
    return Approval(ident, tool, digest, held(pattern), *rest)


def held(text: str) -> dict[str, Any]:
    """A stored object. Written by the standard library, which keeps the half characters a path may hold."""
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise Odd(f"what it holds is not JSON: {exc}") from None
    if not isinstance(value, dict):
        raise Odd("what it holds is not what we write")
    return value


def _forget_expired(db: sqlite3.Connection, now: float) -> None:
    """So that a clock that is set back later does not bring them back."""
    db.execute("DELETE FROM approvals WHERE expires <= ?", (now,))


def _note(db: sqlite3.Connection, tool: str, digest: str, scope: str, now: float) -> None:
    db.execute("INSERT OR REPLACE INTO versions VALUES (?, ?, ?, ?)", (tool, scope, digest, now))


def _new_id(db: sqlite3.Connection, table: str) -> str:
    """Short enough to type, random, and not taken."""
    while True:
        ident = "".join(_ALPHABET[byte % 32] for byte in os.urandom(8))
        if db.execute(f"SELECT 1 FROM {table} WHERE id = ?", (ident,)).fetchone() is None:
            return ident


def plain(text: str) -> str:
    """SQLite keeps no half characters; a path may hold some."""
    return text.encode("utf-8", "backslashreplace").decode()
