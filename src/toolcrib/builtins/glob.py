"""`glob`: the files whose path is like a pattern."""

import asyncio
import heapq
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..codeindex.glob_pattern import Paths, braces
from ..codeindex.ignore import from_lines
from ..codeindex.walk import walk
from ..codeindex.wildcard import is_plain
from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._place import place, writable
from ._tool import DIRECTORY, builtin, in_process

MOST = 1000
"""Paths that are shown when nothing else is said."""
_LONGEST = 4096


class _Branch(NamedTuple):
    """What a pattern asks for in one directory."""

    path: str
    names: tuple[str, ...]
    """A pattern for each name below it; the last is a file's, or a directory's."""
    folders: bool
    """Whether directories are meant."""


async def _run(args: Mapping[str, JSON], ctx: Context) -> dict[str, JSON]:
    return await asyncio.to_thread(_search, args, ctx)


def _search(args: Mapping[str, JSON], ctx: Context) -> dict[str, JSON]:
    """In a thread: a large tree takes a while."""
    limit, newest = args.get("limit", MOST), args.get("sort") == "modified"
    search = _Search(ctx, ignore=not args.get("ignored"), hidden=bool(args.get("hidden")), newest=newest)
    starts: dict[tuple[str, bool], list[tuple[str, ...]]] = {}
    for branch in _branches(args):
        starts.setdefault((branch.path, branch.folders), []).append(branch.names)
    start = args.get("path", ".")
    for (path, folders), patterns in starts.items():
        try:
            search.look(path, patterns, folders=folders)
        except ToolError as exc:
            if exc.code != "FILE_NOT_FOUND" or not ctx.workspace.exists(start):
                raise
    changed = dict(zip(search.found, search.changed, strict=True)) if newest else {}
    found = list(dict.fromkeys(search.found)) if len(starts) > 1 else search.found  # branches may mean the same file
    paths = heapq.nlargest(limit, found, key=lambda path: changed[path]) if newest else found[:limit]
    answer: dict[str, JSON] = {"paths": [writable(path) for path in paths], "left_out": len(found) - len(paths)}
    if search.cut:
        answer["incomplete"] = "the tree is too large to be looked through whole; give a path further down"
    if search.skipped:
        answer["unreadable"] = search.skipped
    return answer


class _Search:
    """Goes through directories and keeps what is meant."""

    def __init__(self, ctx: Context, *, ignore: bool, hidden: bool, newest: bool) -> None:
        self._ctx, self._ignore, self._hidden, self._newest = ctx, ignore, hidden, newest
        self.found: list[str] = []
        self.changed: list[int] = []
        """When each was, if that is asked for."""
        self.cut, self.skipped = False, 0

    def look(self, directory: str, patterns: Sequence[Sequence[str]], *, folders: bool) -> None:
        dotted = any(name[:1] == "." or name[:2] == "\\." for names in patterns for name in names)
        paths = Paths(patterns, hidden=self._hidden)
        levels = [paths.start]
        with place(self._ctx, directory, ignore=self._ignore) as start:
            prefix, found, ctx = start.prefix, self.found, self._ctx

            def prune(below: str) -> bool:
                """Called for each directory before it is entered, so that the last level is the one we are in."""
                depth, name = below.count("/"), below[below.rfind("/") + 1 :]
                del levels[depth + 1 :]
                if folders and paths.ending(levels[depth])(name):
                    found.append(f"{prefix}{below}/")
                    if self._newest:
                        self.changed.append(0)
                state = paths.enter(levels[depth], name)
                levels.append(state)
                return not state

            everywhere = not folders and paths.enter(paths.start, "a") == paths.start and _is_uniform(patterns)
            steps = walk(
                start.fd,
                ignore=self._ignore,
                hidden=self._hidden or dotted,
                prune=None if everywhere else prune,
                veil=start.veil,
                above=from_lines(start.above),
                wanted=paths.ending(paths.start) if everywhere else None,
            )
            for path, _, files in steps:
                if ctx.over:
                    raise ToolError("the search was given up", code="CANCELLED")
                if folders or not files:
                    continue
                if not everywhere:
                    fits = paths.ending(levels[-1])
                    files = [entry for entry in files if fits(entry.name)]
                before = f"{prefix}{path}/" if path else prefix
                found += [before + entry.name for entry in files]
                if self._newest:
                    self.changed += map(_changed, files)
            self.cut |= steps.cut
            self.skipped += steps.skipped


def _is_uniform(patterns: Sequence[Sequence[str]]) -> bool:
    """Whether the same is meant in all directories, so that nothing need be followed."""
    return all(len(names) == 2 and names[0] == "**" and names[1][:1] != "." for names in patterns)


def _changed(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:  # gone
        return 0


def _branches(args: Mapping[str, JSON]) -> Iterator[_Branch]:
    """The directories that a pattern leads to by plain names, and what it asks for in them.

    Raises:
        ToolError: the pattern leads somewhere in no plain way, or stands for too many.
    """
    pattern, path = args["pattern"], args.get("path", ".")
    try:
        texts = braces(pattern)
    except ValueError as exc:
        raise ToolError(f"{exc}; use fewer", code="VALIDATION_ERROR", before_effect=True) from None
    for text in texts:
        folders = text.endswith("/")
        names = [name for name in text.split("/") if name not in ("", ".")]
        plain = 0
        while plain < len(names) - 1 and is_plain(names[plain]):
            plain += 1
        rest = ["**" if len(name) > 1 and not name.strip("*") else name for name in names[plain:]]
        if not rest or ".." in rest:
            if rest and (plain or rest[0] != ".." or len(rest) > 1):
                message = f"{pattern} goes up after a wildcard; give the directory as path instead"
                raise ToolError(message, code="PATH_OUTSIDE_WORKSPACE", before_effect=True)
            plain, rest, folders = plain + len(rest), ["*"], False
        start = "/" if text.startswith("/") else path
        yield _Branch(os.path.join(start, *names[:plain]), tuple(rest), folders)


def _touches(args: Mapping[str, JSON]) -> list[Subject]:
    try:
        return [Subject("read", (path,)) for path in dict.fromkeys(branch.path for branch in _branches(args))]
    except ToolError:  # nothing will be read
        return [Subject("read", (args.get("path", "."),))]


glob = builtin(
    "glob",
    "Find files by a pattern for their path, such as src/**/*.py or **/*.{ts,tsx}. * and ? stay within one name, ** "
    "goes through any number of directories, [a-z] is one character, {a,b} one or the other. The pattern counts from "
    "`path`. Gives paths relative to the workspace, by name, and how many were left out. Hidden files are found when "
    "the pattern says the dot; ignored files only on request. A pattern that ends with / finds directories.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "maxLength": _LONGEST, "description": "Such as **/*.py"},
            "path": {**DIRECTORY, "description": "The directory to begin in; left out, the workspace."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100_000,
                "default": MOST,
                "description": "How many paths to give at most.",
            },
            "sort": {
                "enum": ["name", "modified"],
                "default": "name",
                "description": "By name, or what was changed last first.",
            },
            "hidden": {"type": "boolean", "default": False, "description": "Also what begins with a dot."},
            "ignored": {"type": "boolean", "default": False, "description": "Also what .gitignore and the like name."},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    in_process(_run),
    capabilities=Capabilities(idempotent=True),
    hooks=Hooks(touches=_touches),
)
