"""Finding what carries a mark, and nothing else."""

import os
import signal
import subprocess
import sys

import pytest

from toolcrib.sandbox import sweep
from toolcrib.sandbox.sweep import end_marked, newest_pid, signal_marked


@pytest.fixture
def sleeper():
    """Starts a process with this environment, in a session of its own."""
    started = []

    def start(**env: str) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(["/bin/sleep", "30"], env=env, start_new_session=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_only_the_marked_are_ended(sleeper) -> None:
    mark = f"tcsweep{os.getpid()}"
    marked = sleeper(TOOLCRIB_CALL_ID=f"{mark}-1")
    nested = sleeper(TOOLCRIB_CALL_ID="tcother-5", TOOLCRIB_CALLERS=f"{mark}-1,tcother-4")
    longer = sleeper(TOOLCRIB_CALL_ID=f"{mark}-11")
    other = sleeper(HOME="/")
    assert end_marked(f"{mark}-1") >= 2
    assert (marked.wait(5), nested.wait(5)) == (-signal.SIGKILL, -signal.SIGKILL)
    assert (longer.poll(), other.poll()) == (None, None)  # call 11 is not call 1


def test_a_short_run_is_searched_among_the_newer_only(sleeper) -> None:
    mark = f"tcshort{os.getpid()}-1"
    older = sleeper(TOOLCRIB_CALL_ID=mark)
    newer = sleeper(TOOLCRIB_CALL_ID=mark)
    assert newer.pid <= newest_pid() or newest_pid() < older.pid
    end_marked(mark, first=older.pid, seconds=0.01)
    assert newer.wait(5) == -signal.SIGKILL
    assert end_marked(mark, first=newer.pid, seconds=9) > 0  # a longer one is searched among all
    assert older.wait(5) == -signal.SIGKILL


def test_a_signal_reaches_all_that_are_marked(sleeper) -> None:
    mark = f"tcsignal{os.getpid()}-1"
    both = [sleeper(TOOLCRIB_CALL_ID=mark) for _ in range(2)]
    assert signal_marked(mark, signal.SIGTERM) == 2
    assert [process.wait(5) for process in both] == [-signal.SIGTERM] * 2
    assert signal_marked(mark, signal.SIGTERM) == 0


def test_the_searcher_itself_is_never_ended() -> None:
    """Not even when the caller runs under a mark of its own, as in a tool that runs us."""
    mark = f"tcself{os.getpid()}-1"
    text = "import os; from toolcrib.sandbox.sweep import end_marked; end_marked(os.environ['TOOLCRIB_CALL_ID'])"
    done = subprocess.run([sys.executable, "-c", text], env={**os.environ, "TOOLCRIB_CALL_ID": mark})
    assert done.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_one_that_keeps_changing_its_program_is_found(tmp_path) -> None:
    """In the middle of an exec a process has no environment to read; it is looked at again."""
    script = tmp_path / "again"
    script.write_text('#!/bin/sh\nexec "$0"\n')
    script.chmod(0o755)
    for number in range(30):
        mark = f"tcexec{os.getpid()}-{number}"
        process = subprocess.Popen([script], env={"TOOLCRIB_CALL_ID": mark}, start_new_session=True)
        try:
            assert signal_marked(mark, signal.SIGKILL) == 1
            assert process.wait(5) == -signal.SIGKILL
        finally:
            process.kill()
            process.wait()


def test_a_mark_behind_a_large_environment_is_found(sleeper) -> None:
    mark = f"tclarge{os.getpid()}-1"
    marked = sleeper(A="x" * 70_000, B="y" * 70_000, TOOLCRIB_CALL_ID=mark)
    assert signal_marked(mark, signal.SIGTERM) == 1
    assert marked.wait(5) == -signal.SIGTERM


def test_an_environment_as_long_as_one_look_is_read_on(sleeper, monkeypatch) -> None:
    mark = f"tcexact{os.getpid()}-1"
    marked = sleeper(A="x" * 61, TOOLCRIB_CALL_ID=mark)
    monkeypatch.setattr(sweep, "_READ", 64)  # the first look ends where the first variable does
    assert signal_marked(mark, signal.SIGTERM) == 1
    assert marked.wait(5) == -signal.SIGTERM


def test_nobody_without_the_mark_is_signalled(sleeper) -> None:
    other = sleeper(TOOLCRIB_CALL_ID=f"tcnobody{os.getpid()}-1")
    empty = sleeper()
    assert signal_marked(f"tcnobody{os.getpid()}-2", signal.SIGTERM) == 0
    assert end_marked(f"tcnobody{os.getpid()}-2") == 0
    assert (other.poll(), empty.poll()) == (None, None)


def test_how_many_were_ended_is_told(sleeper) -> None:
    mark = f"tccount{os.getpid()}-1"
    three = [sleeper(TOOLCRIB_CALL_ID=mark) for _ in range(3)]
    assert end_marked(mark) >= 3  # one may be met twice while it dies
    assert [process.wait(5) for process in three] == [-signal.SIGKILL] * 3


def test_after_a_short_run_without_any_newer_process_nobody_is_looked_at(sleeper, monkeypatch) -> None:
    mark = f"tcnone{os.getpid()}-1"
    marked = sleeper(TOOLCRIB_CALL_ID=mark)
    monkeypatch.setattr(sweep, "newest_pid", lambda: marked.pid)
    assert end_marked(mark, first=marked.pid, seconds=0.01) == 0
    assert marked.poll() is None
    assert end_marked(mark, first=marked.pid, seconds=sweep.TRUSTED_RANGE_SECONDS) >= 1  # pids may have come around
    assert marked.wait(5) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("first", "newest", "searched"),
    [
        pytest.param(0, 0, True, id="one that is the first to be given out"),
        pytest.param(0, 1999, True, id="a long run of numbers"),
        pytest.param(0, 2000, False, id="too long a run"),
        pytest.param(0, -1, False, id="numbers that came around"),
    ],
)
def test_only_a_near_run_of_numbers_is_searched_by_number(sleeper, monkeypatch, first, newest, searched) -> None:
    """`first` and `newest` are from the pid of one that is marked and must not be met in a short search."""
    mark = f"tcnear{os.getpid()}-1"
    marked = sleeper(TOOLCRIB_CALL_ID=mark)
    monkeypatch.setattr(sweep, "newest_pid", lambda: marked.pid + newest)
    reached = signal_marked(mark, signal.SIGTERM, first=marked.pid + first, seconds=0.1)
    assert reached == (0 if searched else 1)


