"""One program, from its start to its answer."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.core.limits import Limits
from toolcrib.core.process import Captured, Command, Completed
from toolcrib.sandbox import poller, processes
from toolcrib.sandbox.aftermath import Aftermath
from toolcrib.sandbox.beforehand import Seen
from toolcrib.sandbox.cage import Bounds, Cage
from toolcrib.sandbox.finding import TakesLong
from toolcrib.sandbox.processes import Processes


def test_a_program_ends_with_its_status_and_both_streams_apart(yard) -> None:
    """K29"""
    done = yard.sh("echo out; echo err >&2; exit 3")
    assert done == Completed(3, Captured(b"out\n", total=4), Captured(b"err\n", total=4))


def test_every_exit_status_comes_back_as_it_is(yard) -> None:
    """ "Exit code 3 reported as 1." """

    async def all_of_them() -> list[int]:
        at_once = asyncio.Semaphore(16)

        async def one(status: int) -> int:
            async with at_once:
                return (await yard.exec("/bin/sh", "-c", f"exit {status}")).code

        return await asyncio.gather(*map(one, range(256)))

    assert asyncio.run(all_of_them()) == list(range(256))


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGTERM])
def test_death_by_a_signal_is_128_and_its_number(yard, number) -> None:
    assert yard.sh(f"kill -{int(number)} $$").code == 128 + number


def test_stderr_is_kept_after_stdout_closed(yard) -> None:
    """ "stderr lost after stdout closed." """
    done = yard.sh("echo first; exec 1>&-; echo second >&2; exit 4")
    assert (done.code, done.stdout.head, done.stderr.head) == (4, b"first\n", b"second\n")


def test_a_program_that_closes_all_its_streams_and_lives_on_is_waited_for(yard, tmp_path) -> None:
    done = yard.sh(f"exec 0<&- 1>&- 2>&-; sleep 0.2; : > {tmp_path}/late; exit 5")
    assert (done.code, (tmp_path / "late").exists()) == (5, True)


def test_stdin_is_closed_after_the_input(yard) -> None:
    """K28. "stdin left open hangs tools that read it (`jq`)." """
    assert yard.sh("cat; cat", stdin=b'{"a": 1}').stdout.head == b'{"a": 1}'
    assert yard.sh("wc -c", stdin=b"").stdout.head.strip() == b"0"


def test_five_mebibytes_of_input_that_nobody_reads(yard) -> None:
    began = time.monotonic()
    done = yard.sh("echo no thanks", stdin=b"x" * 5 * 1024 * 1024)
    assert (done.code, done.stdout.head) == (0, b"no thanks\n")
    assert time.monotonic() - began < 3


def test_five_mebibytes_of_input_go_through_whole(yard) -> None:
    """ "An environment variable over 128 KiB is E2BIG: big arguments cannot go by environment or argv." """
    sent = os.urandom(5 * 1024 * 1024)
    done = yard.run("/bin/cat", stdin=sent, keep=8 * 1024 * 1024)
    assert done.stdout.head == sent


def test_input_is_fed_while_output_floods(yard) -> None:
    """Neither side waits for the other: no deadlock on full pipes."""
    sent = b"0123456789abcde\n" * 65536
    done = yard.sh("cat; cat >&2", stdin=sent, keep=64)
    assert (done.code, done.stdout.total, done.stderr.total) == (0, len(sent), 0)
    assert yard.sh("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; wc -c", stdin=sent).stdout.total > 3000000


def test_a_drip_of_single_bytes_arrives_whole(yard) -> None:
    program = yard.python("import os\nfor _ in range(3000): os.write(1, b'a'); os.write(2, b'b')")
    done = yard.run(program)
    assert (done.stdout.head, done.stderr.head) == (b"a" * 3000, b"b" * 3000)


def test_each_call_is_a_process_of_its_own(yard) -> None:
    """K52, K61"""

    async def several() -> set[bytes]:
        return {
            done.stdout.head
            for done in await asyncio.gather(*(yard.exec("/bin/sh", "-c", "echo $$") for _ in range(20)))
        }

    assert len(asyncio.run(several())) == 20


def test_it_works_in_the_loop_of_another_thread(yard) -> None:
    answers: list[Completed] = []
    thread = threading.Thread(target=lambda: answers.append(yard.sh("cat; echo hello", stdin=b"> ")))
    thread.start()
    thread.join(10)
    assert [answer.stdout.head for answer in answers] == [b"> hello\n"]


def test_a_host_that_ignores_sigchld_still_gets_the_output(drive) -> None:
    """The kernel then reaps for it, so how the program ended is unknown, and is said to be."""
    done = drive(
        "import asyncio, os, signal\n"
        "from toolcrib.core.process import Command\n"
        "from toolcrib.sandbox.child import UNKNOWN\nfrom toolcrib.sandbox.processes import Processes\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "sandbox = Processes(f'tcignored{os.getpid()}')\n"
        "async def main():\n"
        "    for _ in range(20):\n"
        "        done = await sandbox.exec(Command(('/bin/sh', '-c', 'echo here; exit 3'), '/', 'tcignored-1'))\n"
        "        assert (done.code, done.stdout.head) == (UNKNOWN, b'here\\n'), done\n"
        "asyncio.run(main())\n"
        "sandbox.close()\n"
        "print('fine')\n"
    )
    assert done.stdout == "fine\n"


def test_a_host_with_its_three_streams_closed(drive, tmp_path) -> None:
    """A daemon may have closed 0, 1 and 2: the pipes then get those numbers."""
    drive(
        "import asyncio, os, sys\n"
        "from toolcrib.core.errors import ToolError\n"
        "from toolcrib.core.process import Command\n"
        "from toolcrib.sandbox.processes import Processes\n"
        "answer = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\n"
        "os.dup2(answer, 100); os.close(answer)\n"
        "os.closerange(0, 3)\n"
        "sandbox = Processes(f'tcclosed{os.getpid()}')\n"
        "def run(*argv):\n"
        "    return asyncio.run(sandbox.exec(Command(argv, '/', 'tcclosed-1', stdin=b'in')))\n"
        "done = run('/bin/sh', '-c', 'cat; echo out; echo err >&2; exit 6')\n"
        "said = [done.code, done.stdout.head, done.stderr.head]\n"
        "try:\n"
        "    said.append(run('/nowhere/at/all').code)\n"
        "except ToolError as exc:\n"
        "    said.append(exc.before_effect)\n"
        "sandbox.close()\n"
        "os.write(100, repr(said).encode())\n",
        str(tmp_path / "answer"),
    )
    assert (tmp_path / "answer").read_text() == repr([6, b"inout\n", b"err\n", True])


def test_whoever_asked_is_told_how_it_ended_also_when_it_was_cancelled(yard, until, tmp_path) -> None:
    ended: list[Completed] = []
    command = yard.command("/bin/sh", "-c", f"echo so far; : > {tmp_path}/up; exec sleep 60")

    async def given_up() -> None:
        task = asyncio.create_task(yard.sandbox.exec(command, ended=ended.append))
        await asyncio.to_thread(until, (tmp_path / "up").exists, "it is up")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(given_up())
    assert [(done.code, done.stdout.head) for done in ended] == [(128 + signal.SIGTERM, b"so far\n")]


def test_a_memory_limit_stops_what_takes_too_much(yard) -> None:
    """K49"""
    program = yard.python("x = bytearray(400 * 1024 * 1024); print('took it')")
    assert yard.run(program).stdout.head == b"took it\n"
    limited = yard.run(program, memory=256 * 1024 * 1024)
    assert limited.code != 0
    assert b"MemoryError" in limited.stderr.head
    assert yard.run(program, memory=2 * 1024**3).stdout.head == b"took it\n"


def test_a_memory_limit_changes_neither_arguments_nor_status(yard) -> None:
    """The launcher's text is constant: nothing of the command becomes shell."""
    words = ("/bin/sh", "-c", 'printf "[%s]" "$0" "$@"; cat; exit 7', "$(touch x)", "a b", "", "-v", "'\"`;&|*")
    done = yard.run(*words, memory=512 * 1024 * 1024, stdin=b"input")
    assert (done.code, done.stdout.head) == (7, b"[$(touch x)][a b][][-v]['\"`;&|*]input")


