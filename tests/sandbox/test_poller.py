"""Being called back about descriptors that come and go."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator

import pytest
from tests.sandbox.looping import in_a_loop

from toolcrib.sandbox import poller as module
from toolcrib.sandbox.poller import Poller

Pipe = tuple[int, int]


@pytest.fixture(params=["epoll", "the loop alone"])
def anyhow(request, monkeypatch) -> None:
    """Also where there is no epoll."""
    if request.param == "the loop alone":
        monkeypatch.setattr(module, "_HAS_EPOLL", False)


@pytest.fixture
def pipes() -> Iterator[list[Pipe]]:
    made = [os.pipe(), os.pipe()]
    yield made
    for fd in (fd for pipe in made for fd in pipe):
        os.close(fd)


async def turns() -> None:
    """So many that whatever is there was told."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_what_can_be_read_is_told_until_it_is_forgotten(anyhow, pipes) -> None:
    (reads, writes), _ = pipes

    async def story(poller: Poller) -> None:
        came: asyncio.Queue[bytes] = asyncio.Queue()
        poller.on_readable(reads, lambda: came.put_nowait(os.read(reads, 1)))
        await turns()
        assert came.empty()
        os.write(writes, b"ab")
        assert [await came.get(), await came.get()] == [b"a", b"b"]
        poller.forget(reads)
        poller.forget(reads)  # again is nothing
        os.write(writes, b"c")
        await turns()
        assert came.empty()

    in_a_loop(story)


def test_what_can_be_written_is_told_until_it_is_forgotten(anyhow, pipes) -> None:
    (_, writes), _ = pipes

    async def story(poller: Poller) -> None:
        told = asyncio.Event()
        poller.on_writable(writes, told.set)
        await told.wait()
        poller.forget(writes)
        told.clear()
        await turns()
        assert not told.is_set()

    in_a_loop(story)


def test_of_what_goes_both_ways_only_that_is_told_which_was_asked_for(anyhow) -> None:
    ours, theirs = socket.socketpair()

    async def story(poller: Poller) -> None:
        told: list[str] = []
        poller.on_readable(ours.fileno(), lambda: told.append("can be read"))
        await turns()
        assert told == []
        poller.forget(ours.fileno())
        ours.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                ours.send(b"x" * 65536)
        theirs.send(b"x")
        poller.on_writable(ours.fileno(), lambda: told.append("can be written"))
        await turns()
        assert told == []
        poller.forget(ours.fileno())

    with ours, theirs:
        in_a_loop(story)


def test_one_that_another_forgot_in_the_same_turn_is_not_told(anyhow, pipes) -> None:
    (first, one), (second, two) = pipes

    async def story(poller: Poller) -> None:
        told: list[int] = []

        def hear(fd: int, other: int) -> None:
            told.append(fd)
            poller.forget(other)
            os.read(fd, 1)

        poller.on_readable(first, lambda: hear(first, second))
        poller.on_readable(second, lambda: hear(second, first))
        os.write(one, b"x")
        os.write(two, b"x")
        await turns()
        assert told in ([first], [second])

    in_a_loop(story)


def test_a_number_can_be_watched_again_for_something_else(anyhow, pipes) -> None:
    (reads, writes), _ = pipes

    async def story(poller: Poller) -> None:
        told: list[str] = []
        for name in ("one", "two"):
            poller.on_readable(reads, lambda name=name: told.append(name + os.read(reads, 1).decode()))
            os.write(writes, b"!")
            await turns()
            poller.forget(reads)
        assert told == ["one!", "two!"]

    in_a_loop(story)


def test_what_cannot_be_watched_can_be_forgotten_all_the_same(anyhow, tmp_path) -> None:
    """A file is always ready, and the system watches none."""

    async def story(poller: Poller) -> None:
        with open(tmp_path / "file", "w") as file:
            for watch in (poller.on_readable, poller.on_writable):
                with pytest.raises(PermissionError):
                    watch(file.fileno(), lambda: None)
                poller.forget(file.fileno())

    in_a_loop(story)


def test_closed_it_keeps_nothing_and_its_number_is_free_for_the_loop(anyhow) -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        before = os.listdir("/proc/self/fd")
        poller = Poller(loop)
        poller.close()
        poller.close()
        assert os.listdir("/proc/self/fd") == before
        reads, writes = os.pipe()  # the lowest numbers that are free: those it had
        heard = asyncio.Event()
        loop.add_reader(reads, heard.set)
        os.write(writes, b"x")
        async with asyncio.timeout(10):
            await heard.wait()
        loop.remove_reader(reads)
        os.close(reads)
        os.close(writes)

    asyncio.run(story())


def test_it_can_be_closed_when_its_loop_is_over(anyhow) -> None:
    async def made() -> Poller:
        return Poller(asyncio.get_running_loop())

    before = os.listdir("/proc/self/fd")
    asyncio.run(made()).close()
    assert os.listdir("/proc/self/fd") == before
