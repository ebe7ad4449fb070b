"""Going through a directory and all below it, by descriptor, so that nobody's link leads elsewhere on the way."""

import os
from collections.abc import Callable, Iterator
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from .ignore import MARKERS, NOTHING, VERSION_CONTROL, Ignores

_ENTER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ABOVE = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MOST_OPEN = 16
_LONGEST_PATH = 4095
"""No file at a longer path can be opened by it."""
_GONE = -1
_by_name = attrgetter("name")

_Level = tuple[int, str, list[str], Ignores]
"""A directory that we are below: its descriptor, its path, what in it is still to be entered, and what holds in it."""


class Here(NamedTuple):
    """One directory. What it holds can be looked at until the next one comes."""

    path: str
    """From the start; empty for the start itself. A byte that is not UTF-8 is a lone surrogate, as `os` has it."""
    fd: int
    files: list[os.DirEntry[str]]
    """All that is not a directory: files, links (which are not followed), pipes, devices."""


class Walk:
    """The directories, one after the other: each before those in it, by name."""

    def __init__(
        self,
        fd: int,
        *,
        ignore: bool,
        hidden: bool,
        prune: Callable[[str], bool] | None,
        keep: Callable[[str], bool] | None,
        veil: Callable[[str], bool] | None,
        most: int,
        above: Ignores,
        wanted: Callable[[str], object] | None,
    ) -> None:
        self.skipped = 0
        """Directories that could not be read, or whose path is too long."""
        self.cut = False
        """There was more than it was to look at."""
        self._most, self._ignore, self._hidden, self._prune, self._keep = most, ignore, hidden, prune, keep
        self._fd, self._above, self._veil, self._wanted = fd, above if ignore else NOTHING, veil, wanted

    def __iter__(self) -> Iterator[Here]:
        # Not kept: who stops halfway and lets go of it has its descriptors closed at once.
        return self._go(self._fd, self._above)

    def _go(self, start: int, ignores: Ignores) -> Iterator[Here]:
        """Written out in one piece: most directories hold two or three things, and there every step counts."""
        hidden, ignore, prune, left, veil = self._hidden, self._ignore, self._prune, self._most, self._veil
        left_out = VERSION_CONTROL if ignore or not hidden else frozenset[str]()
        scandir, enter, leave, made, wanted = os.scandir, os.open, os.close, tuple.__new__, self._wanted
        levels: list[_Level] = []
        given_back: list[tuple[int, int]] = []
        fd, path = start, ""
        try:
            while True:
                folders: list[str] = []
                files: list[os.DirEntry[str]] = []
                dotted: list[str] = []
                passed_over = 0
                try:
                    entries = scandir(fd)
                    for entry in islice(entries, left):
                        name = entry.name
                        if name[0] == ".":
                            dotted.append(name)
                            if not hidden or name in left_out:
                                continue
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(name)
                        elif wanted is None or wanted(name):
                            files.append(entry)
                        else:
                            passed_over += 1
                    left -= len(folders) + len(files) + passed_over + (0 if hidden else len(dotted))
                    if left <= 0:
                        entries.close()
                except OSError:
                    self.skipped += 1
                if dotted and ignore and (present := [name for name in dotted if name in MARKERS]):
                    ignores = ignores.inside(fd, len(path) + 1 if path else 0, present)
                if ignores.stack:
                    folders, files = self._of_interest(ignores, path, folders, files)
                if veil is not None:
                    files = [entry for entry in files if not veil(f"{path}/{entry.name}" if path else entry.name)]
                if len(files) > 1:
                    files.sort(key=_by_name)
                if len(folders) > 1:
                    folders.sort(reverse=True)
                yield made(Here, (path, fd, files))
                if left <= 0:
                    self.cut = True
                    return
                while True:  # to the next directory
                    if folders:
                        name = folders.pop()
                        below = f"{path}/{name}" if path else name
                        if prune is not None and prune(below):
                            continue
                        if len(below) > _LONGEST_PATH:
                            self.skipped += 1
                            continue
                        try:
                            entered = enter(name, _ENTER, dir_fd=fd)
                        except OSError:
                            self.skipped += 1
                            continue
                        levels.append((fd, path, folders, ignores))
                        fd, path = entered, below
                        if len(levels) > _MOST_OPEN:
                            _give_back(levels, given_back)
                        break
                    if not levels:
                        return
                    done = fd
                    fd, path, folders, ignores = levels.pop()
                    if fd == _GONE:
                        fd = _take_back(done, given_back.pop())
                        if fd == _GONE:
                            self.skipped += len(folders)
                            folders = []
                    if done != _GONE:
                        leave(done)
        finally:
            for each in {fd, *(level[0] for level in levels)} - {start, _GONE}:
                os.close(each)

    def _of_interest(
        self, ignores: Ignores, path: str, folders: list[str], files: list[os.DirEntry[str]]
    ) -> tuple[list[str], list[os.DirEntry[str]]]:
        prefix, ignored, keep = f"{path}/" if path else "", ignores.ignored, self._keep
        left = [entry for entry in files if not ignored(entry.name, prefix + entry.name, folder=False)]
        if keep is not None and len(left) < len(files):
            taken = {entry.name for entry in left}
            left = [entry for entry in files if entry.name in taken or keep(prefix + entry.name)]
        return [name for name in folders if not ignored(name, prefix + name, folder=True)], left


def walk(
    fd: int,
    *,
    ignore: bool = True,
    hidden: bool = False,
    prune: Callable[[str], bool] | None = None,
    keep: Callable[[str], bool] | None = None,
    veil: Callable[[str], bool] | None = None,
    most: int = 1_000_000,
    above: Ignores = NOTHING,
    wanted: Callable[[str], object] | None = None,
) -> Walk:
    """All directories from an open one downwards, each with its files, in the order of their names.

    Links are listed and never entered. With `ignore`, what ignore files say is left out; `above` is what those above
    the start say, and a file that `keep` says yes to is shown nevertheless. Without `hidden`, whatever begins with a
    dot is left out. Directories of version control are left out, unless with `hidden` and without `ignore`; so are
    those that `prune` says yes to, and files that `veil` says yes to
    or whose name `wanted` says no to. At most `most` entries are looked at. A handful
    of descriptors is open at a time, however deep it goes; `fd` stays the caller's.
    """
    return Walk(
        fd, ignore=ignore, hidden=hidden, prune=prune, keep=keep, veil=veil, most=most, above=above, wanted=wanted
    )


def _give_back(levels: list[_Level], given_back: list[tuple[int, int]]) -> None:
    """Close the uppermost directory that is open, and remember which one it is. The start stays open."""
    at = len(given_back) + 1
    if len(levels) - at < _MOST_OPEN:
        return
    fd, path, folders, ignores = levels[at]
    about = os.fstat(fd)
    given_back.append((about.st_dev, about.st_ino))
    os.close(fd)
    levels[at] = _GONE, path, folders, ignores


def _take_back(below: int, identity: tuple[int, int]) -> int:
    """Open a directory again from one in it; not when that was moved to another place meanwhile."""
    if below == _GONE:
        return _GONE
    try:
        fd = os.open("..", _ABOVE, dir_fd=below)
    except OSError:
        return _GONE
    about = os.fstat(fd)
    if (about.st_dev, about.st_ino) == identity:
        return fd
    os.close(fd)
    return _GONE