def test_the_sandbox_says_its_name_and_can_be_closed_unused() -> None:
    sandbox = Processes("tcunused", name="off")
    assert sandbox.name == "off"
    sandbox.close()
    sandbox.close()


def test_closing_ends_the_watcher_and_a_later_call_brings_a_new_one(yard) -> None:
    assert yard.sh("echo 1").stdout.head == b"1\n"
    yard.sandbox.close()
    assert yard.sh("echo 2; echo $TMPDIR >&2; ls -d $TMPDIR").stdout.head.startswith(b"2\n/")


def test_limits_are_plain_data() -> None:
    command = Command(("x",), "/", "m")
    assert (command.limits, command.stdin, dict(command.env), command.artifacts) == (
        Limits(30, 1048576, None),
        b"",
        {},
        None,
    )


def test_what_cannot_be_waited_for_is_not_started(yard, monkeypatch, tmp_path) -> None:
    def short() -> None:
        raise OSError(24, "too many")

    with monkeypatch.context() as patched:
        patched.setattr(poller.select, "epoll", short)
        with pytest.raises(ToolError) as caught:
            yard.sh(f": > {tmp_path}/ran")
    assert (caught.value.code, caught.value.before_effect) == ("RESOURCE_EXHAUSTED", True)
    assert ("too many" in str(caught.value), (tmp_path / "ran").exists()) == (True, False)
    assert yard.sh("echo ran").stdout.head == b"ran\n"


