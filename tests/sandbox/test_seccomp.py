"""The filter of system calls: read as the kernel reads it, for both machines, and then in force around real programs."""

import asyncio
import errno
import json
import os
import platform
import pty
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.sandbox import landlock, seccomp
from toolcrib.sandbox._syscalls import ARCHITECTURES, TABLE, numbers
from toolcrib.sandbox.cage import LANDLOCK, Cage
from toolcrib.sandbox.confined import Confined
from toolcrib.sandbox.spawn import Start

ALLOW, KILL = "allow", "kill"
MACHINES = list(ARCHITECTURES)
FLAVOURS = [(network, contained) for network in (False, True) for contained in (False, True)]
HIGH = 0xDEADBEEF << 32
"""In the upper half of an argument: nothing that the kernel looks at."""
here = pytest.mark.skipif(landlock.canary() != "", reason=f"no Landlock here: {landlock.canary()}")


def verdict(code: bytes, *, arch: int, number: int, args: tuple[int, ...] = ()) -> str:
    """What the kernel would do with a call: `allow`, `kill`, or the name of an error."""
    data = struct.pack("<iIQ6Q", number if number < 1 << 31 else number - (1 << 32), arch, 0, *(args + (0,) * 6)[:6])
    ops = list(struct.iter_unpack("<HBBI", code))
    held, at = 0, 0
    while True:
        op, yes, no, k = ops[at]
        at += 1
        if op == 0x20:
            (held,) = struct.unpack_from("<I", data, k)
        elif op == 0x54:
            held &= k
        elif op == 0x06:
            return {0x7FFF0000: ALLOW, 0x80000000: KILL}.get(k) or errno.errorcode[k & 0xFFFF]
        else:
            at += yes if {0x15: held == k, 0x35: held >= k, 0x45: held & k != 0}[op] else no


def judge(name: str, *args: int, machine: str = "x86_64", network: bool = False, contained: bool = False) -> str:
    code = seccomp.program(network=network, contained=contained, arch=machine)
    return verdict(code, arch=ARCHITECTURES[machine], number=numbers(machine)[name], args=args)


def test_the_numbers_are_those_of_the_kernels_headers() -> None:
    """Of whichever machine's headers are installed here."""
    places = {
        "x86_64": [*Path("/usr/include").glob("**/asm/unistd_64.h")],
        "aarch64": [*Path("/usr/include/asm-generic").glob("unistd.h")],
    }
    compared = 0
    for machine, files in places.items():
        for file in files[:1]:
            found = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", file.read_text(), re.MULTILINE)
            headers = {name: int(number) for name, number in found}
            ours = numbers(machine)
            assert {name: ours[name] for name in ours if name in headers} == {
                name: headers[name] for name in ours if name in headers
            }
            compared += 1
    if not compared:
        pytest.skip("no kernel headers are installed")


def test_no_number_is_given_twice() -> None:
    assert [len(set(numbers(machine).values())) for machine in MACHINES] == [
        len(numbers(machine)) for machine in MACHINES
    ]
    assert len(TABLE.strip().splitlines()) == len(numbers("x86_64"))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("network", "contained"), FLAVOURS)
def test_what_is_not_named_is_allowed_and_the_filter_ends_for_every_number(machine, network, contained) -> None:
    code = seccomp.program(network=network, contained=contained, arch=machine)
    named = set(numbers(machine).values())
    verdicts = {
        verdict(code, arch=ARCHITECTURES[machine], number=number) for number in range(600) if number not in named
    }
    assert verdicts == {ALLOW}
    assert len(code) // 8 <= 4096, "the kernel takes no longer one"


