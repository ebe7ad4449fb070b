"""A private temporary directory for each call, gone after it."""

import itertools
import os
import stat
import tempfile
from contextlib import suppress

from ..core.errors import ToolError

_FRESH = stat.S_IFDIR | 0o700


class Scratch:
    """Hands out empty directories below one root.

    Making and removing a directory costs more than starting a small program's pipes, so one that comes back empty is
    given a new name for the next call; to every tool it is a fresh directory, and its own path is gone afterwards.
    """

    def __init__(self, owner: str, below: str = "") -> None:
        self.root = os.path.join(os.path.realpath(tempfile.gettempdir()), f"toolcrib-{owner}", below).rstrip("/")
        """Without links, so that no link needs to be followed on the way to what lies here."""
        self._spare: list[str] = []
        self._numbers = itertools.count(1)
        self._left: dict[str, int] = {}
        """When each spare was last changed, by us: one that nobody touched since need not be looked into."""

    def take(self) -> str:
        """Raises: `ToolError` when there is no room for one; nothing happened."""
        while self._spare:
            spare = self._spare.pop()
            try:
                if _is_fresh(os.lstat(spare)):
                    return spare
            except OSError:  # no tool should, but one may have removed it
                continue
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
        elsewhere = self._next()
        known = self._left.pop(path, None)
        try:
            seen = os.lstat(path)
            # A tool can set a time of modification, but not the time at which it did so.
            clean = _is_fresh(seen) and (seen.st_ctime_ns == known or not os.listdir(path))
        except OSError:
            clean = False
        try:
            os.rename(path, elsewhere)
            if clean:
                self._left[elsewhere] = os.lstat(elsewhere).st_ctime_ns
                self._spare.append(elsewhere)
        except OSError:  # the tool removed it
            return None
        return None if clean else elsewhere

    def keep(self, path: str) -> None:
        """It was not used: it is as good for the next call."""
        self._spare.append(path)

    def close(self) -> None:
        self._spare.clear()
        self._left.clear()
        remove_tree(self.root)

    def _next(self) -> str:
        return f"{self.root}/{next(self._numbers)}"


def _is_fresh(seen: os.stat_result) -> bool:
    """Whether this is a directory as we make them, and no link to one."""
    return seen.st_mode == _FRESH and seen.st_uid == os.geteuid()


def remove_tree(path: str) -> None:
    """Remove a directory and all in it, however deep, following no link, also where a tool took its own rights away.

    Directories further down are first moved up, so that no path grows too long and nothing recurses.
    """
    pending = [path]
    while pending:
        current = pending.pop()
        for name in _unlocked(current):
            try:
                os.unlink(f"{current}/{name}")
                continue
            except OSError:  # a directory
                pass
            if current == path:
                pending.append(f"{path}/{name}")
                continue
            above = f"{path}/{os.urandom(12).hex()}"
            try:
                os.chmod(f"{current}/{name}", 0o700)
                os.rename(f"{current}/{name}", above)
                pending.append(above)
            except OSError:
                pass
        _rmdir(current)
    _rmdir(path)


def _unlocked(directory: str) -> list[str]:
    """What lies in a directory, once it may be emptied."""
    try:
        if not stat.S_ISDIR(os.lstat(directory).st_mode):
            os.unlink(directory)
            return []
        os.chmod(directory, 0o700)
        return os.listdir(directory)
    except OSError:
        return []


def _rmdir(directory: str) -> None:
    try:
        os.rmdir(directory)
    except OSError:
        pass
