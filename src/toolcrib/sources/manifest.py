"""Folders with a `tool.yaml`, from directories of the user and of the project."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..backends.arguments import Carried
from ..backends.folder import (
    LEFT_OUT,
    LINK,
    MANIFEST,
    FolderBackend,
    Wishes,
    digest_of,
    paths_in,
    read_folder,
    states_of,
)
from ..core.errors import InvalidJson, ToolcribError
from ..core.jsontext import dump, parse
from ..core.limits import Limits
from ..core.schema import Schema
from ..core.source import Loaded, Problem
from ..core.tool import NAME, Capabilities, Hooks, Tool
from ..policy.project_files import key
from ..policy.trust import Record
from .executable import CAPABILITIES, Place, Settings
from .probe_cache import undisturbed

_VERSION = 1
_FIELDS = 10
"""Of an answer that is a tool."""
_SETTLED_NS = 1_000_000_000
_MESSAGE = 600
_NO_WISHES = Wishes()
_PROGRAM = re.compile(r"[^\s<>=]*")
UNMET = "ENGINE_NOT_AVAILABLE"
"""The code of a tool whose programs are not there. It says nothing about the folder, so it is found out each time."""


class Kept(NamedTuple):
    """What is known of one folder."""

    paths: list[str]
    """All that its state depends on, below the tools directory."""
    states: list[int]
    """As `backends.folder` finds them; none when the folder is to be read again."""
    listing: str
    """Of its files, as `backends.folder` writes it; empty for a folder that is no tool."""
    answer: list[Any]
    """The fields of a tool, (code, message) of a problem, or nothing where the manifest was not parsed."""

    @property
    def unparsed(self) -> bool:
        return bool(self.listing) and not self.answer


class ManifestSource:
    """The tools of the folders in one directory. A folder in which nothing changed is not read again.

    Of a project's folders only those are parsed in which every file is what the user trusted. The others hold their
    names, so that nobody gets another tool in place of the one that was meant.
    """

    def __init__(
        self,
        directory: str,
        settings: Settings,
        cache: tuple[Callable[[str], bytes | None], Callable[[str, bytes], None]],
        search_path: str,
        *,
        rank: int,
        place: Place | None = None,
        skipped: Callable[[Problem], None] = lambda problem: None,
    ) -> None:
        """`cache` reads and writes what was found, under a name; `search_path` is the PATH that a tool gets."""
        self.directory, self.rank = directory, rank
        self._settings, self._search_path = settings, search_path
        self._read, self._write = cache
        self._place, self._skipped = place, skipped
        self._stamp: list[int] = []
        self._kept: dict[str, Kept] | None = None
        self._seen: tuple[dict[str, str], Record | None] | None = None
        self._offered: tuple[Any, ...] | None = None
        """What the tools on offer were made of."""
        self._loaded = Loaded()

    async def load(self) -> Loaded:
        with undisturbed():
            return self._look()

    def _look(self) -> Loaded:
        if self._kept is None:
            self._stamp, self._kept = self._recall()
        before, record = self._kept, self._place.record() if self._place else None
        stamp, names, changed = self._survey(before)
        same = not changed and len(names) == len(before) and stamp == self._stamp
        if same and self._seen is not None and self._seen == (self._unmet(before), record):
            return self._loaded
        now = {name: self._fresh(name, record) if name in changed else before[name] for name in names}
        objections = self._objections(now, record)
        for name in [name for name, kept in now.items() if kept.unparsed and name not in objections]:
            now[name] = self._fresh(name, record)
            objections |= self._objections({name: now[name]}, record)
        worth_keeping = now != before or (now and stamp != self._stamp)
        self._stamp, self._kept = stamp, now
        if worth_keeping:
            self._keep()
        unmet = self._unmet(now)
        offered = ({name: (kept.listing, kept.answer) for name, kept in now.items()}, objections, unmet)
        if offered != self._offered:
            known = self._loaded.problems
            self._loaded, self._offered = self._offer(now, objections, unmet), offered
            for problem in self._loaded.problems:
                if problem not in known and os.path.basename(os.path.dirname(problem.origin)) in changed:
                    self._skipped(problem)
        self._seen = (unmet, record)
        return self._loaded

    def _survey(self, before: Mapping[str, Kept]) -> tuple[list[int], list[str], set[str]]:
        """The directory's own state, the folders in it, and which of them are to be read. Nothing in it is opened."""
        try:
            fd = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return [], [], set()
        try:
            seen = os.fstat(fd)
            stamp = [seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns]
            # A directory that changed this very moment may change again without a new time stamp.
            if stamp == self._stamp and time.time_ns() - seen.st_mtime_ns > _SETTLED_NS:
                names = list(before)
            else:
                names = _directories(fd)
            changed = {name for name in names
                       if (kept := before.get(name)) is None or states_of(kept.paths, fd) != kept.states}  # fmt: skip
        finally:
            os.close(fd)
        return stamp, names, changed

    def _fresh(self, name: str, record: Record | None) -> Kept:
        """What a folder is now. Its manifest is parsed if nothing speaks against it."""
        folder = f"{self.directory}/{name}"
        own = [f"{name}/."]
        states = states_of([f"{folder}/."])
        try:
            if self._place is not None and os.path.islink(folder):
                message = "it is a link; put the folder itself into the project"
                raise ToolcribError(message, code="PATH_NOT_REGULAR")
            if not os.path.lexists(f"{folder}/{MANIFEST}"):
                return Kept(own, states, "", [])
            content = read_folder(folder)
        except ToolcribError as exc:
            return Kept(own, [], "", [exc.code, str(exc)])
        paths = [path[len(self.directory) + 1 :] for path in content.paths]
        kept = Kept(paths, content.states if content.settled else [], content.listing, [])
        if self._objections({name: kept}, record):
            return kept
        return kept._replace(answer=self._parsed(name, content.manifest, content.listing))

    def _parsed(self, name: str, manifest: bytes, listing: str) -> list[Any]:
        from .manifest_file import read_manifest  # late: what did not change is not parsed

        files = parse(listing)
        if not any(path == MANIFEST and kind != LINK for path, kind, _ in files):
            return ["PATH_NOT_REGULAR", f"{MANIFEST} is a link; put the file itself there"]
        found, wrong = read_manifest(manifest, f"{self.directory}/{name}/{MANIFEST}", folder=name, files=files)
        if found is None:
            more = f" (and {len(wrong) - 1} more; type: toolcrib check {self.directory}/{name})" if wrong[1:] else ""
            return [wrong[0].code, str(wrong[0])[:_MESSAGE] + more]
        schema, names = dump(found.schema).decode(), list(found.schema.get("properties", {}))
        limits = [found.seconds, found.output_bytes]
        wishes = [list(wish) for wish in found.wishes] if any(found.wishes) else []
        about = [found.description, found.version, found.entrypoint]
        return [*about, schema, names, *limits, list(found.claims), wishes, digest_of(listing)]

    def _objections(self, now: Mapping[str, Kept], record: Record | None) -> dict[str, str]:
        """What of a project is not as the user trusted it, and why."""
        place, found = self._place, {}
        for name, kept in now.items() if place else ():
            assert place is not None
            fix = f"look at it, then type: toolcrib trust {place.project}"
            below = f"{key(f'{place.below}/{name}')}/"
            trusted = {path: seen for path, seen in (record.files if record else {}).items() if path.startswith(below)}
            if kept.listing and not trusted:
                found[name] = f"it is new since the project was trusted; {fix}"
            elif kept.listing and (path := _different(parse(kept.listing), trusted, below)):
                found[name] = f"{path} changed since the project was trusted; {fix}"
        return found

    def _unmet(self, now: Mapping[str, Kept]) -> dict[str, str]:
        """Which tools need a program that is not there."""
        found = {}
        for name, kept in now.items():
            needed = kept.answer[8][3] if len(kept.answer) > 2 and kept.answer[8] else ()
            if needed and (lacking := missing(needed, self._search_path)):
                found[name] = f"it needs {', '.join(lacking)}, which is not in the PATH; install it"
        return found

    def _offer(self, now: Mapping[str, Kept], objections: Mapping[str, str], unmet: Mapping[str, str]) -> Loaded:
        tools, problems = [], []
        for name, kept in now.items():
            exposed = self._settings.prefix + name
            if name in objections:
                problems.append(self._problem(name, "WORKSPACE_UNTRUSTED", objections[name], holds=True))
            elif len(kept.answer) == 2:
                unread = self._place is not None and not kept.listing
                problems.append(self._problem(name, *kept.answer, holds=unread))
            elif kept.answer and len(exposed) > 64:
                message = f"{exposed} is longer than 64 characters; give the tool a shorter name"
                problems.append(self._problem(name, "TOOL_NAME_INVALID", message))
            elif name in unmet:
                problems.append(self._problem(name, UNMET, unmet[name]))
            elif kept.answer:
                tools.append(self._tool(name, exposed, kept))
        return Loaded(tuple(tools), tuple(problems))

    def _tool(self, name: str, exposed: str, kept: Kept) -> Tool:
        description, version, entrypoint, schema, names, seconds, output, claims, wished, digest = kept.answer
        limits, variables = self._settings.limits, self._settings.variables
        if seconds is not None or exposed in self._settings.per_tool:
            limits, variables = self._settings.of(exposed, seconds)
        if output is not None and output < limits.output_bytes:
            limits = Limits(limits.seconds, output, limits.memory_bytes)
        wishes = Wishes(*map(tuple, wished)) if wished else _NO_WISHES
        folder = f"{self.directory}/{name}"
        backend = FolderBackend(folder, entrypoint, tuple(names), kept.listing, digest, variables, wishes)
        return Tool(
            exposed,
            description,
            Schema(None, schema),
            backend,
            "manifest",
            f"{folder}/{MANIFEST}",
            version,
            digest,
            _capabilities(claims, wishes),
            limits,
            Hooks(Carried(backend.names)),
        )

    def _problem(self, name: str, code: str, message: str, *, holds: bool = False) -> Problem:
        exposed = self._settings.prefix + name
        held = (exposed,) if holds and NAME.fullmatch(exposed) else ()
        return Problem(f"{self.directory}/{name}/{MANIFEST}", code, message, held)

    def _recall(self) -> tuple[list[int], dict[str, Kept]]:
        raw = self._read(self._cache_key)
        if raw is not None:
            try:
                kept = parse(raw, exact=False)
                folders = {name: Kept(*each) for name, each in kept["folders"].items()}
                whole = {len(each.answer) for each in folders.values()} <= {0, 2, _FIELDS}
                if whole and (kept["version"], kept["directory"]) == (_VERSION, self.directory):
                    return kept["stamp"], folders
            except (InvalidJson, KeyError, TypeError, AttributeError):  # damaged: read the folders again
                pass
        return [], {}

    def _keep(self) -> None:
        folders = {name: list(kept) for name, kept in (self._kept or {}).items()}
        kept = {"version": _VERSION, "directory": self.directory, "stamp": self._stamp, "folders": folders}
        try:
            self._write(self._cache_key, dump(kept))
        except (OSError, InvalidJson):  # a full or read-only home, a path that is not UTF-8: slower, but right
            pass

    @property
    def _cache_key(self) -> str:
        """No directory is called so, and what programs said of themselves is kept elsewhere."""
        return f"{self.directory}//{MANIFEST}"


