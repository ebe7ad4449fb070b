"""A child: told when it has exited, signalled with its group, and collected once."""

import asyncio
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import pytest
from tests.sandbox.looping import in_a_loop

from toolcrib.core.process import Captured
from toolcrib.sandbox import child as module
from toolcrib.sandbox.child import UNKNOWN, Child
from toolcrib.sandbox.poller import Poller
from toolcrib.sandbox.spawn import Start, start


def no_descriptor_left(pid: int, flags: int = 0) -> int:
    raise OSError("no descriptor left")


@pytest.fixture(params=["a descriptor", "no descriptor left", "another system"])
def anyhow(request, monkeypatch) -> None:
    """However it becomes known that one has exited."""
    if request.param == "no descriptor left":
        monkeypatch.setattr(os, "pidfd_open", no_descriptor_left)
    if request.param == "another system":
        monkeypatch.setattr(module, "LINUX", False)


@pytest.fixture
def begin() -> Iterator[Callable[[str], int]]:
    """Starts a shell with this text, and returns its pid. What is left of its group is ended."""
    pids: list[int] = []

    def shell(text: str) -> int:
        with open(os.devnull, "r+b") as null:
            about = Start(("/bin/sh", "-c", text), "/", {}, (null.fileno(),) * 3)
            pids.append(start(about))
        return pids[-1]

    yield shell
    for pid in pids:
        try:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except OSError:
            pass


def threads_end() -> None:
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.daemon:
            thread.join(10)


@pytest.mark.parametrize(
    ("text", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $$", 143)]
)
def test_its_end_is_told_and_collected(anyhow, begin, text, code) -> None:
    """Until it is collected it is still there, so that nobody else gets its number."""

    async def story(poller: Poller) -> None:
        child = Child(begin(text), poller)
        exited = asyncio.Event()
        child.on_exit(exited.set)
        await exited.wait()
        child.close()
        assert os.path.exists(f"/proc/{child.pid}")
        assert child.collect() == code
        assert not os.path.exists(f"/proc/{child.pid}")

    in_a_loop(story)


def test_its_end_is_not_told_before_it_has_exited(anyhow, begin) -> None:
    async def story(poller: Poller) -> None:
        child = Child(begin("exec sleep 60"), poller)
        exited = asyncio.Event()
        child.on_exit(exited.set)
        await asyncio.sleep(0.02)
        assert not exited.is_set()
        child.signal(signal.SIGTERM)
        await exited.wait()
        child.close()
        assert child.collect() == 128 + signal.SIGTERM

    in_a_loop(story)


def test_closed_it_tells_nothing_and_holds_no_descriptor(begin) -> None:
    async def story(poller: Poller) -> None:
        before = os.listdir("/proc/self/fd")
        child = Child(begin("exec sleep 60"), poller)
        told: list[str] = []

        def tell() -> None:
            told.append("exited")

        child.on_exit(tell)
        assert len(os.listdir("/proc/self/fd")) == len(before) + 1
        asked = weakref.ref(tell)
        del tell
        child.close()
        child.close()
        assert (os.listdir("/proc/self/fd"), asked()) == (before, None)
        child.signal(signal.SIGKILL)
        assert child.collect() == 128 + signal.SIGKILL
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert told == []

    in_a_loop(story)


def test_closed_before_anybody_asked_it_closes_nothing_of_others(begin) -> None:
    async def story(poller: Poller) -> None:
        child = Child(begin("exit 0"), poller)
        before = os.listdir("/proc/self/fd")
        child.close()
        assert os.listdir("/proc/self/fd") == before
        while child.collect() != UNKNOWN:
            pass

    in_a_loop(story)


def test_a_loop_that_is_over_need_not_know(begin, monkeypatch) -> None:
    """The thread that waits in vain ends in silence, and no interpreter waits for it."""
    monkeypatch.setattr(module, "LINUX", False)
    children: list[Child] = []
    before = threading.enumerate()

    async def story(poller: Poller) -> None:
        children.append(Child(begin("exec sleep 60"), poller))
        children[0].on_exit(lambda: None)

    in_a_loop(story)
    assert [thread.daemon for thread in threading.enumerate() if thread not in before] == [True]
    children[0].signal(signal.SIGKILL)
    threads_end()
    assert children[0].collect() == 128 + signal.SIGKILL


def test_a_signal_reaches_its_whole_group_and_nobody_when_that_is_gone(begin, tmp_path, until) -> None:
    async def story(poller: Poller) -> None:
        child = Child(begin(f"sleep 60 & echo $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; wait"), poller)
        until((tmp_path / "pid").exists, "both are there")
        other = int((tmp_path / "pid").read_text())
        child.signal(signal.SIGKILL)
        assert child.collect() == 128 + signal.SIGKILL
        until(lambda: not os.path.exists(f"/proc/{other}/exe"), "the other is gone")
        child.signal(signal.SIGKILL)

    in_a_loop(story)


def test_one_that_somebody_else_collected_has_an_unknown_status(begin) -> None:
    async def story(poller: Poller) -> None:
        child = Child(begin("exit 3"), poller)
        os.waitpid(child.pid, 0)
        began = time.monotonic()
        assert child.collect() == UNKNOWN
        assert time.monotonic() - began < 0.5

    in_a_loop(story)


def test_one_that_does_not_end_is_not_waited_for_but_collected_later(begin, monkeypatch) -> None:
    monkeypatch.setattr(module, "_REAP_TRIES", 3)

    async def story(poller: Poller) -> None:
        child = Child(begin("exec sleep 60"), poller)
        assert child.collect() == UNKNOWN
        child.signal(signal.SIGKILL)
        threads_end()
        assert not os.path.exists(f"/proc/{child.pid}")

    in_a_loop(story)


def test_what_ran_did_run() -> None:
    async def story(poller: Poller) -> None:
        child = Child(0, poller)
        assert child.failure(127, Captured(b"sh: not found\n", total=14)) is None
        assert (child.borrowed, child.whole) == (False, False)

    in_a_loop(story)
