"""Finding what is protected in a workspace, as far as it exists.

A walk over its directories, bounded, nearest first. What a directory held is remembered for as long as the directory
says that it did not change, so that looking again costs a glance at each. Links are not followed.
"""

import itertools
import math
import os
import stat
import threading
import time
from collections import OrderedDict
from typing import NamedTuple

from .protected import LAST_NAMES, fold, why_named

MOST_DIRECTORIES = 2000
_MOST_NAMES = 2000
"""In one directory; in a fuller one only the names themselves are tried, as they are usually written."""
_MOST_WORKSPACES = 16
_UNSETTLED_NS = 50_000_000
"""A directory that changed so short a time ago may change again without its time of change telling."""

_GIT = frozenset(("config", "config.worktree", "hooks", "info", "commondir", "gitdir", "modules", "worktrees"))
"""What in a repository names or holds programs. The rest changes with every commit."""
_UNDER_WAY = frozenset(("rebase-merge", "rebase-apply", "sequencer"))
"""What git goes on with when it is told to: a list of steps, of which one may run a program."""
_REPLACED = "head"
"""Git puts a new one in its place, and writes to whatever else a link in a repository leads to."""
_A_REPOSITORY = frozenset(("HEAD", "objects", "refs"))
_OF_AN_ENVIRONMENT = frozenset(("bin", "scripts"))
_INSIDE_AN_ENVIRONMENT = frozenset(("lib", "lib64", "include", "share"))
_WHY_GIT = "git's own files, whose settings and hooks run programs"
_WHY_UNDER_WAY = "what git is in the middle of, and goes on with"
_WHY_LED = "a link in git's own files, which git writes through"
_WHY_PROGRAMS = "the programs of a Python environment"
_WHY_FOUND_FIRST = "programs that are found before others"

REPOSITORY, LINK, LED, INSTALLED, STEPS, OTHER = "repository", "link", "led", "installed", "steps", "other"
"""Kinds: a git directory, of which only parts are protected; a link to what is protected; a link to what is not, but
must lead nowhere else; what an installation makes; what git is in the middle of; all else."""
OF_COMMANDS = (INSTALLED, STEPS)
"""What people make by typing commands, and such commands may change."""
_TREE, _GIT_DIRECTORY, _LOGS, _MODULES = "tree", "git", "logs", "modules"


class TakesLong(Exception):
    """There is more to look at than there is time for; nothing was changed."""


class Place(NamedTuple):
    """One protected thing that exists."""

    path: str
    """Relative to the workspace."""
    why: str
    kind: str = OTHER


class _Held(NamedTuple):
    """What is to be known of one directory."""

    identity: tuple[int, int, int]
    settled: bool
    places: tuple[Place, ...]
    below: tuple[tuple[str, str], ...]
    """Directories to go on with, relative to the workspace, and what each is."""


_known: OrderedDict[str, dict[str, _Held]] = OrderedDict()
_turn = threading.Lock()


def find(workspace: str, *, until: float = math.inf) -> list[Place]:
    """What is protected there, the nearest first.

    Raises:
        TakesLong: that is not known by then, in monotonic seconds.
    """
    seen: dict[str, _Held] = {}
    with _turn:
        known = _known.pop(workspace, {})
        _known[workspace] = seen
        while len(_known) > _MOST_WORKSPACES:
            _known.popitem(last=False)
    found: list[Place] = []
    queue = [("", _TREE)]
    for path, kind in queue:
        if time.monotonic() > until:
            with _turn:
                _known[workspace] = known | seen  # the next look is quicker for it
            raise TakesLong
        held = _look(workspace, path, kind, known.get(path))
        if held is None:
            continue
        seen[path] = held
        found += held.places
        queue += held.below[: max(0, MOST_DIRECTORIES - len(queue))]
    return found


def whereabouts(workspace: str, device: int, inode: int) -> str:
    """Where in a workspace a directory lay when it was last looked through; nothing when it was not come by."""
    with _turn:
        known = _known.get(workspace, {})
    return next((path for path, held in known.items() if held.identity[:2] == (inode, device)), "")


