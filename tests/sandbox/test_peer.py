"""Programs that stay running: lent, given back, and certainly ended."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.context import new_id
from toolcrib.core.errors import ToolError
from toolcrib.core.limits import Limits
from toolcrib.core.process import Captured, Command
from toolcrib.policy.redact import Redactor
from toolcrib.sandbox import child, lending, poller, spawn, sweep
from toolcrib.sandbox.peer import Peer
from toolcrib.sandbox.processes import Processes

ECHO = 'while IFS= read -r line; do echo "$$ $line"; done'


class Bench:
    """Lends programs, by the text of a shell script."""

    def __init__(self, root: Any, **about: Any) -> None:
        self.root, self.id = root, new_id()
        self.sandbox = Processes(self.id, **about)
        self._count = 0

    def mark(self) -> str:
        self._count += 1
        return f"{self.id}-{self._count}"

    def lend(self, text: str, **about: Any) -> Any:
        env = {"PATH": os.environ["PATH"], **about.pop("env", {})}
        command = Command(("/bin/sh", "-c", text), str(self.root), self.mark(), env, **about)
        return self.sandbox.lend(command, key="key", marks=self.mark)

    async def ask(self, text: str = ECHO, line: bytes = b"hello\n") -> list[bytes]:
        """The words of what it answers to a line."""
        async with self.lend(text) as peer:
            assert peer.send(line)
            return (await peer.receive()).split()


@pytest.fixture(params=["this system", "another Python", "another system"])
def bench(request, monkeypatch, tmp_path, carriers, until) -> Iterator[Bench]:
    """Also with what it falls back to elsewhere."""
    if request.param == "another Python":
        monkeypatch.setattr(spawn, "FAST", False)
    if request.param == "another system":  # no pidfd, no epoll, no /proc
        monkeypatch.setattr(child, "LINUX", False)
        monkeypatch.setattr(sweep, "LINUX", False)
        monkeypatch.setattr(poller, "_HAS_EPOLL", False)
    bench = Bench(tmp_path)
    yield bench
    bench.sandbox.close()
    assert not os.path.exists(bench.sandbox.scratch.root), "a scratch directory is left"
    if request.param == "another system":  # where nobody can look whether what was killed has died already
        until(lambda: not carriers(bench.id), "no process is left")
    assert carriers(bench.id) == [], "a process is left"


@pytest.fixture
def resting(tmp_path, carriers) -> Iterator[Any]:
    """Makes one whose programs stay for so many seconds when nobody uses them."""
    made: list[Bench] = []

    def make(seconds: float) -> Bench:
        made.append(Bench(tmp_path, idle_seconds=seconds))
        return made[-1]

    yield make
    for each in made:
        each.sandbox.close()
        assert carriers(each.id) == [], "a process is left"


async def eventually(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


def test_it_answers_line_by_line_and_is_the_same_for_the_next(bench) -> None:
    async def two() -> list[list[bytes]]:
        return [await bench.ask(), await bench.ask(line=b"again\n")]

    first, second = asyncio.run(two())
    assert (first[1], second[1], first[0] == second[0]) == (b"hello", b"again", True)


def test_lines_come_one_by_one_however_they_are_cut(bench) -> None:
    async def lines() -> list[bytes]:
        async with bench.lend("printf 'one\\ntwo\\nth'; printf 'ree\\n'; printf rest") as peer:
            return [await peer.receive() for _ in range(6)]

    assert asyncio.run(lines()) == [b"one\n", b"two\n", b"three\n", b"rest", b"", b""]


def test_much_goes_both_ways_at_once(bench) -> None:
    """Neither side waits for the other: no deadlock on full pipes."""
    sent = b"0123456789abcde " * 200_000 + b"\n"

    async def echoed() -> bytes:
        async with bench.lend("exec cat") as peer:
            assert peer.send(sent)
            return await peer.receive()

    assert asyncio.run(echoed()) == sent


def test_an_end_says_how_it_ended(bench) -> None:
    async def ended(text: str) -> int:
        async with bench.lend(text) as peer:
            assert await peer.receive() in (b"", b"up\n")
            return await peer.end()

    assert asyncio.run(ended("exit 7")) == 7
    assert asyncio.run(ended("echo up; exec sleep 60")) == 128 + signal.SIGTERM
    assert asyncio.run(ended("trap '' TERM; echo up; while :; do sleep 60; done")) == 128 + signal.SIGKILL


def test_one_that_was_left_in_the_middle_is_ended(bench, tmp_path) -> None:
    async def left() -> None:
        with pytest.raises(ZeroDivisionError):
            async with bench.lend("echo $$ > pid; echo up; sleep 60") as peer:
                await peer.receive()
                raise ZeroDivisionError

    asyncio.run(left())
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_nobody_listens_any_more(bench) -> None:
    """What was not taken at all is told apart from what was."""

    async def deaf() -> tuple[bool, bytes]:
        async with bench.lend("exec 0<&-; echo deaf; exec sleep 60") as peer:
            await peer.receive()
            return peer.send(b"hello\n"), await peer.receive()

    assert asyncio.run(deaf()) == (False, b"")


def test_one_that_cannot_be_started_costs_nothing(bench) -> None:
    async def failed() -> int:
        before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        command = Command(("/nowhere/program", "serve"), "/", bench.mark(), {})
        for _ in range(10):
            with pytest.raises(ToolError, match="could not be started") as caught:
                async with bench.sandbox.lend(command, key=0, marks=bench.mark):
                    pass
            assert caught.value.before_effect
        return (len(os.listdir("/proc/self/fd")) if before else 0) - before

    assert asyncio.run(failed()) <= 3  # what the first use opens and keeps


def test_closing_lets_a_good_one_end_by_itself(bench, tmp_path, monkeypatch) -> None:
    """The end of its input is the sign; nothing is sent to it that it must expect."""
    monkeypatch.setattr(lending, "GRACE_SECONDS", 30)
    asyncio.run(bench.ask(f"trap 'echo asked > asked' TERM; {ECHO}; sleep 0.05; echo done > done"))
    began = time.monotonic()
    bench.sandbox.close()
    assert time.monotonic() - began < 20
    assert (tmp_path / "done").exists() and not (tmp_path / "asked").exists()


def test_closing_asks_one_to_end_that_does_not_see_it(bench, tmp_path) -> None:
    asyncio.run(bench.ask(f"trap 'echo asked > asked; exit' TERM; {ECHO}; while :; do sleep 0.01; done"))
    bench.sandbox.close()
    assert (tmp_path / "asked").exists()


class Files:
    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()

    def create(self, name: str) -> tuple[str, str, int]:
        path = self.root / name
        return name, str(path), os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)


LAST_WORDS = "trap 'yes a-very-secret-value | head -c 300000 >&2; exit' TERM; "


@pytest.mark.parametrize("heard", [True, False], ids=["heard before", "never heard"])
def test_what_it_says_when_it_is_ended_reaches_no_file_unfiltered_and_leaves_none_open(bench, tmp_path, heard) -> None:
    files, redactor = Files(tmp_path / "files"), Redactor({"KEY": "a-very-secret-value"})
    about = {"artifacts": files, "filters": redactor.stream, "limits": Limits(30, 1000)}

    async def story() -> None:
        with pytest.raises(ZeroDivisionError):
            async with bench.lend(LAST_WORDS + ECHO + "; sleep 60", **about) as peer:
                peer.send(b"hello\n")
                await peer.receive()
                if heard:
                    peer.heard()
                raise ZeroDivisionError

    before = set(os.listdir("/proc/self/fd"))
    asyncio.run(story())
    bench.sandbox.close()
    assert set(os.listdir("/proc/self/fd")) <= before
    assert [path for path in files.root.iterdir() if b"a-very-secret-value" in path.read_bytes()] == []


def test_closing_ends_those_that_are_deaf_all_together(bench) -> None:
    async def four() -> None:
        await asyncio.gather(*(bench.ask(f"trap '' TERM; {ECHO}; while :; do sleep 60; done") for _ in range(4)))

    asyncio.run(four())
    began = time.monotonic()
    bench.sandbox.close()
    assert time.monotonic() - began < 2


def test_a_call_in_flight_when_all_is_closed_ends(bench) -> None:
    async def closed() -> bytes:
        async with bench.lend("exec sleep 60") as peer:
            asyncio.get_running_loop().call_soon(bench.sandbox.close)
            return await peer.receive()

    assert asyncio.run(closed()) == b""


def test_who_comes_when_all_is_closed_starts_nothing(bench, tmp_path) -> None:
    async def too_late() -> None:
        async with bench.lend("echo x >> starts; echo up; exec sleep 60") as peer:
            await peer.receive()
            late = bench.lend("echo x >> starts; echo up; exec sleep 60")
            bench.sandbox.close()
            with pytest.raises(ToolError) as caught:
                await late.__aenter__()
            assert caught.value.before_effect

    asyncio.run(too_late())
    assert (tmp_path / "starts").read_text().count("x") == 1


def test_one_that_nobody_uses_is_ended_and_another_takes_its_place(resting, carriers) -> None:
    bench = resting(0.1)

    async def rested() -> bool:
        first = await bench.ask()
        assert len(carriers(bench.id)) == 1
        await eventually(lambda: not carriers(bench.id))
        return first[0] != (await bench.ask())[0]

    assert asyncio.run(rested())


def test_one_that_is_used_stays(resting) -> None:
    bench = resting(0.2)

    async def used() -> set[bytes]:
        until = time.monotonic() + 0.6
        found = set()
        while time.monotonic() < until:
            found.add((await bench.ask())[0])
        return found

    assert len(asyncio.run(used())) == 1


def test_a_deaf_one_that_nobody_uses_is_ended_too(resting, carriers) -> None:
    bench = resting(0.05)

    async def rested() -> None:
        await bench.ask(f"trap '' TERM; {ECHO}; while :; do sleep 60; done")
        await eventually(lambda: not carriers(bench.id))

    asyncio.run(rested())


def test_few_stay_of_all_kinds(resting, carriers, monkeypatch) -> None:
    monkeypatch.setattr(lending, "MOST_IDLE", 3)
    bench = resting(300)

    async def many() -> None:
        for number in range(10):
            await bench.ask(f": {number}; {ECHO}")
        await eventually(lambda: len(carriers(bench.id)) == 3)
        kept = await bench.ask(f": 9; {ECHO}")
        assert int(kept[0]) in carriers(bench.id)

    asyncio.run(many())


def test_an_idle_one_may_log_a_little_and_not_without_end(resting, carriers) -> None:
    bench = resting(300)
    quiet = 'read line; echo "$$ x"; i=0; while [ $i -lt 50 ]; do echo log >&2; i=$((i + 1)); done; : > logged; cat >/dev/null'
    loud = 'read line; echo "$$ x"; exec cat /dev/zero >&2'

    async def both() -> None:
        await bench.ask(quiet)
        await eventually((bench.root / "logged").exists)
        assert len(carriers(bench.id)) == 2  # with `cat`
        await bench.ask(loud)
        await eventually(lambda: len(carriers(bench.id)) == 2)

    asyncio.run(both())


def test_what_it_started_goes_with_it(resting, carriers) -> None:
    bench = resting(300)

    async def started() -> None:
        await bench.ask(f"setsid sh -c 'trap \"\" TERM; sleep 60; :' </dev/null >/dev/null 2>&1 & {ECHO}")
        await eventually(lambda: len(carriers(bench.id)) == 3)

    asyncio.run(started())
    bench.sandbox.close()
    assert carriers(bench.id) == []


def test_the_environment_holds_its_own_mark_and_directory(bench) -> None:
    async def told() -> tuple[bytes, bytes]:
        async with bench.lend('echo "$TOOLCRIB_CALL_ID $TMPDIR"; exec cat') as peer:
            mark, tmp = (await peer.receive()).split()
            assert os.path.isdir(tmp)
            return mark, tmp

    mark, tmp = asyncio.run(told())
    assert mark.decode().startswith(f"{bench.id}-")
    bench.sandbox.close()
    assert not os.path.exists(tmp)


@pytest.mark.parametrize("other", [{"env": {"X": "1"}}, {"stdin": b"same"}])
def test_another_environment_is_another_program_and_what_is_the_call_s_is_not(bench, other) -> None:
    async def two() -> list[bytes]:
        found = []
        for about in ({}, other):
            async with bench.lend(ECHO, **about) as peer:
                assert isinstance(peer, Peer) and peer.send(b"x\n")
                found.append((await peer.receive()).split()[0])
        return found

    assert len(set(asyncio.run(two()))) == (2 if "env" in other else 1)


CALLER = """
import asyncio, os, sys
from toolcrib.core.limits import Limits
from toolcrib.core.process import Captured, Command
from toolcrib.policy.redact import Redactor
from toolcrib.sandbox.processes import Processes
mark = sys.argv[1]
sandbox = Processes(mark)
async def main():
    command = Command(('/bin/sh', '-c', sys.argv[2]), '/', mark + '-1', {'PATH': os.environ['PATH']})
    async with sandbox.lend(command, key=0, marks=lambda: mark + '-2') as peer:
        peer.send(b'x\\n')
        print((await peer.receive()).decode(), end='', flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
STUBBORN = """trap '' TERM HUP; setsid sh -c 'trap "" TERM; while :; do sleep 60; done' </dev/null >/dev/null 2>&1 &
read line; : > "$TMPDIR/file"; echo up; while :; do sleep 60; done"""


def test_a_killed_caller_leaves_none(until, carriers) -> None:
    """The watcher ends it, with all it started, and removes its directory."""
    mark = new_id()
    process = subprocess.Popen([sys.executable, "-c", CALLER, mark, STUBBORN], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None and process.stdout.readline() == "up\n"
        scratch = os.path.join(tempfile.gettempdir(), f"toolcrib-{mark}")
        until(lambda: len(carriers(mark)) >= 3, "all that it starts is there")
        assert os.path.isdir(scratch)
        process.kill()
    until(lambda: not carriers(mark) and not os.path.exists(scratch), "nothing is left")


# One by itself


class Alone:
    """A peer without anybody who lends it."""

    def __init__(self, root: Any, text: str, **about: Any) -> None:
        self.unfit: list[Peer] = []
        self.poller = poller.Poller(asyncio.get_running_loop())
        self.mark = f"tcalone{new_id()}"
        self._about = about
        env = {"PATH": os.environ["PATH"], "TMPDIR": str(root), "TOOLCRIB_CALL_ID": self.mark}
        command = Command(("/bin/sh", "-c", text), str(root), "call-1", env, **about)
        self.peer = Peer(command, env, self.poller, mark=self.mark, unfit=self.unfit.append)

    def next_command(self) -> Command:
        return Command(("/bin/sh",), "/", "call-2", {}, **self._about)


@pytest.fixture
def alone(tmp_path, carriers) -> Any:
    """Tells a story about one, and sees to it that nothing of it is left."""

    def run(text: str, story: Any, **about: Any) -> None:
        async def bounded() -> str:
            made = Alone(tmp_path, text, **about)
            try:
                async with asyncio.timeout(10):
                    await story(made)
            finally:
                made.peer.finish()
                made.poller.close()
            return made.mark

        sweep.newest_pid()  # what it opens stays open
        before = sorted(os.listdir("/proc/self/fd"))
        mark = asyncio.run(bounded())
        assert (sorted(os.listdir("/proc/self/fd")), carriers(mark)) == (before, [])

    return run


@pytest.mark.parametrize(("length", "fits"), [(100, True), (101, False)])
def test_a_line_may_be_so_long_and_no_longer(alone, monkeypatch, length, fits) -> None:
    monkeypatch.setattr("toolcrib.sandbox.peer.LONGEST_LINE", 100)

    async def story(of: Alone) -> None:
        if fits:
            while len(of.peer._buffer) < length:
                await asyncio.sleep(0.001)
            receiving = asyncio.create_task(of.peer.receive())
            await asyncio.sleep(0.01)
            of.peer.send(b"\n")
            assert await receiving == b"x" * length + b"\n"
        else:
            with pytest.raises(ToolError) as caught:
                await of.peer.receive()
            assert (caught.value.code, "100" in str(caught.value)) == ("RESOURCE_EXHAUSTED", True)

    alone(f"printf '%0{length}d' 0 | tr 0 x; read -r line; echo; exec sleep 60", story)


def test_it_is_fresh_until_its_first_line(alone) -> None:
    async def story(of: Alone) -> None:
        assert of.peer.fresh
        of.peer.send(b"x\n")
        assert of.peer.fresh
        assert (await of.peer.receive())[-3:] == b" x\n"
        assert not of.peer.fresh

    alone(ECHO, story)


def test_what_stood_on_its_errors_is_that_of_the_conversation(alone) -> None:
    async def story(of: Alone) -> None:
        heard = []
        for line in (b"one\n", b"two\n"):
            of.peer.send(line)
            await of.peer.receive()
            heard.append(of.peer.heard().text())
            assert of.peer.rest()
            assert of.peer.heard() == Captured()
            assert of.peer.begin(of.next_command())
        assert heard == ["log one\n", "log two\n"]
        assert of.peer.heard() == Captured()

    alone("while read -r line; do echo log $line >&2; echo $line; done", story)


def test_its_errors_are_kept_within_the_call_s_limit_and_as_its_filter_says(alone) -> None:
    class Upper:
        def feed(self, chunk: bytes, /) -> bytes:
            return chunk.upper()

        def end(self) -> bytes:
            return b"!"

    async def story(of: Alone) -> None:
        of.peer.send(b"x\n")
        await of.peer.receive()
        assert of.peer.heard() == Captured(b"ABCDE", b"IJ!", 11)

    alone("read -r line; printf abcdefghij >&2; echo; exec sleep 60", story, limits=Limits(30, 8), filters=Upper)


def test_what_it_says_unasked_while_it_rests_makes_it_unfit(alone) -> None:
    async def story(of: Alone) -> None:
        of.peer.send(b"x\n")
        await of.peer.receive()
        assert of.peer.rest()
        of.peer.send(b"x\n")
        await eventually(lambda: of.unfit)
        assert set(of.unfit) == {of.peer}
        assert not of.peer.begin(of.next_command())

    alone(ECHO, story)


@pytest.mark.parametrize("loud", ["exec cat /dev/zero >&2", "while :; do printf '%01000d' 0; done >&2"])
def test_so_much_noise_while_it_rests_makes_it_unfit(alone, monkeypatch, loud) -> None:
    """Altogether, however little at once."""
    monkeypatch.setattr("toolcrib.sandbox.peer._IDLE_NOISE", 200_000)

    async def story(of: Alone) -> None:
        await of.peer.receive()
        assert of.peer.rest()
        of.peer.send(b"x\n")
        await eventually(lambda: of.unfit)
        assert not of.peer.begin(of.next_command())

    alone(f"echo up; read -r line; {loud}", story)


def test_noise_within_its_bounds_is_forgotten_with_each_conversation(alone, monkeypatch) -> None:
    monkeypatch.setattr("toolcrib.sandbox.peer._IDLE_NOISE", 1000)

    async def story(of: Alone) -> None:
        for _ in range(5):
            assert of.peer.begin(of.next_command())
            of.peer.send(b"x\n")
            assert await of.peer.receive() == b"up\n"
            assert of.peer.rest()
            await eventually(lambda: of.peer._noise == 400)
        assert of.unfit == []

    alone("while read -r line; do echo up; sleep 0.01; printf '%0400d' 0 >&2; done", story)


def test_one_that_exits_while_it_rests_is_told_of(alone) -> None:
    async def story(of: Alone) -> None:
        of.peer.send(b"x\n")
        assert await of.peer.receive() == b"bye\n"
        assert of.peer.rest() and not of.peer.is_gone()
        of.peer.close_input()
        await eventually(lambda: of.unfit)
        await eventually(of.peer.is_gone)
        assert set(of.unfit) == {of.peer}

    alone("read -r line; echo bye; read -r line; exit 5", story)


def test_one_that_exits_in_a_conversation_is_heard_to_its_last_word(alone) -> None:
    """Whoever holds its output goes on holding it: its end is that of the program."""

    async def story(of: Alone) -> None:
        lines = [await of.peer.receive() for _ in range(3)]
        assert lines == [b"last\n", b"words", b""]
        assert of.unfit == []
        assert await of.peer.end() == 6

    alone("sleep 60 & printf 'last\\nwords'; exit 6", story)


def test_one_that_closed_its_output_has_time_to_exit_as_it_likes(alone) -> None:
    async def story(of: Alone) -> None:
        assert await of.peer.receive() == b""
        assert await of.peer.end() == 9

    alone("trap 'exit 1' TERM; exec 1>&-; sleep 0.05; exit 9", story)


def test_ended_it_may_say_goodbye_on_its_errors(alone) -> None:
    async def story(of: Alone) -> None:
        assert await of.peer.receive() == b"up\n"
        assert await of.peer.end() == 3
        assert "bye\n" in of.peer.heard().text()  # beside what its shell says of a sleep that was asked, too
        assert of.peer.is_gone()
        assert await of.peer.end() == 3

    alone("trap 'echo bye >&2; exit 3' TERM; echo up; while :; do sleep 0.01; done", story)


def test_what_was_left_unsent_or_unread_makes_it_unfit_for_another(alone) -> None:
    async def story(of: Alone) -> None:
        assert of.peer.send(b"x" * 200_000)  # a part of it
        assert not of.peer.rest()

    alone("exec sleep 60", story)


def test_a_part_that_was_taken_counts_as_said(alone) -> None:
    async def story(of: Alone) -> None:
        assert of.peer.send(b"x" * 1_000_000)
        assert await of.peer.receive() == b""  # it went away in the middle
        assert not of.peer.send(b"more\n")

    alone("read -r line <&- ; head -c 10 >/dev/null; exit", story)


def test_what_does_not_fit_at_once_is_sent_bit_by_bit(alone) -> None:
    async def story(of: Alone) -> None:
        assert of.peer.send(b"x" * 300_000 + b"\n")
        assert await of.peer.receive() == b"300001\n"
        assert of.peer.rest()

    alone("head -c 300001 | wc -c; exec sleep 60", story)


def test_whoever_waits_is_told_when_it_is_ended(alone) -> None:
    async def story(of: Alone) -> None:
        waiting = asyncio.create_task(of.peer.receive())
        await asyncio.sleep(0)
        of.peer.finish()
        of.peer.finish()
        assert await waiting == b""

    alone("exec sleep 60", story)
