"""How a program is started: with what, from where, and what is said when it cannot be."""

import asyncio
import errno
import json
import os
import re
import signal
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.sandbox import spawn
from toolcrib.sandbox.cage import Bounds
from toolcrib.sandbox.spawn import Start, not_started, start, with_bounds

LOOK = """
import json, os, sys
print(json.dumps({
    'fds': sorted(int(fd) for fd in os.listdir('/proc/self/fd')),
    'session': os.getsid(0) == os.getpid() == os.getpgid(0),
    'cwd': os.getcwd(),
    'argv': sys.argv[1:],
    'signals': [line.split()[1] for line in open('/proc/self/status') if line.startswith(('SigBlk', 'SigIgn'))],
}))
try:
    os.open('/dev/tty', os.O_RDWR)
    print('a terminal')
except OSError:
    print('no terminal')
"""


def test_only_the_three_streams_reach_a_program(yard, tmp_path) -> None:
    """K52: no descriptor of the caller, inheritable or not."""
    held = [os.open(tmp_path, os.O_RDONLY) for _ in range(3)]
    os.set_inheritable(held[0], True)
    try:
        said, terminal = yard.run(yard.python(LOOK), "a b").stdout.head.decode().splitlines()
    finally:
        for fd in held:
            os.close(fd)
    about = json.loads(said)
    assert about["fds"] in ([0, 1, 2], [0, 1, 2, 3])  # the last is the listing itself
    assert (about["session"], about["argv"], about["cwd"]) == (True, ["a b"], str(yard.root))
    assert terminal == "no terminal"


def test_signals_are_as_a_shell_would_leave_them(yard) -> None:
    """Python ignores SIGPIPE; a program that inherited that would not end when its reader is gone."""
    about = json.loads(yard.run(yard.python(LOOK)).stdout.head.decode().splitlines()[0])
    blocked, ignored = (int(mask, 16) for mask in about["signals"])
    assert blocked == 0
    # the interpreter itself ignores SIGPIPE (13) and SIGXFSZ (25) again
    ordinary = (1 << 31) - 1  # those above are the C library's own, and nobody can restore them
    assert ignored & ordinary & ~(1 << 12 | 1 << 24) == 0
    assert yard.sh("kill -PIPE $$; echo survived").code == 128 + 13


def test_the_environment_is_what_the_command_says_and_a_temporary_directory(yard) -> None:
    """K33: nothing of the caller's own environment."""
    os.environ["CANARY_SECRET"] = "sesame"
    try:
        done = yard.run("/usr/bin/env", "-0", env={"ODD": "a\nb=c", "EMPTY": ""})
    finally:
        del os.environ["CANARY_SECRET"]
    got = dict(pair.split("=", 1) for pair in done.stdout.head.decode().split("\0") if pair)
    assert sorted(got) == ["EMPTY", "ODD", "PATH", "TMPDIR", "TOOLCRIB_CALL_ID"]
    assert (got["ODD"], got["EMPTY"]) == ("a\nb=c", "")


def refused(yard, *argv: str, **about) -> ToolError:
    with pytest.raises(ToolError) as failure:
        yard.run(*argv, **about)
    assert failure.value.before_effect
    return failure.value


def test_what_cannot_be_started_says_why_and_what_to_do(yard, tmp_path) -> None:
    """K63"""
    (tmp_path / "plain").write_text("no interpreter named\n")
    (tmp_path / "plain").chmod(0o755)
    (tmp_path / "dead").write_text("#!/nowhere/python\n")
    (tmp_path / "dead").chmod(0o755)
    (tmp_path / "shut").write_text("#!/bin/sh\n")
    (tmp_path / "shut").chmod(0o644)
    (tmp_path / "empty").write_text("")
    (tmp_path / "empty").chmod(0o755)
    (tmp_path / "junk").write_bytes(b"\x7fELF" + b"\0" * 100)
    (tmp_path / "junk").chmod(0o755)
    said = {
        name: str(refused(yard, str(tmp_path / name))) for name in ("plain", "dead", "shut", "empty", "junk", "gone")
    }
    assert all(text.startswith(f"{tmp_path}/{name} could not be started") for name, text in said.items())
    assert "must name an interpreter" in said["plain"] and "must name an interpreter" in said["empty"]
    assert "interpreter its first line names, is not there" in said["dead"]
    assert "chmod +x" in said["shut"]