def test_loops_that_are_over_cost_nothing(yard) -> None:
    yard.sh("true")
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(5):
        yard.sh("true")
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_what_was_lent_in_a_loop_that_is_over_is_ended_when_another_begins(yard) -> None:
    async def lent() -> None:
        command = yard.command("/bin/sh", "-c", "while read -r line; do echo $line; done")
        async with yard.sandbox.lend(command, key="key", marks=lambda: f"{yard.id}-lent") as peer:
            peer.send(b"x\n")
            assert await peer.receive() == b"x\n"

    asyncio.run(lent())
    assert len(yard.left()) == 1
    yard.sh("true")
    assert yard.left() == []


def places(yard, *cages: Cage | None) -> list[str]:
    """Where the temporary directories of such programs lie."""
    found = []
    for cage in cages:
        done = yard.run("/bin/sh", "-c", 'echo "$TMPDIR"', cage=cage)
        found.append(os.path.dirname(done.stdout.text().strip()))
    return found


def test_whatever_is_not_confined_has_its_directories_in_one_place(yard) -> None:
    bounded = Cage("process", bounds=Bounds(cpu_seconds=50))
    assert set(places(yard, None, Cage("off"), Cage(), bounded)) == {yard.sandbox.scratch.root}


def test_what_does_not_start_leaves_its_directory_to_the_next(yard) -> None:
    for _ in range(3):
        with pytest.raises(ToolError):
            yard.run("/nowhere/program")
        with pytest.raises(ToolError):
            asyncio.run(begun(yard, "/nowhere/program"))
    assert len(os.listdir(yard.sandbox.scratch.root)) == 1


async def begun(yard, *argv: str) -> None:
    yard.sandbox.begin(yard.command(*argv))


def test_a_directory_that_is_not_empty_is_cleared_for_the_next(yard, until) -> None:
    tmp = yard.sh('mkdir "$TMPDIR/d"; : > "$TMPDIR/d/file"; echo "$TMPDIR"').stdout.text().strip()
    assert yard.sh('ls -A "$TMPDIR"').stdout.head == b""
    until(lambda: not os.path.exists(f"{tmp}/d"), "what was left is gone")