def folders(directory: str) -> list[str]:
    """The folders of a directory that have a manifest. Nothing in them is opened."""
    try:
        names = _directories(directory)
    except OSError:
        return []
    return [name for name in names if os.path.lexists(f"{directory}/{name}/{MANIFEST}")]


def inside(folder: str) -> list[str]:
    """Every path in a folder that the tool in it depends on; of what is no tool, the folder alone."""
    try:
        return paths_in(folder)
    except ToolcribError:
        return [folder]


def missing(requirements: Iterable[str], search_path: str) -> list[str]:
    """What of these is not there. The programs are looked for, and not asked for their version."""
    return [each for each in requirements if shutil.which(program_of(each), path=search_path) is None]


def program_of(requirement: str) -> str:
    """The name of the program in `jq >= 1.6`."""
    return _PROGRAM.match(requirement)[0]  # type: ignore[index]  # it matches everything


def _directories(place: int | str) -> list[str]:
    with os.scandir(place) as entries:
        return sorted(entry.name for entry in entries if _counts(entry.name) and _is_directory(entry))


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _different(files: list[list[str]], trusted: Mapping[str, Mapping[str, str]], below: str) -> str | None:
    """The first file that is not as it was trusted, or was not there, or is there no more."""
    for path, kind, what in files:
        seen = trusted.get(below + key(path), {})
        if seen.get("kind") != kind or (seen.get("target") != key(what) if kind == LINK else seen["digest"] != what):
            return path
    here = {below + key(path) for path, *_ in files}
    return next((path.removeprefix(below) for path in trusted if path not in here and not _is_left_out(path)), None)


def _is_left_out(path: str) -> bool:
    return not LEFT_OUT.isdisjoint(path.split("/")[:-1])


def _capabilities(claims: list[str], wishes: Wishes) -> Capabilities:
    if not claims and not wishes.network:
        return CAPABILITIES
    held = dict.fromkeys(claims, True) | ({"accesses_network": True} if wishes.network else {})
    return Capabilities(**(held | {"executes_commands": True}))


def _counts(name: str) -> bool:
    return not name.startswith(".") and not name.endswith("~") and (name.isascii() or name.isprintable())
