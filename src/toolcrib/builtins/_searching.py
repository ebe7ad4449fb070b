"""Searching for `grep`: which engine looks, and what is shown of all that was found."""

import codecs
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ..codeindex.glob_pattern import braces
from ..codeindex.scan import as_utf8
from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON
from . import _engine, _own_search
from ._engine import MOST_IN_A_FILE, Outcome, Task
from ._found import Found
from ._lines import Line, Read, excerpt
from ._pattern import understood
from ._place import place, visible
from .grep import MOST

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CONVERTED = 16 * 1024 * 1024
_FAIR_SHARE = 5
_HINT = "hidden and ignored files were not searched (set hidden or ignored to true)"


async def search(args: Mapping[str, JSON], ctx: Context) -> str:
    """What a call of `grep` answers. Raises: `ToolError`."""
    pattern = understood(args["pattern"], literal=bool(args.get("literal")), ignore_case=bool(args.get("ignore_case")))
    globs = _globs(args)
    dotted = any(name[:1] == "." for glob in globs for name in glob.lstrip("!").split("/"))
    task = Task(pattern, not args.get("ignored"), bool(args.get("hidden")) or dotted, globs, bool(args.get("binary")))
    with _begun(task, args.get("path", "."), ctx) as (begun, prefix, veil):
        outcome = await _searched(begun, ctx)
        if veil is not None:
            outcome = outcome._replace(found=[one for one in outcome.found if not veil(one.path)])
        return _Answer(args, begun, prefix, outcome).text(ctx)


async def search_file(args: Mapping[str, JSON], ctx: Context, fd: int, name: str) -> str:
    """The same in one file that is open, wherever it lies. Raises: `ToolError`."""
    pattern = understood(args["pattern"], literal=bool(args.get("literal")), ignore_case=bool(args.get("ignore_case")))
    task = Task(pattern, ignore=False, hidden=True, globs=(), fd=fd, file=True)
    return _Answer(args, task, name, await _searched(task, ctx)).text(ctx)


async def _searched(task: Task, ctx: Context) -> Outcome:
    try:
        return Outcome(await _own_search.search(task), "own")
    except _own_search.TooMuch:
        return await _engine.search(task, ctx)


@contextmanager
def _begun(task: Task, path: str, ctx: Context) -> Iterator[tuple[Task, str, Callable[[str], bool] | None]]:
    """The task with what is to be searched, open; what stands before the paths of what is found; and their veil."""
    mode = ctx.workspace.stat(path).st_mode
    if stat.S_ISDIR(mode):
        with place(ctx, path, ignore=task.ignore) as start:
            yield task._replace(fd=start.fd, above=start.above), start.prefix, start.veil
    else:
        with ctx.workspace.open(path, glance=True) as file:
            yield task._replace(fd=file.fileno(), file=True, globs=()), path, None


class _Answer:
    """What is shown of all that was found: the files that matter most first, as much as was asked for."""

    def __init__(self, args: Mapping[str, JSON], task: Task, prefix: str, outcome: Outcome) -> None:
        self._limit, self._context = args.get("limit", MOST), args.get("context", 0)
        self._output = args.get("output", "content")
        self._task, self._prefix, self._outcome = task, prefix, outcome
        self._found = sorted(outcome.found, key=_rank)

    def text(self, ctx: Context) -> str:
        found, outcome = self._found, self._outcome
        lines = sum(one.total for one in found)
        more = bool(outcome.stopped) or any(one.total >= MOST_IN_A_FILE for one in found)
        shown = self._content() if self._output == "content" else self._summary()
        parts, left_out, what = shown
        ctx.report["search"] = {
            "engine": outcome.engine, "files": len(found), "lines": lines, "left_out": left_out, "complete": not more
        }  # fmt: skip
        if not found:
            everything = self._task.file or (self._task.hidden and not self._task.ignore)
            parts = ["no matches" if everything else f"no matches; {_HINT}"]
        if left_out:
            at_least = "at least " if more else ""
            parts.append(f"[{at_least}{left_out} more {what} left out; narrow the pattern or the path, or raise limit]")
        if outcome.stopped:
            parts.append(f"[{outcome.stopped}; there may be more: narrow the path]")
        return "\n".join(parts)

    def _content(self) -> tuple[list[str], int, str]:
        """No file takes more than its share while others wait."""
        parts: list[str] = []
        room, left_out = self._limit, 0
        share = max(_FAIR_SHARE, room // max(len(self._found), 1))
        for one in self._found:
            if room <= 0:
                left_out += one.total
                continue
            if one.binary:
                parts += [f"{self._name(one)}: a binary file, matches", ""]
                room -= 1
                continue
            lines = self._lines(one, min(room, share))
            hits = sum(line.hit for line in lines.values())
            if hits:
                more = [f"[{one.total - hits} more in this file]"] if one.total > hits else []
                parts += [self._name(one), *_drawn(lines), *more, ""]
            room -= hits
            left_out += max(one.total - hits, 0)
        return (parts[:-1] if parts else parts), left_out, "matching lines"

    def _summary(self) -> tuple[list[str], int, str]:
        taken = self._found[: self._limit]
        counts = self._output == "count"
        parts = [self._name(one) + (f": {one.total}" if counts else "") for one in taken]
        return parts, len(self._found) - len(taken), "files"

    def _lines(self, one: Found, room: int) -> dict[int, Line]:
        """Read again, by descriptor, by ourselves: whoever turned a link about while a program looked gains nothing."""
        if one.data is not None:
            data = one.data
            return excerpt(lambda offset, length: data[offset : offset + length], one.first(room), self._context)
        try:
            with _reopened(self._task, one.path) as read:
                return excerpt(read, one.first(room), self._context)
        except OSError:
            return {}

    def _name(self, one: Found) -> str:
        return visible(self._prefix if self._task.file else self._prefix + one.path)


@contextmanager
def _reopened(task: Task, path: str) -> Iterator[Read]:
    """A file that a program found something in. Raises: `OSError`, when it is not there any more, or is a link now."""
    opened = [os.dup(task.fd)]
    try:
        if not task.file:
            *folders, name = path.split("/")
            if {"", ".", ".."} & {*folders, name}:
                raise OSError("no path that a walk could lead to")
            for folder in folders:
                opened.append(os.open(folder, _FOLDER, dir_fd=opened[-1]))
            opened.append(os.open(name, _OPEN, dir_fd=opened[-1]))
        fd = opened[-1]
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            raise OSError("not a regular file")
        head = os.pread(fd, 3, 0)
        if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            text = as_utf8(os.pread(fd, _CONVERTED, 0))
            yield lambda offset, length: text[offset : offset + length]
        else:
            mark = len(codecs.BOM_UTF8) if head == codecs.BOM_UTF8 else 0
            yield lambda offset, length: os.pread(fd, length, offset + mark)
    finally:
        for each in opened:
            os.close(each)


def _rank(one: Found) -> tuple[bool, int, str]:
    """Where it is defined, then where it occurs most, then by name."""
    return not one.defines, -one.total, one.path


def _drawn(lines: Mapping[int, Line]) -> Iterator[str]:
    last = 0
    for number in sorted(lines):
        if last and number > last + 1 and any(not line.hit for line in lines.values()):
            yield "--"
        line = lines[number]
        yield f"{number}{':' if line.hit else '-'}{line.text}"
        last = number


def _globs(args: Mapping[str, JSON]) -> tuple[str, ...]:
    if "glob" not in args:
        return ()
    try:
        return tuple(braces(args["glob"]))
    except ValueError as exc:
        raise ToolError(f"{exc}; use fewer", code="VALIDATION_ERROR", before_effect=True) from None
