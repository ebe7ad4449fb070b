"""More ways to other processes and into the kernel. Runs inside the sandbox."""

import ctypes
import fcntl
import os
import signal
import struct
import termios

import attempts
from attempts import LIBC, NUMBERS, attempt, checked, kernel

NEWUSER, NEWNS, NEWNET, NEWPID = 0x10000000, 0x00020000, 0x40000000, 0x20000000
F_SETSIG, KEYCTL_SEARCH, KEYCTL_READ, USER_KEYRING = 10, 10, 11, -4


# Other processes


@attempt
def signal_thread(pid: int) -> None:
    tgkill = {"x86_64": 234, "aarch64": 131}[os.uname().machine]
    NUMBERS["tgkill"] = tgkill
    kernel("tgkill", pid, pid, signal.SIGTERM)


@attempt
def signal_group(pid: int) -> None:
    os.killpg(pid, signal.SIGTERM)


@attempt
def signal_by_descriptor(pid: int) -> None:
    signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGTERM)


@attempt
def signal_with_value(pid: int) -> None:
    checked(LIBC.sigqueue(pid, signal.SIGTERM, ctypes.c_void_p(1)))


@attempt
def signal_by_owner(pid: int) -> None:
    """Let the kernel send it, when something happens to a file of ours."""
    reads, writes = os.pipe()
    fcntl.fcntl(reads, fcntl.F_SETOWN, pid)
    fcntl.fcntl(reads, F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(reads, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writes, b"x")


@attempt
def signal_everybody(number: int) -> None:
    os.kill(-1, number)


@attempt
def write_memory(pid: int, at: int, size: int) -> None:
    evil = ctypes.create_string_buffer(b"\0" * size)
    here, there = struct.pack("PN", ctypes.addressof(evil), size), struct.pack("PN", at, size)
    checked(LIBC.process_vm_writev(pid, here, ctypes.c_ulong(1), there, ctypes.c_ulong(1), ctypes.c_ulong(0)))


@attempt
def write_memory_file(pid: int, at: int, size: int) -> None:
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as file:
        file.seek(at)
        file.write(b"\0" * size)


@attempt
def steal_descriptor(pid: int, number: int) -> bytes:
    return os.pread(kernel("pidfd_getfd", os.pidfd_open(pid), number, 0), 4096, 0)


@attempt
def bind_to_processor(pid: int) -> None:
    os.sched_setaffinity(pid, {min(os.sched_getaffinity(pid))})


@attempt
def reschedule(pid: int) -> None:
    os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))


@attempt
def offer_to_killer(pid: int) -> None:
    with open(f"/proc/{pid}/oom_score_adj", "w") as file:
        file.write("999")


# Namespaces


@attempt
def unshare(flags: int) -> None:
    checked(LIBC.unshare(flags))


@attempt
def clone(flags: int) -> None:
    _stay_if_new(kernel("clone", flags | signal.SIGCHLD, 0, 0, 0, 0))


@attempt
def clone3(flags: int) -> None:
    _stay_if_new(kernel("clone3", struct.pack("11Q", flags, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0), 88))


def _stay_if_new(pid: int) -> None:
    if pid == 0:
        for fd in range(3, 1024):
            if fd != attempts.STAYS:
                try:
                    os.close(fd)
                except OSError:
                    pass
        os.read(attempts.STAYS, 1)
        os._exit(0)


@attempt
def enter(path: str) -> None:
    """A namespace of somebody else."""
    checked(LIBC.setns(os.open(path, os.O_RDONLY), 0))


@attempt
def enter_of_process(path: str) -> None:
    """By a descriptor of the process itself."""
    checked(LIBC.setns(os.pidfd_open(int(path)), NEWNS))


# Doors into the kernel


@attempt
def read_key(description: str) -> bytes:
    key = kernel("keyctl", KEYCTL_SEARCH, USER_KEYRING, b"user", description.encode(), 0)
    room = ctypes.create_string_buffer(256)
    kernel("keyctl", KEYCTL_READ, key, room, 256, 0)
    return room.raw


@attempt
def page_faults() -> int:
    return kernel("userfaultfd", 1)  # of its own memory alone, which needs no right


@attempt
def count_events() -> int:
    attributes = struct.pack("=IIQQQQQ", 1, 112, 0, 0, 0, 0, 0b1100001).ljust(112, b"\0")
    return kernel("perf_event_open", ctypes.create_string_buffer(attributes), 0, -1, -1, 0)


@attempt
def kernel_program() -> int:
    """A table for programs that run in the kernel."""
    table = ctypes.create_string_buffer(struct.pack("=IIIII", 2, 4, 4, 1, 0).ljust(120, b"\0"))
    return kernel("bpf", 0, table, 120)


@attempt
def watch_everything() -> int:
    return kernel("fanotify_init", 0, 0)


@attempt
def personality(value: int) -> None:
    checked(LIBC.personality(ctypes.c_ulong(value)))


@attempt
def shared_memory(key: int) -> None:
    checked(LIBC.shmget(key, ctypes.c_size_t(4096), 0o1600))


@attempt
def message_queue(name: str) -> None:
    checked(LIBC.mq_open(name.encode(), os.O_CREAT | os.O_RDWR, 0o600, None))


@attempt
def kernel_log() -> bytes:
    """Its end: much may have been logged since a word of it was chosen."""
    room = ctypes.create_string_buffer(1 << 16)
    size = checked(LIBC.klogctl(3, room, len(room)))
    return room.raw[:size]


@attempt
def add_text(path: str, text: str) -> None:
    with open(path) as file:
        before = file.read().strip()
    with open(path, "w") as file:
        file.write(before + text)


@attempt
def system_name(name: str) -> None:
    """The name of a kind of network that nobody uses any more; a change of it is seen everywhere, and harms nobody."""
    checked(LIBC.setdomainname(name.encode(), ctypes.c_size_t(len(name))))


# Terminals


@attempt
def type_for_the_user(text: str, high: int) -> None:
    """Put characters into a terminal's input, as if they had been typed."""
    terminal = int(os.environ["TOOLCRIB_CHANNEL"])
    os.setsid()
    try:
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    except OSError:
        pass  # root may do without
    for char in text.encode():
        # By number: `fcntl` would cut the bits off that a filter may have forgotten to.
        NUMBERS["ioctl"] = NUMBERS.get("ioctl", 16)
        kernel("ioctl", terminal, termios.TIOCSTI | high << 32, ctypes.create_string_buffer(bytes([char])))


@attempt
def write_to_terminal(path: str) -> None:
    os.write(os.open(path, os.O_WRONLY | os.O_NOCTTY), b"a fake question")
