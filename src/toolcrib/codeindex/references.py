"""All places where a name stands: looked for only in files that mention it, the likeliest files first."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..core.errors import ToolError
from ..core.workspace import Workspace
from .facts import Definition
from .reading import LARGEST, Descent, as_utf8, contents, opened
from .tokens import occurrences
from .view import View

LONGEST_LINE = 200
"""Characters of a line that are shown."""
_LETTERS = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz" + bytes(range(128, 256)))
_CONFIDENCE = {"code": "syntactic", "string": "text", "comment": "text"}


class Reference(NamedTuple):
    """One place where a name stands."""

    path: str
    line: int
    column: int
    """In bytes from the start of the line."""
    text: str
    """The line, without the space around it."""
    confidence: str
    """`exact`, `syntactic`, or `text` for what stands in a comment or a string."""
    definition: bool = False


class Uses(NamedTuple):
    """What was found of a name; `kept` are the first of `total`."""

    kept: tuple[Reference, ...] = ()
    total: int = 0
    """Places in the files that were looked at, and in those that were merely counted."""
    files: int = 0
    unread: int = 0
    """Files that could not be read any more, or that came after the time was over."""
    in_text: int = 0
    """Places in comments and strings of the files that were looked at."""
    counted: int = 0
    """Files that came when enough was kept: there, comments and strings are not told from code."""


def uses(
    view: View,
    name: str,
    paths: Iterable[str],
    definitions: Collection[tuple[str, int, int]],
    *,
    limit: int,
    include_text: bool = False,
    into: list[Reference] | None = None,
    read: Callable[[str], bytes] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Uses:
    """Look through files, in their order. The first `limit` places are kept with their lines; all are counted.

    Whoever gives the paths one by one sees in `into` what was kept of those before.
    """
    kept = [] if into is None else into
    total = files = unread = in_text = counted = 0
    standing = _standing(name)
    for path in paths:
        if stop() or not (language := view.language(path)):
            unread += 1
            continue
        try:
            data = (read or view.read)(path)
        except ToolError:  # gone since the index settled, or no longer readable
            unread += 1
            continue
        if len(kept) >= limit > 0:
            places = _count(standing, data)
            total, files, counted = total + places, files + bool(places), counted + bool(places)
            continue
        found = occurrences(language, data, name)
        others = [each for each in found if each[2] == "code"]
        in_text += len(found) - len(others)
        shown = found if include_text else others
        files += bool(shown)
        total += len(shown)
        if shown:
            kept += _read(path, data, shown[: limit - len(kept)], definitions)
    return Uses(tuple(kept), total, files, unread, in_text, counted)


def _standing(name: str) -> "re.Pattern[bytes]":
    """A name that no letter follows. It begins with plain letters, which is what makes a search quick."""
    return re.compile(re.escape(name.encode("utf-8", "replace")) + rb"(?![\w\x80-\xff])")


def _count(standing: "re.Pattern[bytes]", data: bytes) -> int:
    """How often a name stands somewhere, and not at the end of a longer one."""
    return sum(found.start() == 0 or data[found.start() - 1] not in _LETTERS for found in standing.finditer(data))


@contextmanager
def many_files(files: Workspace, view: View) -> Iterator[Callable[[str], bytes]]:
    """A quick way to read many files of a view: what is open of the way to one serves for the next.

    No link is followed, as the index does not follow any.
    """
    with files.directory(".") as top, Descent(top.fd) as descent:
        owner = os.fstat(top.fd).st_uid

        def read(path: str) -> bytes:
            folder, _, name = path.rpartition("/")
            try:
                with opened(name, descent.folder(folder), owner) as (fd, seen):
                    data = contents(fd, seen.st_size, LARGEST)
            except OSError as exc:
                raise ToolError(f"{path} cannot be read: {exc.strerror or exc}", code="READ_ERROR") from None
            return as_utf8(data, view.language(path))

        yield read


def _read(
    path: str, data: bytes, found: Sequence[tuple[int, int, str]], definitions: Collection[tuple[str, int, int]]
) -> list[Reference]:
    lines = data.split(b"\n")
    return [
        Reference(path, line, column, shown_line(lines, line), _CONFIDENCE[role], (path, line, column) in definitions)
        for line, column, role in found
    ]


def shown_line(lines: Sequence[bytes], line: int) -> str:
    """A line as it is shown: bounded, and readable whatever its bytes are."""
    raw = lines[line - 1].strip()[: LONGEST_LINE * 4] if 0 < line <= len(lines) else b""
    text = raw.decode("utf-8", "replace")
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"


def likeliest_first(
    view: View,
    name: str,
    paths: Iterable[str],
    definitions: Iterable[tuple[str, Definition]],
    *,
    enough: Callable[[], bool] = lambda: False,
) -> Iterator[str]:
    """Files that define a name, then those that import it or the file it is in, then the others; each by path.

    Where those that define it are `enough`, the order of the others does not matter any more.
    """
    homes = {path for path, _ in definitions}
    stems = {_stem(path) for path in homes}
    inside = sorted(paths)
    yield from (path for path in inside if path in homes)
    others = [path for path in inside if path not in homes]
    if enough():
        yield from others
        return
    if len(stems) > 50:  # a name that everybody defines: nobody's imports say which is meant
        stems = set()
    importing = {path for path in others if _imports(view, path, name, stems)}
    yield from (path for path in others if path in importing)
    yield from (path for path in others if path not in importing)


def _imports(view: View, path: str, name: str, stems: set[str]) -> bool:
    return any(_last(what.module) in stems or any(name in pair for pair in what.names) for what in view.imports(path))


def _stem(path: str) -> str:
    """What others call a file: its name without an ending, or its folder's where the name says nothing."""
    folder, _, name = path.rpartition("/")
    stem = name.split(".")[0]
    return folder.rpartition("/")[2] if stem in ("__init__", "index", "mod", "lib") and folder else stem


def _last(module: str) -> str:
    """The last part of a module, however the language writes one."""
    name = module.rpartition("/")[2]
    for ending in (".js", ".ts", ".jsx", ".tsx", ".mjs", ".h", ".hpp", ".rb", ".sh", ".php"):
        name = name.removesuffix(ending)
    return name.replace("::", ".").replace("\\", ".").rstrip(".").rpartition(".")[2]
