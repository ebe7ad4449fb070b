"""What of git's own directories is protected: what names or holds programs, and what git writes through."""

import stat

from .found import LED, LINK, REPOSITORY, STEPS, Inside, Listed, Place, joined
from .protected import fold

GIT_DIRECTORY, MODULES, MODULE, REMOTES, LINKS, SETTINGS = "git", "modules", "module", "remotes", "links", "settings"
"""How one is to be looked at: as what `.git` is; as what holds such directories, under any names; as one of those, or
what holds some; as a file for each remote; for links alone; as a file of settings."""

_DIRECTORIES_OF_GIT = frozenset(("modules", "worktrees"))
_REMOTES = frozenset(("remotes", "branches"))
"""Old forms of remotes. An empty one is made by `git init`, and is nothing."""
_WRITTEN_THROUGH = frozenset(("logs", "refs"))
"""What git writes to, or appends to, with each commit, under names and in words of which anybody may choose some."""
_GIT = frozenset(("config", "config.worktree", "hooks", "info", "commondir", "gitdir", *_DIRECTORIES_OF_GIT, *_REMOTES))
"""What in a repository names or holds programs. The rest changes with every commit."""
_UNDER_WAY = frozenset(("rebase-merge", "rebase-apply", "sequencer"))
"""What git goes on with when it is told to: a list of steps, of which one may run a program."""
_REPLACED = "head"
"""Git puts a new one in its place, and writes to whatever else a link in a repository leads to."""
_MANY = frozenset(("objects", "lfs"))
"""Hundreds of directories, in which no module lies."""
NAMES = tuple(sorted(_GIT | _UNDER_WAY | _WRITTEN_THROUGH))

_WHY_GIT = "git's own files, whose settings and hooks run programs"
_WHY_UNDER_WAY = "what git is in the middle of, and goes on with"
WHY_LED = "a link in git's own files, which git writes through"


def is_git_directory(listed: Listed) -> bool:
    """Whether git takes a directory for one of its own: what else there must be, `commondir` may lead to."""
    return "HEAD" in listed and ("commondir" in listed or ("objects" in listed and "refs" in listed))


def is_settings(place: Place) -> bool:
    """Whether it is a file of settings, which git writes anew whenever one changes."""
    return place.why == _WHY_GIT and fold(place.path.rpartition("/")[2]) in ("config", "config.worktree")


def sorted_out(path: str, listed: Listed, way: str) -> Inside:
    """What is protected among the names in a directory of git's."""
    each = [(f"{path}/{name}", listed[name]) for name in sorted(listed)]
    if way == REMOTES:
        return Inside((Place(path, _WHY_GIT),)) if listed else Inside()
    if way == LINKS:
        return joined([_link(inside, kind) for inside, kind in each])
    if way == GIT_DIRECTORY:
        return joined([part(inside, kind) for inside, kind in each])
    if way == MODULES or "HEAD" not in listed:
        return joined([_module(inside, kind) for inside, kind in each])
    found = [Inside((Place(path, _WHY_GIT, REPOSITORY),))]
    for inside, kind in each:
        one = part(inside, kind)
        found.append(one if any(one) or inside.rpartition("/")[2] in _MANY else _module(inside, kind))
    return joined(found)


def part(path: str, kind: int) -> Inside:
    """What lies right in a git directory, if it is protected or has to be looked through."""
    name = fold(path.rpartition("/")[2])
    if kind == stat.S_IFLNK:
        if name == _REPLACED:
            return Inside()
        return Inside((Place(path, _WHY_GIT, LINK) if name in _GIT else Place(path, WHY_LED, LED),))
    if kind == stat.S_IFDIR:
        if name in _DIRECTORIES_OF_GIT:
            return Inside((Place(path, _WHY_GIT, REPOSITORY),), ((path, MODULES),))
        if name in _REMOTES:
            return Inside(below=((path, REMOTES),))
        if name in _WRITTEN_THROUGH:
            return Inside(below=((path, LINKS),))
    if name in ("config", "config.worktree"):
        return Inside((Place(path, _WHY_GIT),), ((path, SETTINGS),))
    if name in _GIT:
        return Inside((Place(path, _WHY_GIT),))
    return Inside((Place(path, _WHY_UNDER_WAY, STEPS),)) if name in _UNDER_WAY else Inside()


def _link(path: str, kind: int) -> Inside:
    if kind == stat.S_IFLNK:
        return Inside((Place(path, WHY_LED, LED),))
    return Inside(below=((path, LINKS),)) if kind == stat.S_IFDIR else Inside()


def _module(path: str, kind: int) -> Inside:
    if kind == stat.S_IFLNK:
        return Inside((Place(path, WHY_LED, LED),))
    return Inside(below=((path, MODULE),)) if kind == stat.S_IFDIR else Inside()
