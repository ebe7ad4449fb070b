"""A program that goes on when the call which started it is over, and can be listened to meanwhile."""

import asyncio
import codecs
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any, NamedTuple

from ..core.process import Captured, Command, Completed
from .overheard import overheard
from .program import Program

KEPT_BYTES = 32 * 1024
"""Of what nobody has looked at yet, of each stream; the whole goes to an artifact."""


class News(NamedTuple):
    """What came on a stream since somebody last looked: its end, and how many bytes before that are not in it."""

    text: str
    omitted: int


class Unread:
    """The output of one stream that nobody has looked at. Memory stays within `KEPT_BYTES`, however much comes."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._omitted = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def __len__(self) -> int:
        return self._omitted + len(self._held)

    def take(self, chunk: bytes) -> None:
        self._held += chunk[-KEPT_BYTES:]
        excess = max(0, len(self._held) - KEPT_BYTES)
        self._omitted += len(chunk[:-KEPT_BYTES]) + excess
        del self._held[:excess]

    def look(self, *, last: bool) -> News:
        """All of it, which counts as seen from now on. `last`: no more will come; before, half a character waits."""
        held, omitted = bytes(self._held), self._omitted
        self._held, self._omitted = bytearray(), 0
        if omitted:  # the cut may fall inside a character, whose bytes belong to what was left out
            start = next((at for at, byte in enumerate(held[:4]) if byte & 0xC0 != 0x80), 0)
            held, omitted = held[start:], omitted + start
            self._decoder.reset()
        return News(self._decoder.decode(held, last), omitted)


class Background:
    """One such program. It belongs to the event loop that it was started in."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.completed: Completed | None = None
        """How it ended; None while it runs."""
        self.stdout, self.stderr = Unread(), Unread()
        self._news = asyncio.Event()
        self._program: Program | None = None
        self._task: asyncio.Task[Completed] | None = None
        self._lasted = 0.0

    def overhearing(self, command: Command) -> Command:
        """The command, whose output comes here."""
        hear = partial(partial, self._hear)
        return command._replace(filters=overheard(command.filters, hear(self.stdout), hear(self.stderr)))

    def follow(self, program: Program, work: Coroutine[Any, Any, Completed]) -> None:
        """The program was started, and this is what waits for its end."""
        self._program, self.pid = program, program.pid
        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(self._settle)

    def on_end(self, completed: Completed) -> None:
        self.completed, self._program = completed, None
        self._lasted = time.monotonic() - self.began
        self._news.set()

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        return self._lasted if self.completed else time.monotonic() - self.began

    def so_far(self) -> tuple[Captured, Captured]:
        """Both streams from their beginning, as they are kept of any program."""
        if self._program is not None:
            return self._program.so_far()
        assert self.completed is not None
        return self.completed.stdout, self.completed.stderr

    def look(self) -> tuple[News, News]:
        """What is new on both streams."""
        self._news.clear()
        last = self.completed is not None
        return self.stdout.look(last=last), self.stderr.look(last=last)

    async def wait(self, seconds: float) -> None:
        """Until there is something new, or it has ended; at most for so long."""
        if self.completed is None and not self._news.is_set():
            try:
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            except TimeoutError:
                pass

    def end(self) -> None:
        """Ask it and all it started to end; a moment later they are ended."""
        if self._task is not None and not self._task.cancelling():
            self._task.cancel()

    async def ended(self) -> None:
        """Wait until nothing is left of it."""
        if self._task is not None and not self._task.done():
            await asyncio.wait((self._task,))

    def _hear(self, stream: Unread, chunk: bytes) -> None:
        if chunk:
            stream.take(chunk)
            self._news.set()

    def _settle(self, task: "asyncio.Task[Completed]") -> None:
        """Nobody awaits the task's value: how the program ended is known. But a bug of ours must not go unnoticed."""
        if self._program is not None:  # cancelled before its first step, a task does not even begin
            self.on_end(self._program.finish())
        if not task.cancelled() and (failure := task.exception()) is not None:
            task.get_loop().call_exception_handler({"message": "a job failed", "exception": failure, "task": task})
