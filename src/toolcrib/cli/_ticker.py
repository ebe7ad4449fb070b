"""On a terminal, a line that shows that something is still running."""

import asyncio
import sys
from collections.abc import Callable

from ._text import visible


class Ticker:
    """Says from the second second on what is still running; not while a person is being asked."""

    def __init__(self, say: Callable[[int], str], waiting: Callable[[], bool]) -> None:
        """`say` gives the words, from the seconds so far; `waiting` tells whether somebody is asked just now."""
        self._say, self._waiting = say, waiting
        self._task: asyncio.Task[None] | None = None
        self._drawn = False

    async def __aenter__(self) -> "Ticker":
        if sys.stderr.isatty():
            self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._drawn:
            sys.stderr.write("\r\033[K")

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """What a tool says of how far it is."""
        if self._task is not None:
            far = f"{_number(done)}/{_number(total)}" if total else _number(done)
            self._draw(f"{far} {visible(message or '')}")

    async def _tick(self) -> None:
        seconds = 0
        while True:
            await asyncio.sleep(1)
            if not self._waiting():
                seconds += 1
                self._draw(f"{self._say(seconds)} (Ctrl-C ends it)")

    def _draw(self, line: str) -> None:
        self._drawn = True
        sys.stderr.write(f"\r\033[K{line}")
        sys.stderr.flush()


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"
