"""Part of a file's lines, in bounded memory however long the file or a line in it is."""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple

from ..core.context import Context
from ..core.jsontext import JSON
from ._text import HEAD, readable, text_of, type_of

ANSWER_BYTES = 1024 * 1024
"""Longest text of one answer."""
_CHUNK = 1024 * 1024
_LONGEST_WHOLE = 16 * 1024 * 1024
"""Of a file whose lines can only be told apart when it is decoded as a whole."""

LINES: dict[str, JSON] = {
    "offset": {"type": "integer", "minimum": 0, "description": "The first line, counted from 0."},
    "limit": {"type": "integer", "minimum": 1, "description": "The most lines to return."},
    "line_numbers": {"type": "boolean", "description": "Put its number, counted from 1, and a tab before each line."},
}
"""In a schema: which part of a text is wanted."""


class Part(NamedTuple):
    """What was asked for of a file, as far as one answer holds it."""

    text: str
    encoding: str = "utf-8"
    following: int = -1
    """The line to go on with, counted from 0, when an answer's room was used up; -1 when it was not."""
    cut: bool = False
    """A single line was longer than that room."""


class Binary(NamedTuple):
    """A file that is no text."""

    type: str
    size: int

    def __str__(self) -> str:
        kind = "image" if self.type.startswith("image/") else "file"
        return f"binary {kind}: {self.type}, {self.size} bytes"


def part_of(
    file: BinaryIO,
    size: int,
    *,
    offset: int = 0,
    limit: int | None = None,
    numbered: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Part | Binary:
    """Lines `offset` and after, counted from 0, at most `limit` of them."""
    head = file.read(HEAD)
    if kind := type_of(head):
        return Binary(kind, size)
    plain = not head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"))
    encoding = "utf-8"
    file.seek(0)
    if size <= _LONGEST_WHOLE and (size <= ANSWER_BYTES or not plain):
        text = text_of(file.read(size + _CHUNK))
        raw, encoding = text.content.encode("utf-8", "surrogateescape"), text.encoding + text.order
        file, size = BytesIO(raw), len(raw)
    found = _taken(_Lines(file, size), offset, limit, numbered, stop)
    return found._replace(encoding=encoding)


def wanted(args: Mapping[str, JSON]) -> dict[str, Any]:
    """What `LINES` was filled with, for `part_of`."""
    return {
        "offset": args.get("offset", 0),
        "limit": args.get("limit"),
        "numbered": args.get("line_numbers", False),
    }


def answer(found: Part | Binary, ctx: Context) -> str:
    """For whoever asked; what is not in the text is said at its end, and in the result's metadata."""
    if isinstance(found, Binary):
        ctx.report["binary"] = True
        return str(found)
    if found.encoding != "utf-8":
        ctx.report["encoding"] = found.encoding
    if found.following < 0:
        return found.text
    ctx.report["truncated"], ctx.report["next_offset"] = True, found.following
    rest = "the rest of this line is left out; " if found.cut else ""
    end = "" if found.text.endswith("\n") else "\n"
    return f"{found.text}{end}[… {rest}an answer holds {ANSWER_BYTES} bytes; go on with offset={found.following} …]"


class _Lines:
    """Lines of a file, with one chunk of it in memory. It may grow: beyond its length at first nothing is read."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size
        self._held = b""

    def skip(self, count: int, stop: Callable[[], bool]) -> bool:
        while count:
            if self.ended():
                return False
            here = self._held.count(b"\n")
            if here < count:
                count -= here
                self._held = b""
            else:
                at = -1
                for _ in range(count):
                    at = self._held.index(b"\n", at + 1)
                self._held, count = self._held[at + 1 :], 0
            if stop():
                return False
        return True

    def next(self, room: int) -> tuple[bytes, bool]:
        line = b""
        while True:
            if self.ended():
                return line, True
            end = self._held.find(b"\n") + 1
            take = min(end or len(self._held), room - len(line))
            line, self._held = line + self._held[:take], self._held[take:]
            if end and take == end:
                return line, True
            if len(line) >= room:
                return line, self.ended()

    def ended(self) -> bool:
        if not self._held:
            self._held = self._file.read(min(_CHUNK, self._left))
            self._left -= len(self._held)
        return not self._held


def _taken(lines: _Lines, offset: int, limit: int | None, numbered: bool, stop: Callable[[], bool]) -> Part:
    if not lines.skip(offset, stop):
        return Part("")
    taken: list[bytes] = []
    room, at = ANSWER_BYTES, offset
    while limit is None or at - offset < limit:
        line, whole = lines.next(room)
        if not line:
            break
        mark = b"%6d\t" % (at + 1) if numbered else b""
        if not whole and taken:  # it does not fit any more: it begins the next answer
            return Part(_joined(taken), following=at)
        taken.append(mark + line)
        room -= len(line) + len(mark)
        at += 1
        if not whole:
            return Part(_joined(taken), following=at, cut=True)
        if room <= 0 and not lines.ended():
            return Part(_joined(taken), following=at)
    if limit is not None and at - offset == limit and taken:
        taken[-1] = taken[-1].removesuffix(b"\n")  # it parts the last line from one that was not asked for
    return Part(_joined(taken))


def _joined(lines: list[bytes]) -> str:
    return readable(b"".join(lines).decode("utf-8", "surrogateescape"))
