"""The ground on which the escapes are tried, with more kinds of canaries, and eyes for what goes on meanwhile."""

import array
import ctypes
import fcntl
import os
import pty
import termios
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from toolcrib.sandbox.canaries import ATTEMPTS, Inside
from toolcrib.sandbox.canary import Bystander, Found, Ground, secret, text_of

HERE = Path(__file__).parent
PROGRAM = (
    str(HERE / "inside.py"),
    ATTEMPTS,
    *(str(HERE / f"inside_{part}.py") for part in ("files", "network", "kernel")),
)
LIBC = ctypes.CDLL(None, use_errno=True)
DOMAIN = "/proc/sys/kernel/domainname"


class Sight(NamedTuple):
    """A process inside, as it is seen from outside while it stays."""

    held: list[str]
    """What its descriptors lead to."""
    watched: str
    """What it says of the files it is told about."""
    uid_map: str
    own: dict[str, str]
    """Its namespaces."""
    parents: dict[str, str]
    personality: str


class Yard(Ground):
    """Also a terminal, and a meeting at which everybody who stays is looked at."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.id = os.urandom(3).hex()
        self.witnesses: list[Witness] = []
        self.looks: list[Callable[[], None]] = []
        self.met = 0
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        self.typed = b""
        self.asked, self.answered = f"{self.workspace}/asked", f"{self.workspace}/answered"
        for path in (self.asked, self.answered):
            os.mkfifo(path)
        self.asking = os.open(self.asked, os.O_RDWR | os.O_NONBLOCK)  # so that it never ends
        self.answering = os.open(self.answered, os.O_RDWR)

    def inside(self, python: str = "") -> Inside:
        return Inside(python, PROGRAM, self.slave)

    def look(self) -> None:
        """They are all there, and wait for us."""
        os.read(self.asking, 16)
        self.met += 1
        for pid in filter(str.isdigit, os.listdir("/proc")):
            comm = text_of(f"/proc/{pid}/comm").strip()
            if comm.startswith(f"esc{self.id}-"):
                for witness in self.witnesses:
                    if witness.about["comm"] == comm:
                        witness.seen = witness.seen or witness.sees(sight(pid))
        for each in self.looks:
            each()
        os.write(self.answering, b"x")

    def read_typed(self) -> bytes:
        waiting = array.array("i", [0])
        fcntl.ioctl(self.slave, termios.FIONREAD, waiting)
        if waiting[0]:
            self.typed += os.read(self.slave, waiting[0])
        return self.typed

    def clear(self) -> None:
        for fd in (self.master, self.slave, self.asking, self.answering):
            os.close(fd)
        super().clear()


def sight(pid: str) -> Sight:
    held, watched = [], ""
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            held.append(os.readlink(f"/proc/{pid}/fd/{name}"))
            watched += text_of(f"/proc/{pid}/fdinfo/{name}")
    except OSError:
        pass
    parent = next((line.split()[1] for line in text_of(f"/proc/{pid}/status").splitlines() if "PPid" in line), "1")
    return Sight(
        held,
        watched,
        text_of(f"/proc/{pid}/uid_map").strip(),
        spaces(pid),
        spaces(parent),
        text_of(f"/proc/{pid}/personality").strip(),
    )


def spaces(pid: str) -> dict[str, str]:
    found = {}
    for name in ("user", "mnt", "net", "pid"):
        try:
            found[name] = os.readlink(f"/proc/{pid}/ns/{name}")
        except OSError:
            pass
    return found


class Witness:
    """Sees what a process holds that stays."""

    def __init__(self, yard: Yard, sees: Callable[[Sight], bool], **about: Any) -> None:
        self.sees, self.seen = sees, False
        self.about = {"comm": f"esc{yard.id}-{len(yard.witnesses)}", **about}
        yard.witnesses.append(self)

    def sprung(self, output: bytes) -> bool:
        return self.seen

    def clear(self) -> None:
        pass


def meeting(yard: Yard, name: str) -> Found:
    """Not an escape: where the two sides meet."""
    return Found(lambda: False, asked=yard.asked, answered=yard.answered)


def holding(link: str, **about: Any) -> Callable[[Yard, str], Witness]:
    """Somebody holds a descriptor of this kind."""
    return lambda yard, name: Witness(yard, lambda seen: any(link in each for each in seen.held), **about)


def host_socket(**about: Any) -> Callable[[Yard, str], Witness]:
    """Somebody holds a socket in the network of this machine."""
    ours = os.readlink("/proc/self/ns/net")
    return lambda yard, name: Witness(
        yard, lambda seen: any("socket:" in each for each in seen.held) and seen.own.get("net") == ours, **about
    )


def any_socket(**about: Any) -> Callable[[Yard, str], Witness]:
    return holding("socket:", **about)


def fresh_user(**about: Any) -> Callable[[Yard, str], Witness]:
    """Somebody is in a new user namespace, in which he has every right."""
    return lambda yard, name: Witness(yard, lambda seen: seen.uid_map == "", **about)


def other_space(kind: str, **about: Any) -> Callable[[Yard, str], Witness]:
    return lambda yard, name: Witness(
        yard, lambda seen: kind in seen.own and kind in seen.parents and seen.own[kind] != seen.parents[kind], **about
    )


def our_space(kind: str, path: str) -> Callable[[Yard, str], Any]:
    """Somebody is in a namespace of ours; `path` says how it is named, with the pid of a bystander."""

    def lay(yard: Yard, name: str) -> Any:
        found = Accompanied(yard)
        witness = Witness(yard, lambda seen: seen.own.get(kind) == os.readlink(f"/proc/self/ns/{kind}"))
        found.about = {"path": path.format(pid=found.pid), "comm": witness.about["comm"]}
        found.also = witness
        return found

    return lay


class Accompanied(Bystander):
    """A bystander, and something else beside it."""

    also: Any = None

    def __init__(self, yard: Ground, **about: Any) -> None:
        super().__init__(yard.near, **about)

    def sprung(self, output: bytes) -> bool:
        return super().sprung(output) or self.also.sprung(output)

    def clear(self) -> None:
        super().clear()
        self.also.clear()


def path_of_process(form: str) -> Callable[[Ground, str], Accompanied]:
    """A secret that is reached by way of a bystander's files: `{pid}`, `{path}`, `{fd}` and `{name}` are filled in."""

    def lay(yard: Ground, name: str) -> Accompanied:
        lies = secret(yard, name, place=f"{yard.near}/{name}-secret")
        path = lies.about["path"]
        fd = os.open(path, os.O_RDONLY)
        found = Accompanied(yard, kept=(fd,))
        os.close(fd)
        found.also = lies
        filled = form.format(pid=found.pid, path=path, fd=fd, name=os.path.basename(path))
        found.about = {"path": filled} if "/" in form else {"pid": found.pid, "number": fd}
        return found

    return lay
