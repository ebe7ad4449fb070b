"""What bubblewrap says of a program, and how all inside is ended. Here plain processes stand in for both."""

import asyncio
import errno
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from toolcrib.core.process import Captured
from toolcrib.sandbox.contained import Contained
from toolcrib.sandbox.poller import Poller

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no bubblewrap but on Linux")

PROGRAM, CWD = "/bin/program", "/work/place"


class Stand:
    """A contained program: the outer process, the first inside, and where bubblewrap would tell of it."""

    def __init__(self, poller: Poller) -> None:
        status, self.telling = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.status = status
        self.outer, self.first = self._sleeper(), self._sleeper()
        self.contained = Contained(self.outer.pid, poller, status=status, program=PROGRAM, cwd=CWD)

    def _sleeper(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(["/bin/sleep", "30"], start_new_session=True)

    def tell(self, *, namespace: int | None = None) -> None:
        """What bubblewrap says when the first process is there."""
        own = re.findall(r"\d+", os.readlink(f"/proc/{os.getpid()}/ns/pid"))[0]
        about = {"child-pid": self.first.pid, "net-namespace": 1, "pid-namespace": namespace or int(own)}
        os.write(self.telling, json.dumps(about).encode() + b"\n")

    def close(self) -> None:
        for process in (self.outer, self.first):
            process.kill()
            process.wait()
        os.close(self.telling)


@pytest.fixture
def stand() -> Iterator[Stand]:
    with asyncio.Runner() as runner:
        poller = Poller(runner.get_loop())
        made = Stand(poller)
        yield made
        made.close()
        poller.close()


def test_a_signal_goes_to_the_first_inside_and_not_to_bubblewrap(stand) -> None:
    stand.tell()
    stand.contained.signal(signal.SIGTERM)
    assert (stand.first.wait(5), stand.outer.poll()) == (-signal.SIGTERM, None)
    stand.contained.signal(signal.SIGTERM)  # nobody is there any more
    assert stand.outer.poll() is None


def test_a_signal_before_anything_is_inside_reaches_nobody(stand) -> None:
    stand.contained.signal(signal.SIGTERM)
    assert (stand.first.poll(), stand.outer.poll()) == (None, None)


def test_a_number_that_means_another_process_by_now_is_left_alone(stand) -> None:
    """It is in another namespace than bubblewrap said."""
    stand.tell(namespace=1)
    stand.contained.signal(signal.SIGTERM)
    stand.contained.signal(signal.SIGKILL)
    assert (stand.first.poll(), stand.outer.wait(5)) == (None, -signal.SIGKILL)


def test_killed_the_inside_is_gone_at_once_and_so_is_bubblewrap(stand) -> None:
    stand.tell()
    stand.contained.signal(signal.SIGKILL)
    assert stand.first.poll() == -signal.SIGKILL  # not: soon
    assert stand.outer.wait(5) == -signal.SIGKILL


def test_killed_before_anything_is_inside(stand) -> None:
    stand.contained.signal(signal.SIGKILL)
    assert (stand.first.poll(), stand.outer.wait(5)) == (None, -signal.SIGKILL)


@pytest.mark.parametrize("number", [errno.ESRCH, errno.EMFILE])
def test_killed_when_it_is_gone_already_or_no_descriptor_is_left(stand, monkeypatch, number) -> None:
    def fails(pid: int, flags: int = 0) -> int:
        raise OSError(number, os.strerror(number))

    stand.tell()
    monkeypatch.setattr(os, "pidfd_open", fails)
    stand.contained.signal(signal.SIGKILL)
    assert stand.outer.wait(5) == -signal.SIGKILL
    if number == errno.EMFILE:
        assert stand.first.wait(5) == -signal.SIGKILL
    else:
        assert stand.first.poll() is None


def test_killing_holds_no_descriptor(stand) -> None:
    stand.tell()
    before = os.listdir("/proc/self/fd")
    stand.contained.signal(signal.SIGKILL)
    assert os.listdir("/proc/self/fd") == before


def test_what_ends_while_it_is_being_killed_is_no_error(stand, monkeypatch) -> None:
    def gone(fd: int, number: int) -> None:
        raise ProcessLookupError

    stand.tell()
    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(signal, "pidfd_send_signal", gone)
    stand.contained.signal(signal.SIGKILL)
    assert (stand.outer.wait(5), os.listdir("/proc/self/fd")) == (-signal.SIGKILL, before)


def test_collected_its_status_is_known_and_nothing_is_held(stand) -> None:
    stand.outer.terminate()
    before = len(os.listdir("/proc/self/fd"))
    assert stand.contained.collect() == 128 + signal.SIGTERM
    stand.outer.returncode = -signal.SIGTERM  # it was collected behind that object's back
    assert len(os.listdir("/proc/self/fd")) == before - 1
    stand.contained.collect()
    assert len(os.listdir("/proc/self/fd")) == before - 1


def failure(stand: Stand, code: int, errors: str, *, told: bytes = b"") -> Any:
    """What is said of one that ended so: code, whether nothing happened, and the words."""
    os.write(stand.telling, told)
    stand.outer.kill()
    stand.contained.collect()
    stand.outer.returncode = -signal.SIGKILL
    exc = stand.contained.failure(code, Captured(errors.encode(), total=len(errors)))
    return exc and (exc.code, exc.before_effect, str(exc))


NOT_THERE = "bwrap: execvp /bin/program: No such file or directory\n"


@pytest.mark.parametrize(
    ("code", "errors", "told"),
    [
        (1, NOT_THERE, b'{ "child-pid": 5 }\n{ "exit-code": 1 }\n'),
        (0, NOT_THERE, b""),
        (2, NOT_THERE, b""),
        (137, NOT_THERE, b""),
        (1, "", b""),
        (1, "it said: bwrap: no\n", b""),
    ],
    ids=["it ran", "it ended well", "another status", "it was killed", "nothing was said", "somebody else said it"],
)
def test_one_that_ran_did_not_fail_to_start(stand, code, errors, told) -> None:
    assert failure(stand, code, errors, told=told) is None


def test_an_account_is_read_to_its_end(stand) -> None:
    assert failure(stand, 1, NOT_THERE, told=b" " * 5000 + b'{ "exit-code": 1 }') is None


def test_a_program_that_is_not_there(stand) -> None:
    code, before_effect, text = failure(stand, 1, NOT_THERE)
    assert (code, before_effect) == ("EXECUTION_ERROR", True)
    assert text.startswith(f"{PROGRAM} could not be started") and "is not there" in text
    assert f"[Errno {errno.ENOENT}]" in text


def test_a_program_that_is_not_executable(stand) -> None:
    _, before_effect, text = failure(stand, 1, "bwrap: execvp /bin/program: Permission denied\n")
    assert before_effect and "chmod +x" in text and f"[Errno {errno.EACCES}]" in text


def test_a_reason_that_the_system_does_not_know_is_told_all_the_same(stand) -> None:
    code, _, text = failure(stand, 1, "bwrap: execvp /bin/program: Odd thing\n")
    assert (code, "Odd thing" in text) == ("EXECUTION_ERROR", True)


def test_a_directory_that_cannot_be_entered_is_named(stand) -> None:
    for_it = "bwrap: Can't chdir to /work/place: No such file or directory\n"
    code, before_effect, text = failure(stand, 1, for_it)
    assert (code, before_effect) == ("EXECUTION_ERROR", True)
    assert PROGRAM in text and CWD in text and "cannot be entered" in text and f"[Errno {errno.ENOENT}]" in text


def test_a_directory_and_an_odd_reason(stand) -> None:
    _, _, text = failure(stand, 1, "bwrap: Can't chdir to /work/place: Odd thing\n")
    assert CWD in text and "Odd thing" in text and "cannot be entered" in text


def test_what_cannot_be_confined_is_said_in_its_last_words(stand) -> None:
    code, before_effect, text = failure(stand, 1, "bwrap: first words\nbwrap: Can't mount proc\n")
    assert (code, before_effect) == ("SANDBOX_UNAVAILABLE", True)
    assert "Can't mount proc" in text and "first words" not in text


def test_it_is_whole() -> None:
    """Killed and collected, nothing need be looked for."""
    assert (Contained.whole, Contained.borrowed) == (True, False)
