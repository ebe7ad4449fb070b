"""An answer told piece by piece while it comes: events of an event stream, or lines."""

import codecs
from collections.abc import Iterator

LONGEST = 16 * 1024
"""Of what is told at once, in characters; what is longer is told in several parts."""


class Lines:
    """Cuts a stream of UTF-8 into its lines."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._open = ""
        self._return = False

    def feed(self, chunk: bytes, *, end: bool = False) -> Iterator[str]:
        text = self._decoder.decode(chunk, final=end)
        if self._return and text:  # a line end of two characters may come in two pieces
            text, self._return = text.removeprefix("\n"), False
        if not text and not end:
            return
        self._return = text.endswith("\r")
        *lines, last = (self._open + text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
        for line in lines:
            yield from _parts(line)
        while len(last) > LONGEST:
            yield last[:LONGEST]
            last = last[LONGEST:]
        self._open = last
        if end and last:
            self._open = ""
            yield last


class Events:
    """Cuts a stream of `text/event-stream` into the data of its events. One that does not end is none."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes, *, end: bool = False) -> Iterator[str]:
        for line in self._lines.feed(chunk, end=end):
            field, _, value = line.partition(":")
            if line and field != "data":  # the name of the event, its id, or a comment
                continue
            if line:
                self._data.append(value.removeprefix(" "))
                self._size += len(value)
            if self._data and (not line or self._size > LONGEST):
                yield from _parts("\n".join(self._data))
                self._data, self._size = [], 0


def _parts(line: str) -> Iterator[str]:
    for at in range(0, len(line) or 1, LONGEST):
        yield line[at : at + LONGEST]
