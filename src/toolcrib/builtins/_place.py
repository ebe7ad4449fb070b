"""Where a search begins: a directory of the workspace, what ignore files above it say, and how its files are called."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..codeindex.ignore import lines_above
from ..core.context import Context


class Place(NamedTuple):
    """An open directory."""

    fd: int
    prefix: str
    """Stands before the paths of what lies in it: where it is in the workspace, or absolute."""
    above: list[str]
    """Lines of ignore files that count in it."""
    veil: Callable[[str], bool] | None = None
    """Says of a path from here that rules keep it from being read."""


@contextmanager
def place(ctx: Context, path: str, *, ignore: bool) -> Iterator[Place]:
    """A directory to search. Raises: `ToolError`, as the workspace does."""
    with ctx.workspace.directory(path) as folder:
        root = os.path.realpath(ctx.cwd)
        below = folder.real == root or folder.real.startswith(root.rstrip("/") + "/")
        names = [name for name in folder.real[len(root) :].split("/") if name] if below else []
        above: list[str] = []
        if names and ignore:
            with ctx.workspace.directory(".") as top:
                above = lines_above(top.fd, names)
        prefix = "".join(f"{name}/" for name in names) if below else f"{folder.real}/"
        yield Place(folder.fd, prefix, above, veil_from(ctx, folder.real))


def veil_from(ctx: Context, real: str) -> Callable[[str], bool] | None:
    """The veil of a call, for paths that lead from a directory. What it hides is counted in the result's metadata."""
    hides = ctx.veil
    if hides is None:
        return None

    def veil(path: str) -> bool:
        hidden = hides(f"{real.rstrip('/')}/{path}")
        if hidden:
            ctx.report["withheld"] = ctx.report.get("withheld", 0) + 1
        return hidden

    return veil


def writable(path: str) -> str:
    """A path as text: a byte that is not UTF-8 is shown as \\xNN."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def visible(path: str) -> str:
    """The same on one line: what would end the line or draw nothing is spelled out."""
    text = writable(path)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