SHUT = """
    ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd io_uring_setup io_uring_enter io_uring_register bpf
    userfaultfd perf_event_open fanotify_init keyctl add_key request_key mount umount2 move_mount fsopen fsmount fspick
    fsconfig open_tree open_tree_attr mount_setattr pivot_root chroot unshare setns name_to_handle_at open_by_handle_at
    lookup_dcookie kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff acct quotactl
    quotactl_fd syslog settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname
"""
SHARED = "shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("network", "contained"), FLAVOURS)
def test_doors_into_the_kernel_and_to_other_processes_are_shut(machine, network, contained) -> None:
    """K49: whatever the arguments are."""
    about = {"machine": machine, "network": network, "contained": contained}
    tries = ((), (1, 2, 3, 4, 5, 6), ((1 << 64) - 1,) * 6)
    allowed = [(name, args) for name in SHUT.split() for args in tries if judge(name, *args, **about) != "EPERM"]
    assert allowed == []


@pytest.mark.parametrize("machine", MACHINES)
def test_what_cannot_be_looked_into_does_not_exist(machine) -> None:
    assert [judge(name, machine=machine) for name in ("clone3", "openat2")] == ["ENOSYS", "ENOSYS"]


INET, INET6, UNIX, NETLINK = 2, 10, 1, 16
STREAM, DGRAM, RAW = 1, 2, 3
OTHERS = (0, 3, 4, 5, 9, 15, 17, 29, 30, 31, 38, 40, 44, 45, (1 << 32) - 1)
"""Families beside these four, among them AF_PACKET, AF_CAN, AF_BLUETOOTH, AF_ALG, AF_VSOCK, AF_XDP."""


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("high", [0, HIGH], ids=["plain", "high-bits"])
def test_without_a_network_no_socket_is_made_whatever_its_family(machine, high) -> None:
    for kind in (STREAM, DGRAM, RAW, STREAM | 0o2004000):
        for family in (INET, INET6):
            assert judge("socket", family | high, kind, machine=machine) == "ENETUNREACH"
        for family in (UNIX, NETLINK, *OTHERS):
            assert judge("socket", family | high, kind, machine=machine) == "EACCES"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("network", "contained"), FLAVOURS)
def test_families_that_lead_elsewhere_are_refused_everywhere(machine, network, contained) -> None:
    for family in OTHERS:
        assert judge("socket", family, STREAM, 0, machine=machine, network=network, contained=contained) == "EACCES"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("contained", [False, True])
def test_with_a_network_only_the_internets_sockets_are_made(machine, contained) -> None:
    """Behind a socket of this machine are the user's agents: ssh, docker, dbus."""

    def made(*args: int) -> str:
        return judge("socket", *args, machine=machine, network=True, contained=contained)

    for family in (INET, INET6):
        assert [made(family, kind) for kind in (STREAM, DGRAM, STREAM | 0o2004000, RAW, RAW | 0o2000000, 10)] == [
            ALLOW, ALLOW, ALLOW, "EACCES", "EACCES", "EACCES",
        ]  # fmt: skip
    assert made(UNIX, STREAM) == "EACCES"
    assert [made(NETLINK, RAW, protocol) for protocol in (0, 2, 9, 12, 15, 0x100000000)] == [
        ALLOW, "EACCES", "EACCES", "EACCES", "EACCES", ALLOW,
    ]  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_a_network_of_its_own_may_be_used(machine) -> None:
    def made(*args: int) -> str:
        return judge("socket", *args, machine=machine, contained=True)

    assert [made(family, STREAM) for family in (UNIX, INET, INET6)] == [ALLOW] * 3
    assert [made(NETLINK, RAW, 0), made(NETLINK, RAW, 9), made(INET, RAW)] == [ALLOW, "EACCES", "EACCES"]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("high", [0, HIGH], ids=["plain", "high-bits"])
