"""Hearing of changed files the moment they change. The one file that needs `watchfiles`; imported when it is asked for.

It only says that something changed. What that means, and whether anything of it may be read or run, is decided by
whoever reads again.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import NamedTuple

from watchfiles._rust_notify import RustNotify

QUIET_MS = 50
"""Changes that come closer together are one."""
LONGEST_MS = 400
"""While changes keep coming, they are told at least this often."""
POLL_SECONDS = 1.0
"""How often is looked where the system tells nothing."""
MOST_DIRECTORIES = 4096
_TRIES = 5
_MOST_FAILURES = 16


class Watch:
    """Waits for changes of files, from when it is entered until it is left.

    A directory that is not there yet is noticed when it comes: the nearest one above it is watched. Where the system
    cannot watch (its limit is reached), it says so once, and `wait` ends each second instead.
    """

    def __init__(self, paths: Callable[[], Iterable[str]], *, say: Callable[[str], None]) -> None:
        """`paths` are asked for again after each change; of a directory, every name in it counts."""
        self._paths, self._say = paths, say
        self._seen = Seen(frozenset(), frozenset(), frozenset())
        self._notify: RustNotify | None = None
        self._polls, self._failures = False, 0
        self._stop = threading.Event()
        self._turn: asyncio.Task[frozenset[str]] | None = None

    async def __aenter__(self) -> "Watch":
        self._arm()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._fall_silent()
        self._disarm()

    async def renew(self) -> None:
        """Ask for the paths again, because others count now. What they hold is to be read after this."""
        await self._fall_silent()
        if not self._polls:
            self._arm()

    async def wait(self, seconds: float) -> bool:
        """Until something changed, or so many seconds have passed. Says whether something may have changed."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._notify is None:
                await asyncio.sleep(min(left, POLL_SECONDS))
                return True
            if self._turn is None:
                self._turn = asyncio.create_task(asyncio.to_thread(self._listen, self._notify, self._stop))
            await asyncio.wait([self._turn], timeout=left)  # whoever waits next takes up what is not over
            if not self._turn.done():
                return False
            turn, self._turn = self._turn, None
            if turn.exception() is not None:  # such as a name that is not UTF-8, in a directory that is watched
                self._recover(str(turn.exception()))
                return True
            if self._seen.concerns(changed := turn.result()):
                self._arm(changed)
                return True
        return False

    async def _fall_silent(self) -> None:
        if self._turn is not None:
            self._stop.set()
            await asyncio.wait([self._turn])
            self._turn, self._stop = None, threading.Event()

    def _listen(self, notify: RustNotify, stop: threading.Event) -> frozenset[str]:
        """In a thread: what changed, or nothing when it is told to stop."""
        heard = notify.watch(LONGEST_MS, QUIET_MS, 0, stop)
        return frozenset(path for _, path in heard) if isinstance(heard, set) else frozenset()

    def _arm(self, changed: frozenset[str] = frozenset()) -> None:
        """Watch where the paths are now. From then on nothing is missed, so whoever waits reads afterwards."""
        if not changed.isdisjoint(self._seen.directories):
            self._disarm()  # one of the same name may be another directory, which nobody watches yet
        for _ in range(_TRIES):  # until it is all watched: what comes before that, nobody hears
            before, self._seen = self._seen, look(self._paths())
            if self._notify is not None and self._seen.directories == before.directories:
                return
            if not self._watches(self._seen.directories):
                return
        if self._notify is None:
            self._poll("the directories come and go too quickly")

    def _watches(self, directories: frozenset[str]) -> bool:
        """Begin anew. False when that is not to be had here."""
        self._disarm()
        if len(directories) > MOST_DIRECTORIES:
            self._poll(f"there are more than {MOST_DIRECTORIES} directories to watch")
            return False
        try:
            self._notify = RustNotify(sorted(directories), False, False, 0, False, False)
        except (FileNotFoundError, PermissionError):  # since it was looked at; the next look knows
            pass
        except (OSError, RuntimeError) as exc:  # the limit of watches, or of watchers, is reached
            self._poll(str(exc).split(" about [")[0].rstrip("."))
            return False
        return True

    def _recover(self, failure: str) -> None:
        self._failures += 1
        if self._failures > _MOST_FAILURES:
            self._poll(failure)
        else:
            self._arm(self._seen.directories)

    def _disarm(self) -> None:
        if self._notify is not None:
            self._notify.close()
            self._notify = None

    def _poll(self, why: str) -> None:
        self._disarm()
        self._polls = True
        self._say(f"files cannot be watched here ({why}); looking at them every {POLL_SECONDS:g} s instead")


class Seen(NamedTuple):
    """What is watched, and for the sake of what."""

    directories: frozenset[str]
    wanted: frozenset[str]
    above: frozenset[str]
    """Directories that hold something wanted, at whatever depth: when one comes or goes, so does that."""

    def concerns(self, changed: Iterable[str]) -> bool:
        """Whether any of these is wanted, holds what is wanted, or lies in a directory that is."""
        known = self.wanted | self.above | self.directories
        return any(path in known or os.path.dirname(path) in self.wanted for path in changed)


def look(paths: Iterable[str]) -> Seen:
    """The directories in which a change of these paths shows. None of them is opened."""
    wanted, directories, above = set(), set(), set()
    for path in {os.path.normpath(path) for path in paths}:
        if not path.isascii() and any("\ud800" <= char <= "\udfff" for char in path):
            continue  # not UTF-8: no tool can be called so, and it cannot be watched
        wanted.add(path)
        if os.path.islink(path):  # what it leads to changes elsewhere
            path = os.path.realpath(path)
            wanted.add(path)
        if _can_be_watched(path):
            directories.add(path)
        nearest = os.path.dirname(path)
        while nearest not in directories and not _can_be_watched(nearest) and nearest != os.path.dirname(nearest):
            above.add(nearest)
            nearest = os.path.dirname(nearest)
        directories.add(nearest)
    return Seen(frozenset(directories), frozenset(wanted), frozenset(above))


def _can_be_watched(path: str) -> bool:
    return os.path.isdir(path) and os.access(path, os.R_OK)
