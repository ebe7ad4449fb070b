"""Where a path leads, through whichever links."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from ._beneath import is_below

_MOST_LINKS = 40  # as Linux has it
_LONGEST = 4096  # the same


class Step(NamedTuple):
    """A link on the way, or what is at the end of it."""

    path: str
    """Absolute, and without links before its last name."""
    is_end: bool


def steps(start: str, path: str) -> Iterator[Step]:
    """The links on the way from a directory without links, and the end, there or not. None where it never ends."""
    here, links = start, 0
    todo = path.split("/")[::-1]
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        if name == "..":
            here = os.path.dirname(here)
            continue
        there = os.path.join(here, name)
        if len(there) > _LONGEST:
            return
        try:
            target = os.readlink(there)
        except OSError:  # no link, or nothing
            here = there
            continue
        links += 1
        if links > _MOST_LINKS:
            return
        yield Step(there, is_end=False)
        here = "/" if target.startswith("/") else here
        todo += target.split("/")[::-1]
    yield Step(here, is_end=True)


def leads(workspace: str, path: str) -> Iterator[str]:
    """The steps of a path in a workspace, as far as they lie in it.

    All are relative to the workspace, which is itself none of them.
    """
    for step in steps(workspace, path):
        if step.path != workspace and is_below(step.path, workspace):
            yield step.path[len(workspace.rstrip("/")) + 1 :]
