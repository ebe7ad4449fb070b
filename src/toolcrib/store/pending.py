"""Calls that wait for a person's answer from elsewhere: each is answered once, used once, and soon forgotten."""

import json
import sqlite3
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..core.errors import ToolError
from .home import Home
from .state import DAY, Database, held, plain

TTL_SECONDS = 300.0
"""How long a call waits for its answer; and how long a yes waits for the call to come back."""
MOST_WAITING = 64
"""Of one session: a model that asks for more is not answered by a person."""
LONGEST_REQUEST = 1024 * 1024
_COLUMNS = "id, session, tool, digest, call_digest, request, created, expires, state, answered_by"


class PendingCall(NamedTuple):
    """One call that waits, or waited, for an answer."""

    id: str
    session: str
    tool: str
    digest: str
    call_digest: str
    request: Mapping[str, Any]
    """All a person is shown (`policy.request.Request` as a dictionary)."""
    created: float
    expires: float
    state: str
    """`waiting`, `approved`, `denied`, `used` or `expired`."""
    by: str | None


class PendingCalls:
    """The calls that wait, in the same file as the answers that last."""

    def __init__(self, home: Home) -> None:
        self._database = Database(home)

    def ask(self, request: Mapping[str, Any]) -> PendingCall:
        """The answer to this very call, taken so that nobody else takes it; or the call as it waits.

        The state is `approved` or `denied` for whoever gets the answer, and `waiting` for all others.

        Raises:
            ToolError: too many wait already, or this one is too long to be kept.
            ConfigError: the memory cannot be read or written.
        """
        now, text = time.time(), json.dumps(dict(request))
        bound = [plain(request[name]) for name in ("session", "tool_id", "digest", "call_digest")]
        if len(text) > LONGEST_REQUEST:
            raise ToolError(
                f"the call is {len(text)} bytes long, too long to wait for an answer; put what is long into a file",
                code="INPUT_TOO_LARGE",
            )
        with self._database.use() as db:
            _expire(db, now)
            same = "session = ? AND tool = ? AND digest = ? AND call_digest = ?"
            query = f"SELECT {_COLUMNS} FROM pending WHERE {same} AND state IN ('approved', 'denied', 'waiting')"
            rows = [_call(row) for row in db.execute(f"{query} ORDER BY state, created", bound)]
            for row in rows:
                if row.state == "waiting" or _step(db, row.id, row.state, "used"):
                    return row
            waiting = "SELECT count(*) FROM pending WHERE session = ? AND state = 'waiting'"
            if db.execute(waiting, bound[:1]).fetchone()[0] >= MOST_WAITING:
                raise ToolError(
                    f"{MOST_WAITING} calls of this session wait for a person already; wait for some of them",
                    code="RESOURCE_EXHAUSTED",
                )
            ident = plain(request["id"])
            stored = (ident, *bound, text, now, now + TTL_SECONDS, "waiting", None)
            db.execute(f"INSERT INTO pending VALUES ({', '.join('?' * len(stored))})", stored)
        return _call(stored)

    def get(self, id: str) -> PendingCall | None:
        """One of them, whatever became of it; None where there is none of this id, or no longer."""
        if not self._database.exists:
            return None
        with self._database.use() as db:
            _expire(db, time.time())
            row = db.execute(f"SELECT {_COLUMNS} FROM pending WHERE id = ?", (plain(id),)).fetchone()
        return None if row is None else _call(row)

    def answer(self, id: str, *, allowed: bool, by: str) -> bool:
        """Answer one that waits. Says whether it still did; it is answered once."""
        now = time.time()
        with self._database.use() as db:
            _expire(db, now)
            query = "UPDATE pending SET state = ?, answered_by = ?, expires = ? WHERE id = ? AND state = 'waiting'"
            to = "approved" if allowed else "denied"
            return db.execute(query, (to, by, now + TTL_SECONDS, plain(id))).rowcount == 1

    def withdraw(self, id: str) -> bool:
        """Take a yes back before it is used, or end the waiting."""
        with self._database.use() as db:
            return any(_step(db, id, state, "expired") for state in ("approved", "waiting"))

    def waiting(self) -> list[PendingCall]:
        """All that wait, and those answered yes whose call has not come back; the oldest first."""
        if not self._database.exists:
            return []
        with self._database.use() as db:
            _expire(db, time.time())
            query = f"SELECT {_COLUMNS} FROM pending WHERE state IN ('waiting', 'approved') ORDER BY created, id"
            return [_call(row) for row in db.execute(query)]


def _step(db: sqlite3.Connection, id: str, old: str, new: str) -> bool:
    return db.execute("UPDATE pending SET state = ? WHERE id = ? AND state = ?", (new, id, old)).rowcount == 1


def _expire(db: sqlite3.Connection, now: float) -> None:
    """One from the future was made by a clock that went backwards since: it counts as over, too."""
    query = "UPDATE pending SET state = 'expired' WHERE state IN ('waiting', 'approved', 'denied')"
    db.execute(f"{query} AND (expires <= ? OR created > ?)", (now, now))
    db.execute("DELETE FROM pending WHERE expires < ? OR created > ?", (now - DAY, now + DAY))


def _call(row: tuple[Any, ...]) -> PendingCall:
    ident, session, tool, digest, call_digest, request, created, expires, state, by = row
    return PendingCall(ident, session, tool, digest, call_digest, held(request), created, expires, state, by)
