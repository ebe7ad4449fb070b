"""Looks at a workspace: quick ones are made at once, long ones in a thread, while the event loop goes on.

Most take less than handing them over would. How long one takes is known only when it was made, so each is begun at
once, gives up when it has taken its time, and is made anew by a thread.
"""

import asyncio
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

from .finding import TakesLong

PATIENCE_SECONDS = 0.005

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Look(Protocol[T_co]):
    def __call__(self, *, until: float) -> T_co:
        """Raises: `TakesLong`, when it is not done by then."""
        ...


class Unhurried:
    """The looks of one runtime."""

    def __init__(self) -> None:
        self._long: set[str] = set()
        """Workspaces of which the last look took long: the next one is not even begun at once."""

    async def look(self, workspace: str, look: Look[T], *, unwanted: Callable[[T], None] | None = None) -> T:
        """What a look finds. It is made to its end, also when whoever wanted it is cancelled.

        Then it is `unwanted`; without that, whoever wanted it is told only when the look is over.
        """
        if workspace not in self._long:
            try:
                return look(until=time.monotonic() + PATIENCE_SECONDS)
            except TakesLong:
                self._long.add(workspace)
        try:
            looking = asyncio.get_running_loop().run_in_executor(None, partial(self._timed, workspace, look))
        except RuntimeError:  # there is no thread for it
            return self._timed(workspace, look)
        if unwanted is None:
            return await _to_its_end(looking)
        try:
            return await asyncio.shield(looking)
        except asyncio.CancelledError:
            looking.add_done_callback(partial(_pass_on, unwanted))
            raise

    def _timed(self, workspace: str, look: Look[T]) -> T:
        began = time.monotonic()
        try:
            return look(until=math.inf)
        finally:
            if time.monotonic() - began < PATIENCE_SECONDS:
                self._long.discard(workspace)


async def _to_its_end(looking: "asyncio.Future[T]") -> T:
    given_up = False
    while not looking.done():
        try:
            await asyncio.shield(looking)
        except asyncio.CancelledError:
            given_up = True
    if given_up:
        raise asyncio.CancelledError
    return looking.result()


def _pass_on(unwanted: Callable[[T], None], done: "asyncio.Future[T]") -> None:
    if not done.cancelled() and done.exception() is None:
        unwanted(done.result())
