"""The lines that a search shows: each with those around it, cut where it is long."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..codeindex.scan import Hit

LONGEST = 300
"""Bytes of a line that are shown."""
_WINDOW = 2048

Read = Callable[[int, int], bytes]
"""Some bytes of a file, from an offset on."""


class Line(NamedTuple):
    text: str
    hit: bool


def excerpt(read: Read, hits: Sequence[tuple[Hit, bytes | None]], context: int) -> dict[int, Line]:
    """Lines by their numbers. A hit is left out when the file is not any more what was searched."""
    lines: dict[int, Line] = {}
    for hit, seen in hits:
        room = (context + 1) * _WINDOW
        start = max(hit.offset - context * _WINDOW, 0)
        window = read(start, hit.offset - start + room)
        before, after = window[: hit.offset - start], window[hit.offset - start :]
        line, newline, rest = after.partition(b"\n")
        if (seen is not None and not _same(seen, line, ended=bool(newline))) or (before and before[-1:] != b"\n"):
            continue
        if hit.column + LONGEST > len(line) and not newline and len(after) >= room:
            lines[hit.line] = Line(_far(read, hit), hit=True)
        else:
            lines[hit.line] = Line(_cut(line, hit.column), hit=True)
        if context:
            _around(lines, hit.line, before, rest if newline else b"", context)
    return lines


def _far(read: Read, hit: Hit) -> str:
    """A hit far into a line of which the end is not in sight."""
    start = max(hit.column - LONGEST // 3, 0)
    piece = read(hit.offset + start, LONGEST).partition(b"\n")[0]
    return f"\u2026{_shown(piece)}\u2026 [cut: a long line]"


def _same(seen: bytes, line: bytes, *, ended: bool) -> bool:
    return line.rstrip(b"\r") == seen.rstrip(b"\r") or (not ended and seen.startswith(line))


def _around(lines: dict[int, Line], number: int, before: bytes, rest: bytes, context: int) -> None:
    above = before.split(b"\n")[:-1][-context:] if before else []
    for distance, text in enumerate(reversed(above), 1):
        lines.setdefault(number - distance, Line(_cut(text, 0), hit=False))
    if rest:
        below = rest.split(b"\n")
        for distance, text in enumerate(below[:context] if len(below) > context else below, 1):
            if text or distance < len(below):
                lines.setdefault(number + distance, Line(_cut(text, 0), hit=False))


def _cut(line: bytes, column: int) -> str:
    """As text, on one line, cut around the place of the hit."""
    line = line.removesuffix(b"\r")
    if len(line) <= LONGEST:
        return _shown(line)
    start = min(max(column - LONGEST // 3, 0), len(line) - LONGEST)
    while 0 < start < len(line) and line[start] & 0xC0 == 0x80:  # not within a character
        start += 1
    end = start + LONGEST
    while start < end < len(line) and line[end] & 0xC0 == 0x80:
        end -= 1
    text = ("\u2026" if start else "") + _shown(line[start:end]) + ("\u2026" if end < len(line) else "")
    return f"{text} [cut: a long line]"


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace").replace("\r", "\\r")