def _look(workspace: str, path: str, kind: str, known: _Held | None) -> _Held | None:
    directory = f"{workspace}/{path}" if path else workspace
    try:
        now = os.lstat(directory)
        if not stat.S_ISDIR(now.st_mode):
            return None
        identity = now.st_ino, now.st_dev, now.st_mtime_ns
        if known is not None and known.settled and known.identity == identity:
            return known
        listed = _listed(directory)
    except OSError:  # gone, or not ours to read
        return None
    settled = time.time_ns() - now.st_mtime_ns > _UNSETTLED_NS
    if kind == _GIT_DIRECTORY:
        parts = (_of_git(f"{path}/{name}", listed[name]) for name in sorted(listed))
        return _Held(identity, settled, tuple(filter(None, parts)), _logs(path, listed))
    if kind == _LOGS:
        inside = [(f"{path}/{name}", listed[name]) for name in sorted(listed)]
        led = tuple(Place(each, _WHY_LED, LED) for each, what in inside if what == stat.S_IFLNK)
        return _Held(identity, settled, led, tuple((each, _LOGS) for each, what in inside if what == stat.S_IFDIR))
    if kind == _MODULES:
        places = [Place(f"{path}/{name}", _WHY_FOUND_FIRST, INSTALLED) for name in listed if fold(name) == ".bin"]
        return _Held(identity, settled, tuple(places), ())
    return _Held(identity, settled, *_sorted_out(path, listed))


def _listed(directory: str) -> dict[str, int]:
    """The names in a directory, and the kind of file each is."""
    listed: dict[str, int] = {}
    try:
        with os.scandir(directory) as entries:
            listed = {entry.name: _kind(entry) for entry in itertools.islice(entries, _MOST_NAMES)}
            if next(entries, None) is None:
                return listed
    except PermissionError:  # one that cannot be listed can still be gone through
        pass
    for name in LAST_NAMES:
        try:
            listed[name] = stat.S_IFMT(os.lstat(f"{directory}/{name}").st_mode)
        except OSError:
            pass
    return listed


def _kind(entry: "os.DirEntry[str]") -> int:
    if entry.is_symlink():
        return stat.S_IFLNK
    return stat.S_IFDIR if entry.is_dir(follow_symlinks=False) else stat.S_IFREG


def _of_git(path: str, kind: int) -> Place | None:
    """What lies right in a git directory, if it is protected."""
    name = fold(path.rpartition("/")[2])
    if name in _GIT:
        return Place(path, _WHY_GIT, LINK if kind == stat.S_IFLNK else OTHER)
    if kind == stat.S_IFLNK:
        return None if name == _REPLACED else Place(path, _WHY_LED, LED)
    return Place(path, _WHY_UNDER_WAY, STEPS) if name in _UNDER_WAY else None


def _logs(path: str, listed: dict[str, int]) -> tuple[tuple[str, str], ...]:
    """What git appends a line to with each commit, some of whose words anybody may choose."""
    return ((f"{path}/logs", _LOGS),) if listed.get("logs") == stat.S_IFDIR else ()


def _sorted_out(path: str, listed: dict[str, int]) -> tuple[tuple[Place, ...], tuple[tuple[str, str], ...]]:
    """The protected of these names, and the directories among the others."""
    places: list[Place] = []
    below: list[tuple[str, str]] = []
    above = [fold(name) for name in path.split("/") if name]
    bare = listed.keys() >= _A_REPOSITORY
    environment = "pyvenv.cfg" in listed
    for name in sorted(listed):
        folded, directory = fold(name), listed[name] == stat.S_IFDIR
        inside = f"{path}/{name}" if path else name
        why = why_named([*above, folded])
        if bare and (part := _of_git(inside, listed[name])):
            places.append(part)
        elif bare and folded == "logs":
            below.append((inside, _LOGS))
        elif listed[name] == stat.S_IFLNK:
            if why:
                places.append(Place(inside, why, LINK))
        elif folded == ".git" and directory:
            places.append(Place(inside, why, REPOSITORY))
            below.append((inside, _GIT_DIRECTORY))
        elif why:
            installed = folded.endswith(".pth") or folded == "pyvenv.cfg"
            places.append(Place(inside, why, INSTALLED if installed else OTHER))
        elif bare:  # whatever else is in one is git's
            continue
        elif environment and folded in _OF_AN_ENVIRONMENT:
            places.append(Place(inside, _WHY_PROGRAMS, INSTALLED))
        elif directory and not (environment and folded in _INSIDE_AN_ENVIRONMENT):
            below.append((inside, _MODULES if folded == "node_modules" else _TREE))
    return tuple(places), tuple(below)
