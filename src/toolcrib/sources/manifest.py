"""Folders with a `tool.yaml`, from directories of the user and of the project."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..backends.declared import Surroundings
from ..backends.folder import LEFT_OUT, LINK, MANIFEST, Content, paths_in, read_folder, states_of
from ..core.errors import ToolcribError
from ..core.jsontext import dump, parse
from ..core.source import Loaded, Problem
from ..policy.project_files import key
from ..policy.trust import Record
from .executable import Place, Settings
from .manifest_cache import MORE, STATE_BYTES, TOOL, Kept, ManifestCache, More, packed
from .manifest_offer import Offering
from .probe_cache import undisturbed
from .requirement import Cache, Versions, unmet

_SETTLED_NS = 1_000_000_000
_MESSAGE = 600
_BATCH = 64
"""How many folders are in memory at once while they are read."""
_NO_MORE = More()
_REQUIRES = 3
"""Where in the wishes it stands."""


class ManifestSource:
    """The tools of the folders in one directory. A folder in which nothing changed is not read again.

    Of a project's folders only those are parsed in which every file is what the user trusted. The others hold their
    names, so that nobody gets another tool in place of the one that was meant.
    """

    def __init__(
        self,
        directory: str,
        settings: Settings,
        cache: Cache,
        search_path: str,
        *,
        rank: int,
        place: Place | None = None,
        skipped: Callable[[Problem], None] = lambda problem: None,
        versions: Versions | None = None,
        around: Callable[[], Surroundings] | None = None,
    ) -> None:
        """`search_path` is the PATH that a tool gets. Without `versions`, those of required programs do not count.

        `around` is what tools with a `backend:` are handed; without it there are none.
        """
        self.directory, self.rank = directory, rank
        self._search_path, self._versions = search_path, versions
        self._offering = Offering(directory, settings, of_project=place is not None, around=around)
        self._cache = ManifestCache(directory, *cache)
        self._place, self._skipped = place, skipped
        self._stamp: list[int] = []
        self._kept: dict[str, Kept] | None = None
        self._needs: dict[str, tuple[str, ...]] = {}
        """The programs that tools need."""
        self._unasked: set[str] = set()
        """Those whose version has to be learnt before it can be said whether they will do."""
        self._seen: tuple[dict[str, str], Record | None] | None = None
        self._offered: tuple[Mapping[str, Kept], Any, Any] = ({}, {}, {})
        """What the tools on offer were made of."""
        self._loaded = Loaded()

    async def load(self) -> Loaded:
        with undisturbed():
            loaded = self._look()
        if self._unasked and self._versions is not None:
            await self._versions.learn(self._unasked)
            with undisturbed():
                loaded = self._look()
        return loaded

    def _look(self) -> Loaded:
        if self._kept is None:
            self._stamp, self._kept = self._cache.recall()
        before, record = self._kept, self._place.record() if self._place else None
        stamp, names, changed = self._survey(before)
        same = not changed and len(names) == len(before) and stamp == self._stamp
        if same and self._seen is not None and self._seen == (self._unmet(), record):
            return self._loaded
        now = before
        if not same:
            fresh = self._fresh([name for name in names if name in changed], record)
            now = {name: fresh[name] if name in fresh else before[name] for name in names}
        objections = self._objections(now, record)
        if parsable := [name for name, (_, _, listing, answer) in now.items() if listing and not answer]:
            parsable = [name for name in parsable if name not in objections]
        if parsable:
            now = now | self._fresh(parsable, record)
            objections = self._objections(now, record)
        if now is not before and (now != before or (now and stamp != self._stamp)):
            self._cache.keep(stamp, now)
        self._stamp, self._kept = stamp, now
        spoken = [(name, answer) for name, (_, _, _, answer) in now.items() if len(answer) == TOOL and answer[MORE]]
        self._needs = {name: needed for name, answer in spoken if (needed := _required(answer))}
        lacking = self._unmet()
        if not _alike(self._offered, (now, objections, lacking)):
            known = set(self._loaded.problems)
            self._loaded = self._offering.offer(now, objections, lacking)
            for problem in self._loaded.problems:
                if problem not in known and os.path.basename(os.path.dirname(problem.origin)) in changed:
                    self._skipped(problem)
        self._offered, self._seen = (now, objections, lacking), (lacking, record)
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
                known, names = before, list(before)
            else:
                names = _directories(fd)
                known = {name: before[name] for name in names if name in before}
            paths = [kept[0] for kept in known.values()]
            states = packed(states_of("\0".join(paths).split("\0"), fd)) if paths else b""
        finally:
            os.close(fd)
        changed = set(names) - known.keys() if known is not before else set()
        if states != b"".join([kept[1] for kept in known.values()]):  # thousands are compared at once
            changed |= _otherwise(known, states)
        return stamp, names, changed

    def _fresh(self, names: Sequence[str], record: Record | None) -> dict[str, Kept]:
        """What folders are now. A manifest is parsed if nothing speaks against it.

        They are read many at a time before any is parsed: going back and forth between the system and the parser makes
        both slower.
        """
        found: dict[str, Kept] = {}
        for start in range(0, len(names), _BATCH):
            contents = {name: self._content(name) for name in names[start : start + _BATCH]}
            for name, content in contents.items():
                found[name] = self._read(name, content, record) if isinstance(content, Content) else content
        return found

    def _content(self, name: str) -> Content | Kept:
        """All that lies in a folder; or what is known of one that is no tool."""
        folder = f"{self.directory}/{name}"
        own = f"{name}/."
        try:
            if self._place is not None and os.path.islink(folder):
                message = "it is a link; put the folder itself into the project"
                raise ToolcribError(message, code="PATH_NOT_REGULAR")
            if not os.path.lexists(f"{folder}/{MANIFEST}"):
                states = states_of([f"{folder}/."])
                if not os.path.lexists(f"{folder}/{MANIFEST}"):  # it did not come before the state was taken
                    return own, packed(states), "", ()
            return read_folder(folder)
        except ToolcribError as exc:
            return own, b"", "", (exc.code, str(exc), 0, 0)

    def _read(self, name: str, content: Content, record: Record | None) -> Kept:
        start = len(self.directory) + 1
        paths = "\0".join([path[start:] for path in content.paths])
        states = packed(content.states) if content.settled else b""
        unparsed: Kept = (paths, states, content.listing, ())
        if self._place is not None and self._objections({name: unparsed}, record):
            return unparsed
        return paths, states, content.listing, self._parsed(name, content)

    def _parsed(self, name: str, content: Content) -> tuple[Any, ...]:
        from .manifest_file import read_manifest  # late: what did not change is not parsed

        if not any(path == MANIFEST and kind != LINK for path, kind, _ in content.files):
            return "PATH_NOT_REGULAR", f"{MANIFEST} is a link; put the file itself there", 0, 0
        path = f"{self.directory}/{name}/{MANIFEST}"
        found, wrong = read_manifest(content.manifest, path, folder=name, files=content.files)
        if found is None:
            first, *others = wrong
            rest = f" (and {len(others)} more; type: toolcrib check {self.directory}/{name})" if others else ""
            return first.code, str(first)[:_MESSAGE] + rest, first.line, first.column
        if found.declaration:
            return found.declaration, content.digest
        schema, names = dump(found.schema).decode(), tuple(found.schema.get("properties", ()))
        wishes = tuple(found.wishes) if any(found.wishes) else ()
        more = (found.seconds, found.output_bytes, found.claims, wishes, found.replaces, found.warm, found.closed)
        said = () if more == _NO_MORE else more
        return found.description, found.version, found.entrypoint, schema, names, content.digest, said

    def _objections(self, now: Mapping[str, Kept], record: Record | None) -> dict[str, str]:
        """What of a project is not as the user trusted it, and why."""
        place, found = self._place, {}
        if place is None:
            return {}
        fix = f"look at it, then type: toolcrib trust {place.project}"
        trusted = _by_folder(record, f"{key(place.below)}/", {key(name) for name in now})
        for name, (_, _, listing, _) in now.items():
            theirs = trusted.get(key(name), {})
            if listing and not theirs:
                found[name] = f"it is new since the project was trusted; {fix}"
            elif listing and (path := _different(parse(listing), theirs, f"{key(place.below)}/{key(name)}/")):
                found[name] = f"{path} changed since the project was trusted; {fix}"
        return found

    def _unmet(self) -> dict[str, str]:
        """Which tools need a program that is not there, or is another version."""
        found = {}
        self._unasked.clear()
        for name, needed in self._needs.items():
            lacking, unasked = unmet(needed, self._search_path, self._versions)
            self._unasked.update(unasked)
            lacking += [f"another look at {program}, whose version is not known yet" for program in unasked]
            if lacking:
                found[name] = f"it needs {'; and '.join(lacking)}; install what it needs"
        return found


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


def _counts(name: str) -> bool:
    return not name.startswith(".") and not name.endswith("~") and (name.isascii() or name.isprintable())


def _required(answer: tuple[Any, ...]) -> tuple[str, ...]:
    """The programs that a tool needs."""
    wishes = More(*answer[MORE]).wishes
    return wishes[_REQUIRES] if wishes else ()


def _otherwise(folders: Mapping[str, Kept], states: bytes) -> set[str]:
    """Which of these are not in the state they were in. `states` are those of all their paths, one after the other."""
    found, start = set(), 0
    for name, kept in folders.items():
        end = start + STATE_BYTES * (kept[0].count("\0") + 1)
        if states[start:end] != kept[1]:
            found.add(name)
        start = end
    return found


def _alike(one: tuple[Mapping[str, Kept], Any, Any], other: tuple[Mapping[str, Kept], Any, Any]) -> bool:
    """Whether the same would be offered."""
    if one[1:] != other[1:] or one[0].keys() != other[0].keys():
        return False
    return all(one[0][name][2:] == kept[2:] for name, kept in other[0].items())


def _by_folder(record: Record | None, start: str, names: set[str]) -> dict[str, dict[str, Mapping[str, str]]]:
    """The trusted files below a path, by the folder they are in."""
    found: dict[str, dict[str, Mapping[str, str]]] = {}
    for path, seen in (record.files if record else {}).items():
        name, slash, _ = path[len(start) :].partition("/")
        if slash and name in names and path.startswith(start):
            found.setdefault(name, {})[path] = seen
    return found
