"""The loop that a verb's work runs on: what came of the work is not lost where there are no more threads."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, without the thread that the standard library starts in order to wait for the others."""
    runner = asyncio.Runner()
    try:
        return runner.run(work)
    finally:
        try:
            runner.close()
        except RuntimeError as exc:
            if str(exc) != "can't start new thread":
                raise
