"""The rules as they are now: a server may run for days, and is to judge by what the user wrote this morning."""

import os
import time
from collections.abc import Callable, Sequence

from ..core.errors import ConfigError
from ..core.source import Problem
from .gate import Gate

_SECONDS = 1.0
"""How often it is looked whether a file is another one."""


class StandingRules:
    """A gate that is made anew when one of its files changes."""

    def __init__(self, made: Callable[[], Gate], paths: Sequence[str]) -> None:
        """Raises: `ConfigError`, for rules that are wrong to begin with."""
        self._made, self._paths = made, paths
        self._seen, self._look_again = self._stamps(), 0.0
        self.policy, self.places, self.problems = made()

    def keep_up(self) -> None:
        now = time.monotonic()
        if now < self._look_again:
            return
        self._look_again = now + _SECONDS
        if (stamps := self._stamps()) == self._seen:
            return
        self._seen = stamps
        try:
            self.policy, _, self.problems = self._made()
        except ConfigError as exc:  # the rules that were good stay in force
            self.problems = (Problem(exc.path, exc.code, f"{exc}; until then the rules of before are in force"),)

    def _stamps(self) -> list[tuple[int, ...] | None]:
        return [_stamp(path) for path in self._paths]


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size