class Looks(Aftermath):
    """Notes what it is asked to look after."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, object]] = []

    def before(self, cage, *, until):
        self.noted.append(("before", cage))
        return Seen("/workspace", (), True)

    def after(self, seen, mark, done, *, until):
        self.noted.append((f"after {mark.rpartition('-')[2]}", seen))


def test_what_a_program_leaves_in_the_workspace_is_looked_after_but_not_what_a_job_does(yard) -> None:
    looks, cage = Looks(), Cage()
    yard.sandbox.close()
    yard.sandbox = Processes(yard.id, aftermath=looks)

    async def story() -> None:
        await yard.sandbox.exec(yard.command("/bin/true", cage=cage)._replace(mark=f"{yard.id}-71"))
        await yard.sandbox.begin(yard.command("/bin/true", cage=cage)._replace(mark=f"{yard.id}-72")).ended()

    asyncio.run(story())
    assert looks.noted == [("before", cage), ("after 71", Seen("/workspace", (), True))]


class LongLooks(Looks):
    """Each takes long, and waits until the loop has gone on meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = threading.Semaphore(0), threading.Semaphore(0)

    def before(self, cage, *, until):
        self._take_long(until)
        return super().before(cage, until=until)

    def after(self, seen, mark, done, *, until):
        self._take_long(until)
        super().after(seen, mark, done, until=until)

    def _take_long(self, until: float) -> None:
        if until < float("inf"):
            raise TakesLong
        self.begun.release()
        assert self.go_on.acquire(timeout=20)


def test_while_much_is_looked_at_other_calls_go_on(yard) -> None:
    looks, cage = LongLooks(), Cage()
    yard.sandbox.close()
    yard.sandbox = Processes(yard.id, aftermath=looks)

    async def story() -> None:
        call = asyncio.ensure_future(yard.exec("/bin/true", cage=cage))
        for _ in ("before", "after"):
            while not looks.begun.acquire(blocking=False):
                await asyncio.sleep(0.001)
            assert (await yard.exec("/bin/echo", "meanwhile")).stdout.head == b"meanwhile\n"
            looks.go_on.release()
        await call

    asyncio.run(story())
    assert [what.split()[0] for what, _ in looks.noted] == ["before", "after"]


def test_what_cannot_be_given_a_directory_leaves_nothing_to_compare_with(yard, monkeypatch) -> None:
    looks, forgotten = Looks(), list[object]()
    monkeypatch.setattr(looks, "forget", forgotten.append, raising=False)
    yard.sandbox.close()
    yard.sandbox = Processes(yard.id, aftermath=looks)

    def full(scratch: object) -> str:
        raise OSError("there is no room")

    monkeypatch.setattr(processes.Scratch, "take", full)
    with pytest.raises(OSError, match="no room"):
        yard.run("/bin/true", cage=Cage())
    assert forgotten == [Seen("/workspace", (), True)]


def test_its_name_is_that_of_its_tier() -> None:
    sandbox = Processes("tcnamed")
    assert (sandbox.name, processes.IDLE_SECONDS) == ("process", 300)
    sandbox.close()


def no_threads(*_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_without_room_for_a_thread_what_a_program_left_is_removed_all_the_same(yard, monkeypatch) -> None:
    monkeypatch.setattr(asyncio.BaseEventLoop, "run_in_executor", no_threads)
    done = yard.sh('mkdir -p "$TMPDIR/a/b"; echo x > "$TMPDIR/a/b/c"; echo ran')
    assert done.stdout.text() == "ran\n"
    assert [
        name for name in os.listdir(yard.sandbox.scratch.root) if os.listdir(f"{yard.sandbox.scratch.root}/{name}")
    ] == []


def test_killed_while_it_closes_it_leaves_no_directory(until, tmp_path) -> None:
    """I7: until all is removed, somebody is there who would remove it."""
    text = """
import asyncio, os, sys
from toolcrib.core.process import Command
from toolcrib.sandbox import processes, scratch
sandbox = processes.Processes("closing")
asyncio.run(sandbox.exec(Command(("/bin/true",), "/", "mark")))
scratch.remove_tree = lambda path: os.kill(os.getpid(), 9)
sandbox.close()
"""
    done = subprocess.run([sys.executable, "-c", text], env={**os.environ, "TMPDIR": str(tmp_path)}, timeout=60)
    assert done.returncode == -signal.SIGKILL
    until(lambda: not list(tmp_path.iterdir()), "its directory is gone")
