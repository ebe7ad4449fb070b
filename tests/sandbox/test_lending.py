"""Programs that stay running: who gets which, how many rest, and what becomes of those that nobody uses."""

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.core.limits import Limits
from toolcrib.core.process import Command
from toolcrib.sandbox import lending as module
from toolcrib.sandbox.lending import Lending
from toolcrib.sandbox.peer import Peer
from toolcrib.sandbox.poller import Poller
from toolcrib.sandbox.scratch import Scratch
from toolcrib.sandbox.sweep import newest_pid

ECHO = 'while IFS= read -r line; do echo "$$ $line"; done'


class Desk:
    """One loop's lending, and what it had to do with others."""

    def __init__(self, poller: Poller, scratch: Scratch, root: Path, mark: str, idle_seconds: float) -> None:
        self.watched = 0
        self.root, self._mark, self._count = root, mark, 0
        self.scratch = scratch
        self.lending = Lending(poller, lambda cage: scratch, self._watch, idle_seconds=idle_seconds)

    def _watch(self) -> None:
        self.watched += 1

    def mark(self) -> str:
        self._count += 1
        return f"{self._mark}-{self._count}"

    def loan(self, text: str = ECHO, *, key: str = "key", **about: Any) -> Any:
        argv = about.pop("argv", ("/bin/sh", "-c", text))
        env = about.pop("env", {"PATH": os.environ["PATH"]})
        command = Command(argv, about.pop("cwd", str(self.root)), "call-1", env, **about)
        return self.lending.lend(command, key, self.mark)

    async def ask(self, text: str = ECHO, **about: Any) -> int:
        """The pid of who answers."""
        async with self.loan(text, **about) as peer:
            return await answered(peer)


async def answered(peer: Any) -> int:
    assert peer.send(b"hello\n")
    return int((await peer.receive()).split()[0])


