"""Where a path in a workspace leads, through whichever links."""

import os
from collections.abc import Iterator

from ._beneath import is_below

_MOST_LINKS = 40  # as Linux has it
_LONGEST = 4096  # the same


def leads(workspace: str, path: str) -> Iterator[str]:
    """The links on the way, and what is at the end of it, there or not: as far as they lie in the workspace.

    All are relative to the workspace, which is itself none of them.
    """
    here, links = workspace, 0
    todo = path.split("/")[::-1]
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        if name == "..":
            here = os.path.dirname(here)
            continue
        there = f"{here.rstrip('/')}/{name}"
        if len(there) > _LONGEST:
            return
        try:
            target = os.readlink(there)
        except OSError:  # no link
            here = there
            continue
        links += 1
        if links > _MOST_LINKS:
            return
        yield from _inside(workspace, there)
        here = "/" if target.startswith("/") else here
        todo += target.split("/")[::-1]
    yield from _inside(workspace, here)


def _inside(workspace: str, real: str) -> Iterator[str]:
    if real != workspace and is_below(real, workspace):
        yield real[len(workspace.rstrip("/")) + 1 :]
