"""What a running call says of itself, on its way into a stream. A slow reader misses some of it and holds up nobody."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator

from ..backends.view import view
from .grpc_messages import plain
from .v1 import tool_service_pb2 as pb

MOST_WAITING = 256
WORDS_BYTES = 4096


class Feed:
    """A call's progress; the oldest that was not sent gives way to the newest."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._said: deque[pb.CallToolEvent] = deque(maxlen=MOST_WAITING)
        self._more = asyncio.Event()

    def __call__(self, done: float, total: float | None, words: str | None) -> None:
        """May come from any thread."""
        if not math.isfinite(done):
            return
        progress = pb.Progress(done=done, message=plain(view(words or "", WORDS_BYTES)))
        if total is not None and math.isfinite(total):
            progress.total = total
        self._said.append(pb.CallToolEvent(progress=progress))
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._more.set)

    async def until(self, work: "asyncio.Task[object]") -> AsyncIterator[pb.CallToolEvent]:
        """All that is said until the work is over."""
        work.add_done_callback(lambda _: self._more.set())
        while True:
            await self._more.wait()
            self._more.clear()
            over = work.done()
            while self._said:
                yield self._said.popleft()
            if over:
                return
