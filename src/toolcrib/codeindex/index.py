"""The index of the source trees that are worked on: brought up to date before every question."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from ..core.errors import ToolError
from ..core.workspace import Folder, Workspace
from .segment import Row
from .settle import SourceTree, Work
from .snapshot import Snapshot
from .store import Store
from .view import View
from .worker import answer, command, question

Result = TypeVar("Result")
Run = Callable[[tuple[str, ...], bytes], Awaitable[bytes]]
"""Starts a program with this as its standard input, and gives its standard output.

Raises: `ToolError`, or gives less than all of it, when it did not go well.
"""
_MANY_FILES, _MANY_BYTES = 50, 1024 * 1024
"""More than that is worth starting processes for."""
_PARSING, _OPENING = 8, 2000
"""What a byte costs that goes through a parser, and what a file costs as such, in bytes of Python."""
_SHARE = 1024 * 1024
"""Less than that, so counted, is not worth one more process."""
_MOST_WORKERS = 8
_MOST_TREES = 4


class CodeIndex:
    """What all source files of a workspace define, import and export.

    With a `cache` directory, what is known is kept there from one run to the next. With `run`, whatever is much is done
    by processes, as many as `workers` says, or as there are processors.
    """

    def __init__(self, *, cache: str | None, run: Run | None, workers: int = 0) -> None:
        self._cache, self._run = cache, run
        self._workers = min(workers or _processors(), _MOST_WORKERS)
        self._trees: dict[tuple[int, str], SourceTree] = {}
        self._turns: dict[tuple[int, str], _Turn] = {}

    async def settled(self, files: Workspace, *, words: bool = True) -> View:
        """The tree as it is now. Whoever asks while another is being served is served together with all who wait.

        Who only wants to know what is defined where can do without the `words` of files that are read for the first
        time; `View.mentioning` then names all of those.

        Raises:
            ToolError: the workspace cannot be read.
        """
        began = time.perf_counter()
        with files.directory(".") as place:
            key = id(asyncio.get_running_loop()), place.real
        turn = self._turns.get(key)
        if turn is None or turn.begun:  # what began before our question may have looked before the last change
            turn = self._turns[key] = _Turn(before=turn)
            turn.task = asyncio.create_task(self._settle(turn, key, files))
            turn.task.add_done_callback(partial(self._over, key, turn))
        turn.words = turn.words or words
        snapshot, reread = await asyncio.shield(turn.task)
        return View(snapshot, files, settled_ms=(time.perf_counter() - began) * 1000, reread=reread)

    async def close(self) -> None:
        """Give up what is being settled on this loop; whoever waits for it is told."""
        here = id(asyncio.get_running_loop())
        tasks = [turn.task for (loop, _), turn in self._turns.items() if loop == here]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _settle(self, turn: "_Turn", key: tuple[int, str], files: Workspace) -> tuple[Snapshot, int]:
        if turn.before is not None:
            await asyncio.wait([turn.before.task])
            turn.before = None
        turn.begun = True
        tree = self._tree(key)
        with files.directory(".") as place:
            done = await _in_thread(partial(self._settle_here, tree, place.fd, words=turn.words))
            if not isinstance(done, Work):
                return done
            shares = _shares(done, self._workers)
            found = await asyncio.gather(*(self._elsewhere(share, place, done) for share in shares))
            rows = [row for rows in found for row in rows]
            return await _in_thread(partial(tree.take, done, rows)), len(rows)

    def _settle_here(self, tree: SourceTree, root: int, *, words: bool) -> tuple[Snapshot, int] | Work:
        """Settle what changed; or say what that is, when it is much and there are processes to do it."""
        work = tree.look(root, words=words)
        if self._run is not None and (len(work.paths) > _MANY_FILES or sum(work.sizes) > _MANY_BYTES):
            return work
        rows = _read(root, work.paths, work) if work.paths else []
        return tree.take(work, rows), len(rows)

    async def _elsewhere(self, paths: list[str], place: Folder, work: Work) -> list[Row]:
        """Have a process look at these files; do it here when that comes to no good end."""
        assert self._run is not None
        try:
            asked = question(place.real, place.fd, paths, now=work.now, words=work.words)
            rows = answer(await self._run(command(), asked))
        except ToolError:
            rows = None
        return await _in_thread(partial(_read, place.fd, paths, work)) if rows is None else rows

    def _tree(self, key: tuple[int, str]) -> SourceTree:
        """The one that is asked for, as the one that was used last."""
        tree = self._trees.pop(key, None) or SourceTree(Store(self._cache, key[1]) if self._cache else None)
        self._trees[key] = tree
        while len(self._trees) > _MOST_TREES:
            self._trees.pop(next(iter(self._trees)))
        return tree

    def _over(self, key: tuple[int, str], turn: "_Turn", task: "asyncio.Task[tuple[Snapshot, int]]") -> None:
        if self._turns.get(key) is turn:
            del self._turns[key]
        if not task.cancelled():
            task.exception()  # whoever waited was told


class _Turn:
    """One settling, and all who wait for it."""

    __slots__ = ("before", "begun", "task", "words")
    task: "asyncio.Task[tuple[Snapshot, int]]"

    def __init__(self, *, before: "_Turn | None") -> None:
        self.before, self.begun, self.words = before, False, False


def _processors() -> int:
    """How many we may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


async def _in_thread(call: Callable[[], Result]) -> Result:
    """Have it done beside the event loop. Who gives up waits for its end nevertheless: it uses what is open now."""
    running = asyncio.get_running_loop().run_in_executor(None, call)  # no task, which would be cancelled by itself
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        running.exception()  # nobody is left to be told; unasked, asyncio would log it at some later moment
        raise


def _read(root: int, paths: list[str], work: Work) -> list[Row]:
    from .examine import examine  # late: most of the time nothing is to be read, or others read it

    return examine(root, paths, now=work.now, words=work.words)


def _shares(work: Work, workers: int) -> Sequence[list[str]]:
    """Files in lots that take about the same time, each in the order of the paths.

    Those that need a parser come first, into as few lots as will do: each process that has one must load it.
    """
    plain = [path.endswith(".py") for path in work.paths]
    costs = [size * (1 if quick else _PARSING) + _OPENING for size, quick in zip(work.sizes, plain, strict=True)]
    total = sum(costs)
    count = max(1, min(workers, total // _SHARE, len(work.paths)))
    lots: list[list[str]] = [[] for _ in range(count)]
    loads = [0] * count
    for quick, cost, path in sorted(zip(plain, costs, work.paths, strict=True), key=lambda each: (each[0], -each[1])):
        fitting = (number for number, load in enumerate(loads) if load + cost <= total // count)
        number = loads.index(min(loads)) if quick else next(fitting, loads.index(min(loads)))
        lots[number].append(path)
        loads[number] += cost
    return [sorted(lot) for lot in lots]
