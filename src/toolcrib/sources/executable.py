"""Programs that describe themselves, from directories of the user and of the project."""

import asyncio
import os
import stat
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..backends.process import ProcessBackend, file_digest
from ..backends.serve import ServeBackend
from ..backends.wishes import NO_WISHES, Wishes, with_wishes
from ..core.errors import ToolcribError
from ..core.limits import Limits
from ..core.schema import Schema
from ..core.source import Loaded, Problem
from ..core.tool import NAME, Capabilities, Tool
from ..policy.project_files import key
from ..policy.trust import Record
from .probe import Prober
from .probe_cache import NO_FOLDER, Answer, Folder, ProbeCache, undisturbed

CAPABILITIES = Capabilities(executes_commands=True)
_AT_ONCE = 8
_MESSAGE = 600
_SETTLED_NS = 1_000_000_000
_NOT_THERE = (0, 0, 0, 0, 0)
_PASSING = ("RESOURCE_EXHAUSTED", "SANDBOX_UNAVAILABLE", "TOOL_PIN_MISMATCH")
"""Being short of something, or being swapped this moment, says nothing about a program: it is asked again."""


class ToolSettings(NamedTuple):
    """What the user's configuration says of one tool, by its exposed name."""

    seconds: float | None = None
    variables: tuple[str, ...] = ()
    warm: bool | None = None
    """Whether it may be kept running, or its libraries at hand; None: as it wishes itself."""


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


class Place(NamedTuple):
    """Where in a project a tools directory lies, and what the user trusted there."""

    project: str
    below: str
    """The directory, as a path below the project."""
    record: Callable[[], Record | None]
    """The same object for as long as the user's word stands."""


