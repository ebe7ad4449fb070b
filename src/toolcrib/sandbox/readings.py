"""What each session knows of files, so that nothing is written over what it has not seen."""

import os
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ..core.errors import ToolError

KEPT_BYTES = 32 * 1024 * 1024
"""Of content, for all sessions together; the longest unused is let go first, and only its stamp stays."""
LONGEST = 1024 * 1024
"""Of one content that is kept, to show what became of it."""
_MOST = 20_000

Stamp = tuple[int, int, int, int]


class Stale(ToolError):
    """A file is not what a session has read."""

    def __init__(self, path: str, before: bytes | None, after: bytes | None) -> None:
        message = f"{path} changed since it was last read in this session; read it again, then repeat the change"
        super().__init__(message, details={"path": path, "changed": True}, before_effect=True)
        self.before, self.after = before, after


class Reading(NamedTuple):
    """A file as a session last saw it."""

    stamp: Stamp
    content: bytes | None = None
    """None where it was too long, or was not read whole."""


class Memory(Protocol):
    """Where readings outlast the process."""

    def load(self, session: str, path: str, /) -> tuple[Stamp, bytes | None] | None: ...

    def save(self, readings: Iterable[tuple[str, str, Stamp, bytes | None]], /) -> None: ...


class Readings:
    """Of all sessions of a runtime."""

    def __init__(self, memory: Memory | None = None, *, nameless: str = "") -> None:
        """`nameless` is the session of calls that belong to none: they may write over what was never read."""
        self._memory, self._nameless = memory, nameless
        self._held: OrderedDict[tuple[str, str], Reading] = OrderedDict()
        self._fresh: set[tuple[str, str]] = set()
        self._bytes = 0

    def demands(self, session: str) -> bool:
        """Whether a file must have been read before it is written over."""
        return bool(session) and session != self._nameless

    def note(self, session: str, real: str, seen: os.stat_result, content: bytes | None = None) -> None:
        key = (session, real)
        kept = content if content is not None and len(content) <= LONGEST else None
        self._put(key, Reading(stamp(seen), kept))
        if self.demands(session):
            self._fresh.add(key)

    def known(self, session: str, real: str) -> Reading | None:
        """What the session saw last, in this process or before it."""
        key = (session, real)
        found = self._held.get(key)
        if found is None and self._memory is not None and self.demands(session):
            loaded = self._memory.load(session, real)
            if loaded is not None:
                found = Reading(*loaded)
                self._put(key, found)
        return found

    def check(self, session: str, real: str, seen: os.stat_result, content: bytes, *, path: str) -> None:
        """Raises: `Stale`; or another `ToolError`, when the session has to read the file first."""
        known = self.known(session, real)
        if known is None and self.demands(session):
            message = f"{path} was not read in this session; read it, then repeat the change"
            raise ToolError(message, details={"path": path, "unread": True}, before_effect=True)
        if known is None:
            return
        same = known.stamp == stamp(seen) if known.content is None else known.content == content
        if not same:
            raise Stale(path, known.content, content)

    def check_unchanged(self, session: str, real: str, seen: os.stat_result, *, path: str) -> None:
        """For a file that is to go, read or not. Raises: `Stale`."""
        known = self.known(session, real)
        if known is not None and known.stamp != stamp(seen):
            raise Stale(path, None, None)
        self.forget(session, real)

    def forget(self, session: str, real: str) -> None:
        gone = self._held.pop((session, real), None)
        self._bytes -= len(gone.content or b"") if gone else 0

    def close(self) -> None:
        """Keep what named sessions read, for the next process that serves them."""
        if self._memory is not None and self._fresh:
            held = ((key, self._held[key]) for key in sorted(self._fresh) if key in self._held)
            self._memory.save((*key, reading.stamp, reading.content) for key, reading in held)
            self._fresh.clear()

    def _put(self, key: tuple[str, str], reading: Reading) -> None:
        self.forget(*key)
        self._held[key] = reading
        self._bytes += len(reading.content or b"")
        while self._bytes > KEPT_BYTES:
            old = next(at for at, held in self._held.items() if held.content is not None)
            self._bytes -= len(self._held[old].content or b"")
            self._held[old] = Reading(self._held[old].stamp)
        while len(self._held) > _MOST:
            self.forget(*next(iter(self._held)))


def stamp(seen: os.stat_result) -> Stamp:
    return seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
