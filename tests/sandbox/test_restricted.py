"""Threads that gave up rights: one does what it is asked, many are kept, and what a program left is ended."""

import _thread
import errno
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.sandbox import _landlock, _restricted, landlock, seccomp
from toolcrib.sandbox._restricted import Restricted, Starters
from toolcrib.sandbox.spawn import Start, start

NOT_HERE = landlock.canary() if sys.platform == "linux" else "it is a part of Linux"
pytestmark = pytest.mark.skipif(NOT_HERE != "", reason=f"no Landlock here: {NOT_HERE}")
scoping = pytest.mark.skipif(
    NOT_HERE != "" or not _landlock.keeps_signals(), reason="this Landlock does not hold signals back"
)


def restricted() -> Restricted:
    """A thread that can reach the programs of the system, and nothing else."""
    rules = [(path, _landlock.READING, True) for path in ("/usr", "/bin", "/lib", "/lib64")]
    ruleset = _landlock.make_ruleset(rules, network=False)
    try:
        return Restricted(ruleset, lambda thread: seccomp.program(network=False, contained=False))
    finally:
        os.close(ruleset)


@pytest.fixture(autouse=True)
def threads(until: Callable[..., None]) -> Iterator[Callable[[], int]]:
    """How many threads there are that a test made, none of which stays. Those of others may end meanwhile."""
    others = set(os.listdir("/proc/self/task"))

    def count() -> int:
        return len(set(os.listdir("/proc/self/task")) - others)

    yield count
    until(lambda: count() == 0, "every thread ended")


@pytest.fixture
def thread() -> Iterator[Restricted]:
    made = restricted()
    yield made
    made.end()


@pytest.fixture
def starters() -> Iterator[Starters]:
    made = Starters()
    yield made
    made.end(lambda key: True)


def sleeping() -> int:
    """A program in a session of its own that sleeps for long; its pid."""
    return start(Start(("/bin/sleep", "1000"), "/", {}, streams=(0, 1, 2)))


# One thread


def test_it_does_one_thing_after_another_and_says_what_came_of_each(thread) -> None:
    def fail() -> None:
        raise LookupError("no")

    where = thread.do(threading.get_native_id)
    with pytest.raises(LookupError, match="no"):
        thread.do(fail, lambda _: pytest.fail("there is nothing to undo"))
    assert thread.do(threading.get_native_id) == where != threading.get_native_id()
    assert thread.do(lambda: None) is None


def test_it_alone_is_restricted(thread, tmp_path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PermissionError):
        thread.do(lambda: os.listdir(tmp_path))
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("collecting", [True, False])
def test_whether_garbage_is_collected_is_as_it_was(thread, collecting) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        assert thread.do(gc.isenabled) is False
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if before else gc.disable)()


def test_without_room_for_a_thread_it_is_said(monkeypatch) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", full)
    with pytest.raises(ToolError, match="can't start new thread") as failure:
        Restricted(-1, lambda thread: b"")
    assert (failure.value.code, failure.value.before_effect) == ("RESOURCE_EXHAUSTED", True)


def test_one_that_could_not_be_restricted_is_ended() -> None:
    """That it is gone is seen to after every test."""
    with pytest.raises(OSError, match="landlock_restrict_self") as failure:
        Restricted(-1, lambda thread: b"")
    assert failure.value.errno == errno.EBADF


AT_THE_END = """
import os, sys
from toolcrib.sandbox import _landlock, seccomp
from toolcrib.sandbox._restricted import Restricted
sys.setswitchinterval(100)
ruleset = _landlock.make_ruleset([(sys.argv[1], _landlock.READING, False)], network=False)
thread = Restricted(ruleset, lambda thread: seccomp.program(network=False, contained=False))
thread.do(lambda: 1)
thread.end()
"""


def test_one_that_can_read_nothing_ends_with_the_interpreter_in_peace(tmp_path) -> None:
    """It is asked to end, and has not yet when the interpreter is done."""
    argv = [sys.executable, "-c", AT_THE_END, str(tmp_path)]
    done = [subprocess.run(argv, capture_output=True, text=True) for _ in range(20)]
    assert {(each.returncode, each.stderr) for each in done} == {(0, "")}


# Many


class Made:
    """Prepares threads, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> Restricted:
        self.count += 1
        return restricted()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which passes when a test says so."""
    now = [1000.0]
    monkeypatch.setattr(_restricted.time, "monotonic", lambda: now[0])
    return now


def test_programs_with_the_same_rights_are_started_by_the_same_thread(starters) -> None:
    made = Made()
    keys = ("a", "b", "a", "b", "a")
    where = [starters.start((key,), made, threading.get_native_id, held=False) for key in keys]
    assert (made.count, len(set(where)), where[0] == where[2] == where[4], where[1] == where[3]) == (2, 2, True, True)


