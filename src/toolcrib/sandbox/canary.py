"""Things put where no confined program may reach them, and looked at afterwards: a file, a listener, a process."""

import ctypes
import os
import select
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from ._syscalls import machine, numbers
from .spawn import Start, start

_ENVIRONMENT = 47
"""Where the start of its environment stands in a process's `stat`, after its name."""
_LOOKS = 1000
_STATE, _STOPPED, _GONE = 0, (b"T", b"t"), (b"Z", b"X")
_SEARCH, _UNLINK, _USERS_RING = ctypes.c_long(10), ctypes.c_long(9), ctypes.c_long(-4)


class Canary(Protocol):
    about: Mapping[str, Any]
    """What the attempt is told: where to find it."""

    def sprung(self, output: bytes) -> bool:
        """Whether something happened to it, given all that the program printed."""
        ...

    def clear(self) -> None: ...


class Ground:
    """A home with a project in it, and places outside of both, which are gone with `clear`."""

    def __init__(self, root: str) -> None:
        """`root` is an empty directory."""
        self.root = os.path.realpath(root)
        self.home, self.near = f"{self.root}/home", f"{self.root}/outside"
        self.workspace = f"{self.home}/project"
        for path in (self.home, self.near, self.workspace):
            os.mkdir(path, 0o700)
        # What hides one place for temporary files need not hide the other.
        elsewhere = "/var/tmp" if os.access("/var/tmp", os.W_OK) else None
        self.far = os.path.realpath(tempfile.mkdtemp(prefix="toolcrib-canary-", dir=elsewhere))

    def clear(self) -> None:
        for path in (self.root, self.far):
            shutil.rmtree(path, ignore_errors=True)


class Told:
    """A word that only somebody can print who got to where it stands."""

    def __init__(self, word: str, **about: Any) -> None:
        self.about: Mapping[str, Any] = about
        self._word = word.encode()

    def sprung(self, output: bytes) -> bool:
        return self._word in output

    def clear(self) -> None:
        pass


def secret(ground: Ground, name: str, *, place: str = "") -> Told:
    """A file that nobody may read."""
    word = os.urandom(16).hex()
    return Told(word, path=written(place or f"{ground.near}/{name}/secret", word))


def size(ground: Ground, name: str) -> Told:
    """A file whose very length nobody may know."""
    length = 1_000_000 + int.from_bytes(os.urandom(3), "big")
    path = written(f"{ground.near}/{name}/secret", "")
    os.truncate(path, length)
    return Told(str(length), path=path)


class Unchanged:
    """A tree in which nothing may change: no content, name, right, owner or time."""

    _print = staticmethod(lambda tree: fingerprint(tree))

    def __init__(self, tree: str, **about: Any) -> None:
        self.about: Mapping[str, Any] = about
        self._tree, self._before = tree, self._print(tree)

    def sprung(self, output: bytes) -> bool:
        return self._print(self._tree) != self._before

    def clear(self) -> None:
        pass


class Alike(Unchanged):
    """The same, but for what shows that something was put back: no content, name, right or owner may be another."""

    _print = staticmethod(lambda tree: [(path, about[1:4], content) for path, about, content in fingerprint(tree)])


def file(ground: Ground, name: str, *, place: str = "") -> Unchanged:
    path = written(place or f"{ground.near}/{name}/file", "as it was")
    return Unchanged(path if place else os.path.dirname(path), path=path)


def alike(ground: Ground, name: str, *, place: str) -> Alike:
    return Alike(written(place, "as it was"), path=place)


def absent(ground: Ground, name: str, *, place: str = "") -> Unchanged:
    """A place where nothing is, and nothing may come to be."""
    path = place or f"{ground.near}/{name}/new"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return Unchanged(path if place else os.path.dirname(path), path=path)


def written(path: str, text: str) -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def fingerprint(tree: str) -> list[tuple[Any, ...]]:
    """All there is to know of a file or a directory and what lies in it, following no link."""
    found: list[tuple[Any, ...]] = []
    pending = [tree]
    while pending:
        path = pending.pop()
        try:
            seen = os.lstat(path)
        except OSError:
            found.append((path, (), "nothing"))
            continue
        about = (seen.st_ino, seen.st_mode, seen.st_uid, seen.st_gid, seen.st_nlink, seen.st_mtime_ns, seen.st_ctime_ns)
        content: Any = None
        if os.path.islink(path):
            content = os.readlink(path)
        elif os.path.isdir(path):
            content = sorted(os.listdir(path))
            pending += [f"{path}/{name}" for name in content]
        elif os.path.isfile(path):
            with open(path, "rb") as file:
                content = file.read()
        found.append((path, about, content))
    return sorted(found, key=lambda each: str(each[0]))


class Listening:
    """A socket of ours. Whoever connects to it is in its queue, whether or not anybody takes it out."""

    def __init__(self, family: int, kind: int, address: Any) -> None:
        self._socket = socket.socket(family, kind)
        self._socket.setblocking(False)
        self._socket.bind(address)
        if kind == socket.SOCK_STREAM:
            self._socket.listen(8)
        self._taking = self._socket.accept if kind == socket.SOCK_STREAM else lambda: self._socket.recv(1)
        at = self._socket.getsockname()
        self.about: Mapping[str, Any] = {"host": at[0], "port": at[1]} if isinstance(at, tuple) else {}

    def sprung(self, output: bytes) -> bool:
        try:
            taken = self._taking()
        except OSError:
            return False
        if isinstance(taken, tuple):
            taken[0].close()
        return True

    def clear(self) -> None:
        self._socket.close()


