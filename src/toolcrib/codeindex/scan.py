"""Finding the lines of one file that a regular expression fits. The same in our own process and in a worker's."""

import codecs
import re
from collections.abc import Iterator
from typing import AnyStr, NamedTuple

_FAR = 65536
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Hit(NamedTuple):
    """A line with something found in it. Counted in bytes of the text as UTF-8."""

    line: int
    """The first is 1."""
    column: int
    """Of the first thing found, from 0."""
    offset: int
    """Of the line in the file."""


def as_utf8(data: bytes) -> bytes:
    """A file's text without the mark at its start, UTF-16 that says so read as what it means."""
    if data[:2] in _UTF16:
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data.removeprefix(codecs.BOM_UTF8)


def searchable(data: bytes) -> bytes:
    """The same with each line ended in the same way, so that CR is not part of one. Each keeps its number."""
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def without_nul(data: bytes, *, binary: bool) -> tuple[bytes, bool]:
    """What of a file is searched, and whether it is a binary: with `binary` all of it, otherwise as ripgrep does it,
    nothing, or what stands far before the first NUL.
    """
    at = data.find(b"\0")
    if at < 0:
        return data, False
    if binary:
        return data.replace(b"\0", b"\n"), True
    return (data[:at] if at >= _FAR else b""), True


def pieces(subject: AnyStr, newline: AnyStr, size: int) -> Iterator[tuple[int, int]]:
    """Where to cut into runs of whole lines, each about so long."""
    start, end = 0, len(subject)
    while start < end:
        cut = subject.find(newline, start + size) + 1 if start + size < end else end
        yield start, cut or end
        start = cut or end


def longest_line(subject: AnyStr, newline: AnyStr) -> int:
    return max(map(len, subject.split(newline)))


def hits(
    subject: AnyStr, expression: "re.Pattern[AnyStr]", newline: AnyStr, start: int, end: int
) -> Iterator[tuple[int, int]]:
    """For each line between two places that has something: where it begins, and where the first such thing does."""
    search, at = expression.search, start
    while at < end:
        found = search(subject, at, end)
        if found is None:
            return
        place = found.start()
        begin = subject.rfind(newline, at, place) + 1 or at
        if begin == end:  # behind the last line end there is no line
            return
        yield begin, place
        at = subject.find(newline, max(found.end(), begin), end) + 1
        if not at:
            return


def lines_with(subject: AnyStr, needle: AnyStr, newline: AnyStr) -> Iterator[tuple[int, int]]:
    """The lines that hold some text: where each begins and ends."""
    at, end = subject.find(needle), 0
    while at >= 0:
        begin = subject.rfind(newline, end, at) + 1 or end
        end = subject.find(newline, at)
        if end < 0:
            yield begin, len(subject)
            return
        yield begin, end
        at = subject.find(needle, end)


class Numbered:
    """Turns places in a text into lines, columns and offsets, going forward."""

    def __init__(self, subject: str | bytes) -> None:
        self._subject, self._at, self._line, self._offset = subject, 0, 1, 0

    def hit(self, begin: int, place: int) -> Hit:
        subject = self._subject
        if isinstance(subject, bytes):
            self._line += subject.count(b"\n", self._at, begin)
            self._at = begin
            return Hit(self._line, place - begin, begin)
        between = subject[self._at : begin]
        self._line += between.count("\n")
        self._offset += len(between.encode("utf-8", "surrogateescape"))
        self._at = begin
        return Hit(self._line, len(subject[begin:place].encode("utf-8", "surrogateescape")), self._offset)
