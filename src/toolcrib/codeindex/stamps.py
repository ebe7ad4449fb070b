"""Which content a file has, told by its state alone; and why a file is left out."""

import os
from array import array
from collections.abc import Iterator, Sequence

from .segment import STAMP, UNSURE, Stamp, packed

OTHER, TOO_LARGE, MINIFIED, BINARY = "other", "too large", "minified", "binary"
UNREADABLE, TOO_MANY = "unreadable", "too many"
"""Why a file is left out. `other` is no source at all, and is not counted."""
GONE: Stamp = (-1, -1, -1, -1)
_RUN = 64 * STAMP
_SLACK_NS = 100_000_000
"""Two changes in so short a time may carry the same time."""
_COARSE, _COARSE_SLACK_NS = 1_000_000_000, 2_100_000_000
"""The same on file systems that count whole seconds."""


def is_too_young(touched: int, now: int) -> bool:
    """Whether something that changed at `touched` may have changed again with nothing to tell, `now` or since then."""
    return touched >= now - (_SLACK_NS if touched % _COARSE else _COARSE_SLACK_NS)


def settled_stamp(seen: os.stat_result, now: int) -> Stamp:
    """Which content there is, or `UNSURE` where this cannot be told: it changed just before `now` or since then."""
    if is_too_young(seen.st_ctime_ns, now):
        return UNSURE
    return seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino


def stamps_of(root: int, paths: Sequence[str]) -> "array[int]":
    """The states of many paths below a directory, four numbers each. Nothing is opened, so a link leads nowhere."""
    found: list[int] = []
    look = os.stat
    try:
        for path in paths:
            seen = look(path, dir_fd=root, follow_symlinks=False)
            found += (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
    except OSError:  # rare, so that it is not looked for each time
        for path in paths[len(found) // len(GONE) :]:
            try:
                seen = look(path, dir_fd=root, follow_symlinks=False)
                found += (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
            except OSError:
                found += GONE
    return packed(found)


def differing(states: "array[int]", stamps: "array[int]") -> Iterator[int]:
    """Which of them are not what they were; few, as a rule, so that long runs are compared at once."""
    for run in range(0, len(states), _RUN):
        if states[run : run + _RUN] != stamps[run : run + _RUN]:
            for at in range(run, min(run + _RUN, len(states)), STAMP):
                if states[at : at + STAMP] != stamps[at : at + STAMP]:
                    yield at // STAMP
