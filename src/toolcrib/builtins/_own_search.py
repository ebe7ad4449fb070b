"""Searching a small tree without starting a program, which takes longer than the search.

Python's regular expressions hold up everything else in this process while they run. So this is done only where it is
known how long it can take: with a pattern of known cost, on lines that are not too long, a piece at a time.
"""

import asyncio
import os
import re
import stat
from functools import lru_cache
from time import monotonic
from typing import AnyStr

from ..codeindex.ignore import from_lines
from ..codeindex.scan import Hit, Numbered, as_utf8, hits, lines_with, longest_line, pieces, searchable, without_nul
from ..codeindex.search_worker import Chosen
from ..codeindex.walk import Walk, walk
from ._engine import Task
from ._found import Found, seems_to_define
from ._pattern import Pattern

MOST_FILES = 100
MOST_BYTES = 1024 * 1024
MOST_BYTES_AT_LENGTH = 128 * 1024
"""Where there is no telling text that a line must hold, so that most lines are looked at."""
_TELLING = 3
"""Shorter text is in too many lines."""
_STEPS = 2_000_000
"""That one search may take at worst: some 20 ms."""
_TURN_SECONDS = 0.02
_ODD_LETTERS = ("\u017f".encode(), "\u212a".encode())
"""Where case does not matter, these are an s and a k."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class TooMuch(Exception):
    """This is for a program to do."""


async def search(task: Task) -> list[Found]:
    """What is found in a small tree. Raises: `TooMuch`."""
    pattern = task.pattern
    if not pattern.ways or pattern.text is None:
        raise TooMuch
    if task.file:
        return [found] if (found := _searched("", _content(os.dup(task.fd), MOST_BYTES), pattern, binary=True)) else []
    files, steps = 0, _walk(task, chosen := Chosen(list(task.globs)))
    room = MOST_BYTES if len(pattern.needs) >= _TELLING else MOST_BYTES_AT_LENGTH
    for here in steps:
        files += len(here.files)
        if files > MOST_FILES or steps.cut:
            raise TooMuch
        room -= sum(map(_size, here.files))
        if room < 0:
            raise TooMuch
    return await _through(task, chosen)


async def _through(task: Task, chosen: Chosen) -> list[Found]:
    room, found = MOST_BYTES, []
    turn = monotonic()
    steps = _walk(task, chosen)
    for here in steps:
        for entry in here.files:
            path = f"{here.path}/{entry.name}" if here.path else entry.name
            if not chosen.takes(path) or not entry.is_file(follow_symlinks=False):
                continue
            try:
                fd = os.open(entry.name, _READ, dir_fd=here.fd)
            except OSError:  # gone, or not for us to read
                continue
            data = _content(fd, room)
            room -= len(data)
            if (one := _searched(path, data, task.pattern, binary=task.binary)) is not None:
                found.append(one)
            if monotonic() - turn > _TURN_SECONDS:
                await asyncio.sleep(0)
                turn = monotonic()
    if steps.cut:  # it grew
        raise TooMuch
    return found


def _walk(task: Task, chosen: Chosen) -> Walk:
    globs = bool(task.globs)
    return walk(
        task.fd,
        ignore=task.ignore,
        hidden=task.hidden,
        prune=chosen.prunes if globs else None,
        keep=chosen.names if globs else None,
        most=10 * MOST_FILES,
        above=from_lines(task.above),
    )


def _size(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:  # gone
        return 0


def _content(fd: int, room: int) -> bytes:
    """A regular file's bytes. Raises: `TooMuch`."""
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            return b""
        if about.st_size > room:
            raise TooMuch
        data = os.pread(fd, about.st_size + 1, 0)
        if len(data) > about.st_size:  # it grows
            raise TooMuch
        return data
    except OSError:
        return b""
    finally:
        os.close(fd)


def _searched(path: str, raw: bytes, pattern: Pattern, *, binary: bool) -> Found | None:
    data, is_binary = without_nul(searchable(as_utf8(raw)), binary=binary)
    seen = _in_lines(data, pattern) if pattern.needs else _in_pieces(data, pattern)
    if not seen:
        return None
    if is_binary:
        return Found(path, 1, binary=True)
    defines = any(seems_to_define(_line(data, hit), hit.column) for hit in seen)
    return Found(path, len(seen), defines, hits=tuple(seen), data=data)


def _line(data: bytes, hit: Hit) -> bytes:
    end = data.find(b"\n", hit.offset + hit.column)
    return data[hit.offset : end if end >= 0 else len(data)]


def _in_lines(data: bytes, pattern: Pattern) -> list[Hit]:
    """Only lines that hold what every hit holds are looked at. Raises: `TooMuch`."""
    plain, needle = data, pattern.needs.encode()
    if pattern.ignore_case:
        if any(char in data for char in _ODD_LETTERS):
            return _in_pieces(data, pattern)
        plain, needle = data.lower(), needle.lower()
    if needle not in plain:
        return []
    narrow, numbered, found = _narrow(pattern.ascii or "", pattern.ignore_case), Numbered(data), []
    longest = (_STEPS // pattern.ways) ** (1 / (pattern.degree + 1))
    for begin, end in lines_with(plain, needle, b"\n"):
        if end - begin > longest:
            raise TooMuch
        if pattern.wide and not (line := data[begin:end]).isascii():
            text = _decoded(line, pattern)
            if (wide := _wide(pattern.text or "", pattern.ignore_case).search(text)) is not None:
                found.append(numbered.hit(begin, begin + len(text[: wide.start()].encode())))
        elif (one := narrow.search(data, begin, end)) is not None:
            found.append(numbered.hit(begin, one.start()))
    return found


def _in_pieces(data: bytes, pattern: Pattern) -> list[Hit]:
    """All lines are looked at, as many at once as cannot take long. Raises: `TooMuch`."""
    if pattern.ascii is not None and (not pattern.wide or data.isascii()):
        return _piecewise(data, _narrow(pattern.ascii, pattern.ignore_case), b"\n", pattern)
    return _piecewise(_decoded(data, pattern), _wide(pattern.text or "", pattern.ignore_case), "\n", pattern)


def _decoded(data: bytes, pattern: Pattern) -> str:
    """Text that ripgrep sees just as we do. Raises: `TooMuch`, for any other."""
    try:
        text = data.decode()
    except UnicodeDecodeError:  # what a byte is that is no character, ripgrep knows
        raise TooMuch from None
    if pattern.doubtful and _doubt(pattern.doubtful).search(text):
        raise TooMuch
    return text


def _piecewise(subject: AnyStr, expression: "re.Pattern[AnyStr]", newline: AnyStr, pattern: Pattern) -> list[Hit]:
    numbered, line = Numbered(subject), longest_line(subject, newline) if pattern.degree else 1
    most: int = _STEPS // (pattern.ways * max(line, 1) ** pattern.degree)
    if most < min(line, len(subject)):
        raise TooMuch
    return [
        numbered.hit(begin, place)
        for start, end in pieces(subject, newline, max(most - line, 1))
        for begin, place in hits(subject, expression, newline, start, end)
    ]


@lru_cache(maxsize=64)
def _narrow(source: str, ignore_case: bool) -> "re.Pattern[bytes]":
    return re.compile(source.encode(), re.MULTILINE | (re.IGNORECASE if ignore_case else 0))


@lru_cache(maxsize=64)
def _wide(source: str, ignore_case: bool) -> "re.Pattern[str]":
    return re.compile(source, re.MULTILINE | (re.IGNORECASE if ignore_case else 0))


@lru_cache(maxsize=8)
def _doubt(source: str) -> "re.Pattern[str]":
    return re.compile(source)
