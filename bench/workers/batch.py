"""The worker's half of the bench protocol: warm up, say so, then time batches on command.

A worker prints `ready`, then for every line `N` on stdin runs its subject N times and prints the
nanoseconds that took. It uses the standard library only, because it also runs in the peers' venv.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

WARM_UP_CALLS = 20


def _commands() -> list[int] | None:
    line = sys.stdin.readline()
    return [int(word) for word in line.split()] if line.strip() else None


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def serve_async(call: Callable[[], Awaitable[object]]) -> None:
    """Time awaited calls, one after the other, in batches as long as stdin asks."""
    for _ in range(WARM_UP_CALLS):
        await call()
    _say("ready")
    loop = asyncio.get_running_loop()
    while counts := await loop.run_in_executor(None, _commands):
        for count in counts:
            start = time.perf_counter_ns()
            for _ in range(count):
                await call()
            _say(str(time.perf_counter_ns() - start))


def serve_sync(call: Callable[[], object]) -> None:
    """Time plain calls, one after the other, in batches as long as stdin asks."""
    for _ in range(WARM_UP_CALLS):
        call()
    _say("ready")
    while counts := _commands():
        for count in counts:
            start = time.perf_counter_ns()
            for _ in range(count):
                call()
            _say(str(time.perf_counter_ns() - start))
