"""What a killed caller leaves behind: nothing."""

import asyncio
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from toolcrib.core.context import new_id
from toolcrib.core.errors import ToolError
from toolcrib.sandbox import watcher as module
from toolcrib.sandbox.watcher import Watcher

CALLER = """
import asyncio, os, sys
from toolcrib.core.process import Command
from toolcrib.sandbox.processes import Processes
mark, program, many = sys.argv[1], sys.argv[2], int(sys.argv[3])
sandbox = Processes(mark)
count = iter(range(1, 1000000))
async def one():
    while True:
        ident = f'{mark}-{next(count)}'
        env = {'TOOLCRIB_CALL_ID': ident, 'PATH': os.environ['PATH']}
        await sandbox.exec(Command(('/bin/sh', program), '/', ident, env))
        os.write(1, b'.')
async def main():
    await asyncio.gather(*(one() for _ in range(many)))
os.write(1, b'!')
asyncio.run(main())
"""
ENDLESS = """
: > "$TMPDIR/file"; mkdir "$TMPDIR/locked"; : > "$TMPDIR/locked/file"; chmod 0 "$TMPDIR/locked"
setsid sh -c 'trap "" TERM; while :; do sleep 60; done' &
setsid sh -c 'trap "" TERM; while :; do sleep 60; done' </dev/null >/dev/null 2>&1 &
echo up >> READY
sleep 60
"""
SHORT = 'setsid sleep 30 </dev/null >/dev/null 2>&1 & : > "$TMPDIR/file"'


@pytest.fixture
def caller(tmp_path):
    """Starts a process that calls programs in a sandbox."""
    started = []

    def start(text: str, many: int = 1, **about):
        mark = new_id()
        program = tmp_path / f"{mark}.sh"
        program.write_text(text.replace("READY", str(tmp_path / mark)))
        process = subprocess.Popen(
            [sys.executable, "-c", CALLER, mark, program, str(many)],
            stdout=subprocess.PIPE,
            start_new_session=True,
            **about,
        )
        started.append(process)
        return process, mark

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def scratch_of(mark: str) -> str:
    return os.path.join(tempfile.gettempdir(), f"toolcrib-{mark}")


def test_a_killed_caller_leaves_no_process_and_no_directory(caller, until, carriers, tmp_path) -> None:
    process, mark = caller(ENDLESS, 3)
    ready = tmp_path / mark
    until(lambda: ready.exists() and ready.read_text().count("up") == 3, "three programs are up")
    assert len(carriers(mark)) >= 9
    assert os.path.isdir(scratch_of(mark))
    process.kill()
    until(lambda: carriers(mark) == [], "every process is gone", seconds=5)
    until(lambda: not os.path.exists(scratch_of(mark)), "the scratch directory is gone", seconds=5)


def test_killing_the_caller_s_whole_process_group_is_no_escape(caller, until, carriers, tmp_path) -> None:
    process, mark = caller(ENDLESS)
    until((tmp_path / mark).exists, "the program is up")
    os.killpg(process.pid, signal.SIGKILL)
    until(lambda: carriers(mark) == [] and not os.path.exists(scratch_of(mark)), "nothing is left", seconds=5)


@pytest.mark.parametrize("seed", range(20))
def test_killed_at_a_random_moment(caller, until, carriers, seed) -> None:
    """Starts, ends and sweeps are under way all the time."""
    process, mark = caller(SHORT, 4)
    random_ = random.Random(seed)
    for _ in range(random_.randrange(1, 30)):
        assert os.read(process.stdout.fileno(), 1)
    select.select([], [], [], random_.random() * 0.01)  # somewhere between two starts
    process.kill()
    until(lambda: carriers(mark + "-") == [], "every process is gone", seconds=5)
    until(lambda: not os.path.exists(scratch_of(mark)), "the scratch directory is gone", seconds=5)


def test_the_watcher_does_not_hold_the_caller_s_output(caller, carriers, until) -> None:
    """Who reads a killed caller's output comes to its end, although the watcher may still be at work."""
    process, mark = caller(SHORT)
    assert os.read(process.stdout.fileno(), 1) == b"!"
    assert os.read(process.stdout.fileno(), 1) == b"."
    process.kill()
    while select.select([process.stdout], [], [], 5)[0]:
        if not os.read(process.stdout.fileno(), 100):
            break
    else:
        raise AssertionError("somebody holds the caller's output")
    until(lambda: carriers(mark) == [], "every process is gone", seconds=5)