class ExecutableSource:
    """The tools of one directory. Unchanged files are never started again to be listed.

    Of a project's directory only those are started that the user trusted with the very content they have. The others
    hold their names, so that nobody gets another tool in place of the one that was meant.
    """

    def __init__(
        self,
        directory: str,
        prober: Prober,
        cache: ProbeCache,
        settings: Settings,
        *,
        rank: int,
        place: Place | None = None,
        skipped: Callable[[Problem], None] = lambda problem: None,
    ) -> None:
        self.directory, self.rank = directory, rank
        self._prober, self._cache, self._settings = prober, cache, settings
        self._place, self._skipped = place, skipped
        self._folder: Folder | None = None
        """As it was when the answers were given; of a file that is withheld no state is kept."""
        self._answers: dict[str, Answer] = {}
        """A withheld file's too, from when it was not, because they say which name it had."""
        self._seen: tuple[Folder, Record | None] | None = None
        self._loaded = Loaded()
        self._declined: dict[str, str] = {}
        """Programs that could stay running as they say, and do not: why, by digest."""

    async def load(self) -> Loaded:
        with undisturbed():
            if self._folder is None:
                self._folder, self._answers = self._cache.recall(self.directory)
            before = self._folder
            folder = look(self.directory, before)
            record = self._place.record() if self._place else None
            if self._seen is not None and self._seen[1] is record and _alike(self._seen[0], folder):
                return self._loaded
            withheld = self._withheld(folder, before, record) if self._place else {}
            same = not withheld and _alike(folder, before)
            if same:
                self._loaded, self._seen = self._offer(withheld), (folder, record)
        if not same:
            known, self._answers = self._answers, await self._ask(folder, before, withheld)
            self._loaded = self._offer(withheld)
            if not any(len(answer) == 2 and answer[0] in _PASSING for answer in self._answers.values()):
                self._seen = (folder, record)
                self._folder = _without_states(folder, withheld)
                if (self._folder, self._answers) != (before, known):
                    self._cache.keep(self.directory, self._folder, self._answers)
        return self._loaded

    async def _ask(self, folder: Folder, before: Folder, withheld: Mapping[str, Problem]) -> dict[str, Answer]:
        """The answers of all programs; only those whose file is another one are started."""
        programs = executables(folder)
        known = self._unchanged(folder, before)
        fresh = [name for name in programs if name not in known and name not in withheld]
        at_once = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(self._probe(name, at_once)) for name in fresh]
        answers = self._answers | {name: task.result() for name, task in zip(fresh, asked, strict=True)}
        return {name: answers[name] for name in programs if name in answers}

    def _unchanged(self, folder: Folder, before: Folder) -> set[str]:
        """The programs whose answer is known, and still that of the file."""
        states = {name: before.state(index) for index, name in enumerate(before.names)}
        programs = executables(folder).items()
        return {name for name, index in programs if name in self._answers and states.get(name) == folder.state(index)}

    def _withheld(self, folder: Folder, before: Folder, record: Record | None) -> dict[str, Problem]:
        """What in a project is not to be started, and why. Files that did not change are not read for it."""
        known = self._unchanged(folder, before)
        noticed = {name for index, name in enumerate(before.names) if not any(before.state(index))}
        found = {}
        for name in executables(folder):
            answer = self._answers[name] if name in known else None
            reason = self._reason(name, record, answer[5] if answer and len(answer) > 2 else None)
            if reason is not None:
                code, message = reason
                found[name] = Problem(f"{self.directory}/{name}", code, message, self._names(name))
                if name not in noticed:
                    self._skipped(found[name])
        return found

    def _reason(self, name: str, record: Record | None, digest: str | None) -> tuple[str, str] | None:
        """Code and message of what speaks against a project's program."""
        assert self._place is not None
        path = f"{self.directory}/{name}"
        fix = f"look at it, then type: toolcrib trust {self._place.project}"
        if digest is None:
            real, project = os.path.realpath(path), os.path.realpath(self._place.project)
            if os.path.commonpath((real, project)) != project:
                return "PATH_OUTSIDE_WORKSPACE", f"it leads out of the project, to {real}"
        seen = record and record.program(f"{self._place.below}/{name}")
        if not seen:
            return "WORKSPACE_UNTRUSTED", f"it is new since the project was trusted; {fix}"
        same_target = digest is not None or seen.get("target", "") == link_target(path)
        if not same_target or seen["digest"] != (digest or file_digest(path)):
            return "WORKSPACE_UNTRUSTED", f"it changed since the project was trusted; {fix}"
        return None

    def _names(self, file: str) -> tuple[str, ...]:
        """What a program would be called: by its file, and by what it last said of itself."""
        answer = self._answers.get(file, ())
        said = [answer[0]] if len(answer) > 2 else []
        names = [self._settings.prefix + name for name in (file, *said)]
        return tuple(dict.fromkeys(name for name in names if NAME.fullmatch(name)))

    def _offer(self, withheld: Mapping[str, Problem]) -> Loaded:
        tools, problems = [], list(withheld.values())
        settings = self._settings
        for file, answer in self._answers.items():
            path = f"{self.directory}/{file}"
            if file in withheld:
                continue
            if len(answer) == 2:
                code, message = answer
                swapped = self._place is not None and code == "TOOL_PIN_MISMATCH"
                held = self._names(file) if swapped or code == "SANDBOX_UNAVAILABLE" else ()
                problems.append(Problem(path, code, message, held))
                continue
            own_name, description, schema, dialect, version, digest, wish, serve, warm, needs = answer
            name = settings.prefix + own_name
            if len(name) > 64:
                message = f"{name} is longer than 64 characters; give the tool a shorter name"
                problems.append(Problem(path, "TOOL_NAME_INVALID", message))
                continue
            limits, variables = settings.limits, settings.variables
            if wish is not None or name in settings.per_tool:
                limits, variables = settings.of(name, wish)
                told = settings.per_tool[name].warm if name in settings.per_tool else None
                serve, warm = (serve, warm) if told is None else (serve and told, told)
            wishes = Wishes(*map(tuple, needs)) if needs else NO_WISHES
            runs = ProcessBackend(path, variables, dialect, digest, warm, wishes)
            backend = ServeBackend(runs, self._declined) if serve else runs
            tools.append(
                Tool(
                    name,
                    description,
                    Schema(None, schema),
                    backend,
                    "executable",
                    path,
                    version,
                    with_wishes(digest, wishes),
                    CAPABILITIES,
                    limits,
                )
            )
        return Loaded(tuple(tools), tuple(problems))

    async def _probe(self, name: str, at_once: asyncio.Semaphore) -> Answer:
        async with at_once:
            program = f"{self.directory}/{name}"
            try:
                return await self._prober.describe(program, pinned=self._trusted_digest(name))
            except ToolcribError as exc:
                problem = Problem(program, exc.code, str(exc)[:_MESSAGE])
                self._skipped(problem)
                return problem.code, problem.message

    def _trusted_digest(self, name: str) -> str | None:
        """What alone may be started of a project; None for the user's own, which is as it is."""
        if self._place is None:
            return None
        record = self._place.record()
        seen = record and record.program(f"{self._place.below}/{name}")
        return seen["digest"] if seen else ""


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


def link_target(path: str) -> str:
    """Where a link points, as a trust record writes it; empty for what is no link."""
    try:
        return key(os.readlink(path))
    except OSError:
        return ""


def _alike(one: Folder, other: Folder) -> bool:
    return one.states == other.states and one.names == other.names


def _without_states(folder: Folder, names: Mapping[str, Problem]) -> Folder:
    if not names:
        return folder
    states = [number for index, name in enumerate(folder.names)
              for number in (_NOT_THERE if name in names else folder.state(index))]  # fmt: skip
    return folder._replace(states=states)


def _counts(name: str) -> bool:
    return not name.startswith(".") and not name.endswith("~") and (name.isascii() or _is_unicode(name))


def _is_unicode(name: str) -> bool:
    """A name that is not UTF-8 can stand in no list, no cache and no record; `check` says so."""
    return not any("\ud800" <= char <= "\udfff" for char in name)


def untrusted(directory: str, names: list[str], prefix: str, message: str) -> Loaded:
    """What stands in place of a project's tools before they are trusted: their names, and nothing read from them."""
    if not names:
        return Loaded()
    held = tuple(prefix + name for name in names if NAME.fullmatch(prefix + name))
    problem = Problem(directory, "WORKSPACE_UNTRUSTED", f"{len(names)} program(s) of {message}", holds=held)
    return Loaded(problems=(problem,))
