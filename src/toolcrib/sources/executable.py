"""Programs that describe themselves, from directories of the user and of the project."""

import asyncio
import os
import stat
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..backends.process import ProcessBackend
from ..core.errors import ToolcribError
from ..core.limits import Limits
from ..core.schema import Schema
from ..core.source import Loaded, Problem
from ..core.tool import NAME, Capabilities, Tool
from .probe import Description, Prober
from .probe_cache import Identity, ProbeCache

CAPABILITIES = Capabilities(executes_commands=True)
_AT_ONCE = 8
_MESSAGE = 600


class Settings(NamedTuple):
    """What the configuration says of executable tools."""

    prefix: str = "custom_tool_"
    limits: Limits = Limits()
    variables: tuple[str, ...] = ("PATH", "HOME", "USER")
    per_tool: Mapping[str, "ToolSettings"] = {}


class ToolSettings(NamedTuple):
    """What the user's configuration says of one tool, by its exposed name."""

    seconds: float | None = None
    variables: tuple[str, ...] = ()


class ExecutableSource:
    """The tools of one directory. Unchanged files are never started again to be listed."""

    def __init__(
        self,
        directory: str,
        prober: Prober,
        cache: ProbeCache,
        settings: Settings,
        *,
        rank: int,
        within: str | None = None,
        skipped: Callable[[Problem], None] = lambda problem: None,
    ) -> None:
        self.directory, self.rank = directory, rank
        self._prober, self._cache, self._settings = prober, cache, settings
        self._within, self._skipped = within, skipped
        self._seen: list[Identity] | None = None
        self._loaded = Loaded()

    async def load(self) -> Loaded:
        found = executables(self.directory)
        if found != self._seen:
            self._loaded = await self._read(found)
            self._seen = found
        return self._loaded

    async def _read(self, found: list[Identity]) -> Loaded:
        known = self._cache.known(self.directory)
        fresh = [program for program in found if program not in known]
        if fresh:
            at_once = asyncio.Semaphore(_AT_ONCE)
            answers = await asyncio.gather(*(self._probe(program, at_once) for program in fresh))
            known = {program: known[program] for program in found if program in known} | dict(
                zip(fresh, answers, strict=True)
            )
            self._cache.keep(self.directory, known)
        tools, problems = [], []
        for program in found:
            answer = known[program]
            if type(answer) is Problem:
                problems.append(answer)
            else:
                tools.append(self._tool(program.path, answer))  # type: ignore[arg-type]  # not a Problem, so a Description
        return Loaded(tuple(tools), tuple(problems))

    async def _probe(self, program: Identity, at_once: asyncio.Semaphore) -> "Description | Problem":
        async with at_once:
            try:
                self._check_place(program.path)
                return await self._prober.describe(program.path)
            except ToolcribError as exc:
                problem = Problem(program.path, exc.code, str(exc)[:_MESSAGE])
                self._skipped(problem)
                return problem

    def _check_place(self, path: str) -> None:
        """A project's tool is a file of that project, not a link to somewhere else."""
        if self._within is not None and os.path.commonpath((os.path.realpath(path), self._within)) != self._within:
            raise ToolcribError(
                f"it leads out of the project, to {os.path.realpath(path)}", code="PATH_OUTSIDE_WORKSPACE"
            )

    def _tool(self, path: str, about: Description) -> Tool:
        settings = self._settings
        name = settings.prefix + about.name
        limits, variables = settings.limits, settings.variables
        special = settings.per_tool.get(name)
        if special is not None or about.seconds is not None:
            seconds = (special.seconds if special else None) or about.seconds or limits.seconds
            limits = Limits(seconds, limits.output_bytes, limits.memory_bytes)
            variables = tuple(dict.fromkeys((*variables, *(special.variables if special else ()))))
        return Tool(
            name,
            about.description,
            Schema(text=about.schema),
            ProcessBackend(path, variables, about.dialect),
            "executable",
            path,
            about.version,
            about.digest,
            CAPABILITIES,
            limits,
        )


def executables(directory: str) -> list[Identity]:
    """The regular files with an execute bit, by name. Nothing is opened, nothing is started."""
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return []
    found = []
    try:
        for name in sorted(os.listdir(fd)):
            if name.startswith(".") or name.endswith("~"):
                continue
            try:
                seen = os.stat(name, dir_fd=fd)
            except OSError:
                continue
            if seen.st_mode & 0o111 and stat.S_ISREG(seen.st_mode):
                path = f"{directory}/{name}"
                found.append(Identity(path, seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size))
    finally:
        os.close(fd)
    return found


def untrusted(directory: str, project: str, prefix: str) -> Loaded:
    """What stands in place of a project's tools before it is trusted: their names, and nothing read from them."""
    names = [os.path.basename(program.path) for program in executables(directory)]
    if not names:
        return Loaded()
    held = tuple(prefix + name for name in names if NAME.fullmatch(prefix + name))
    message = f"{len(names)} program(s) of an untrusted project; look at them, then type: toolcrib trust {project}"
    return Loaded(problems=(Problem(directory, "WORKSPACE_UNTRUSTED", message, holds=held),))
