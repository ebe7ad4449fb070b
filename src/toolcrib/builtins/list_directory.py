"""`list_directory`: what lies in a directory of the workspace. `list_files` is the same by another name."""

import asyncio
import os
import stat
from collections.abc import Iterator, Mapping
from heapq import nsmallest

from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject, Tool
from ..core.workspace import Workspace
from ._tool import DIRECTORY, builtin, in_process

MOST = 2000
"""Names in one answer."""


async def _run(args: Mapping[str, JSON], ctx: Context) -> list[str]:
    names, left_out = await asyncio.to_thread(_listed, args.get("path", "."), ctx)  # there may be a million
    if left_out:
        ctx.report["truncated"], ctx.report["left_out"] = True, left_out
        names.append(f"[… {left_out} more left out; use glob with a pattern …]")
    return names


def _listed(path: str, ctx: Context) -> tuple[list[str], int]:
    files, seen = ctx.workspace, 0

    def entries(fd: int) -> Iterator[tuple[str, bool, bool]]:
        nonlocal seen
        with os.scandir(fd) as found:
            for entry in found:
                seen += 1
                yield entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()

    with files.directory(path) as folder:
        first = nsmallest(MOST, entries(folder.fd))
    names = [
        _plain(name) + ("/" if is_folder or (is_link and _leads_to_folder(f"{path}/{name}", files)) else "")
        for name, is_folder, is_link in first
    ]
    return names, seen - len(names)


def _leads_to_folder(path: str, files: Workspace) -> bool:
    try:
        return stat.S_ISDIR(files.stat(path).st_mode)
    except ToolError:  # it leads out, or nowhere
        return False


def _plain(name: str) -> str:
    """A name need not be UTF-8; an answer is."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def listing(name: str) -> Tool:
    return builtin(
        name,
        "List what lies in a directory of the workspace, by name; the name of a directory ends with a slash.",
        {"type": "object", "properties": {"path": DIRECTORY}, "additionalProperties": False},
        in_process(_run),
        capabilities=Capabilities(idempotent=True),
        hooks=Hooks(touches=lambda args: [Subject("read", (args.get("path", "."),))]),
    )


list_directory = listing("list_directory")
