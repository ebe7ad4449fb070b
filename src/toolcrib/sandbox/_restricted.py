"""Threads that gave up rights for good, and start programs that shall not have them either."""

import _thread
import gc
import os
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from ..core.errors import ToolError
from . import _landlock

T = TypeVar("T")
Key = tuple[object, ...]
_MOST = 32
_IDLE_SECONDS = 60.0


class _Job:
    """One thing to do, and what came of it."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act
        self.taken = self.over = False
        self.outcome: Any = None
        self.failed: BaseException | None = None
        self.told = _thread.allocate_lock()
        self.told.acquire()

    def run(self) -> None:
        try:
            self.outcome = self.act()
        except BaseException as exc:  # told to whoever waits
            self.failed = exc
        self.over = True
        self.told.release()


class Restricted:
    """A thread of this process that is restricted, and does one thing at a time for others.

    Restricting costs as much as a third of a start, so the thread is kept for the next program with the same rights.
    """

    def __init__(self, ruleset: int, calls: Callable[[int], bytes]) -> None:
        """`calls` makes the filter for a thread of this number.

        Raises:
            OSError: it could not be restricted.
            ToolError: there is no room for a thread, or no filter.
        """
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        try:
            _thread.start_new_thread(_work, (self._jobs,))
        except RuntimeError as exc:
            message = f"not started: {exc}; try again when less is running"
            raise ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True) from None
        try:
            self.do(lambda: _landlock.restrict_this_thread(ruleset, calls(_thread.get_native_id())))
        except BaseException:  # it is not restricted, or not wholly: nothing is ever asked of it
            self.end()
            raise

    def do(self, act: Callable[[], T], undo: Callable[[T], None] = lambda _: None) -> T:
        """Do this with the rights that the thread has, and wait. It is undone when a signal ended the waiting."""
        job = _Job(act)
        collecting = gc.isenabled()
        gc.disable()  # or what others left to be tidied away would be tidied there, by a thread that may not
        try:
            interrupted = self._waited(job)
        finally:
            if collecting:
                gc.enable()
        if interrupted is not None and job.failed is None:
            undo(job.outcome)
        if error := interrupted or job.failed:
            raise error
        result: T = job.outcome
        return result

    def end(self) -> None:
        """It has nothing more to do."""
        self._jobs.put(None)

    def _waited(self, job: _Job) -> BaseException | None:
        """Have it done. Returns what a signal raised here meanwhile: what is being started must not be lost for it."""
        interrupted: BaseException | None = None
        asked = False
        while not job.over:
            try:
                if not asked:
                    self._jobs.put(job)  # twice, where a signal comes right here; it is done once
                    asked = True
                job.told.acquire()
            except BaseException as exc:
                interrupted = exc
        return interrupted


def _work(jobs: "SimpleQueue[_Job | None]") -> None:
    while (job := jobs.get()) is not None:
        if not job.taken:
            job.taken = True
            job.run()


class Starters:
    """The threads that are kept, by what their programs may reach; those that were not used for a while are ended.

    One whose program runs stays: it alone can end all that the program started, whatever became of that.
    """

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)  # a fork of the host has none of its threads

    def start(self, key: Key, prepare: Callable[[], Restricted], begin: Callable[[], int], *, held: bool) -> int:
        """Start a program from the thread for this key, and return its pid. One at a time: a start holds all others
        up anyway. `held`: whoever starts it says when it is `over`."""
        with self._turn:
            thread, _ = self._kept.pop(key, None) or (self._made(prepare), 0)
            self._kept[key] = thread, time.monotonic()
            self._end_idle()
            pid = thread.do(begin, _ended)
            if held:
                self._running[pid] = thread
            return pid

    def end(self, chosen: Callable[[Key], bool]) -> None:
        with self._turn:
            for key in [key for key in self._kept if chosen(key)]:
                self._let_go(self._kept.pop(key)[0])

    def over(self, pid: int, *, alone: bool, born: Callable[[], Sequence[int]] = tuple) -> list[int] | None:
        """A program is over. Unless it is known to have been `alone`, kill what it left.

        Returns which of that may still be dying, among those that were `born` since; None where nobody can tell.
        """
        with self._turn:
            thread = self._running.pop(pid, None)
            if thread is None:
                return [] if alone else None
            left: list[int] | None = []
            if not alone:
                left = None if thread in self._running.values() else _ended_all(thread, born)
            if all(thread is not kept for kept, _ in self._kept.values()):
                self._let_go(thread)
            return left

    def _let_go(self, thread: Restricted) -> None:
        if thread not in self._running.values():
            thread.end()

    def _made(self, prepare: Callable[[], Restricted]) -> Restricted:
        if len(self._kept) >= _MOST:
            self._let_go(self._kept.popitem(last=False)[1][0])
        return prepare()

    def _end_idle(self) -> None:
        long_ago = time.monotonic() - _IDLE_SECONDS
        while (oldest := next(iter(self._kept))) and self._kept[oldest][1] < long_ago:
            self._let_go(self._kept.pop(oldest)[0])

    def _forget(self) -> None:
        self._turn = threading.Lock()
        self._kept: OrderedDict[Key, tuple[Restricted, float]] = OrderedDict()
        self._running: dict[int, Restricted] = {}


def _ended_all(thread: Restricted, born: Callable[[], Sequence[int]]) -> list[int] | None:
    if not thread.do(_end_all):
        return None
    pids = born()
    return thread.do(lambda: [pid for pid in pids if _reaches(pid)])


def _end_all() -> bool:
    """Kill every process that was started with the rights of this thread. Whether it did.

    The kernel lets a thread whose signals are scoped reach those alone. That it does is looked at before: without it
    this would end every process of the user. Once is enough: none is born while the kernel goes through them, and one
    that is being killed cannot fork.
    """
    if not _scoped():
        return False
    with suppress(OSError):  # there is none
        os.kill(-1, signal.SIGKILL)
    return True


def _scoped() -> bool:
    """Whether processes outside are out of reach; asked of whoever started this one, or of the first of all."""
    if not _landlock.keeps_signals():
        return False
    return not any(map(_reaches, {os.getppid(), 1} - {0, os.getpid()}))


def _reaches(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _ended(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except OSError:
        pass
