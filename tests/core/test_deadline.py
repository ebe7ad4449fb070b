"""A time limit that is as good as asyncio's own, and free when nothing waits."""

import asyncio
from typing import Any

import pytest

from toolcrib.core.deadline import Expired, within


async def at_once() -> str:
    return "value"


async def later(steps: int) -> int:
    for _ in range(steps):
        await asyncio.sleep(0)
    return steps


async def never(seen: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        seen.append("cancelled")
        await asyncio.sleep(0)
        seen.append("cleaned up")
        raise


def test_work_that_does_not_wait_sets_no_timer() -> None:
    async def main() -> Any:
        loop = asyncio.get_running_loop()
        timers: list[Any] = []
        loop.call_at = lambda *args, **kw: timers.append(args)  # type: ignore[method-assign]
        return await within(at_once(), 1), timers

    assert asyncio.run(main()) == ("value", [])


@pytest.mark.parametrize("steps", [1, 2, 50])
def test_work_that_waits_in_time(steps: int) -> None:
    assert asyncio.run(within(later(steps), 10)) == steps


def test_work_that_takes_too_long_cleans_up_first() -> None:
    seen: list[str] = []
    with pytest.raises(Expired):
        asyncio.run(within(never(seen), 0.01))
    assert seen == ["cancelled", "cleaned up"]


def test_an_exception_passes_at_any_step() -> None:
    async def fails(steps: int) -> None:
        await later(steps)
        raise KeyError("x")

    for steps in (0, 1, 3):
        with pytest.raises(KeyError):
            asyncio.run(within(fails(steps), 10))


def test_the_works_own_timeout_is_its_own() -> None:
    async def own() -> None:
        async with asyncio.timeout(0.001):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(within(own(), 10))


def test_cancellation_from_outside_stays_cancellation() -> None:
    seen: list[str] = []

    async def main() -> None:
        task = asyncio.create_task(within(never(seen), 10))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == ["cancelled", "cleaned up"]


def test_nested_limits_expire_each_for_itself() -> None:
    async def inner() -> str:
        try:
            await within(never([]), 0.01)
        except Expired:
            return "inner expired"
        return "?"

    assert asyncio.run(within(inner(), 10)) == "inner expired"