async def eventually(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


def is_there(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


@pytest.fixture
def at_a_desk(tmp_path, carriers) -> Callable[..., None]:
    """Runs a story, and sees to it that nothing of it is left."""

    def run(story: Callable[[Desk], Awaitable[None]], *, idle_seconds: float = 300) -> None:
        async def bounded() -> None:
            mark = f"tclend{os.getpid()}x{id(story)}"
            poller = Poller(asyncio.get_running_loop())
            scratch = Scratch(mark)
            desk = Desk(poller, scratch, tmp_path, mark, idle_seconds)
            try:
                async with asyncio.timeout(20):
                    await story(desk)
            finally:
                desk.lending.close()
                poller.close()
                scratch.close()
            assert carriers(mark) == []

        before = sorted(os.listdir("/proc/self/fd"))
        asyncio.run(bounded())
        assert sorted(os.listdir("/proc/self/fd")) == before

    newest_pid()  # what it opens stays open
    return run


def test_who_comes_later_gets_the_one_that_rests(at_a_desk) -> None:
    async def story(desk: Desk) -> None:
        assert await desk.ask() == await desk.ask() == await desk.ask()
        assert desk.watched == 1  # before it was started

    at_a_desk(story)


def test_two_at_once_get_two_and_both_rest_afterwards(at_a_desk) -> None:
    async def story(desk: Desk) -> None:
        async with desk.loan() as one, desk.loan() as two:
            first, second = await answered(one), await answered(two)
        assert first != second
        async with desk.loan() as one, desk.loan() as two:
            assert {await answered(one), await answered(two)} == {first, second}
        assert desk.watched == 2

    at_a_desk(story)


@pytest.mark.parametrize(
    ("about", "same"),
    [
        ({}, True),
        ({"stdin": b"of the call"}, True),
        ({"limits": Limits(5, 100, None)}, True),
        ({"key": "other"}, False),
        ({"text": f": ; {ECHO}"}, False),
        ({"cwd": "/"}, False),
        ({"env": {"PATH": "/usr/bin:/bin", "X": "1"}}, False),
        ({"limits": Limits(30, 1 << 20, 1 << 30)}, False),
    ],
    ids=repr,
)
def test_only_what_would_be_started_the_same_way_is_the_same(at_a_desk, about, same) -> None:
    async def story(desk: Desk) -> None:
        assert (await desk.ask() == await desk.ask(**about)) is same

    at_a_desk(story)


def test_each_has_a_directory_of_its_own_for_its_life(at_a_desk) -> None:
    async def story(desk: Desk) -> None:
        text = 'while read -r line; do : > "$TMPDIR/file"; echo "$TMPDIR $TOOLCRIB_CALL_ID"; done'
        places = []
        for _ in range(2):
            async with desk.loan(text) as peer:
                assert peer.send(b"x\n")
                tmp, mark = (await peer.receive()).decode().split()
                places.append((tmp, mark))
                assert os.listdir(tmp) == ["file"]
        assert places[0] == places[1] and mark == f"{desk._mark}-1"
        assert tmp.startswith(desk.scratch.root)
        async with desk.loan(text) as peer:
            await peer.end()
        await eventually(lambda: not os.path.exists(tmp) or not os.listdir(tmp))

    at_a_desk(story)


def test_what_one_leaves_in_its_directory_is_gone_soon_after_it(at_a_desk) -> None:
    async def story(desk: Desk) -> None:
        async with desk.loan(f'mkdir "$TMPDIR/d"; : > "$TMPDIR/d/file"; {ECHO}') as peer:
            await answered(peer)
            assert [names for _, _, names in os.walk(desk.scratch.root) if names] == [["file"]]
            await peer.end()
        await eventually(lambda: not any(names for _, _, names in os.walk(desk.scratch.root)))

    at_a_desk(story)


def test_one_that_fails_or_says_more_than_it_was_asked_is_not_used_again(at_a_desk) -> None:
    async def story(desk: Desk) -> None:
        with pytest.raises(ZeroDivisionError):
            async with desk.loan() as peer:
                failed = await answered(peer)
                raise ZeroDivisionError
        assert not is_there(failed)
        async with desk.loan("read -r line; printf '%s\\nmore\\n' $$; exec sleep 60") as peer:
            talker = await answered(peer)
            await eventually(lambda: b"more" in bytes(peer._buffer))
        assert not is_there(talker)

    at_a_desk(story)


def test_what_cannot_be_started_leaves_its_directory_to_the_next(at_a_desk) -> None:
    async def story(desk: Desk) -> None:
        for _ in range(3):
            with pytest.raises(ToolError, match="could not be started"):
                await desk.ask(argv=("/nowhere/program",))
        assert len(os.listdir(desk.scratch.root)) == 1
        await desk.ask()
        assert len(os.listdir(desk.scratch.root)) == 1

    at_a_desk(story)


def test_closed_it_starts_nothing(at_a_desk) -> None:
    async def story(desk: Desk) -> None:
        pid = await desk.ask()
        desk.lending.close()
        assert not is_there(pid)
        with pytest.raises(ToolError) as caught:
            await desk.ask()
        assert (caught.value.code, caught.value.before_effect, desk.watched) == ("CANCELLED", True, 1)

    at_a_desk(story)


@pytest.mark.parametrize(
    ("descriptors", "stay"), [(48 + 16 * 2, 2), (48 + 16 * 2 - 1, 1), (48 + 16 * 3, 3), (10, 1), (1 << 20, 4)]
)
def test_so_many_rest_as_there_are_descriptors_for(at_a_desk, monkeypatch, descriptors, stay) -> None:
    monkeypatch.setattr(module.resource, "getrlimit", lambda what: (descriptors, descriptors))
    monkeypatch.setattr(module, "MOST_IDLE", 4)

    async def story(desk: Desk) -> None:
        pids = [await desk.ask(key=str(number)) for number in range(5)]
        await eventually(lambda: [is_there(pid) for pid in pids] == [False] * (5 - stay) + [True] * stay)
        assert await desk.ask(key="4") == pids[4]

    at_a_desk(story)


def test_those_that_rest_longest_go_first_and_the_others_in_their_time(at_a_desk) -> None:
    async def story(desk: Desk) -> None:
        first = await desk.ask(key="first")
        await asyncio.sleep(0.06)
        second = await desk.ask(key="second")
        await eventually(lambda: not (is_there(first) and is_there(second)))
        assert not is_there(first)
        await eventually(lambda: not is_there(second))
        third = await desk.ask(key="first")
        await eventually(lambda: not is_there(third))

    at_a_desk(story, idle_seconds=0.1)


def test_one_in_use_is_not_let_go_and_rests_anew_afterwards(at_a_desk) -> None:
    async def story(desk: Desk) -> None:
        first = await desk.ask()
        async with desk.loan() as peer:
            await asyncio.sleep(0.1)
            assert await answered(peer) == first
        assert await desk.ask() == first
        await eventually(lambda: not is_there(first))

    at_a_desk(story, idle_seconds=0.05)


@pytest.mark.parametrize("trap", ["", "trap 'exit' TERM; ", "trap '' TERM; "], ids=["ordinary", "asked", "deaf"])
def test_one_that_does_not_see_the_end_of_its_input_is_asked_and_then_ended(at_a_desk, monkeypatch, trap) -> None:
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.03)

    async def story(desk: Desk) -> None:
        asked = desk.root / "asked"
        text = f"{trap.replace('exit', f': > {asked}; exit')}{ECHO}; while :; do sleep 0.01; done"
        pid = await desk.ask(text)
        await eventually(lambda: not is_there(pid))
        assert asked.exists() == ("exit" in trap)

    at_a_desk(story, idle_seconds=0.01)


def test_one_that_ends_by_itself_while_it_rests_is_not_given_to_anybody(at_a_desk, monkeypatch) -> None:
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.03)

    async def story(desk: Desk) -> None:
        before = len(os.listdir("/proc/self/fd"))
        os.mkfifo(desk.root / "end")
        text = "read -r line; echo $$; read -r line < end"
        pid = await desk.ask(text)
        await asyncio.to_thread((desk.root / "end").write_text, "\n")
        await eventually(lambda: not is_there(pid))
        assert len(os.listdir("/proc/self/fd")) == before
        assert await desk.ask(text) != pid

    at_a_desk(story)


