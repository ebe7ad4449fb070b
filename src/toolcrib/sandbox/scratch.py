"""A private temporary directory for each call, gone after it."""

import itertools
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ..core.errors import ToolError
from ._beneath import FOLDER
from .temporary import temporary_directory

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_FRESH = stat.S_IFDIR | 0o700
_TICK_NS = 20_000_000
"""Many systems count the times of files in steps of some milliseconds: two changes within one bear the same time."""
_WHOLE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""To see what is in a directory, and no link to one."""


class Scratch:
    """Hands out empty directories below one root.

    Making and removing a directory costs more than starting a small program's pipes, so one that comes back empty is
    given a new name for the next call; to every tool it is a fresh directory, and its own path is gone afterwards.
    """

    def __init__(self, owner: str, below: str = "") -> None:
        own = os.path.join(os.path.realpath(temporary_directory()), f"toolcrib-{owner}")
        self.root = os.path.join(own, below) if below else own
        """Without links, so that no link needs to be followed on the way to what lies here."""
        self._aside = f"{own}/{below}-" if below else f"{own}/"
        """What comes before the number of one that was left dirty: beside the root, into which a program may be let."""
        self._numbers = itertools.count(1)
        self._spare: dict[str, int] = {}
        """Empty ones, and when each was last changed, by us."""
        self._given: dict[str, int] = {}
        """The same of those that were handed out: into one that nobody touched since nobody need look."""

    def take(self) -> str:
        """Raises: `ToolError` when there is no room for one; nothing happened."""
        while self._spare:
            spare, changed = self._spare.popitem()
            try:
                seen = os.lstat(spare)
            except OSError:  # no tool should, but one may have removed it, or put something into it or in its place
                continue
            if _is_fresh(seen) and seen.st_ctime_ns == changed:
                if time.time_ns() - changed > _TICK_NS:
                    self._given[spare] = changed
                return spare
        path = self._next()
        try:
            try:
                os.mkdir(path, 0o700)
            except FileNotFoundError:
                for directory in (os.path.dirname(self.root), self.root):
                    with suppress(FileExistsError):
                        os.mkdir(directory, 0o700)
                os.mkdir(path, 0o700)
        except OSError as exc:
            message = f"no temporary directory could be made: {exc}; make room, or set TMPDIR to where there is"
            raise ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True) from None
        return path

    def give_back(self, path: str) -> str | None:
        """Done with it: the path is gone at once. Returns where what was left in it lies now, to be removed."""
        known = self._given.pop(path, None)
        try:
            seen = os.lstat(path)
            # A tool can set a time of modification, but not the time at which it did so.
            clean = _is_fresh(seen) and (seen.st_ctime_ns == known or not os.listdir(path))
        except OSError:
            clean = False
        elsewhere = self._next() if clean else f"{self._aside}{next(self._numbers)}"
        try:
            os.rename(path, elsewhere)
            if clean:
                self._spare[elsewhere] = os.lstat(elsewhere).st_ctime_ns
        except OSError:  # the tool removed it
            return None
        return None if clean else elsewhere

    def keep(self, path: str) -> None:
        """It was not used: it is as good for the next call."""
        with suppress(OSError):
            self._spare[path] = os.lstat(path).st_ctime_ns

    def close(self) -> None:
        self._spare.clear()
        self._given.clear()
        remove_tree(self.root)

    def _next(self) -> str:
        return f"{self.root}/{next(self._numbers)}"


def _is_fresh(seen: os.stat_result) -> bool:
    """Whether this is a directory as we make them, and no link to one."""
    return seen.st_mode == _FRESH and seen.st_uid == os.geteuid()


def remove_behind(loop: "AbstractEventLoop", path: str) -> None:
    """Remove what may be a million files in a thread, and on nobody's time."""
    try:
        loop.run_in_executor(None, remove_tree, path)
    except RuntimeError:  # there is no thread for it
        remove_tree(path)


def remove_tree(path: str) -> None:
    """Remove a directory and all in it, however deep, following no link, also where a tool took its own rights away.

    It goes by descriptors: whoever moves directories and puts links in their place meanwhile leads it nowhere.
    Directories further down are first moved up, so that nothing recurses, and few descriptors are open.
    """
    folder, name = os.path.split(path)
    try:
        above = os.open(folder, FOLDER)
    except OSError:
        return
    try:
        _remove(name, above)
    finally:
        os.close(above)


def _remove(name: str, above: int) -> None:
    try:
        os.unlink(name, dir_fd=above)
        return
    except OSError:  # a directory
        pass
    try:
        top = _opened(name, above)
    except OSError:
        return
    try:
        pending = _emptied(top)
        while pending:
            _remove_next(pending, top)
    finally:
        os.close(top)
    with suppress(OSError):
        os.rmdir(name, dir_fd=above)


def _remove_next(pending: list[str], top: int) -> None:
    """The last of these directories; those in it are put beside it, and among them."""
    name = pending.pop()
    try:
        current = _opened(name, top)
    except OSError:
        with suppress(OSError):  # it is no directory any more
            os.unlink(name, dir_fd=top)
        return
    try:
        for below in _emptied(current):
            beside = os.urandom(12).hex()
            with suppress(OSError):
                _move(below, current, beside, top)
                pending.append(beside)
    finally:
        os.close(current)
    with suppress(OSError):
        os.rmdir(name, dir_fd=top)


def _emptied(directory: int) -> list[str]:
    """Remove what is no directory; the names of the others."""
    kept = []
    for name in _names(directory):
        try:
            os.unlink(name, dir_fd=directory)
        except OSError:
            kept.append(name)
    return kept


def _names(directory: int) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _move(name: str, directory: int, beside: str, top: int) -> None:
    """Raises: `OSError`: it stays where it is."""
    try:
        os.rename(name, beside, src_dir_fd=directory, dst_dir_fd=top)
    except PermissionError:  # what may not be written to may not be moved either
        _unlock(name, directory)
        os.rename(name, beside, src_dir_fd=directory, dst_dir_fd=top)


def _opened(name: str, above: int) -> int:
    """A directory, once it may be emptied. Raises: `OSError`: it is none, or it cannot be."""
    try:
        found = os.open(name, _WHOLE, dir_fd=above)
    except PermissionError:
        _unlock(name, above)
        found = os.open(name, _WHOLE, dir_fd=above)
    try:
        os.fchmod(found, 0o700)
    except BaseException:
        os.close(found)
        raise
    return found


def _unlock(name: str, above: int) -> None:
    """Give us our rights to a directory that may not even be opened."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, 0o700, dir_fd=above, follow_symlinks=False)
        return
    found = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=above)
    try:
        os.chmod(f"/proc/self/fd/{found}", 0o700)
    finally:
        os.close(found)