def test_arguments_that_make_a_call_dangerous(machine, high) -> None:
    """Also with bits set where the kernel does not look."""
    refused = [
        ("ioctl", 0, 0x5412), ("ioctl", 0, 0x541C), ("personality", 0x0040000), ("personality", 8), ("prlimit64", 1),
        ("prlimit64", 2**32 - 1), ("clone", 0x10000000 | 17), ("clone", 0x20000 | 17), ("clone", 0x40000000),
        ("clone", 0x02000000), ("clone", 0x04000000), ("clone", 0x08000000), ("clone", 0x20000000),
        ("fchmod", 3, 0o4755), ("fchmod", 3, 0o2755), ("fchmodat", 3, 0, 0o6000), ("fchmodat2", 3, 0, 0o4000, 0x100),
        ("openat", 3, 0, 0o100, 0o4755), ("openat", 3, 0, 0o20200000, 0o2755), ("mknodat", 3, 0, 0o020666),
        ("mknodat", 3, 0, 0o060666), ("mknodat", 3, 0, 0o104755),
    ]  # fmt: skip
    fine = [
        ("ioctl", 0, 0x5401), ("ioctl", 0, 0x541B), ("personality", 0), ("personality", 2**32 - 1), ("prlimit64", 0),
        ("clone", 17), ("clone", 0x4111), ("clone", 0x3D0F00), ("fchmod", 3, 0o1777), ("fchmodat", 3, 0, 0o755),
        ("fchmodat2", 3, 0, 0o644, 0x100), ("openat", 3, 0, 0o100, 0o644), ("openat", 3, 0, 0, 0o4755),
        ("mknodat", 3, 0, 0o010600), ("mknodat", 3, 0, 0o100600), ("mknodat", 3, 0, 0o140600), ("socketpair", UNIX, STREAM),
    ]  # fmt: skip
    if machine == "x86_64":
        refused += [("chmod", 0, 0o4711), ("creat", 0, 0o4711), ("open", 0, 0o101, 0o4711), ("mknod", 0, 0o020600)]
        fine += [("chmod", 0, 0o711), ("creat", 0, 0o644), ("open", 0, 0o1, 0o4711), ("mknod", 0, 0o010600)]

    def of(cases: list[tuple]) -> list[str]:
        return [judge(name, *(arg | high for arg in args), machine=machine) for name, *args in cases]

    assert of(refused) == ["EPERM"] * len(refused)
    assert of(fine) == [ALLOW] * len(fine)
    assert judge("socketpair", INET | high, STREAM, machine=machine) == "EACCES"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("high", [0, HIGH], ids=["plain", "high-bits"])
def test_a_program_schedules_itself_and_nobody_else(machine, high) -> None:
    """Where others can be named at all: in a namespace of its own they have no numbers."""
    own = [("setpriority", which, 0) for which in (0, 1)] + [("ioprio_set", which, 0) for which in (1, 2)]
    others = [("setpriority", which, 7) for which in (0, 1, 2)] + [("ioprio_set", which, 7) for which in (1, 2, 3)]
    everybody = [("setpriority", 2, 0), ("ioprio_set", 3, 0)]
    for name in ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"):
        own.append((name, 0))
        others += [(name, 1), (name, 2**32 - 1)]

    def of(cases: list[tuple], *, contained: bool = False) -> set[str]:
        return {
            judge(name, *(arg | high for arg in args), machine=machine, contained=contained) for name, *args in cases
        }

    assert of(own) == {ALLOW}
    assert of(others) == of(everybody) == {"EPERM"}
    assert of([*own, *others, *everybody], contained=True) == {ALLOW}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("high", [0, HIGH], ids=["plain", "high-bits"])
