"""Which tiers hold here: found out by trying them, and remembered until something changes that could matter.

A version says nothing about whether a kernel, a container or a policy lets a tier work. So each is tried once, by a
canary that attempts what must be refused. What is remembered is only a shortcut: a tier that does not come up when a
program is started in it refuses that program. It is tried anew once something here is different, and by `doctor`.
"""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..core.errors import InvalidJson
from ..core.jsontext import dump, parse
from .cage import BUBBLEWRAP, LANDLOCK, PROCESS, SEATBELT

FILE = "tiers.json"
_LONGEST = 65536
_BUBBLEWRAP = "/usr/bin/bwrap"
_OF_THIS_PROCESS = ("Uid", "NoNewPrivs", "Seccomp", "CapEff", "CapBnd")
"""What the kernel says of a process that bears on what it may do."""
_SWITCHES = (
    "kernel/unprivileged_userns_clone",
    "kernel/apparmor_restrict_unprivileged_userns",
    "user/max_user_namespaces",
)
"""With which an administrator lets a tier work, or no longer, without a new boot. A kernel need not have them."""


class Chosen(NamedTuple):
    """What `auto` means here, and of each tier why not: nothing, for one that holds."""

    tier: str
    why: Mapping[str, str]


def choose(cache: str) -> Chosen:
    """The best tier whose canary passes. `cache` is the directory where that is remembered; it need not exist."""
    found = _remembered(cache)
    if found is None:
        found = {tier: canary() for tier, canary in _canaries().items()}
        remember(cache, found)
    return Chosen(next((tier for tier, why in found.items() if not why), PROCESS), found)


def remember(cache: str, why: Mapping[str, str]) -> None:
    """Spare the next start the trying. A home that cannot be written to costs that much each time."""
    try:
        os.makedirs(cache, 0o700, exist_ok=True)
        target = os.path.join(cache, FILE)
        draft = f"{target}.{os.getpid()}.{os.urandom(4).hex()}"
        with open(draft, "xb") as file:
            file.write(dump({"here": _here(), "why": dict(why)}))
        os.replace(draft, target)
    except OSError:
        pass


def forget(cache: str) -> None:
    """Have every tier tried anew: what changed may not show here, as a profile of AppArmor does not."""
    try:
        os.unlink(os.path.join(cache, FILE))
    except OSError:
        pass


def _canaries() -> dict[str, Callable[[], str]]:
    """The best first."""
    if sys.platform == "darwin":
        from . import seatbelt

        return {SEATBELT: seatbelt.canary}
    from . import bubblewrap, landlock

    return {BUBBLEWRAP: bubblewrap.canary, LANDLOCK: landlock.canary}


def _remembered(cache: str) -> dict[str, str] | None:
    try:
        with open(os.path.join(cache, FILE), "rb") as file:
            kept: Any = parse(file.read(_LONGEST))
        why = kept["why"]
        if kept["here"] == _here() and all(isinstance(each, str) for pair in why.items() for each in pair):
            return dict(why)
    except (OSError, InvalidJson, LookupError, TypeError, AttributeError):
        pass
    return None


def _here() -> list[str]:
    """Who and where this process is, as far as it bears on what can be confined."""
    said = [sys.platform, str(os.getuid()), _text("/proc/sys/kernel/random/boot_id")]
    said += [line for line in _text("/proc/self/status").splitlines() if line.split(":")[0] in _OF_THIS_PROCESS]
    said += [_text(f"/proc/sys/{name}") for name in _SWITCHES]
    for name in ("user", "mnt", "net"):
        try:
            said.append(os.readlink(f"/proc/self/ns/{name}"))
        except OSError:
            said.append("")
    try:
        program = os.stat(_BUBBLEWRAP)
        said.append(f"{program.st_ino} {program.st_size} {program.st_mtime_ns} {program.st_mode}")
    except OSError:
        said.append("")
    return said


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
