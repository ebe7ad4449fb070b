"""Finding what carries a mark, and nothing else."""

import os
import signal
import subprocess
import sys

import pytest

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