def test_a_directory_is_no_program(yard, tmp_path) -> None:
    assert "Permission denied" in str(refused(yard, str(tmp_path)))


def test_a_working_directory_that_is_gone_is_named(yard, tmp_path) -> None:
    text = str(refused(yard, "/bin/true", cwd=str(tmp_path / "gone")))
    assert str(tmp_path / "gone") in text
    assert "interpreter" not in text


def test_an_argument_of_a_mebibyte_is_too_long_and_that_is_said(yard) -> None:
    """ "An environment variable over 128 KiB is E2BIG" """
    assert "too long" in str(refused(yard, "/bin/echo", "x" * 1024 * 1024))
    assert "too long" in str(refused(yard, "/bin/echo", env={"BIG": "x" * 200_000}))


def test_a_nul_byte_in_an_argument_starts_nothing(yard) -> None:
    assert "could not be started" in str(refused(yard, "/bin/echo", "a\0b"))
    assert "could not be started" in str(refused(yard, "/bin/echo", env={"A": "b\0c"}))


def test_failing_to_start_leaks_nothing(yard) -> None:
    yard.sh("true")
    before = sorted(os.listdir("/proc/self/fd"))

    async def in_vain() -> None:
        for _ in range(50):
            with pytest.raises(ToolError):
                await yard.exec("/nowhere")

    asyncio.run(in_vain())
    yard.sh("true")
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert zombies() == []


def zombies() -> list[str]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [pid for pid in file.read().split() if not os.path.exists(f"/proc/{pid}/exe")]


EXHAUSTED = """
import asyncio, os, resource, sys
from toolcrib.core.errors import ToolError
from toolcrib.core.process import Command
from toolcrib.sandbox.processes import Processes
sandbox = Processes(f'tcshort{os.getpid()}')
warm = len(sys.argv) > 1
async def main():
    run = lambda: sandbox.exec(Command(('/bin/sh', '-c', 'echo ran'), '/', 'tcshort-1'))
    if warm:
        await run()
    resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
    held = []
    try:
        while True:
            held.append(os.open('/', os.O_RDONLY))
    except OSError:
        pass
    said = []
    for free in range(14):
        count = len(os.listdir('/proc/self/fd')) if free else 0
        try:
            said.append((await run()).stdout.head.decode())
        except ToolError as exc:
            assert exc.before_effect, exc
            said.append(exc.code)
            # nothing is lost by failing but what is there to stay: the watcher's pipe and what waits for programs
            assert not free or len(os.listdir('/proc/self/fd')) <= count + (0 if warm else 2), exc
        os.close(held.pop())
    resting = len(os.listdir('/proc/self/fd'))
    await run()
    assert len(os.listdir('/proc/self/fd')) == resting
    for fd in held:
        os.close(fd)
    print(' '.join(dict.fromkeys(word.strip() for word in said)))
asyncio.run(main())
sandbox.close()
"""


@pytest.mark.parametrize("warm", [(), ("warm",)])
def test_no_descriptor_left_means_resource_exhausted_and_nothing_ran(drive, warm) -> None:
    """Without descriptors it is RESOURCE_EXHAUSTED, and with each descriptor that comes free it is tried again."""
    assert drive(EXHAUSTED, *warm).stdout == "RESOURCE_EXHAUSTED ran\n"


def test_no_process_left_means_resource_exhausted(drive, tmp_path) -> None:
    """EAGAIN from the kernel."""
    done = drive(
        "import asyncio, os, resource\n"
        "from toolcrib.core.errors import ToolError\n"
        "from toolcrib.core.process import Command\n"
        "from toolcrib.sandbox.processes import Processes\n"
        "if os.getuid() == 0: os.setgid(61234); os.setuid(61234)\n"
        "resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))\n"
        "sandbox = Processes(f'tcnoproc{os.getpid()}')\n"
        "try:\n"
        "    asyncio.run(sandbox.exec(Command(('/bin/true',), '/', 'tcnoproc-1')))\n"
        "except ToolError as exc:\n"
        "    print(exc.code, exc.before_effect)\n"
        "sandbox.close()\n",
        cwd="/",
    )
    assert done.stdout == "RESOURCE_EXHAUSTED True\n"


