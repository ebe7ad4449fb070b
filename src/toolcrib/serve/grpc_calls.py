"""The calls that are under way over gRPC: bounded in number and size, and ended when somebody says so."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.errors import ToolcribError

QUEUE, QUEUE_BYTES = 10_000, 256 * 1024 * 1024
NAME_LENGTH = 128
RETRY_SECONDS = 1.0
"""How long to wait before one asks a crowded server again."""


class UnderWay:
    """One call."""

    __slots__ = ("cancelled", "key", "size", "task")

    def __init__(self, key: tuple[str, str], size: int) -> None:
        self.key, self.size = key, size
        self.task: asyncio.Task[Any] | None = asyncio.current_task()
        """What is cancelled to end it."""
        self.cancelled = False

    def give_up(self) -> bool:
        """Whether it was ended by `CancelCall`; then its task may go on and say so."""
        if not self.cancelled or self.task is None:
            return False
        self.task.uncancel()
        return True


class Calls:
    """All calls under way, those that have a name by that name."""

    def __init__(self, *, most: int = QUEUE, most_bytes: int = QUEUE_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._all: set[UnderWay] = set()
        self._named: dict[tuple[str, str], UnderWay] = {}
        self._bytes = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def place(self, session: str, name: str, *, size: int) -> Iterator[UnderWay]:
        """A place for one more call.

        Raises:
            ToolcribError: there is none, or a call of that name is under way.
        """
        if len(self._all) >= self._most or self._bytes + size > self._most_bytes:
            message = f"{len(self._all)} calls ({self._bytes} bytes) are under way; wait for some of them"
            raise ToolcribError(message, code="RESOURCE_EXHAUSTED", details={"retry_after": RETRY_SECONDS})
        if len(name) > NAME_LENGTH:
            raise ToolcribError(f"a call_id has at most {NAME_LENGTH} characters", code="VALIDATION_ERROR")
        key = (session, name)
        if name and key in self._named:
            raise ToolcribError(f"a call {name} of this session is under way", code="VALIDATION_ERROR")
        call = UnderWay(key, size)
        self._all.add(call)
        self._idle.clear()
        self._bytes += size
        if name:
            self._named[key] = call
        try:
            yield call
        finally:
            self._all.remove(call)
            self._bytes -= size
            if name:
                del self._named[key]
            if not self._all:
                self._idle.set()

    def cancel(self, session: str, name: str) -> bool:
        """End a call. Says whether there was one."""
        call = self._named.get((session, name)) if name else None
        if call is None or call.task is None or call.cancelled:
            return False
        call.cancelled = True
        call.task.cancel()
        return True

    async def over(self) -> None:
        """Wait until nothing is under way any more."""
        await self._idle.wait()
