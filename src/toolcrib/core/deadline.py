"""A time limit that costs nothing when there is nothing to wait for."""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


async def within(work: Coroutine[Any, Any, Any], seconds: float) -> Any:
    """The value of `work`. Raises: `Expired` after `seconds`, once the work has been cancelled and has cleaned up.

    A timer can only fire while the work waits for something, so none is set before it first does.
    """
    try:
        waits_for = work.send(None)
    except StopIteration as done:
        return done.value
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            return await _Rest(work, waits_for)
    except TimeoutError:
        if deadline.expired():  # otherwise it is the tool's own
            raise Expired from None
        raise


class Expired(Exception):
    """The time was over."""


class _Rest:
    """A coroutine that has already been started, from the first thing it waits for on."""

    __slots__ = ("_waits_for", "_work")

    def __init__(self, work: Coroutine[Any, Any, Any], waits_for: Any) -> None:
        self._work, self._waits_for = work, waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        work, waits_for = self._work, self._waits_for
        try:
            while True:
                try:
                    sent = yield waits_for
                except GeneratorExit:
                    work.close()
                    raise
                except BaseException as exc:
                    waits_for = work.throw(exc)
                else:
                    waits_for = work.send(sent)
        except StopIteration as done:
            return done.value
