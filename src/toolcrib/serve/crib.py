"""What a door serves, what it sends through, and what it waits with: the seams of this folder."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from ..core.call import ProgressSink, Result
from ..core.jsontext import JSON
from ..core.tool import Tool
from .rpc import JsonObject

Pause = Callable[[float], Awaitable[object]]
"""Waits so many seconds; or less, when it hears before that the tools may have changed."""


class Crib(Protocol):
    """The part of the runtime that a protocol needs."""

    def tools(self) -> Sequence[Tool]:
        """A snapshot, in a stable order."""
        ...

    async def refresh(self) -> bool:
        """Read again what changed on disk. True when the tools are others now."""
        ...

    async def call(self, name: str, args: dict[str, JSON], *, progress: ProgressSink | None = None) -> Result:
        """Cancelling the task that waits ends the tool."""
        ...

    def viewable(self, result: Result) -> Result:
        """The result, with an artifact for what is too long to be shown."""
        ...


class Outlet(Protocol):
    """Where a handler sends what is not the answer to a request."""

    def send(self, message: JsonObject) -> None:
        """This must arrive."""
        ...

    def offer(self, message: JsonObject) -> None:
        """This may be dropped when the client does not keep up."""
        ...
