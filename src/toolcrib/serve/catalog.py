"""The tools as MCP lists them: read again when asked, told when changed."""

import asyncio
import math
import time
from collections.abc import Callable, Sequence

from ..core.tool import Tool
from .content import declaration
from .crib import Crib
from .revision import Revision
from .rpc import JsonObject

CALL_SECONDS = 0.25


class Catalog:
    """Tools by name, and their declarations, kept as long as the crib hands out the same snapshot."""

    def __init__(self, crib: Crib, *, changed: Callable[[], None]) -> None:
        self._crib, self._changed = crib, changed
        self._reading = asyncio.Lock()
        self._begun = self._done = 0
        self._snapshot: Sequence[Tool] = ()
        self._by_name: dict[str, Tool] = {}
        self._declared: dict[str, list[JsonObject]] = {}
        self._shown = False
        self._read_at = -math.inf

    async def tool(self, name: str) -> Tool | None:
        """For a call. Many calls in a row share one reading: a changed tool does not run unnoticed in any case."""
        await self.refresh(within=0.0 if name not in self._by_name else CALL_SECONDS)
        return self._by_name.get(name)

    async def declarations(self, revision: Revision) -> list[JsonObject]:
        await self.refresh()
        self._shown = True
        shown = self._declared.get(revision.date)
        if shown is None:
            shown = self._declared[revision.date] = [declaration(tool, revision) for tool in self._snapshot]
        return shown

    async def refresh(self, *, within: float = 0.0) -> bool:
        """Read again what changed on disk, unless that was done `within` so many seconds. Says whether anything did.

        Whoever comes while it happens shares the next reading.
        """
        if within and time.monotonic() - self._read_at < within:
            return False
        seen = self._begun
        async with self._reading:
            if self._done > seen:
                return False
            self._begun += 1
            mine, began = self._begun, time.monotonic()
            changed = await self._crib.refresh()
            self._done, self._read_at = mine, began
        self._take(self._crib.tools())
        if changed and self._shown:
            self._changed()
        return changed

    def _take(self, snapshot: Sequence[Tool]) -> None:
        if snapshot is not self._snapshot:
            self._snapshot, self._declared = snapshot, {}
            self._by_name = {tool.name: tool for tool in snapshot}
