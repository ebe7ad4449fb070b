"""Finding what is protected in a workspace, as far as it exists.

A walk over its directories, bounded, nearest first. What a directory held is remembered for as long as the directory
says that it did not change, so that looking again costs a glance at each. Links are not followed.

Whoever fills a workspace, so that no look gets through it, gains nothing: what was known is looked at first, and what
is new and too much is itself found.
"""

import itertools
import math
import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from . import git_directory, tree
from ._beneath import is_below
from .found import LINK, POINTED, REPOSITORY, UNSEEN, Inside, Place
from .git_directory import GIT_DIRECTORY, LINKS, MODULE, MODULES, REMOTES, SETTINGS
from .hooks_path import hooks_paths
from .leads import leads
from .listing import is_closed, names_in
from .protected import LAST_NAMES, fold

MOST_DIRECTORIES = 50_000
MOST_NEW = 5_000
"""Where that many were there before."""
_MOST_TOO_MUCH = 32
_LONGEST = 3840
"""Of a path: with one name more, it is still one that the system takes."""
_MOST_WORKSPACES = 16
_UNSETTLED_NS = 50_000_000
"""A directory that changed so short a time ago may change again without its time of change telling."""

_OF_GIT = frozenset((GIT_DIRECTORY, MODULES, MODULE, REMOTES, LINKS))
_WHY_HOOKS = "hooks that run at a commit"
_WHY_MANY = "more directories than are looked through"
_WHY_DEEP = "a directory deeper than is looked"
_WHY_CROWDED = "a directory with more names than are looked at"
_WHY_CLOSED = "a directory that nobody can look into"


class TakesLong(Exception):
    """There is more to look at than there is time for; nothing was changed."""


_Way = tuple[str, str]
"""A path relative to the workspace, and how it is to be looked at."""


class _Held(NamedTuple):
    """What is to be known of one directory."""

    identity: tuple[int, int, int, int]
    settled: bool
    places: tuple[Place, ...]
    below: tuple[_Way, ...]


class _Memory(NamedTuple):
    """What there was when a workspace was last looked through."""

    held: dict[_Way, _Held]
    beyond: frozenset[_Way] = frozenset()
    """What was there at the first look, and too much for it."""
    whole: bool = True
    """That look came to its end."""


_known: OrderedDict[str, _Memory] = OrderedDict()
_turn = threading.Lock()


def find(workspace: str, *, until: float = math.inf) -> list[Place]:
    """What is protected there, the nearest first.

    Raises:
        TakesLong: that is not known by then, in monotonic seconds.
    """
    with _turn:
        last = _known.get(workspace) or _Memory({}, whole=False)
    known = last.held
    seen: dict[_Way, _Held] = {}
    found: list[Place] = []
    beyond: set[_Way] = set()
    new: list[_Way] = []
    queue: list[_Way] = [("", tree.TREE)]
    for way in queue:
        if time.monotonic() > until:
            _remember(workspace, last._replace(held=known | seen))  # the next look is quicker for it
            raise TakesLong
        held = known.get(way)
        if held is None and last.whole:
            (beyond.add if way in last.beyond else new.append)(way)
        elif held is None and len(seen) >= MOST_DIRECTORIES:
            beyond.add(way)
        elif (held := _look(workspace, way, held)) is not None:
            seen[way] = held
            found += held.places
            queue += held.below
    if new:
        found = sorted(found + _look_at_new(workspace, new, seen, until), key=_depth)
    _remember(workspace, _Memory(seen, frozenset(beyond)))
    return _with_what_is_led_to(workspace, found)


def _remember(workspace: str, memory: _Memory) -> None:
    with _turn:
        _known[workspace] = memory
        _known.move_to_end(workspace)
        while len(_known) > _MOST_WORKSPACES:
            _known.popitem(last=False)


def whereabouts(workspace: str, device: int, inode: int) -> str:
    """Where in a workspace a directory lay when it was last looked through; nothing when it was not come by."""
    with _turn:
        last = _known.get(workspace)
    held = last.held if last else {}
    return next((path for (path, _), each in held.items() if each.identity[:2] == (inode, device)), "")


