"""What a question about code stands on: a settled view, where it lies, and when to stop."""

import asyncio
import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from ..core.errors import ToolError
from ..core.jsontext import JSON
from ..core.workspace import Workspace
from .precise import Run
from .reading import contents, opened
from .spelling import shown
from .tree import Tree
from .view import View

SECONDS = 20.0
"""That one question may take after the index has settled; what was not looked at by then is counted."""
_MANIFEST_BYTES = 256 * 1024
T = TypeVar("T")


class Index(Protocol):
    """What settles."""

    async def settled(self, files: Workspace) -> View: ...


class Ground(NamedTuple):
    """One call's view of the tree."""

    tree: Tree
    root: str
    """The real path of the workspace."""
    files: Workspace
    run: Run | None
    stop: Callable[[], bool]

    @property
    def view(self) -> View:
        return self.tree.view

    def about(self, confidence: str) -> dict[str, JSON]:
        """How sure an answer is, and how fresh."""
        view = self.view
        fresh = {"files": len(view.paths()), "reread": view.reread, "settled_ms": round(view.settled_ms, 1)}
        return {"confidence": confidence, "index": {**fresh, "skipped": view.skipped}}

    def source(self, path: str, given: str) -> str:
        """A file that the index knows.

        Raises:
            ToolError: it knows none of that name.
        """
        if path not in self.tree.paths:
            message = (
                f"{shown(given)} is not in the index, which has the source files of the known languages that no ignore "
                f"file leaves out, up to 1 MiB each; read it with read_file or look with search_code"
            )
            raise ToolError(message, code="SEARCH_ERROR", details={"path": shown(given)})
        return path


async def ground(index: Index, files: Workspace, run: Run | None, stop: Callable[[], bool]) -> Ground:
    """Bring the index up to date and stand on it."""
    view = await index.settled(files)
    with files.directory(".") as folder:
        root = folder.real
    return Ground(Tree(view, partial(_manifest, files)), root, files, run, stop)


def _manifest(files: Workspace, path: str) -> bytes | None:
    """A small file beside the sources. No reading on behalf of a session, which might then write to the file."""
    folder, _, name = path.rpartition("/")
    try:
        with files.directory(folder or ".") as place, opened(name, place.fd, os.fstat(place.fd).st_uid) as (fd, seen):
            data = contents(fd, seen.st_size, _MANIFEST_BYTES + 1)
    except (OSError, ToolError):
        return None
    return data if len(data) <= _MANIFEST_BYTES else None


def located(files: Workspace, path: str) -> str:
    """Where a path lies below the workspace, as the index writes it; empty for the workspace itself.

    Raises:
        ToolError: it is not there, or lies elsewhere.
    """
    about = files.stat(path)
    folder, name = (path, "") if stat.S_ISDIR(about.st_mode) else os.path.split(path)
    with files.directory(".") as top, files.directory(folder or ".") as inner:
        root, real = top.real, inner.real
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        message = f"{shown(path)} is not in the workspace, and no other directory has an index; search it with grep"
        raise ToolError(message, code="SEARCH_ERROR", details={"path": shown(path)})
    below = real[len(root) :].strip("/")
    return "/".join(part for part in (below, name) if part)


def within(paths: Sequence[str], place: str) -> Sequence[str]:
    """The paths that are a place or lie below it."""
    return [path for path in paths if path == place or path.startswith(f"{place}/")] if place else paths


class Stop:
    """Tells work in a thread that nobody waits for it any more, or that its time is over."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._end, self._flag = time.monotonic() + seconds, threading.Event()

    def __call__(self) -> bool:
        return self._flag.is_set() or time.monotonic() > self._end

    async def work(self, do: Callable[[], T]) -> T:
        """Do something in a thread, and tell it when the caller is gone."""
        try:
            return await asyncio.to_thread(do)
        except asyncio.CancelledError:
            self._flag.set()
            raise