def children() -> set[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return {int(pid) for pid in file.read().split()}


def test_the_watcher_ends_with_a_word_and_touches_nothing(yard, until) -> None:
    before = children()
    assert yard.sh("true").code == 0
    (watcher,) = children() - before
    place = Path(f"/proc/{watcher}")
    words = [b"toolcrib-watcher", yard.id.encode(), yard.sandbox.scratch.root.encode()]
    until(lambda: (place / "cmdline").read_bytes().split(b"\0")[3:6] == words, "it is the shell it should be")
    quiet = (["0", "1", "2"], ["0", "1", "10", "2"])  # a shell that has just been started reads its libraries
    until(lambda: sorted(os.listdir(place / "fd")) in quiet, "it holds its three descriptors and no others")
    assert os.getsid(watcher) == watcher
    with open(f"/proc/{watcher}/environ", "rb") as file:
        assert yard.id.encode() not in file.read()
    bystander = subprocess.Popen(["/bin/sleep", "30"], env={"TOOLCRIB_CALL_ID": f"{yard.id}-99"})
    yard.sandbox.close()
    assert not os.path.exists(f"/proc/{watcher}")
    assert bystander.poll() is None  # a caller that says goodbye has ended its own; the watcher ends nobody
    bystander.kill()
    bystander.wait()


def test_one_watcher_serves_a_thousand_calls(yard) -> None:
    before = children()
    for _ in range(5):
        yard.sh("true")
    assert len(children() - before) == 1


def test_a_watcher_that_was_killed_does_not_disturb_calls_or_closing(yard, until) -> None:
    before = children()
    yard.sh("true")
    (watcher,) = children() - before
    os.kill(watcher, signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{watcher}/exe"), "it is dead")
    assert yard.sh("echo still").stdout.head == b"still\n"
    yard.sandbox.close()
    assert children() == before


def test_other_runtimes_are_left_alone(caller, until, carriers, tmp_path) -> None:
    one, mark = caller(ENDLESS)
    _, other = caller(ENDLESS)
    until(lambda: (tmp_path / mark).exists() and (tmp_path / other).exists(), "both are up")
    alive = carriers(other)
    one.kill()
    until(lambda: carriers(mark) == [], "the one is gone", seconds=5)
    assert set(alive) <= set(carriers(other))


NESTED = """
import asyncio, os, sys
from toolcrib.core.process import Command
from toolcrib.backends.process import callers
from toolcrib.sandbox.processes import Processes
from toolcrib.core.context import new_id
from toolcrib.core.errors import ToolError
from toolcrib.sandbox import watcher as module
from toolcrib.sandbox.watcher import Watcher
mark = new_id()
sandbox = Processes(mark)
async def main():
    env = {'TOOLCRIB_CALL_ID': mark + '-1', 'PATH': os.environ['PATH']} | callers(os.environ)
    text = 'setsid sh -c "trap : TERM; while :; do sleep 30; done" & echo inner; echo up > %s; sleep 60' % sys.argv[1]
    await sandbox.exec(Command(('/bin/sh', '-c', text), '/', mark + '-1', env))
asyncio.run(main())
"""


def test_a_tool_that_runs_toolcrib_is_ended_with_what_that_started(yard, until, carriers, tmp_path) -> None:
    """The inner calls carry the outer call's mark too, and the inner watcher cleans after the inner runtime."""
    program = yard.python(NESTED)
    up = tmp_path / "up"

    async def given_up() -> None:
        task = asyncio.create_task(yard.exec(program, str(up)))
        await asyncio.to_thread(until, up.exists, "the innermost program is up")
        assert len(carriers(yard.id)) >= 3
        task.cancel()
        await asyncio.wait((task,))

    asyncio.run(given_up())
    until(lambda: carriers(yard.id) == [], "nothing of either is left", seconds=5)
    root = yard.sandbox.scratch.root  # an empty directory may be kept there for the next call
    until(lambda: not any(os.listdir(f"{root}/{name}") for name in os.listdir(root)), "no file is left", seconds=5)


def test_killing_the_outermost_of_nested_callers_ends_all(caller, until, carriers, tmp_path) -> None:
    inner = tmp_path / "inner.py"
    inner.write_text(NESTED)
    process, mark = caller(f"exec {sys.executable} {inner} READY")
    until((tmp_path / mark).exists, "the innermost program is up")
    process.kill()
    until(lambda: carriers(mark) == [] and not os.path.exists(scratch_of(mark)), "nothing is left", seconds=5)


PLAIN_USER = """
import asyncio, os, sys
from toolcrib.core.process import Command
from toolcrib.sandbox.processes import Processes
mark = sys.argv[1]
os.chdir('/')
if os.getuid() == 0: os.setgid(65534); os.setuid(65534)
env = {'TOOLCRIB_CALL_ID': mark + '-1', 'PATH': '/usr/bin:/bin'}
text = 'mkdir $TMPDIR/a; : > $TMPDIR/a/b; chmod 0 $TMPDIR/a; setsid sleep 60 & echo up; sleep 60'
asyncio.run(Processes(mark).exec(Command(('/bin/sh', '-c', text), '/', mark + '-1', env)))
"""


def test_a_plain_user_s_watcher_works_too(until, carriers) -> None:
    """It may not look into the processes of others, and rights count for what it removes."""
    mark = new_id()
    process = subprocess.Popen([sys.executable, "-c", PLAIN_USER, mark])
    until(lambda: len(carriers(mark)) >= 3, "the programs are up")
    process.kill()
    process.wait()
    until(lambda: carriers(mark) == [] and not os.path.exists(scratch_of(mark)), "nothing is left", seconds=5)


# By itself


@pytest.fixture
def watching(tmp_path):
    """A watcher of a mark that nobody carries, and what it would remove."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = children()
    made = Watcher(f"tcwatch{os.getpid()}", str(scratch))
    yield made
    made.close()
    assert (children(), scratch.exists()) == (before, True)


def descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))


def test_it_is_started_once_and_holds_one_descriptor(watching) -> None:
    processes, before = children(), descriptors()
    watching.ensure()
    watching.ensure()
    assert (len(children() - processes), len(descriptors())) == (1, len(before) + 1)
    watching.close()
    watching.close()
    assert (children(), descriptors()) == (processes, before)


def test_one_that_was_killed_is_replaced_and_costs_nothing(watching, until) -> None:
    processes = children()
    watching.ensure()
    held = descriptors()
    (first,) = children() - processes
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    watching.ensure()
    (second,) = children() - processes
    assert (second != first, len(descriptors())) == (True, len(held))


def test_closed_it_can_be_started_again(watching) -> None:
    processes = children()
    watching.ensure()
    (first,) = children() - processes
    watching.close()
    watching.ensure()
    (second,) = children() - processes
    assert second != first


def test_one_that_was_killed_can_be_closed(watching) -> None:
    processes, before = children(), descriptors()
    watching.ensure()
    (pid,) = children() - processes
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    watching.close()
    assert (children(), descriptors()) == (processes, before)


def test_a_host_that_collects_all_children_itself_keeps_it(watching) -> None:
    """Then nobody can tell whether it lives, and it is not started again with each call."""
    processes = children()
    watching.ensure()
    (pid,) = children() - processes
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    watching.ensure()
    assert children() == processes
    watching.close()


@pytest.mark.parametrize("fails", ["pipe", "open"])
def test_where_nothing_is_left_to_start_it_with_that_is_said_and_nothing_is_lost(watching, monkeypatch, fails) -> None:
    def short(*about: object) -> int:
        raise OSError(24, "too many")

    before = descriptors()
    with monkeypatch.context() as patched:
        patched.setattr(module.os, fails, short)
        with pytest.raises(ToolError) as caught:
            watching.ensure()
    assert (caught.value.code, caught.value.before_effect) == ("RESOURCE_EXHAUSTED", True)
    assert "too many" in str(caught.value)
    assert descriptors() == before
    watching.ensure()


def test_what_it_needs_is_in_its_arguments_and_its_environment_is_short(watching, tmp_path, until) -> None:
    processes = children()
    watching.ensure()
    (pid,) = children() - processes
    until(lambda: b"toolcrib-watcher" in Path(f"/proc/{pid}/cmdline").read_bytes(), "it is the shell")
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert os.getsid(pid) == pid
    assert Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")[0] == b"PATH=/usr/bin:/bin"
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    assert words[3:] == [b"toolcrib-watcher", f"tcwatch{os.getpid()}".encode(), str(tmp_path / "scratch").encode(), b""]
    assert [os.readlink(f"/proc/{pid}/fd/{number}") for number in (1, 2)] == ["/dev/null"] * 2
