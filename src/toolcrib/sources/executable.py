"""Programs that describe themselves, from directories of the user and of the project."""

import asyncio
import os
import stat
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..backends.process import ProcessBackend
from ..core.errors import ToolcribError
from ..core.limits import Limits
from ..core.schema import Schema
from ..core.source import Loaded, Problem
from ..core.tool import NAME, Capabilities, Tool
from .probe import Prober
from .probe_cache import NO_FOLDER, Answer, Folder, ProbeCache, undisturbed

CAPABILITIES = Capabilities(executes_commands=True)
_AT_ONCE = 8
_MESSAGE = 600
_SETTLED_NS = 1_000_000_000
_NOT_THERE = (0, 0, 0, 0, 0)


class ToolSettings(NamedTuple):
    """What the user's configuration says of one tool, by its exposed name."""

    seconds: float | None = None
    variables: tuple[str, ...] = ()


class Settings(NamedTuple):
    """What the configuration says of executable tools."""

    prefix: str = "custom_tool_"
    limits: Limits = Limits()
    variables: tuple[str, ...] = ("PATH", "HOME", "USER")
    per_tool: Mapping[str, ToolSettings] = {}

    def of(self, name: str, wish: float | None) -> tuple[Limits, tuple[str, ...]]:
        """For one tool: the user's word for it, else its own wish for time, else what holds for all."""
        special = self.per_tool.get(name, ToolSettings())
        seconds = special.seconds or wish or self.limits.seconds
        limits = Limits(seconds, self.limits.output_bytes, self.limits.memory_bytes)
        return limits, tuple(dict.fromkeys((*self.variables, *special.variables)))


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
        self._folder: Folder | None = None
        self._answers: dict[str, Answer] = {}
        self._loaded = Loaded()

    async def load(self) -> Loaded:
        with undisturbed():
            first = self._folder is None
            if self._folder is None:
                self._folder, self._answers = self._cache.recall(self.directory)
            folder = look(self.directory, self._folder)
            same = folder.states == self._folder.states and folder.names == self._folder.names
            if same and first:
                self._loaded = self._offer()
        if not same:
            self._answers = await self._ask(folder, self._folder)
            self._loaded = self._offer()
            # Being short of something says nothing about a program: then all are asked again.
            if not any(len(answer) == 2 and answer[0] == "RESOURCE_EXHAUSTED" for answer in self._answers.values()):
                self._folder = folder
                self._cache.keep(self.directory, folder, self._answers)
        return self._loaded

    async def _ask(self, folder: Folder, before: Folder) -> dict[str, Answer]:
        """The answers of all programs; only those whose file is another one are started."""
        known = {name: before.state(index) for index, name in enumerate(before.names)}
        programs = executables(folder)
        same = {name for name, index in programs.items() if known.get(name) == folder.state(index)}
        fresh = [name for name in programs if name not in same or name not in self._answers]
        at_once = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(self._probe(f"{self.directory}/{name}", at_once)) for name in fresh]
        answers = self._answers | {name: task.result() for name, task in zip(fresh, asked, strict=True)}
        return {name: answers[name] for name in programs}

    def _offer(self) -> Loaded:
        tools, problems = [], []
        settings = self._settings
        for file, answer in self._answers.items():
            path = f"{self.directory}/{file}"
            if len(answer) == 2:
                problems.append(Problem(path, *answer))
                continue
            own_name, description, schema, dialect, version, digest, wish = answer
            name = settings.prefix + own_name
            if len(name) > 64:
                message = f"{name} is longer than 64 characters; give the tool a shorter name"
                problems.append(Problem(path, "TOOL_NAME_INVALID", message))
                continue
            limits, variables = settings.limits, settings.variables
            if wish is not None or name in settings.per_tool:
                limits, variables = settings.of(name, wish)
            backend = ProcessBackend(path, variables, dialect)
            tools.append(
                Tool(
                    name,
                    description,
                    Schema(None, schema),
                    backend,
                    "executable",
                    path,
                    version,
                    digest,
                    CAPABILITIES,
                    limits,
                )
            )
        return Loaded(tuple(tools), tuple(problems))

    async def _probe(self, program: str, at_once: asyncio.Semaphore) -> Answer:
        async with at_once:
            try:
                self._check_place(program)
                return await self._prober.describe(program)
            except ToolcribError as exc:
                problem = Problem(program, exc.code, str(exc)[:_MESSAGE])
                self._skipped(problem)
                return problem.code, problem.message

    def _check_place(self, path: str) -> None:
        """A project's tool is a file of that project, not a link to somewhere else."""
        if self._within is not None and os.path.commonpath((os.path.realpath(path), self._within)) != self._within:
            raise ToolcribError(
                f"it leads out of the project, to {os.path.realpath(path)}", code="PATH_OUTSIDE_WORKSPACE"
            )


def look(directory: str, before: Folder = NO_FOLDER) -> Folder:
    """The state of a directory now. Nothing in it is opened, nothing is started."""
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return NO_FOLDER
    states: list[int] = []
    try:
        seen = os.fstat(fd)
        stamp = [seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns]
        # A directory that changed this very moment may change again without a new time stamp.
        settled = stamp == before.stamp and time.time_ns() - seen.st_mtime_ns > _SETTLED_NS
        names = before.names if settled else sorted(name for name in os.listdir(fd) if _counts(name))
        for name in names:
            try:
                seen = os.stat(name, dir_fd=fd)
            except OSError:  # a link to nowhere, or gone this moment
                states += _NOT_THERE
                continue
            states += (seen.st_mode, seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size)
    finally:
        os.close(fd)
    return Folder(stamp, names, states)


def executables(folder: Folder) -> dict[str, int]:
    """The regular files with an execute bit, and where they stand in the folder."""
    modes = folder.states[::5]
    return {
        name: index
        for index, (name, mode) in enumerate(zip(folder.names, modes, strict=True))
        if mode & 0o111 and stat.S_ISREG(mode)
    }


def _counts(name: str) -> bool:
    return not name.startswith(".") and not name.endswith("~") and (name.isascii() or _is_unicode(name))


def _is_unicode(name: str) -> bool:
    """A name that is not UTF-8 can stand in no list, no cache and no record; `check` says so."""
    return not any("\ud800" <= char <= "\udfff" for char in name)


def untrusted(directory: str, project: str, prefix: str) -> Loaded:
    """What stands in place of a project's tools before it is trusted: their names, and nothing read from them."""
    names = list(executables(look(directory)))
    if not names:
        return Loaded()
    held = tuple(prefix + name for name in names if NAME.fullmatch(prefix + name))
    message = f"{len(names)} program(s) of an untrusted project; look at them, then type: toolcrib trust {project}"
    return Loaded(problems=(Problem(directory, "WORKSPACE_UNTRUSTED", message, holds=held),))
