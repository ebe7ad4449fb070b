"""One program by itself: its pipes, its streams, its end."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.core.process import Captured, Command, Completed
from toolcrib.sandbox import program as module
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.child import Launched
from toolcrib.sandbox.poller import Poller
from toolcrib.sandbox.program import CHANNEL, Program, as_child, cage_of, pipes
from toolcrib.sandbox.sweep import newest_pid


def descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))


@pytest.fixture
def play(yard) -> Callable[..., Any]:
    """Tells a story about one program that was started, and sees to it that it holds nothing afterwards."""

    def run(text: str, story: Any, **about: Any) -> Any:
        async def bounded() -> Any:
            poller = Poller(asyncio.get_running_loop())
            command = yard.command("/bin/sh", "-c", text, **about)
            try:
                program = Program(command, {**command.env, "TMPDIR": str(yard.root)}, poller, as_child(poller))
                async with asyncio.timeout(10):
                    return await story(program)
            finally:
                poller.close()

        newest_pid()  # what it opens stays open
        before = descriptors()
        result = asyncio.run(bounded())
        assert (descriptors(), yard.left()) == (before, [])
        return result

    return run


def test_it_tells_whoever_asked_how_it_ended(play) -> None:
    told: list[Completed] = []

    async def story(program: Program) -> Completed:
        return await program.run(told.append)

    done = play("cat; echo err >&2; exit 3", story, stdin=b"in")
    assert told == [done] == [Completed(3, Captured(b"in", total=2), Captured(b"err\n", total=4))]


def test_one_that_is_never_run_can_be_ended(play) -> None:
    async def story(program: Program) -> Completed:
        assert os.path.exists(f"/proc/{program.pid}")
        return program.finish()

    assert play("exec sleep 60", story) == Completed(128 + signal.SIGKILL, Captured(), Captured())


def test_what_came_so_far_is_there_while_it_runs(play) -> None:
    async def story(program: Program) -> tuple[Captured, Captured]:
        task = asyncio.create_task(program.run(None))
        while not all(each.total for each in program.so_far()):
            await asyncio.sleep(0.001)
        so_far = program.so_far()
        task.cancel()
        await asyncio.wait((task,))
        return so_far

    said = play("echo out; echo wrong >&2; exec sleep 60", story)
    assert said == (Captured(b"out\n", total=4), Captured(b"wrong\n", total=6))


def test_each_stream_has_its_filter_its_limit_and_its_artifact(play, tmp_path) -> None:
    class Upper:
        def feed(self, chunk: bytes, /) -> bytes:
            return chunk.upper()

        def end(self) -> bytes:
            return b"!"

    class Files:
        def create(self, name: str) -> tuple[str, str, int]:
            path = str(tmp_path / name)
            return f"id of {name}", path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

        def find(self, ident: str) -> str | None:
            return None

    async def story(program: Program) -> Completed:
        return await program.run(None)

    done = play("printf abcdefghij; printf klmnopqrst >&2", story, keep=4, filters=Upper, artifacts=Files())
    for stream, name in ((done.stdout, "stdout"), (done.stderr, "stderr")):
        assert stream.total == 11
        ident, path, length = stream.artifact
        assert ident.startswith("id of ") and ident.endswith(f".{name}") and length == 11
        with open(path, "rb") as file:
            assert file.read() == {"stdout": b"ABCDEFGHIJ!", "stderr": b"KLMNOPQRST!"}[name]


@pytest.mark.parametrize("quiet", ["", "exec >&- 2>&-; "], ids=["", "and says nothing more"])
def test_given_up_it_is_asked_first(play, quiet) -> None:
    async def story(program: Program) -> Completed:
        told: list[Completed] = []
        task = asyncio.create_task(program.run(told.append))
        while not program.so_far()[0].total:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return told[0]

    text = f"trap 'echo bye; exit 9' TERM; echo up; {quiet}while :; do sleep 0.01; done"
    done = play(text, story)  # what its shell says of a sleep that was asked, too, does not matter
    said = b"up\n" if quiet else b"up\nbye\n"
    assert (done.code, done.stdout) == (9, Captured(said, total=len(said)))


def test_deaf_it_is_killed_after_its_grace(play, monkeypatch) -> None:
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.03)

    async def story(program: Program) -> int:
        told: list[Completed] = []
        task = asyncio.create_task(program.run(told.append))
        while not program.so_far()[0].total:
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait((task,))
        return told[0].code

    assert play("trap '' TERM; echo up; while :; do sleep 60; done", story) == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    ("text", "moment", "cut_off", "said"),
    [
        ("sleep 60 & echo up", 0.05, True, b"up\n"),
        ("(sleep 0.01; echo late) & echo up", 5, False, b"up\nlate\n"),
        ("sleep 60 >&- 2>&- & echo up", 5, False, b"up\n"),
        ("sleep 60 >&- & echo up", 0.05, True, b"up\n"),
    ],
    ids=["held", "let go in time", "not held", "its errors are held"],
)
def test_who_holds_its_output_has_a_moment(play, monkeypatch, text, moment, cut_off, said) -> None:
    monkeypatch.setattr(module, "DRAIN_SECONDS", moment)

    async def story(program: Program) -> Completed:
        return await program.run(None)

    assert play(text, story) == Completed(0, Captured(said, total=len(said)), Captured(), cut_off)


@pytest.mark.parametrize("handed", [True, False])
def test_a_channel_is_told_of_only_where_there_is_one(play, handed) -> None:
    reads, writes = os.pipe()
    text = f'echo "${{{CHANNEL}-none}}"' + (f"; echo hello > /proc/self/fd/{writes}" if handed else "")

    async def story(program: Program) -> bytes:
        return (await program.run(None)).stdout.head

    try:
        said = play(text, story, channel=writes if handed else -1)
        if handed:
            assert (said, os.read(reads, 100)) == (f"{writes}\n".encode(), b"hello\n")
        else:
            assert said == b"none\n"
    finally:
        os.close(reads)
        os.close(writes)


def test_what_cannot_be_launched_costs_nothing(yard) -> None:
    class Refused(Exception):
        pass

    def refuse(command: Command, env: Mapping[str, str], stdin: int, stdout: int, stderr: int) -> Launched:
        raise Refused

    async def story() -> None:
        poller = Poller(asyncio.get_running_loop())
        before = descriptors()
        with pytest.raises(Refused):
            Program(yard.command("/bin/true", stdin=b"x" * 100_000), {}, poller, refuse)
        assert descriptors() == before
        poller.close()

    asyncio.run(story())


def test_of_three_pipes_our_ends_do_not_block_and_theirs_do() -> None:
    made = pipes()
    try:
        assert [os.get_blocking(fd) for fd in made] == [True, False, False, True, False, True]
        for reads, writes in zip(made[::2], made[1::2], strict=True):
            os.write(writes, b"x")
            assert os.read(reads, 2) == b"x"
    finally:
        for fd in made:
            os.close(fd)


@pytest.mark.parametrize("after", range(3))
def test_a_pipe_that_cannot_be_made_costs_none(monkeypatch, after) -> None:
    made: list[tuple[int, int]] = []
    make = os.pipe

    def some() -> tuple[int, int]:
        if len(made) == after:
            raise OSError(24, "too many")
        made.append(make())
        return made[-1]

    before = descriptors()
    monkeypatch.setattr(os, "pipe", some)
    with pytest.raises(ToolError) as caught:
        pipes()
    assert (caught.value.code, caught.value.before_effect) == ("RESOURCE_EXHAUSTED", True)
    assert ("too many" in str(caught.value), descriptors()) == (True, before)


def test_a_command_s_cage() -> None:
    cage = Cage("landlock")
    assert cage_of(Command(("x",), "/", "m", cage=cage)) is cage
    assert cage_of(Command(("x",), "/", "m")) is None
