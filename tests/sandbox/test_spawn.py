"""How a program is started: with what, from where, and what is said when it cannot be."""

import asyncio
import json
import os

import pytest

from toolcrib.core.errors import ToolError

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
