"""What a tier holds, seen from outside: each case is one attempt from within and one canary without.

The attempts (`_attempts.py`) run inside. Only the canary counts: what an attempt itself says of its success is shown to
people, and never believed.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..core.errors import ToolError
from ..core.limits import Limits
from ..core.process import Command
from ._syscalls import machine, numbers
from .cage import UNCONFINED, Cage
from .canary import Canary, Ground
from .confined import Confined
from .processes import Processes

HELD, GAP, ESCAPED = "held", "GAP (known)", "ESCAPED"
ATTEMPTS = os.path.join(os.path.dirname(__file__), "_attempts.py")
_LONGEST_SECONDS = 120.0
_MOST_BYTES = 8 * 1024 * 1024


class Case(NamedTuple):
    """One attempt, and who notices."""

    name: str
    what: str
    """For people: what the program tries to do."""
    attempt: str
    canary: Callable[[Ground, str], Canary]
    """Puts it in place: it is told where it may be, and the name of the case, under which nothing else is kept."""
    about: Mapping[str, Any] = MappingProxyType({})
    gap_of: tuple[str, ...] = ()
    """Tiers that are known not to hold this."""


class Outcome(NamedTuple):
    case: Case
    escaped: bool
    said: str
    """How it went, in the attempt's own words."""

    def state(self, tier: str) -> str:
        if not self.escaped:
            return HELD
        return GAP if tier in UNCONFINED or tier in self.case.gap_of else ESCAPED


class Inside(NamedTuple):
    """Who makes the attempts."""

    python: str = ""
    """An interpreter of the system; without it, the one that runs here, with its installation."""
    program: tuple[str, ...] = (ATTEMPTS,)
    """What it runs. These are files, which it is let read."""
    channel: int = -1
    """A descriptor that it is handed."""


async def tried(
    cases: Sequence[Case], cage: Cage, ground: Ground, processes: Processes, *, inside: Inside | None = None
) -> list[Outcome]:
    """Make each attempt in this cage, in their order in one process, and look at every canary.

    Raises:
        ToolError: nothing could be started in this cage, or it did not come to an end.
    """
    laid: list[tuple[Case, Canary]] = []
    try:
        for case in cases:
            laid.append((case, case.canary(ground, case.name)))
        jobs = [
            {"name": case.name, "attempt": case.attempt, "about": {**canary.about, **case.about}}
            for case, canary in laid
        ]
        output = await _output(cage, ground, processes, inside or Inside(), jobs)
        said = _said(output)
        return [Outcome(case, canary.sprung(output), said.get(case.name, "it said nothing")) for case, canary in laid]
    finally:
        for _, canary in laid:
            canary.clear()


async def _output(
    cage: Cage, ground: Ground, processes: Processes, inside: Inside, jobs: list[dict[str, Any]]
) -> bytes:
    mark = f"{os.path.basename(processes.scratch.root).removeprefix('toolcrib-')}-canary"
    env = {
        "PATH": "/usr/bin:/bin", "HOME": ground.home, "TOOLCRIB_CALL_ID": mark, "TOOLCRIB_WORKSPACE": ground.workspace,
    }  # fmt: skip
    python, *installed = (inside.python,) if inside.python else _this_python()
    asked = json.dumps({"numbers": numbers(machine()), "jobs": jobs}).encode()
    command = Command(
        (python, "-I", "-S", *inside.program), ground.workspace, mark, env, stdin=asked,
        limits=Limits(_LONGEST_SECONDS, _MOST_BYTES), channel=inside.channel, reads=(*installed, *inside.program),
    )  # fmt: skip
    try:
        async with asyncio.timeout(_LONGEST_SECONDS):
            done = await Confined(processes, cage).exec(command)
    except TimeoutError:
        raise ToolError(f"the attempts did not come to an end in {_LONGEST_SECONDS:.0f} s", code="TIMEOUT") from None
    if done.code != 0:
        raise ToolError(f"the attempts ended with exit status {done.code}: {done.stderr.text()[-500:]}")
    return done.stdout.head + done.stdout.tail + done.stderr.head + done.stderr.tail


def _this_python() -> tuple[str, ...]:
    """The interpreter, and what it is made of."""
    return tuple(dict.fromkeys(map(os.path.realpath, (sys.executable, sys.base_prefix, sys.base_exec_prefix))))


def _said(output: bytes) -> dict[str, str]:
    lines = [json.loads(line) for line in output.splitlines() if line.startswith(b"{")]
    return {line["name"]: line["said"] for line in lines}