def test_many_threads_may_start_programs_at_once(yard) -> None:
    """Each with a loop of its own; none gets another's descriptors."""

    async def from_threads() -> list[bytes]:
        def one(number: int) -> bytes:
            return yard.sh(f"ls /proc/self/fd | wc -l; echo {number}").stdout.head

        return await asyncio.gather(*(asyncio.to_thread(one, number) for number in range(24)))

    yard.sh("true")
    assert asyncio.run(from_threads()) == [f"4\n{number}\n".encode() for number in range(24)]


# Without a sandbox around it


@pytest.fixture(params=["this Python", "another Python"])
def begin(request, monkeypatch, tmp_path) -> Callable[..., tuple[int, str]]:
    """Starts these words, and returns the status and what was printed."""
    if request.param == "another Python":
        monkeypatch.setattr(spawn, "FAST", False)

    def run(*argv: str, cwd: str = "/", env: dict[str, str] | None = None, **about: Any) -> tuple[int, str]:
        said = tmp_path / "said"
        with open(said, "wb") as out, open(os.devnull, "rb") as null:
            streams = (null.fileno(), out.fileno(), out.fileno())
            pid = start(Start(argv, cwd, env or {}, streams, **about))
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.read_text()

    return run


def test_it_has_its_words_directory_and_environment_and_a_session_of_its_own(begin, tmp_path) -> None:
    text = (
        'echo "$0" "$@"; pwd; echo "$WORD"; read -r _ _ _ _ group session _ < /proc/self/stat; echo $group $session $$'
    )
    code, said = begin("/bin/sh", "-c", text, "a b", "c", cwd=str(tmp_path), env={"WORD": "x=y"})
    words, place, word, numbers = said.splitlines()
    assert (code, words, place, word) == (0, "a b c", str(tmp_path), "x=y")
    group, session, own = numbers.split()
    assert group == session == own


def test_descriptors_are_kept_by_their_numbers_and_others_are_not(begin) -> None:
    pairs = [os.pipe() for _ in range(3)]
    kept = (pairs[2][1], pairs[0][1])
    try:
        _, said = begin("/bin/sh", "-c", "ls /proc/$$/fd", env={"PATH": "/usr/bin:/bin"}, kept=kept)
    finally:
        for fd in (fd for pair in pairs for fd in pair):
            os.close(fd)
    assert {int(word) for word in said.split()} - set(kept) == {0, 1, 2}
    assert {int(word) for word in said.split()} > set(kept)


def test_signals_are_as_a_shell_would_have_them(begin) -> None:
    """Python ignores SIGPIPE."""
    assert begin("/bin/sh", "-c", "kill -PIPE $$; echo survived") == (-signal.SIGPIPE, "")


def failed(begin: Callable[..., Any], *argv: Any, **about: Any) -> ToolError:
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(ToolError) as caught:
        begin(*argv, **about)
    assert (sorted(os.listdir("/proc/self/fd")), zombies()) == (before, [])
    assert caught.value.before_effect
    return caught.value


def test_what_is_not_there_costs_nothing_and_is_named(begin, tmp_path) -> None:
    gone = str(tmp_path / "gone")
    program, directory = failed(begin, gone), failed(begin, "/bin/true", cwd=gone)
    assert (program.code, directory.code) == (ToolError.code, ToolError.code)
    assert str(program).startswith(gone) and f"[Errno {errno.ENOENT}]" in str(program) and "interpreter" in str(program)
    assert str(directory).startswith("/bin/true") and gone in str(directory) and "interpreter" not in str(directory)
    assert "too long" in str(failed(begin, "/bin/echo", "x" * (1 << 20)))
    assert "/bin/echo" in str(failed(begin, "/bin/echo", "a\0b"))


@pytest.mark.skipif(not spawn.FAST, reason="this Python has another way to start a program")
def test_a_host_that_lets_the_kernel_collect_hears_the_same_of_what_failed(tmp_path, monkeypatch) -> None:
    def collected(pid: int, flags: int) -> tuple[int, int]:
        waited(pid, flags)
        raise ChildProcessError

    waited = os.waitpid
    monkeypatch.setattr(os, "waitpid", collected)
    gone = Start((str(tmp_path / "gone"),), "/", {}, (0, 1, 2))
    assert f"[Errno {errno.ENOENT}]" in str(failed(start, gone))