def test_no_signal_is_sent_to_the_thread_that_starts_it(machine, high) -> None:
    thread, other = 4711, 4712
    arch = ARCHITECTURES[machine]
    code = seccomp.program(network=False, contained=False, starter=thread, arch=machine)

    def said(name: str, *args: int) -> str:
        return verdict(code, arch=arch, number=numbers(machine)[name], args=tuple(arg | high for arg in args))

    ways: list[tuple[str, tuple[int, ...]]] = [
        ("kill", ()), ("tkill", ()), ("tgkill", (77,)), ("rt_sigqueueinfo", ()), ("rt_tgsigqueueinfo", (77,)),
        ("pidfd_open", ()), ("fcntl", (3, 8)),
    ]  # fmt: skip
    assert {name: said(name, *first, thread, 9) for name, first in ways} == {name: "EPERM" for name, _ in ways}
    assert {name: said(name, *first, other, 9) for name, first in ways} == {name: ALLOW for name, _ in ways}
    assert [said("fcntl", 3, 15), said("ioctl", 3, 0x8901), said("ioctl", 3, 0x8902)] == ["EPERM"] * 3
    assert [said("ioctl", 3, how) for how in (0x5412, 0x541C, 0x5401)] == ["EPERM", "EPERM", ALLOW]
    assert [said("fcntl", 3, how, thread) for how in (1, 2, 4, 1032)] == [ALLOW] * 4
    assert said("socket", INET, STREAM) == judge("socket", INET, STREAM, machine=machine)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("high", [0, HIGH], ids=["plain", "high-bits"])
def test_a_pair_of_datagrams_could_be_led_on_to_a_socket_of_this_machine(machine, high) -> None:
    def made(kind: int, *, contained: bool) -> str:
        return judge("socketpair", UNIX | high, kind | high, machine=machine, contained=contained)

    assert [made(kind, contained=False) for kind in (STREAM, 5, STREAM | 0o2004000)] == [ALLOW] * 3
    assert [made(kind, contained=False) for kind in (DGRAM, RAW, DGRAM | 0o2000000, 0, 4)] == ["EACCES"] * 5
    assert made(DGRAM, contained=True) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_newer_calls_that_landlock_is_not_asked_about_do_not_exist(machine) -> None:
    calls = ("file_getattr", "file_setattr", "listmount", "statmount")
    assert {judge(name, machine=machine) for name in calls} == {"ENOSYS"}
    assert {judge(name, machine=machine, contained=True) for name in calls} == {ALLOW}


@pytest.mark.parametrize("machine", MACHINES)
def test_a_child_of_ours_is_made_only_where_we_are_out_of_reach(machine) -> None:
    assert [judge("clone", 0x8000 | 17, machine=machine, contained=each) for each in (False, True)] == ["EPERM", ALLOW]


@pytest.mark.parametrize("machine", MACHINES)
def test_shared_memory_and_queues_only_where_they_are_its_own(machine) -> None:
    assert {judge(name, machine=machine) for name in SHARED.split()} == {"EACCES"}
    assert {judge(name, machine=machine, contained=True) for name in SHARED.split()} == {ALLOW}


def test_truncating_by_path_is_refused_where_landlock_does_not_hold_it() -> None:
    number, arch = numbers("x86_64")["truncate"], ARCHITECTURES["x86_64"]
    old = seccomp.program(network=False, contained=False, truncating=False, arch="x86_64")
    assert (judge("truncate"), verdict(old, arch=arch, number=number)) == (ALLOW, "EPERM")


@pytest.mark.parametrize("machine", MACHINES)
def test_no_file_is_emptied_unless_it_is_opened_to_be_written(machine) -> None:
    """Where Landlock does not hold that: it is asked about what a file is opened for, and that may be nothing (3)."""
    arch = ARCHITECTURES[machine]
    old = seccomp.program(network=False, contained=False, truncating=False, arch=machine)

    def opened(flags: int, mode: int = 0o644) -> list[str]:
        calls = [("openat", (3, 0, flags, mode))] + [("open", (0, flags, mode))] * (machine == "x86_64")
        return [verdict(old, arch=arch, number=numbers(machine)[name], args=args) for name, args in calls]

    empties, creates = 0o1000, 0o100
    refused = [empties, empties | 3, empties | creates, HIGH | empties, empties | 0o2000000 | 3]
    fine = [0, 3, creates, empties | 1, empties | 2, empties | creates | 1, HIGH | empties | 2]
    assert [set(opened(flags)) for flags in refused] == [{"EPERM"}] * len(refused)
    assert [set(opened(flags)) for flags in fine] == [{ALLOW}] * len(fine)
    assert set(opened(empties | creates | 1, 0o4755)) == {"EPERM"}


