"""One way out that is tried, and what must be there for it to be one at all."""

import os
import platform
import socket
from collections.abc import Callable
from typing import Any, NamedTuple

from toolcrib.sandbox.canaries import Case

T1 = ("landlock",)


class Escape(NamedTuple):
    case: Case
    group: str
    lacks: Callable[[], str] = lambda: ""
    """Why nobody could do this here, even unconfined; nothing, when anybody can."""

    def is_gap(self, tier: str) -> bool:
        return tier in self.case.gap_of


def escape(group: str) -> Callable[..., Escape]:
    def make(
        name: str,
        attempt: str,
        canary: Any,
        *,
        gap_of: tuple[str, ...] = (),
        lacks: Callable[[], str] = lambda: "",
        **about: Any,
    ) -> Escape:
        return Escape(Case(f"{group}-{name}", "", attempt, canary, about, gap_of), group, lacks)

    return make


def root() -> str:
    return "" if os.geteuid() == 0 else "only root can do this at all"


def everybody() -> str:
    return "unconfined it would reach everybody's processes"


def closed() -> str:
    return "no program is left a descriptor, in whatever tier"


def ipv6() -> str:
    return _bindable(socket.AF_INET6, "::1", "this machine has no IPv6")


def address() -> str:
    return "" if own_address() else "this machine has no address of its own"


def own_address() -> str:
    """By which others reach this machine; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            found = str(probe.getsockname()[0])
        except OSError:
            return ""
    return "" if found.startswith("127.") else found


def _bindable(family: int, host: str, why: str) -> str:
    try:
        with socket.socket(family) as probe:
            probe.bind((host, 0))
    except OSError:
        return why
    return ""


def can_make(family: int, kind: int, protocol: int = 0) -> Callable[[], str]:
    def lacks() -> str:
        try:
            socket.socket(family, kind, protocol).close()
        except OSError as exc:
            return f"this user cannot make such a socket here: {exc}"
        return ""

    return lacks


def there(path: str) -> Callable[[], str]:
    return lambda: "" if os.path.exists(path) else f"there is no {path} here"


def openable(path: str, flags: int) -> Callable[[], str]:
    def lacks() -> str:
        try:
            os.close(os.open(path, flags | os.O_NONBLOCK))
        except OSError as exc:
            return f"this user cannot open it: {exc}"
        return ""

    return lacks


def setting(path: str, *allowed: str) -> Callable[[], str]:
    def lacks() -> str:
        try:
            with open(path) as file:
                value = file.read().strip()
        except OSError:
            return ""
        return "" if value in allowed or os.geteuid() == 0 else f"{path} is {value}: not for this user"

    return lacks


def intel() -> str:
    if platform.machine() != "x86_64":
        return "another kind of machine"
    return there("/proc/sys/abi/vsyscall32")()


def x32() -> str:
    return "few kernels have x32"
