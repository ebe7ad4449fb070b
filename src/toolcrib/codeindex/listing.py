"""Which files there are that may be source: by walking the tree, or by listing again the directories that changed."""

import os
from array import array
from collections.abc import Iterable
from typing import NamedTuple

from .ignore import MARKERS, NOTHING, Ignores
from .languages import language_of
from .reading import Descent
from .segment import STAMP, UNSURE, packed
from .snapshot import Snapshot, Watched
from .stamps import differing, is_too_young, settled_stamp, stamps_of
from .walk import walk

MOST_FILES = 200_000
TOP = "."
_EXCLUDES = ".git/info/exclude"
_endings: dict[str, bool] = {}
"""Whether files of an ending may be source; there are few endings, and many files."""


class Undecided(Exception):
    """Something is there of which only a walk can tell whether it counts."""


def may_be_source(name: str) -> bool:
    """By its name alone; a name without an ending may be that of a script."""
    ending = name.rpartition(".")[2]
    if ending == name:
        return True
    known = _endings.get(ending)
    if known is None:
        known = language_of("a." + ending) is not None
        if len(_endings) < 1000:
            _endings[ending] = known
    return known or language_of(name) is not None


class Changes(NamedTuple):
    """Which files came and went."""

    gone: set[str]
    come: list[str]
    watched: Watched


def look_again(root: int, known: Snapshot, states: "array[int]", now: int) -> Changes:
    """Which files that may be source came and went, and what says that these are all.

    `states` are those that what is watched has now, and `now` is not after they were looked at.
    """
    if known.watched.folders and known.watched.whole:
        try:
            return relisted(root, known, states, now)
        except Undecided:
            pass
    paths, watched = walked(root, now)
    before = set(known.every)
    return Changes(before.difference(paths), [path for path in paths if path not in before], watched)


def walked(root: int, now: int) -> tuple[list[str], Watched]:
    """All files that may be source, and what says that these are all. `now` is not after the first look."""
    rules: list[str] = []
    present: list[str] = []

    class Noting(Ignores):
        """Takes down which rules a directory has, before the walk shows the directory."""

        def inside(self, fd: int, base: int, names: Iterable[str]) -> Ignores:
            present.extend(names)
            return Noting(*super().inside(fd, base, tuple(present)))

    folders: list[str] = []
    stamps: list[int] = []
    paths: list[str] = []
    left = 0
    steps = walk(root, above=Noting())
    for here in steps:
        folders.append(here.path or TOP)
        if present:
            rules += [_joined(here.path, _EXCLUDES if name == ".git" else name) for name in present]
            present.clear()
        # A change since it was listed is younger than `now`, and leaves no stamp that could be trusted.
        stamps += settled_stamp(os.fstat(here.fd), now)
        prefix = f"{here.path}/" if here.path else ""
        for entry in here.files:
            if may_be_source(entry.name) and entry.is_file(follow_symlinks=False):
                if len(paths) < MOST_FILES:
                    paths.append(prefix + entry.name)
                else:
                    left += 1
    found = packed(stamps) + _stamps_of_rules(root, rules, now)
    return paths, Watched(folders, rules, found, left, not steps.skipped and not steps.cut)


def relisted(root: int, known: Snapshot, states: "array[int]", now: int) -> Changes:
    """List those directories again whose state is not what it was.

    Raises:
        Undecided: a directory came or went, or another rule.
    """
    watched = known.watched
    changes = Changes(set(), [], watched)
    stamps = array("q", watched.stamps)
    with Descent(root) as descent:
        numbers = list(differing(states, watched.stamps))
        known_in = _by_folder(known, {watched.folders[number] for number in numbers if number < len(watched.folders)})
        rules = _Rules(watched.rules, descent)
        for number in numbers:
            if number >= len(watched.folders):
                raise Undecided
            path = watched.folders[number]
            try:
                fd = descent.folder("" if path == TOP else path)
                stamp = settled_stamp(os.fstat(fd), now)
                found = _names(fd)
            except OSError:  # gone, or a link by now
                raise Undecided from None
            expected = known_in.get(path, set())
            for name in expected - found:
                if name[0] == "." or name[-1] == "/":
                    raise Undecided
                changes.gone.add(_joined(path, name))
            for name in sorted(found - expected):
                if name[0] == ".":
                    raise Undecided
                if not rules.ignore(path, name):
                    if name[-1] == "/" or watched.left:
                        raise Undecided
                    changes.come.append(_joined(path, name))
            stamps[number * STAMP : number * STAMP + STAMP] = packed([*stamp])
    if len(known.every) + len(changes.come) > MOST_FILES:
        raise Undecided
    return changes if stamps == watched.stamps else changes._replace(watched=watched._replace(stamps=stamps))


class _Rules:
    """What is ignored where, in a tree whose ignore files are known."""

    def __init__(self, rules: Iterable[str], descent: Descent) -> None:
        self._descent = descent
        self._present: dict[str, list[str]] = {}
        for path in rules:
            place = path.removesuffix("/info/exclude") if path.endswith(_EXCLUDES) else path
            folder, _, name = place.rpartition("/")
            self._present.setdefault(folder or TOP, []).append(name)
        self._held: dict[str, Ignores] = {}

    def ignore(self, folder: str, name: str) -> bool:
        """Whether a file, or with a slash a directory, is ignored."""
        bare = name.removesuffix("/")
        return self._in(folder).ignored(bare, _joined(folder, bare), folder=bare != name)

    def _in(self, folder: str) -> Ignores:
        held = self._held.get(folder)
        if held is None:
            held = NOTHING if folder == TOP else self._in(folder.rpartition("/")[0] or TOP)
            if present := self._present.get(folder):
                path = "" if folder == TOP else folder
                held = held.inside(self._descent.folder(path), len(path) + 1 if path else 0, present)
            self._held[folder] = held
        return held


def _names(fd: int) -> set[str]:
    """What in a directory may count: source files, directories (with a slash) and what says what is ignored."""
    names = set()
    with os.scandir(fd) as entries:
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                if name in MARKERS:
                    names.add(name)
            elif entry.is_dir(follow_symlinks=False):
                names.add(name + "/")
            elif may_be_source(name) and entry.is_file(follow_symlinks=False):
                names.add(name)
    return names


def _by_folder(known: Snapshot, wanted: set[str]) -> dict[str, set[str]]:
    """What `_names` would find in some directories, were nothing changed and nothing ignored."""
    inside: dict[str, set[str]] = {folder: set() for folder in wanted}
    rules = [path.removesuffix("/info/exclude") for path in known.watched.rules]
    for paths, mark in ((known.every, ""), (known.watched.folders, "/"), (rules, "")):
        for path in paths:
            folder = path[:at] if (at := path.rfind("/")) >= 0 else TOP
            if folder in inside and path != TOP:
                inside[folder].add(path[at + 1 :] + mark)
    return inside


def _stamps_of_rules(root: int, rules: list[str], now: int) -> "array[int]":
    states = stamps_of(root, rules)
    for number in range(len(rules)):
        touched = states[number * STAMP + 2]
        if is_too_young(touched, now):
            states[number * STAMP : number * STAMP + STAMP] = array("q", UNSURE)
    return states


def _joined(folder: str, name: str) -> str:
    return name if folder in ("", TOP) else f"{folder}/{name}"