def listener(ground: Ground, name: str, *, host: str = "127.0.0.1", kind: int = socket.SOCK_STREAM) -> Listening:
    return Listening(socket.AF_INET6 if ":" in host else socket.AF_INET, kind, (host, 0))


def agent(ground: Ground, name: str, *, abstract: bool = False, kind: int = socket.SOCK_STREAM) -> Listening:
    """A socket as those have that hold keys for others."""
    address = f"@toolcrib-{os.urandom(8).hex()}" if abstract else f"{ground.far}/{name}.sock"
    found = Listening(socket.AF_UNIX, kind, "\0" + address[1:] if abstract else address)
    found.about = {"address": address}
    return found


class Bystander:
    """A process of the user's that has nothing to do with any of this, with a word in its environment."""

    def __init__(self, cwd: str, *, kept: tuple[int, ...] = (), patience: float = 0.0) -> None:
        """Its end is waited for that long: one that is traced ends a moment after its tracer."""
        self._patience = patience
        word = os.urandom(16).hex()
        reads, self._writes = os.pipe()
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            env = {"SECRET": word}
            argv = ("/bin/cat", "-", "a word in its arguments too: " + word)
            self.pid = start(Start(argv, cwd, env, streams=(reads, null, null), kept=kept))
        finally:
            os.close(reads)
            os.close(null)
        at = end = 0
        for _ in range(_LOOKS):  # it has been started, and its environment is put in place a moment later
            at, end = (int(each) for each in _about(self.pid)[_ENVIRONMENT : _ENVIRONMENT + 2])
            if end > at:
                break
            time.sleep(0.001)
        self._word = word.encode()
        self._before = self._state()
        self.memory = {"pid": self.pid, "at": at, "size": end - at}
        self.about: Mapping[str, Any] = {"pid": self.pid}

    def sprung(self, output: bytes) -> bool:
        if self._patience:
            watched = os.pidfd_open(self.pid)
            select.select([watched], [], [], self._patience)
            os.close(watched)
        return self._word in output or self._state() != self._before

    def clear(self) -> None:
        os.close(self._writes)
        with suppress(OSError):
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)

    def _state(self) -> tuple[Any, ...]:
        """Whether it runs, and how it is held: stopped, traced, its priority, its limits and its memory."""
        try:
            with open(f"/proc/{self.pid}/status", "rb") as file:
                status = dict(line.split(b":", 1) for line in file.read().splitlines() if b":" in line)
            fields = _about(self.pid)
            priorities = (os.getpriority(os.PRIO_PROCESS, self.pid), os.sched_getscheduler(self.pid))
        except OSError:
            return ("gone",)
        halted = fields[_STATE] in _STOPPED or fields[_STATE] in _GONE
        texts = [text_of(f"/proc/{self.pid}/{name}") for name in ("environ", "limits", "oom_score_adj")]
        return halted, status.get(b"TracerPid"), status.get(b"Cpus_allowed"), priorities, *texts


def _about(pid: int) -> list[bytes]:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rsplit(b") ", 1)[-1].split()


def bystander(ground: Ground, name: str) -> Bystander:
    return Bystander(ground.near)


def traced(ground: Ground, name: str) -> Bystander:
    return Bystander(ground.near, patience=0.2)


def memory(ground: Ground, name: str) -> Bystander:
    found = Bystander(ground.near)
    found.about = found.memory
    return found


def environment(ground: Ground, name: str) -> Bystander:
    found = Bystander(ground.near)
    found.about = {"path": f"/proc/{found.pid}/environ"}
    return found


class Found:
    """Something that is not there, unless somebody made it; `look` is asked for it."""

    def __init__(self, look: Callable[[], bool], undo: Callable[[], None] = lambda: None, **about: Any) -> None:
        self.about: Mapping[str, Any] = about
        self._look, self._undo = look, undo

    def sprung(self, output: bytes) -> bool:
        return self._look()

    def clear(self) -> None:
        if self._look():
            self._undo()


def key(ground: Ground, name: str) -> Found:
    """A key in the user's own ring, where the kernel keeps some."""
    word = f"toolcrib-{os.urandom(8).hex()}"

    def forget() -> None:
        libc, call = ctypes.CDLL(None), ctypes.c_long(numbers(machine()).get("keyctl", -1))
        found = libc.syscall(call, _SEARCH, _USERS_RING, b"user", word.encode(), ctypes.c_long(0))
        libc.syscall(call, _UNLINK, ctypes.c_long(found), _USERS_RING)

    return Found(lambda: word in text_of("/proc/keys"), forget, description=word)


def own_program(ground: Ground, name: str) -> Found:
    """A file of the program's own, which must not come to run with its owner's rights for everybody."""
    path = written(f"{ground.workspace}/{name}", "#!/bin/sh\n")
    return Found(lambda: bool(os.stat(path).st_mode & 0o6000), path=path)


def text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
