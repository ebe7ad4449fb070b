"""Quick looks are made at once, long ones in a thread while the loop goes on."""

import asyncio
import threading

import pytest

from toolcrib.sandbox.finding import TakesLong
from toolcrib.sandbox.unhurried import PATIENCE_SECONDS, Unhurried

MAIN = threading.main_thread()


class Looking:
    """Gives up when it is hurried, if it is long; then it waits to be let go on."""

    def __init__(self, *, long: bool) -> None:
        self.long, self.by = long, list[threading.Thread]()
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, *, until: float) -> str:
        self.by.append(threading.current_thread())
        if self.long and until < float("inf"):
            raise TakesLong
        if self.long:
            self.begun.set()
            assert self.go_on.wait(20)
        return "seen"


def test_what_is_quick_is_done_at_once() -> None:
    looking = Looking(long=False)
    assert asyncio.run(Unhurried().look("/work", looking)) == "seen"
    assert looking.by == [MAIN]


def test_while_one_takes_long_the_loop_goes_on() -> None:
    looking = Looking(long=True)

    async def story() -> str:
        task = asyncio.ensure_future(Unhurried().look("/work", looking))
        while not looking.begun.is_set():
            await asyncio.sleep(0)
        looking.go_on.set()  # here, on the loop, while it looks
        return await task

    assert asyncio.run(story()) == "seen"
    assert looking.by[0] is MAIN and looking.by[1] is not MAIN and len(looking.by) == 2


def test_after_a_long_one_the_next_is_not_begun_at_once_and_after_a_quick_one_it_is() -> None:
    long, others = Looking(long=True), [Looking(long=False) for _ in range(3)]

    async def story() -> None:
        unhurried = Unhurried()
        timer = threading.Timer(2 * PATIENCE_SECONDS, long.go_on.set)
        timer.start()
        await unhurried.look("/work", long)
        await unhurried.look("/elsewhere", others[0])
        await unhurried.look("/work", others[1])
        await unhurried.look("/work", others[2])

    asyncio.run(story())
    assert [each.by[0] is MAIN for each in others] == [True, False, True]


def test_one_that_nobody_waits_for_is_made_to_its_end_and_passed_on() -> None:
    looking, unwanted = Looking(long=True), list[str]()

    async def story() -> None:
        task = asyncio.ensure_future(Unhurried().look("/work", looking, unwanted=unwanted.append))
        while not looking.begun.is_set():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert unwanted == []
        looking.go_on.set()
        while not unwanted:
            await asyncio.sleep(0)

    asyncio.run(story())
    assert unwanted == ["seen"]


def test_one_that_is_not_passed_on_is_waited_for_by_whoever_gave_it_up() -> None:
    looking = Looking(long=True)

    async def story() -> None:
        task = asyncio.ensure_future(Unhurried().look("/work", looking))
        while not looking.begun.is_set():
            await asyncio.sleep(0)
        for _ in range(3):  # however often
            task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert not task.done()
        looking.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert len(looking.by) == 2


def test_what_goes_wrong_in_a_thread_is_raised() -> None:
    def fails(*, until: float) -> str:
        if until < float("inf"):
            raise TakesLong
        raise OSError("it did not go well")

    with pytest.raises(OSError, match="did not go well"):
        asyncio.run(Unhurried().look("/work", fails))


def test_without_room_for_a_thread_it_is_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    looking = Looking(long=True)
    looking.go_on.set()
    monkeypatch.setattr(asyncio.BaseEventLoop, "run_in_executor", full)
    assert asyncio.run(Unhurried().look("/work", looking)) == "seen"
    assert looking.by == [MAIN, MAIN]