def test_calls_as_for_another_machine_end_the_program_and_x32_does_not_exist() -> None:
    i386, arm = 0x40000003, 0x40000028
    for machine in MACHINES:
        code = seccomp.program(network=True, contained=True, arch=machine)
        others = {i386, arm, *ARCHITECTURES.values()} - {ARCHITECTURES[machine]}
        assert {verdict(code, arch=other, number=20) for other in others} == {KILL}
    code = seccomp.program(network=True, contained=True, arch="x86_64")
    x32 = [0x40000000, 0x40000000 + 41, 0x40000000 + 512, 0x7FFFFFFF, 0xFFFFFFFF]
    assert {verdict(code, arch=ARCHITECTURES["x86_64"], number=number) for number in x32} == {"ENOSYS"}


def test_a_machine_that_is_not_known_is_said() -> None:
    with pytest.raises(LookupError, match="riscv64"):
        seccomp.program(network=False, contained=False, arch="riscv64")


# In force

PYTHON = os.path.realpath(sys.executable)


def confined(yard, tmp_path, text: str, *, network: bool = False) -> dict[str, object]:
    """What a Python program prints, as JSON, that runs under the filter."""
    cage = Cage(LANDLOCK, str(tmp_path.resolve()), readable=(os.path.realpath(sys.base_prefix),), network=network)
    (tmp_path / "program.py").write_text("import ctypes, errno, json, os, sys\n" + text)
    command = yard.command(PYTHON, "-I", "-S", str(tmp_path / "program.py"))
    done = asyncio.run(Confined(yard.sandbox, cage).exec(command))
    assert done.code == 0, done.stderr.text()
    return json.loads(done.stdout.head)


TRY = """
libc = ctypes.CDLL(None, use_errno=True)
def tried(number, *args):
    done = libc.syscall(ctypes.c_long(number), *map(ctypes.c_ulong, args))
    return errno.errorcode[ctypes.get_errno()] if done < 0 else "done"
"""


@here
def test_a_program_under_the_filter_gets_an_error_and_goes_on(yard, tmp_path) -> None:
    """Calls that would succeed, or fail otherwise, without it: by anybody, with these arguments."""
    names = {
        name: numbers(platform.machine())[name] for name in ("ptrace", "unshare", "io_uring_setup", "clone3", "keyctl")
    }
    text = f"""{TRY}
names = {names!r}
said = {{
    "ptrace": tried(names["ptrace"], 0, 0, 0, 0),              # PTRACE_TRACEME
    "unshare": tried(names["unshare"], 0x400),                 # CLONE_FILES, which anybody may
    "io_uring_setup": tried(names["io_uring_setup"], 0, 0),
    "clone3": tried(names["clone3"], 0, 0),
    "keyctl": tried(names["keyctl"], 0, -3 & 0xFFFFFFFF, 1),   # the id of the session's keyring
}}
print(json.dumps(said))
"""
    assert confined(yard, tmp_path, text) == {
        "ptrace": "EPERM", "unshare": "EPERM", "io_uring_setup": "EPERM", "clone3": "ENOSYS", "keyctl": "EPERM",
    }  # fmt: skip


