"""The sessions of a home: begun, found again, and ended."""

import asyncio
import os

from ..core.errors import ToolcribError
from ..store.sessions import NAME, KeptSession, KeptSessions, SessionNotFound
from .session import ActiveSkill, Floor, Session

SessionInfo = KeptSession


class Sessions:
    """The sessions of a home, as this crib serves them: made here, on the command line, or by another process."""

    def __init__(self, store: KeptSessions, floor: Floor, *, asker: str) -> None:
        self._store, self._floor, self._asker = store, floor, asker
        self._open: dict[str, Session] = {}

    async def create(self, session_id: str | None = None) -> Session:
        """Begin a session. Raises: `ToolcribError`, where there is one of this name."""
        ident = valid_id(session_id or new_session_id())
        await asyncio.to_thread(self._store.create, ident, self._floor.workspace)
        return await self.get(ident)

    async def get(self, session_id: str) -> Session:
        """A session as it is now, whoever changed it. Raises: `SessionNotFound`."""
        session = self._open.get(session_id)
        if session is None:
            session = self._open.setdefault(session_id, Session(session_id, self._floor, asker=self._asker))
        try:
            await session.settle(self._store)
        except SessionNotFound:
            self._open.pop(session_id, None)
            raise
        return session

    async def all(self) -> list[SessionInfo]:
        """The oldest first."""
        return await asyncio.to_thread(self._store.all)

    async def end(self, session_id: str) -> bool:
        """End a session: its skills, todos and remembered answers are gone. Says whether it was there."""
        self._open.pop(session_id, None)
        return await asyncio.to_thread(self._store.end, session_id)

    async def use_skill(self, session_id: str, skill_name: str, content: str | None = None) -> list[str]:
        return await (await self.get(session_id)).use_skill(skill_name, content)

    async def remove_skill(self, session_id: str, skill_name: str) -> list[str]:
        return await (await self.get(session_id)).remove_skill(skill_name)

    async def list_active_skills(self, session_id: str) -> list[ActiveSkill]:
        return (await self.get(session_id)).active_skills()


def new_session_id() -> str:
    return "s" + os.urandom(8).hex()


def valid_id(session_id: str) -> str:
    if not NAME.fullmatch(session_id):
        message = f"{session_id!r} cannot be the name of a session; use 1 to 128 of A-Z a-z 0-9 _ . : -"
        raise ToolcribError(message, code="VALIDATION_ERROR")
    return session_id
