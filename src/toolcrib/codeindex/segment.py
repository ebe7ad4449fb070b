"""What is known of many files, side by side, so that a name is looked for in all of them at once.

The names of each file are one text with a line for each; those of all files follow one another in one long text. One
search through that is quicker than any table that would first have to be made, kept, loaded and changed.
"""

import marshal
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

NAMES, WORDS, FACTS = range(3)
"""The texts of a file: the names it defines, all words in it, and what `marshal` made of its facts."""
STAMP = 4
"""Numbers that say which content a file had: size, time of change of content, of anything, and inode."""
_WHOLE = 2**63 - 1
_OFTEN = 50

Stamp = tuple[int, int, int, int]
Row = tuple[str, Stamp, str, str, bytes, bytes, bytes]
"""One file that was looked at, plain as it comes from another process: its path, its stamp, its language, why it was
left out (or nothing), and its three texts."""
NO_WORDS = b"?"
"""In place of the words of a file in which nobody has looked for them; no search finds this."""
UNSURE: Stamp = (0, 0, 0, 0)
"""Of a file that may have changed since it was read, with nothing to tell: it is read again next time."""


class Segment:
    """Many files, never changed once it is made."""

    __slots__ = ("_asked", "_ends", "_tables", "_texts", "languages", "paths", "reasons", "stamps")

    def __init__(
        self,
        paths: list[str],
        stamps: "array[int]",
        languages: list[str],
        reasons: list[str],
        ends: "list[array[int]]",
        texts: list[bytes],
    ) -> None:
        self.paths, self.stamps, self.languages, self.reasons = paths, stamps, languages, reasons
        self._ends, self._texts = ends, texts
        self._asked = [0, 0, 0]
        self._tables: dict[int, dict[bytes, list[int]]] = {}

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Segment":
        paths, stamps, languages, reasons, names, words, facts = ([*column] for column in _columns(rows))
        texts = [names, words, facts]
        flat = [number for stamp in stamps for number in stamp]
        return cls(paths, packed(flat), languages, reasons, [_ends(text) for text in texts], [*map(b"".join, texts)])

    def __len__(self) -> int:
        return len(self.paths)

    def __sizeof__(self) -> int:
        """Of all it holds, but the paths."""
        return sum(map(len, self._texts)) + sum(ends.itemsize * len(ends) for ends in (*self._ends, self.stamps))

    def text(self, which: int, number: int) -> bytes:
        """One of the texts of one file."""
        ends = self._ends[which]
        return self._texts[which][ends[number - 1] if number else 0 : ends[number]]

    def whole(self, which: int) -> bytes:
        """One of the texts, of all files."""
        return self._texts[which]

    def facts(self, number: int) -> tuple[Any, Any, Any]:
        """The definitions, imports and exports of a file, in plain tuples."""
        kept = self.text(FACTS, number)
        return marshal.loads(kept) if kept else ((), (), ())

    def holding(self, which: int, line: bytes) -> Iterable[int]:
        """The files that have such a line in one of their texts.

        Who asks again and again, about thousands of names, is worth a table.
        """
        if which in self._tables:
            return self._tables[which].get(line, ())
        self._asked[which] += 1
        if self._asked[which] > _OFTEN:
            self._tables[which] = self._table(which)
            return self._tables[which].get(line, ())
        return list(self._found(which, line)) if line else ()

    def _found(self, which: int, line: bytes) -> Iterator[int]:
        text, ends, needle = self._texts[which], self._ends[which], b"\n%b\n" % line
        at = text.find(needle)
        while at >= 0:
            number = bisect_right(ends, at)
            yield number
            at = text.find(needle, ends[number])

    def _table(self, which: int) -> dict[bytes, list[int]]:
        table: dict[bytes, list[int]] = {}
        for number in range(len(self)):
            for line in self.text(which, number)[1:-1].split(b"\n"):
                if line in table:
                    table[line].append(number)
                else:
                    table[line] = [number]
        table.pop(b"", None)
        return table

    def stamp(self, number: int) -> Stamp:
        size, changed, touched, inode = self.stamps[number * STAMP : number * STAMP + STAMP]
        return size, changed, touched, inode

    def row(self, number: int) -> Row:
        texts = (self.text(which, number) for which in (NAMES, WORDS, FACTS))
        names, words, facts = texts
        about = self.languages[number], self.reasons[number]
        return self.paths[number], self.stamp(number), *about, names, words, facts

    def table(self) -> tuple[Any, ...]:
        """All but the texts, for `marshal`."""
        legend = sorted({*self.languages, *self.reasons})
        return (
            "\0".join(self.paths),
            self.stamps.tobytes(),
            legend,
            bytes(map(legend.index, self.languages)),
            bytes(map(legend.index, self.reasons)),
            [ends.tobytes() for ends in self._ends],
        )

    @classmethod
    def restored(cls, table: tuple[Any, ...], texts: list[bytes]) -> "Segment":
        """What `table` and `whole` gave.

        Raises:
            ValueError, TypeError, IndexError: they do not belong together.
        """
        paths, stamps, legend, languages, reasons, ends = table
        listed = paths.split("\0") if languages else []
        columns = [array("q", each) for each in ends]
        if {len(listed), len(languages), len(reasons), *map(len, columns)} != {len(listed)} or any(
            (column[-1] if column else 0) != len(text) for column, text in zip(columns, texts, strict=True)
        ):
            raise ValueError("columns of different lengths")
        return cls(
            listed,
            array("q", stamps),
            [legend[each] for each in languages],
            [legend[each] for each in reasons],
            columns,
            texts,
        )


def packed(numbers: list[int]) -> "array[int]":
    """Numbers as an array. An inode may have all bits, and a date may lie beyond the year 2262."""
    try:
        return array("q", numbers)
    except OverflowError:
        return array("q", [number & _WHOLE for number in numbers])


def lines(words: Iterable[bytes]) -> bytes:
    """A text as `holding` searches it."""
    joined = b"\n".join(words)
    return b"\n%b\n" % joined if joined else b""


def as_line(name: str) -> bytes:
    """A name as it stands in such a text."""
    return name.encode("utf-8", "replace").replace(b"\n", b" ")


def _columns(rows: Iterable[Row]) -> Iterable[tuple[Any, ...]]:
    return zip(*rows, strict=True) if (rows := list(rows)) else [()] * 7


def _ends(texts: list[bytes]) -> "array[int]":
    ends, at = array("q"), 0
    for text in texts:
        at += len(text)
        ends.append(at)
    return ends