@pytest.mark.parametrize(("newest", "reached"), [(0, 1), (-1, 0)])
def test_the_newest_itself_is_searched_and_nothing_beyond(sleeper, monkeypatch, newest, reached) -> None:
    mark = f"tcedge{os.getpid()}-1"
    marked = sleeper(TOOLCRIB_CALL_ID=mark)
    monkeypatch.setattr(sweep, "newest_pid", lambda: marked.pid + newest)
    assert signal_marked(mark, signal.SIGTERM, first=marked.pid - 2, seconds=0.1) == reached


def test_so_long_as_others_are_born_the_search_goes_on(sleeper, monkeypatch) -> None:
    """Each look finds nothing, and a newer process than the last."""
    mark = f"tcborn{os.getpid()}-1"
    numbers = iter(range(10**6))
    looks: list[int] = []

    def born() -> int:
        return 10**7 + next(numbers)

    def looked(mark: str, number: int, *, first: int, seconds: float) -> int:
        looks.append(first)
        return 0

    monkeypatch.setattr(sweep, "newest_pid", born)
    monkeypatch.setattr(sweep, "signal_marked", looked)
    assert end_marked(mark) == 0
    assert looks[0] == 0 and looks[1:] == sorted(looks[1:]) and min(looks[1:]) >= 10**7
    assert 5 < len(looks) < 20


def test_what_never_stops_coming_back_is_given_up(monkeypatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(sweep.time, "sleep", pauses.append)
    monkeypatch.setattr(sweep, "signal_marked", lambda *about, **more: 1)
    assert 100 <= end_marked("tcnever-1") <= 1000
    assert 0 < sum(pauses) < 1


def test_elsewhere_than_on_linux_nobody_is_found(sleeper, monkeypatch) -> None:
    mark = f"tcelse{os.getpid()}-1"
    marked = sleeper(TOOLCRIB_CALL_ID=mark)
    monkeypatch.setattr(sweep, "LINUX", False)
    assert (signal_marked(mark, signal.SIGTERM), end_marked(mark)) == (0, 0)
    assert marked.poll() is None


def test_the_newest_number_is_that_of_the_last_process(sleeper) -> None:
    assert 0 < sleeper().pid <= newest_pid() or newest_pid() < os.getpid()


def test_where_the_system_does_not_say_there_is_no_newest(monkeypatch) -> None:
    def closed(fd: int, size: int, at: int) -> bytes:
        raise OSError("not here")

    monkeypatch.setattr(os, "pread", closed)
    assert newest_pid() == 0


def test_one_that_shows_no_environment_is_not_waited_for(monkeypatch) -> None:
    """A zombie never will."""
    zombie = subprocess.Popen(["/bin/true"], env={})
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    monkeypatch.setattr(sweep, "newest_pid", lambda: zombie.pid)  # it alone is looked at
    monkeypatch.setattr(sweep.time, "sleep", lambda seconds: pytest.fail("it waits"))
    try:
        assert signal_marked(f"tcbare{os.getpid()}-1", signal.SIGTERM, first=zombie.pid - 1, seconds=0.1) == 0
    finally:
        zombie.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_dead_are_not_waited_for_and_the_living_not_for_ever() -> None:
    dead, alive = (subprocess.Popen(["/bin/sleep", "600"]) for _ in range(2))
    try:
        dead.kill()  # nobody asks what became of it
        assert sweep.have_died([dead.pid, 1 << 30])
        assert not sweep.have_died([dead.pid, alive.pid])
    finally:
        alive.kill()
        for each in (dead, alive):
            each.wait()