def test_one_that_speaks_while_it_rests_is_ended(at_a_desk, tmp_path) -> None:
    async def story(desk: Desk) -> None:
        os.mkfifo(tmp_path / "speak")
        text = f"read -r line; echo $$; read -r line < {tmp_path}/speak; echo unasked; exec sleep 60"
        pid = await desk.ask(text)
        await asyncio.to_thread((tmp_path / "speak").write_text, "\n")
        await eventually(lambda: not is_there(pid))

    at_a_desk(story)


def test_closed_without_a_loop_all_are_ended_and_their_directories_gone(tmp_path, carriers) -> None:
    mark = f"tclendclosed{os.getpid()}"
    scratch = Scratch(mark)

    async def story() -> tuple[Poller, Desk, list[int]]:
        poller = Poller(asyncio.get_running_loop())
        desk = Desk(poller, scratch, tmp_path, mark, 300)
        text = f'mkdir "$TMPDIR/d"; : > "$TMPDIR/d/file"; {ECHO}'
        return poller, desk, [await desk.ask(text, key=key) for key in "ab"]

    poller, desk, pids = asyncio.run(story())
    assert len(os.listdir(scratch.root)) == 2
    desk.lending.close()
    assert ([is_there(pid) for pid in pids], carriers(mark)) == ([False, False], [])
    assert not any(os.listdir(f"{scratch.root}/{name}") for name in os.listdir(scratch.root))
    poller.close()
    scratch.close()


def test_one_of_two_that_fails_does_not_cost_the_other_its_place(at_a_desk) -> None:
    async def story(desk: Desk) -> None:
        async with desk.loan() as one:
            kept = await answered(one)
            with pytest.raises(ZeroDivisionError):
                async with desk.loan():
                    raise ZeroDivisionError
        assert await desk.ask() == kept

    at_a_desk(story)


def test_one_of_two_that_ends_while_it_rests_does_not_cost_the_other_its_place(at_a_desk) -> None:
    async def story(desk: Desk) -> None:
        async with desk.loan() as one:
            kept = await answered(one)
            resting = await desk.ask()
            os.kill(resting, signal.SIGKILL)
            await eventually(lambda: not is_there(resting))
        assert await desk.ask() == kept

    at_a_desk(story)


def test_of_a_kind_that_nobody_has_nothing_is_kept(at_a_desk) -> None:
    """Each key may be that of one call alone."""

    async def story(desk: Desk) -> None:
        before = shelves()
        with pytest.raises(ZeroDivisionError):
            async with desk.loan(key="one"):
                raise ZeroDivisionError
        with pytest.raises(ToolError):
            await desk.ask(argv=("/nowhere/program",))
        pid = await desk.ask(key="two")
        assert shelves() == before + 1
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: not is_there(pid))
        assert shelves() == before

    at_a_desk(story)


def shelves() -> int:
    gc.collect()
    return sum(isinstance(each, module.Shelf) for each in gc.get_objects())


def test_one_that_left_in_time_is_not_asked_to(at_a_desk, monkeypatch) -> None:
    """Its number may be somebody else's by then."""
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.05)
    asked: list[Peer] = []
    monkeypatch.setattr(Peer, "ask_to_end", asked.append)

    async def story(desk: Desk) -> None:
        pid = await desk.ask()
        await eventually(lambda: not is_there(pid))
        here = len(asked)
        await asyncio.sleep(0.07)
        assert len(asked) == here

    at_a_desk(story, idle_seconds=0.01)
