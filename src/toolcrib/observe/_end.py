"""The end of a file of the record, read from the back: it may be long, and what is torn of it may be, too."""

import os
from typing import NamedTuple

_CHUNK = 16 * 1024


class End(NamedTuple):
    """What a file ends with."""

    size: int
    """Of all its whole lines."""
    last: bytes
    """The last of these lines that has something in it; empty where there is none."""


def end_of(fd: int, size: int) -> End:
    whole = end = _after_newline(fd, size)
    while True:
        begin = _after_newline(fd, end - 1)
        last = os.pread(fd, end - begin, begin).rstrip(b"\n")
        if last or not begin:
            return End(whole, last)
        end = begin


def _after_newline(fd: int, before: int) -> int:
    """Where the line begins that goes on to this place."""
    while before > 0:
        start = max(0, before - _CHUNK)
        found = os.pread(fd, before - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        before = start
    return 0
