"""What a search found: in which files, on which lines; whatever engine looked."""

import os
import re
from typing import NamedTuple

from ..codeindex.scan import Hit

_BINARY = re.compile(
    rb"(.*?):? (?:WARNING: stopped searching )?binary file (?:matches|after match) \(found .*", re.DOTALL
)
_DEFINES = (
    b"def|class|function|func|fn|struct|enum|trait|interface|type|impl|module|namespace|const|let|var|val|macro_rules!"
    b"|package|record|object|protocol|union|define|sub|proc|defmodule|defp"
)
_BEFORE = re.compile(rb"(?:^|[\s(;#])(?:" + _DEFINES + rb")\s+[*&(]?\s*$")
_AT = re.compile(rb"(?:" + _DEFINES + rb")\s")
_KEYWORD = re.compile(rb"\b(?:" + _DEFINES + rb")\s")
_LOOKED_AT = 200


class Found(NamedTuple):
    """One file with hits."""

    path: str
    """From the place where the search began, as the file system has it."""
    total: int
    """Lines with hits."""
    defines: bool = False
    """Whether one of them seems to define what was searched for."""
    binary: bool = False
    hits: "tuple[Hit, ...] | bytes" = ()
    """Or the lines of ripgrep's output, to be read when they are shown."""
    data: bytes | None = None
    """The file, where we have it at hand."""

    def first(self, most: int) -> list[tuple[Hit, bytes | None]]:
        """Some hits, with the text of the line as it was seen, if that is known."""
        if not isinstance(self.hits, bytes):
            return [(hit, None) for hit in self.hits[:most]]
        return [_hit(line) for line in self.hits.split(b"\n", most)[:most]]


def seems_to_define(line: bytes, column: int) -> bool:
    """Whether what was found in a line stands behind a word that defines, or begins with one."""
    return bool(_AT.match(line, column) or _BEFORE.search(line[max(column - 100, 0) : column]))


def parsed(output: bytes, *, whole: bool) -> list[Found]:
    """What is in ripgrep's output; without its last part where it was cut."""
    blocks = output.split(b"\n\n")
    if not whole:
        blocks.pop()
    found, pending = [], b""
    for block in blocks:
        block = pending + block
        pending = b""
        path, null, lines = block.partition(b"\0")
        if null:
            lines = lines.rstrip(b"\n")
            found.append(_of(path, lines))
        elif (binary := _BINARY.fullmatch(block.strip(b"\n"))) is not None:
            found.append(Found(_relative(binary[1]), 1, binary=True))
        elif block.strip(b"\n"):
            pending = block + b"\n\n"  # a name with line ends in it
    return found


def _of(path: bytes, lines: bytes) -> Found:
    last = lines[lines.rfind(b"\n") + 1 :]
    if b"binary file" in last and _BINARY.fullmatch(last):
        return Found(_relative(path), 1, binary=True)
    defines = _KEYWORD.search(lines) is not None and any(
        seems_to_define(text, hit.column)
        for hit, text in map(_hit, lines.split(b"\n", _LOOKED_AT)[:_LOOKED_AT])
        if text
    )
    return Found(_relative(path), lines.count(b"\n") + 1, defines, hits=lines)


def _hit(line: bytes) -> tuple[Hit, bytes | None]:
    fields = line.split(b":", 3)
    if len(fields) < 4 or not fields[2].isdigit():  # at the end of a last line without an end, there is no column
        text = b":".join(fields[2:])
        fields = [fields[0], b"%d" % (len(text) + 1), fields[1], text]
    number, column, offset, text = fields
    omitted = text.startswith(b"[Omitted long ")
    return Hit(int(number), int(column) - 1, int(offset)), None if omitted else text


def _relative(path: bytes) -> str:
    return os.fsdecode(path.removeprefix(b"./"))
