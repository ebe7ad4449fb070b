"""What a hostile program would try, each as a small function. Run inside a sandbox, as a program of its own.

It imports the standard library alone and is started by `python -I -S`. On its input is one JSON document: the attempts
to make, in order, each with its name and what it is told. It says of each how it went; whether something really
happened is seen from outside (`canaries.py`), because nothing that runs in here is believed.
"""

import ctypes
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
ATTEMPTS: dict[str, Callable[..., Any]] = {}
LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS: dict[str, int] = {}
"""System calls by name, as the one outside told them."""
PATIENCE_SECONDS = 5
_AT_FDCWD, _EXCHANGE = -100, 2
_LONGEST = 65536


def attempt(function: Function) -> Function:
    ATTEMPTS[function.__name__] = function
    return function


def kernel(call: str, *arguments: Any) -> int:
    """A call to the kernel by its number, as one makes it for whom the C library has no function."""
    number = NUMBERS.get(call)
    if number is None:
        raise OSError(38, f"no number is known for {call}")
    return checked(LIBC.syscall(ctypes.c_long(number), *map(wide, arguments)))


def wide(value: Any) -> Any:
    return ctypes.c_long(value) if isinstance(value, int) else value


def checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


# Files


@attempt
def read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(fd, _LONGEST)
    finally:
        os.close(fd)


@attempt
def read_relative(path: str) -> bytes:
    return read(os.path.relpath(path))


@attempt
def read_through_link(path: str) -> bytes:
    return read(_linked(path))


@attempt
def read_through_root(path: str) -> bytes:
    return read(f"/proc/self/root{path}")


@attempt
def read_through_directory(path: str) -> bytes:
    """By way of a descriptor of the directory, which is opened as a place only."""
    place = os.open(os.path.dirname(path), os.O_PATH)
    try:
        fd = os.open(os.path.basename(path), os.O_RDONLY, dir_fd=place)
        return os.read(fd, _LONGEST)
    finally:
        os.close(place)


@attempt
def names(path: str) -> list[str]:
    return os.listdir(path)


@attempt
def write(path: str) -> None:
    with open(path, "r+b", buffering=0) as file:
        file.write(b"written by a tool")


@attempt
def write_through_link(path: str) -> None:
    write(_linked(path))


@attempt
def create(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


@attempt
def truncate(path: str) -> None:
    os.truncate(path, 1)


@attempt
def make_directory(path: str) -> None:
    os.mkdir(path)


@attempt
def unlink(path: str) -> None:
    os.unlink(path)


@attempt
def rename_in(path: str) -> None:
    os.rename(path, _own("renamed in"))


@attempt
def rename_out(path: str) -> None:
    mine = _own("to rename")
    create(mine)
    os.rename(mine, path)


@attempt
def exchange(path: str) -> None:
    mine = _own("to exchange")
    create(mine)
    rename = getattr(LIBC, "renameat2", None)
    if rename is None:
        raise OSError(38, "renameat2")
    checked(rename(_AT_FDCWD, os.fsencode(path), _AT_FDCWD, os.fsencode(mine), _EXCHANGE))


@attempt
def link_in_and_write(path: str) -> None:
    mine = _own("linked")
    os.link(path, mine)
    write(mine)


@attempt
def put(path: str, text: str = "written by a tool", mode: int = 0o755) -> None:
    """Write a file and what directories it needs, in the place of whatever is there."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, mode)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _own(name: str) -> str:
    """A place where nothing is yet, among the program's own files."""
    return os.path.join(os.environ.get("TOOLCRIB_WORKSPACE") or os.getcwd(), f"{name} {os.urandom(6).hex()}")


def _linked(path: str) -> str:
    link = _own("link")
    os.symlink(path, link)
    return link


# What is said of a file


@attempt
def stat(path: str) -> str:
    return str(os.stat(path).st_size)


@attempt
def chmod(path: str) -> None:
    os.chmod(path, 0o640)


@attempt
def chown(path: str) -> None:
    os.chown(path, os.getuid(), os.getgid())


@attempt
def utime(path: str) -> None:
    os.utime(path, (1, 1))


@attempt
def setxattr(path: str) -> None:
    os.setxattr(path, "user.toolcrib", b"set by a tool")


# The network


@attempt
def tcp(host: str, port: int) -> None:
    with socket.create_connection((host, port), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(b"x")


@attempt
def udp(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", (host, port))


@attempt
def unix(address: str) -> None:
    """A socket of this machine, as an agent that holds keys has; one that begins with @ has no file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(PATIENCE_SECONDS)
        connection.connect("\0" + address[1:] if address.startswith("@") else address)


# Other processes


@attempt
def terminate(pid: int) -> None:
    os.kill(pid, signal.SIGTERM)


@attempt
def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


@attempt
def trace(pid: int) -> None:
    seize, end_it_with_me = 0x4206, 0x100000
    checked(LIBC.ptrace(seize, pid, None, ctypes.c_void_p(end_it_with_me)))


@attempt
def read_memory(pid: int, at: int, size: int) -> bytes:
    """Of another process, without a file."""
    into = ctypes.create_string_buffer(size)
    here, there = struct.pack("PN", ctypes.addressof(into), size), struct.pack("PN", at, size)
    checked(LIBC.process_vm_readv(pid, here, ctypes.c_ulong(1), there, ctypes.c_ulong(1), ctypes.c_ulong(0)))
    return into.raw


@attempt
def limit(pid: int) -> None:
    """Take away how many files another process may open."""
    import resource

    resource.prlimit(pid, resource.RLIMIT_NOFILE, (17, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))


@attempt
def renice(pid: int) -> None:
    os.setpriority(os.PRIO_PROCESS, pid, 19)


# The kernel


@attempt
def add_key(description: str) -> None:
    user_keyring = -4
    kernel("add_key", b"user", description.encode(), b"x", 1, user_keyring)


@attempt
def setuid_bit(path: str) -> None:
    os.chmod(path, 0o4755)


# Running them


def tried(job: dict[str, Any]) -> dict[str, Any]:
    """Make one attempt; how it went, and what it got hold of."""
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(2 * PATIENCE_SECONDS)
    got: Any = b""
    try:
        got = ATTEMPTS[job["attempt"]](**job["about"])
        said = "it was let"
    except (OSError, ValueError, EOFError) as exc:
        said = str(exc)
    finally:
        signal.alarm(0)
    text = got.decode("latin-1") if isinstance(got, bytes) else "" if got is None else str(got)
    return {"name": job["name"], "said": said, "got": text}


def _give_up(*_: object) -> None:
    raise TimeoutError("it took too long")


def main() -> None:
    asked = json.load(sys.stdin)
    NUMBERS.update(asked["numbers"])
    for job in asked["jobs"]:
        sys.stdout.write(json.dumps(tried(job)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
