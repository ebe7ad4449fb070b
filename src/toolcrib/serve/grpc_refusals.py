"""Whom the gRPC service turned away, for the record: each of a few, and the count of many."""

import time
from collections.abc import Callable

WINDOW_SECONDS, MOST_IN_WINDOW = 60.0, 30
"""A stranger who knocks a million times must not fill the disk."""

Record = Callable[[str, str, str, int], None]
"""Keeps one line: the door, why, who, and how many times."""


class Refusals:
    """Called from the event loop's thread only."""

    def __init__(self, record: Record, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._record, self._clock = record, clock
        self._until = 0.0
        self._here = self._unsaid = 0

    def note(self, why: str, peer: str) -> None:
        now = self._clock()
        if now >= self._until:
            self.settle()
            self._until, self._here = now + WINDOW_SECONDS, 0
        self._here += 1
        if self._here > MOST_IN_WINDOW:
            self._unsaid += 1
        else:
            self._record("grpc", why, peer, 1)

    def settle(self) -> None:
        """Record those that were only counted."""
        if self._unsaid:
            self._record("grpc", "many refusals in a short time", "", self._unsaid)
            self._unsaid = 0
