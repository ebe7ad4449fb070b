"""Several sources as one."""

import asyncio
from operator import is_

from ..core.source import Loaded, Source


class Together:
    """What several sources of one rank offer, for as long as each offers the same."""

    def __init__(self, *sources: Source) -> None:
        self.rank = sources[0].rank
        self._sources = sources
        self._parts: list[Loaded] = []
        self._loaded = Loaded()

    async def load(self) -> Loaded:
        parts = list(await asyncio.gather(*(source.load() for source in self._sources)))
        if len(parts) != len(self._parts) or not all(map(is_, parts, self._parts)):
            tools = tuple(tool for part in parts for tool in part.tools)
            self._parts, self._loaded = parts, Loaded(tools, tuple(each for part in parts for each in part.problems))
        return self._loaded
