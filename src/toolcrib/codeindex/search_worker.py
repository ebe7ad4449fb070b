"""Searches a tree with Python's regular expressions, in a process of its own, which can be ended when one runs away.

Reads what to do from standard input, one JSON document; works in its working directory, or on one file; writes what it
finds to standard output as ripgrep does with `--heading --null --line-number --column --byte-offset`.
"""

import json
import os
import re
import stat
import sys
from typing import Any

from .ignore import Rules, from_lines, read_rules
from .scan import Numbered, as_utf8, hits, searchable, without_nul
from .walk import walk

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
LARGEST = 64 * 1024 * 1024
"""Bytes of one file that are searched."""


def main() -> None:
    """Do what standard input asks for."""
    asked = json.loads(sys.stdin.buffer.read())
    expression = re.compile(asked["pattern"], re.MULTILINE | (re.IGNORECASE if asked["ignore_case"] else 0))
    out = sys.stdout.buffer
    if asked["file"]:
        _report(out, asked["file"], _read(os.open(asked["file"], _READ)), expression, asked)
        return
    chosen = Chosen(asked["globs"])
    start = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    steps = walk(
        start,
        ignore=asked["ignore"],
        hidden=asked["hidden"],
        prune=chosen.prunes,
        keep=chosen.names,
        above=from_lines(asked["above"]),
    )
    for here in steps:
        for file in here.files:
            path = os.path.join(here.path, file.name)
            if not file.is_file(follow_symlinks=False) or not chosen.takes(path):
                continue
            try:
                opened = os.open(file.name, _READ | os.O_NOFOLLOW, dir_fd=here.fd)
            except OSError:
                continue
            _report(out, f"./{path}", _read(opened), expression, asked)


class Chosen:
    """The files that globs mean, as ripgrep's `--glob` does: by name at any depth, or with a slash from the start.

    With `!` before it, a glob leaves out; the last one that fits decides.
    """

    def __init__(self, globs: list[str]) -> None:
        self._rules = Rules(rule for glob in globs for rule in read_rules(glob))
        self._some = any(rule.ignores for rule in self._rules.rules)

    def names(self, path: str) -> bool:
        """Whether a glob names a file."""
        return self._rules.says(path[path.rfind("/") + 1 :], path, folder=False) is True

    def takes(self, path: str) -> bool:
        """Whether a file is to be searched."""
        said = self._rules.says(path[path.rfind("/") + 1 :], path, folder=False)
        return not self._some if said is None else said

    def prunes(self, path: str) -> bool:
        """Whether a directory is left out."""
        return self._rules.says(path[path.rfind("/") + 1 :], path, folder=True) is False


def _read(fd: int) -> bytes:
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b""
        return file.read(LARGEST)


def _report(out: Any, path: str, data: bytes, expression: "re.Pattern[str]", asked: dict[str, Any]) -> None:
    data, binary = without_nul(as_utf8(data), binary=asked["binary"])
    text = searchable(data).decode("utf-8", "surrogateescape")
    numbered, count = Numbered(text), 0
    line, offset = 1, 0
    for begin, place in hits(text, expression, "\n", 0, len(text)):
        name = os.fsencode(path)
        if binary:
            out.write(name + b': binary file matches (found "\\0" byte around offset 0)\n\n')
            break
        hit, end = numbered.hit(begin, place), text.find("\n", begin)
        while line < hit.line:  # where it is in the file, CR and all
            line, offset = line + 1, data.index(b"\n", offset) + 1
        shown = text[begin : end if end >= 0 else len(text)].encode("utf-8", "surrogateescape")
        count += 1
        out.write((name + b"\0" if count == 1 else b"") + b"%d:%d:%d:" % (hit.line, hit.column + 1, offset))
        out.write((shown if len(shown) <= 1000 else b"[Omitted long line]") + b"\n")
        if count >= asked["most"]:
            break
    if count:
        out.write(b"\n")
    out.flush()