def test_a_program_that_is_still_being_written_is_tried_again(begin, tmp_path, monkeypatch) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    writing = os.open(program, os.O_WRONLY)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            os.close(writing)

    monkeypatch.setattr(spawn.time, "sleep", pause)
    assert begin(str(program)) == (0, "ran\n")
    assert len(pauses) == 3 and 0 < sum(pauses) < 0.1


def test_a_program_that_is_written_for_long_is_given_up(begin, tmp_path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    with open(program, "ab"):
        failure = failed(begin, str(program))
    assert f"[Errno {errno.ETXTBSY}]" in str(failure)


def test_nothing_else_is_tried_again(begin, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(spawn.time, "sleep", lambda seconds: pytest.fail("it waits"))
    failed(begin, str(tmp_path / "gone"))


MEBIBYTE = 1 << 20


@pytest.mark.parametrize(
    ("bounds", "held"),
    [
        (Bounds(memory_bytes=300 * MEBIBYTE), {"Max address space": 300 * MEBIBYTE}),
        (Bounds(memory_bytes=300 * MEBIBYTE + 1023), {"Max address space": 300 * MEBIBYTE}),
        (Bounds(processes=1234), {"Max processes": 1234}),
        (Bounds(file_bytes=MEBIBYTE), {"Max file size": MEBIBYTE}),
        (Bounds(cpu_seconds=77), {"Max cpu time": 77}),
        (
            Bounds(300 * MEBIBYTE, 1234, MEBIBYTE, 77),
            {
                "Max address space": 300 * MEBIBYTE,
                "Max processes": 1234,
                "Max file size": MEBIBYTE,
                "Max cpu time": 77,
            },
        ),
    ],
)
def test_bounds_hold_each_in_its_unit(begin, bounds, held) -> None:
    about = "Max address space", "Max processes", "Max file size", "Max cpu time"
    without = limits(begin("/bin/cat", "/proc/self/limits")[1])
    code, said = begin(*with_bounds(("/bin/cat", "/proc/self/limits"), bounds))
    assert (code, {name: limits(said)[name] for name in about}) == (
        0,
        {name: str(held[name]) if name in held else without[name] for name in about},
    )


def limits(text: str) -> dict[str, str]:
    """By name, what holds at first."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()[1:]]
    return {row[0]: row[1] for row in rows}


def test_bounds_change_no_word(begin) -> None:
    words = ("/bin/echo", "$(id)", "a b", "", "'\"`;&|*")
    assert begin(*with_bounds(words, Bounds(cpu_seconds=77))) == begin(*words)


def test_a_bound_below_its_unit_is_one_unit_and_not_none(begin) -> None:
    assert begin(*with_bounds(("/bin/sh", "-c", "ulimit -f"), Bounds(file_bytes=1))) == (0, "1\n")


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE])
def test_a_shortage_may_be_over_later(number) -> None:
    failure = not_started("/bin/x", OSError(number, "short", "/bin/x"))
    assert (failure.code, failure.before_effect) == ("RESOURCE_EXHAUSTED", True)
    assert "/bin/x" in str(failure) and f"[Errno {number}]" in str(failure)


@pytest.mark.parametrize(
    ("exc", "hint"),
    [
        (OSError(errno.ENOEXEC, "w", "/bin/x"), "interpreter"),
        (OSError(errno.ENOENT, "w", "/bin/x"), "not there"),
        (OSError(errno.ENOENT, "w"), "not there"),
        (OSError(errno.EACCES, "w", "/bin/x"), "chmod +x"),
        (OSError(errno.E2BIG, "w", "/bin/x"), "too long"),
        (OSError(errno.EACCES, "w", "/somewhere"), "cannot be entered"),
        (OSError(errno.EIO, "w", "/somewhere"), "cannot be entered"),
    ],
)
def test_what_does_not_start_comes_with_a_hint(exc, hint) -> None:
    failure = not_started("/bin/x", exc)
    assert (failure.code, failure.before_effect) == (ToolError.code, True)
    assert str(failure).startswith("/bin/x") and str(exc) in str(failure) and hint in str(failure).rpartition(";")[2]


@pytest.mark.parametrize("exc", [OSError(errno.EIO, "w", "/bin/x"), ValueError("embedded null byte")])
def test_where_nothing_helps_nothing_is_suggested(exc) -> None:
    failure = not_started("/bin/x", exc)
    assert (failure.code, failure.before_effect) == (ToolError.code, True)
    assert str(failure).endswith(str(exc))
