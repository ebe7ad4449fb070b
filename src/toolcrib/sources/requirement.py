"""What a tool needs to be there: programs, and how new they must be."""

import asyncio
import operator
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..core.errors import InvalidJson, ToolcribError
from ..core.jsontext import dump, parse
from ..core.process import Completed

UNMET = "ENGINE_NOT_AVAILABLE"
"""The code of a tool that needs what is not there. It says nothing about the tool, so it is found out each time."""
REQUIREMENT = re.compile(r"([A-Za-z0-9_.+-]+)\s*(?:(>=|==|<=|>|<)\s*([0-9]{1,9}(?:\.[0-9]{1,9}){0,5}))?")
"""`jq`, or `jq >= 1.6`."""
_DOTTED = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})+", re.ASCII)
_WHOLE = re.compile(r"(?<![\w.])v?([0-9]{1,9})(?![\w.])", re.ASCII)
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge, "==": operator.eq, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_AT_ONCE = 8
_KEPT_AS = "//versions"
"""Under which name the answers are kept; no directory is called so."""
_FORMAT = 1

Asks = Callable[[str], Awaitable[Completed]]
"""Starts a program, given by its path, with `--version`. Raises: `ToolcribError`, when it does not answer."""
Cache = tuple[Callable[[str], bytes | None], Callable[[str, bytes], None]]
"""Reads and writes what is kept under a name."""


class Said(NamedTuple):
    """What is known of a program's version."""

    state: list[int]
    """Of its file when it was asked; another state is another program."""
    version: str
    reason: str
    """Why there is none."""


class Versions:
    """Of programs. Each is started once to say its version, and again when its file is another one.

    Nothing that lies in the workspace is started: it may be anybody's, and nobody asked for it.
    """

    def __init__(self, ask: Asks, cache: Cache, *, workspace: str) -> None:
        self._ask, (self._read, self._write) = ask, cache
        self._workspace = os.path.realpath(workspace)
        self._said: dict[str, Said] | None = None
        self._turn: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    def of(self, program: str) -> Said | None:
        """What it said; None when it has to be asked first."""
        if not os.path.isabs(program) or self._is_inside(program) or self._is_inside(os.path.realpath(program)):
            return Said([], "", "it lies in the workspace, so it is not started to be asked")
        if self._said is None:
            self._said = self._recall()
        said = self._said.get(program)
        return said if said is not None and said.state == _state(program) else None

    async def learn(self, programs: Iterable[str]) -> None:
        """Ask these, those at once that nobody else is asking at this moment."""
        at_once = asyncio.Semaphore(_AT_ONCE)
        async with self._alone():
            unknown = [program for program in programs if self.of(program) is None]
            async with asyncio.TaskGroup() as group:
                asked = {program: group.create_task(self._learn(program, at_once)) for program in unknown}
            if asked:
                self._keep({program: task.result() for program, task in asked.items()})

    def _alone(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._turn is None or self._turn[0] is not loop:  # a lock belongs to the loop it was first waited for in
            self._turn = (loop, asyncio.Lock())
        return self._turn[1]

    def _keep(self, said: Mapping[str, Said]) -> None:
        self._said = {**(self._said or {}), **said}
        try:
            self._write(_KEPT_AS, dump({"format": _FORMAT, "said": self._said}))
        except (OSError, InvalidJson):  # a full or read-only home, a path that is not UTF-8: slower, but right
            pass

    async def _learn(self, program: str, at_once: asyncio.Semaphore) -> Said:
        async with at_once:
            state = _state(program)
            try:
                done = await self._ask(program)
            except ToolcribError as exc:
                return Said(state, "", str(exc))
        if done.code:
            return Said(state, "", f"--version ends with exit status {done.code}")
        version = version_in(done.stdout.text()) or version_in(done.stderr.text())
        return Said(state, version, "" if version else "--version prints no number")

    def _recall(self) -> dict[str, Said]:
        raw = self._read(_KEPT_AS)
        try:
            kept = parse(raw) if raw is not None else {}
            if kept.get("format") == _FORMAT:
                return {program: Said(*said) for program, said in kept["said"].items()}
        except (InvalidJson, KeyError, TypeError, AttributeError):  # damaged: ask again
            pass
        return {}

    def _is_inside(self, path: str) -> bool:
        return (path + "/").startswith(self._workspace + "/")


def unmet(requirements: Iterable[str], search_path: str, versions: Versions | None) -> tuple[list[str], list[str]]:
    """What of these is lacking, in words; and the programs that have to be asked before that can be said.

    Without `versions` they are only looked for.
    """
    lacking, unasked = [], []
    for each in requirements:
        name, how, wanted = REQUIREMENT.fullmatch(each).groups()  # type: ignore[union-attr]  # a manifest's are checked
        program = shutil.which(name, path=search_path)
        if program is None:
            lacking.append(f"{each}, which is not in the PATH")
        elif how and versions is not None:
            said = versions.of(program)
            if said is None:
                unasked.append(program)
            elif not said.version:
                lacking.append(f"{each}, and the version of {program} cannot be told: {said.reason}")
            elif not _COMPARED[how](*_aligned(said.version, wanted)):
                lacking.append(f"{each}, and {program} is {said.version}")
    return lacking, unasked


def program_of(requirement: str) -> str:
    """The name of the program in `jq >= 1.6`."""
    found = REQUIREMENT.fullmatch(requirement)
    return found[1] if found else requirement


def version_in(text: str) -> str:
    """The first number with dots in what a program says, or a whole one in its first line."""
    found = _DOTTED.search(text)
    if found:
        return found[0]
    whole = _WHOLE.search(text.strip().partition("\n")[0])
    return whole[1] if whole else ""


def is_older(version: str, wanted: str) -> bool:
    """Whether a version is below another; of `0.2.0rc1` the numbers count."""
    have, need = _aligned(version_in(version), wanted)
    return have < need


def _aligned(*versions: str) -> list[list[int]]:
    """As numbers, equally many of each: 1.6 is 1.6.0."""
    numbers = [[int(part) for part in version.split(".")] for version in versions]
    longest = max(map(len, numbers))
    return [each + [0] * (longest - len(each)) for each in numbers]


def _state(program: str) -> list[int]:
    try:
        seen = os.stat(program)
    except OSError:
        return []
    return [seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size]