@here
def test_ordinary_things_go_on_working_under_the_filter(yard, tmp_path) -> None:
    text = """
import socket, subprocess, threading
one, other = socket.socketpair()
one.sendall(b"pair"); got = other.recv(9).decode()
seen = []
threads = [threading.Thread(target=seen.append, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
pid = os.fork()
if pid == 0: os._exit(7)
os.chmod("program.py", 0o755)
os.mkfifo("fifo")
print(json.dumps({
    "pair": got, "threads": sorted(seen), "fork": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]),
    "shell": subprocess.run(["/bin/sh", "-c", "ls program.py | cat"], capture_output=True, text=True).stdout,
}))
"""
    assert confined(yard, tmp_path, text) == {
        "pair": "pair", "threads": list(range(8)), "fork": 7, "shell": "program.py\n",
    }  # fmt: skip


@here
def test_no_program_that_runs_as_its_owner_is_made(yard, tmp_path) -> None:
    text = """
said = []
for make in (
    lambda: os.chmod("program.py", 0o4755),
    lambda: os.open("made", os.O_CREAT | os.O_WRONLY, 0o4755),
    lambda: os.mknod("node", 0o104755),
):
    try: make(); said.append("done")
    except OSError as exc: said.append(errno.errorcode[exc.errno])
print(json.dumps({"said": said}))
"""
    assert confined(yard, tmp_path, text) == {"said": ["EPERM"] * 3}
    assert not any(path.stat().st_mode & 0o6000 for path in tmp_path.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py"]


TYPE = """
import ctypes, fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
libc = ctypes.CDLL(None, use_errno=True)
for request in (0x5412, 0x5412 | 0xBAD << 32):
    done = libc.ioctl(0, ctypes.c_ulong(request), ctypes.c_char_p(b"x"))
    print(done, ctypes.get_errno())
"""


@here
def test_nothing_can_be_typed_into_a_terminal(tmp_path) -> None:
    """TIOCSTI, on a terminal that really is the program's own; a program without the filter is the comparison."""

    def typed(*, caged: bool) -> tuple[list[str], bytes]:
        master, slave = pty.openpty()
        out, into = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        words = [PYTHON, "-I", "-S", "-c", TYPE]
        about = {"cwd": str(tmp_path), "env": {"PATH": "/usr/bin:/bin"}}
        try:
            if caged:
                cage = Cage(LANDLOCK, str(tmp_path.resolve()), readable=(os.path.realpath(sys.base_prefix),))
                starting = Start(words, streams=(slave, into, into), **about)
                pid = landlock.start_restricted(cage, starting, tmp=str(tmp_path))
                os.waitpid(pid, 0)
            else:
                subprocess.run(
                    words, stdin=slave, stdout=into, stderr=into, start_new_session=True, check=False, **about
                )
            os.close(into)
            with os.fdopen(out) as said:
                lines = said.read().splitlines()
            os.set_blocking(master, False)
            try:
                return lines, os.read(master, 100)
            except BlockingIOError:
                return lines, b""
        finally:
            for fd in (master, slave, null):
                os.close(fd)

    assert typed(caged=True) == ([f"-1 {errno.EPERM}"] * 2, b"")
    plain, echoed = typed(caged=False)
    assert (plain, echoed) in ((["0 0"] * 2, b"xx"), ([f"-1 {errno.EIO}"] * 2, b"")), "the comparison says nothing"


@here
@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("cc"), reason="needs x86_64 and a C compiler")
def test_a_call_as_on_a_32_bit_machine_ends_the_program(yard, tmp_path) -> None:
    """Under other numbers the same calls; the filter would not know them."""
    source = 'int main(){int n=20;__asm__ volatile("int $0x80":"+a"(n)::"memory");return n>0?0:1;}'
    (tmp_path / "old.c").write_text(source)
    subprocess.run(["cc", "-O0", "-o", tmp_path / "old", tmp_path / "old.c"], check=True)
    if yard.run(str(tmp_path / "old")).code != 0:
        pytest.skip("this kernel runs no 32-bit programs")
    cage = Cage(LANDLOCK, str(tmp_path.resolve()))
    done = asyncio.run(Confined(yard.sandbox, cage).exec(yard.command(str(tmp_path / "old"))))
    assert done.code == 128 + 31  # SIGSYS