def test_one_that_was_not_used_for_long_is_ended(threads, starters, clock, until) -> None:
    made = Made()
    for key, at in (("a", 0), ("b", 50), ("c", 60)):
        clock[0] = 1000.0 + at
        starters.start((key,), made, lambda: 1, held=False)
    assert threads() == 3, "one was ended too early"
    clock[0] = 1000.0 + 111
    starters.start(("c",), made, lambda: 1, held=False)
    until(lambda: threads() == 1, "two of them ended")
    starters.start(("c",), made, lambda: 1, held=False)
    assert made.count == 3
    starters.start(("a",), made, lambda: 1, held=False)
    assert made.count == 4


def test_of_many_the_one_that_was_used_longest_ago_is_ended(threads, starters, until) -> None:
    made = Made()
    for number in range(32):
        starters.start((number,), made, lambda: 1, held=False)
    starters.start((0,), made, lambda: 1, held=False)
    assert (made.count, threads()) == (32, 32)
    starters.start((32,), made, lambda: 1, held=False)
    until(lambda: threads() == 32, "one of them ended")
    starters.start((0,), made, lambda: 1, held=False)
    assert made.count == 33
    starters.start((1,), made, lambda: 1, held=False)
    assert made.count == 34


def test_those_that_are_named_are_ended_and_no_others(threads, starters, until) -> None:
    made = Made()
    for name in ("a", "b", "c"):
        starters.start((name,), made, lambda: 1, held=False)
    starters.end(lambda key: key == ("b",))
    until(lambda: threads() == 2, "one of them ended")
    for name in ("a", "c"):
        starters.start((name,), made, lambda: 1, held=False)
    assert made.count == 3
    starters.start(("b",), made, lambda: 1, held=False)
    assert made.count == 4


def test_one_whose_program_runs_stays_until_that_is_over(threads, starters, until) -> None:
    first, second = (starters.start(("a",), restricted, sleeping, held=True) for _ in range(2))
    starters.end(lambda key: True)
    starters.over(-1, alone=True)
    for pid in (first, second):
        assert threads() == 1
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        starters.over(pid, alone=True)
    until(lambda: threads() == 0, "it ended")
    starters.over(second, alone=True)


def test_a_thread_is_kept_when_a_program_is_over(threads, starters) -> None:
    made = Made()
    for _ in range(2):
        pid = starters.start(("a",), made, sleeping, held=True)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        starters.over(pid, alone=True)
    assert (threads(), made.count) == (1, 1)


def runs(pid: int) -> bool:
    """Whether it does; one that nobody waits for does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rsplit(b") ", 1)[1][:1] not in (b"Z", b"X")
    except OSError:
        return False


@scoping
def test_what_a_program_left_is_ended_with_it_and_nothing_else(starters, until) -> None:
    reads, writes = os.pipe()
    text = 'trap "" HUP TERM; /bin/sleep 1000 & echo "$!"'
    about = Start(("/bin/sh", "-c", text), "/", {}, streams=(0, writes, 2))
    bystander = sleeping()
    try:
        with os.fdopen(reads) as said:
            pid = starters.start(("a",), restricted, lambda: start(about), held=True)
            os.waitpid(pid, 0)
            left = int(said.readline())
            starters.over(pid, alone=False)
        until(lambda: not runs(left), "what it left ended")
        assert runs(bystander)
    finally:
        os.close(writes)
        os.kill(bystander, signal.SIGKILL)
        os.waitpid(bystander, 0)


@scoping
def test_what_another_program_of_the_same_thread_does_is_not_ended(starters) -> None:
    first, second = (starters.start(("a",), restricted, sleeping, held=True) for _ in range(2))
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    starters.over(first, alone=False)
    assert os.waitpid(second, os.WNOHANG) == (0, 0)
    starters.over(second, alone=False)
    assert os.waitpid(second, 0) == (second, signal.SIGKILL)


@scoping
def test_who_can_reach_others_does_not_end_all(thread) -> None:
    """It would be every process of this user."""
    assert (_restricted._scoped(), thread.do(_restricted._scoped)) == (False, True)


def test_an_older_landlock_holds_no_signals_back(thread, monkeypatch) -> None:
    monkeypatch.setattr(_landlock, "version", lambda: 5)
    assert thread.do(_restricted._scoped) is False


class Interrupted(BaseException):
    pass


def test_a_program_whose_start_was_interrupted_is_gone(starters) -> None:
    handled, begun, pids = threading.Event(), threading.Event(), []

    def interrupt(*_: object) -> None:
        if not handled.is_set():
            handled.set()
            raise Interrupted

    def begin() -> int:
        pids.append(sleeping())
        begun.set()
        assert handled.wait(30)
        return pids[0]

    def send() -> None:
        assert begun.wait(30)
        while not handled.wait(0.01):
            signal.pthread_kill(main, signal.SIGUSR1)

    main, before = threading.get_ident(), signal.signal(signal.SIGUSR1, interrupt)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(Interrupted):
            starters.start(("a",), restricted, begin, held=True)
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, before)
    assert not runs(pids[0])
    with pytest.raises(ChildProcessError):
        os.waitpid(pids[0], 0)