def _look_at_new(workspace: str, new: Iterable[_Way], seen: dict[_Way, _Held], until: float) -> list[Place]:
    """What is protected in directories that were not there before; `seen` takes what is to be known of them.

    Raises:
        TakesLong: that is not known by then.
    """
    most = max(MOST_DIRECTORIES, len(seen) + MOST_NEW)
    found: list[Place] = []
    too_much: dict[str, None] = {}
    queue = [(way, way[0]) for way in new]
    for way, top in queue:
        if time.monotonic() > until:
            raise TakesLong
        if len(seen) >= most:
            too_much[top] = None
        elif (held := _look(workspace, way, None)) is not None:
            seen[way] = held
            found += held.places
            queue += [(each, top) for each in held.below]
    if too_much:  # what was seen of them is forgotten, so that they are new again the next time
        for way in [each for each in seen if any(top in too_much for top in _above(each[0]))]:
            del seen[way]
        found += [Place(top, _WHY_MANY) for top in itertools.islice(too_much, _MOST_TOO_MUCH)]
    if len(too_much) > _MOST_TOO_MUCH:
        found.append(Place(".", _WHY_MANY, UNSEEN))
    return found


def _above(path: str) -> Iterator[str]:
    """A path, and those of what it lies in."""
    return itertools.accumulate(path.split("/"), "{}/{}".format)


def _look(workspace: str, way: _Way, known: _Held | None) -> _Held | None:
    path, how = way
    real = f"{workspace}/{path}" if path else workspace
    try:
        now = os.lstat(real)
        identity = now.st_ino, now.st_dev, now.st_mtime_ns, now.st_ctime_ns
        if known is not None and known.settled and known.identity == identity:
            return known
        if how == SETTINGS and stat.S_ISREG(now.st_mode):
            inside = Inside(tuple(Place(each, _WHY_HOOKS, POINTED) for each in hooks_paths(workspace, path)))
        elif not stat.S_ISDIR(now.st_mode):
            return None
        elif len(os.fsencode(real)) > _LONGEST:
            inside = Inside((Place(path, _WHY_DEEP),))
        else:
            inside = _inside(workspace, way, now, known)
    except OSError:  # gone, or not ours to read
        return None
    changed = max(now.st_mtime_ns, now.st_ctime_ns)  # the first can be set by anybody, the second by nobody
    return _Held(identity, time.time_ns() - changed > _UNSETTLED_NS, *inside)


def _inside(workspace: str, way: _Way, now: os.stat_result, known: _Held | None) -> Inside:
    path, how = way
    likely = itertools.chain(LAST_NAMES, git_directory.NAMES, (os.path.basename(each) for each, _ in _below(known)))
    names = names_in(workspace, path, likely)
    sorted_out = git_directory.sorted_out if how in _OF_GIT else tree.sorted_out
    inside = sorted_out(path, names.kinds, how)
    more = [] if names.whole else [Place(path or ".", _WHY_CROWDED, UNSEEN)]
    if is_closed(now):
        more.append(Place(path, _WHY_CLOSED) if path else Place(".", _WHY_CLOSED, UNSEEN))
    return inside._replace(places=(*more, *inside.places)) if more else inside


def _below(known: _Held | None) -> tuple[_Way, ...]:
    return known.below if known is not None else ()


def _with_what_is_led_to(workspace: str, found: list[Place]) -> list[Place]:
    """Add what links and settings lead to; what a setting says is a path, which may go through links itself."""
    from_there = [place for place in found if place.kind in (LINK, POINTED)]
    if not from_there:
        return found
    places = {place.path: place for place in found if place.kind != POINTED}
    for place in from_there:
        for path in leads(workspace, place.path):
            if path != place.path and is_below(place.path, path):  # and so would be all that lies there
                continue
            places.setdefault(path, Place(path, place.why, _kind_of_led(workspace, path, place)))
    return sorted(places.values(), key=_depth)


def _kind_of_led(workspace: str, path: str, place: Place) -> str:
    """Of a repository that a `.git` leads to, only parts are protected: they are found where it lies."""
    is_git = fold(os.path.basename(place.path)) == ".git" and os.path.isdir(f"{workspace}/{path}")
    return REPOSITORY if is_git and not os.path.islink(f"{workspace}/{path}") else POINTED


def _depth(place: Place) -> int:
    return place.path.count("/")
