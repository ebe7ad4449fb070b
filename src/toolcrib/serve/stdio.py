"""MCP on standard input and output: one JSON-RPC message per line."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from .. import __version__
from ..core.call import settle
from ..core.errors import InvalidJson
from ..core.jsontext import JSON, dump, parse
from . import rpc
from ._pipe import Inlet, Lines, Outbox
from .crib import Crib, Pause
from .elicit import AsksClient
from .ending import ending_signals
from .mcp import McpHandler
from .rpc import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, JsonObject

LINE_BYTES = 16 * 1024 * 1024
"""Longest message."""
UNDER_WAY = 4096
UNDER_WAY_BYTES = 2 * LINE_BYTES
UNREAD_BYTES = 1024 * 1024
"""With more than this under way, or unread by the client, nothing more is read: the client waits, not we."""
GRACE_SECONDS = 0.5
"""From the end of the input to the end of the calls: enough for what is nearly done."""
DRAIN_SECONDS = 10.0
"""From the first signal to the end of the calls. A second one ends them at once."""
FLUSH_SECONDS = 1.0
WATCH_SECONDS = 2.0

_log = logging.getLogger("toolcrib.serve")


async def serve_stdio(
    crib: Crib,
    *,
    version: str = __version__,
    stdin: int | None = None,
    stdout: int | None = None,
    approver: AsksClient | None = None,
    pause: Pause = asyncio.sleep,
) -> signal.Signals | None:
    """Serve until the input ends, the client is gone or a signal comes. Returns that signal.

    A signal lets what is under way finish, for a while; a second one, or one after the end of the input, does not.

    `approver` is told of the client, and asks it. `pause` is what passes between two looks for changed tools.

    Without descriptors it takes the process's own, and then whatever else writes to stdout writes to stderr.
    """
    with _streams(stdin, stdout) as (source, sink):
        server = StdioServer(crib, version=version, source=source, sink=sink)
        if approver is not None:
            approver.client = server.handler
        return await server.run(pause)


class StdioServer:
    """One connection: reads, starts a task per message, writes what comes of it."""

    def __init__(self, crib: Crib, *, version: str, source: int, sink: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines = Lines(LINE_BYTES)
        self._inlet = Inlet(source, on_chunk=self._take, on_end=self._input_ended)
        self._outbox = Outbox(sink, on_less=self._relieve, on_gone=partial(self._finish, within=0.0))
        self.handler = McpHandler(crib, outlet=self, version=version)
        self._tasks: dict[asyncio.Task[None], int] = {}
        self._bytes = 0
        self._crowd_waits = False
        self._over = asyncio.Event()
        self._timers: list[asyncio.TimerHandle] = []
        self._ended_by: signal.Signals | None = None

    async def run(self, pause: Pause = asyncio.sleep) -> signal.Signals | None:
        watch = self._loop.create_task(self.handler.watch(WATCH_SECONDS, pause))
        try:
            with self._signals():
                self._inlet.resume()
                await self._over.wait()
                self.handler.close()
                while self._tasks:
                    await asyncio.wait(self._tasks)
        finally:
            for timer in self._timers:
                timer.cancel()
            self._crowd_waits = False
            self._inlet.pause()
            await self._end([watch, *self._tasks])
        return self._ended_by

    def send(self, message: JSON) -> None:
        try:
            line = dump(message)
        except InvalidJson as exc:
            line = dump(rpc.error(_id(message), INTERNAL_ERROR, str(exc)))
        self._outbox.write(line + b"\n")

    def offer(self, message: JsonObject) -> None:
        if self._outbox.size < UNREAD_BYTES:
            self.send(message)

    def _take(self, chunk: bytes) -> None:
        for line in self._lines.feed(chunk):
            if line is None:
                self.send(rpc.error(None, INVALID_REQUEST, f"a message has at most {LINE_BYTES} bytes"))
            else:
                self._start(line)
        if self._crowded():
            self._crowd_waits = True
            self._inlet.pause()

    def _start(self, line: bytes) -> None:
        if not line or line.isspace():
            return
        try:
            message = parse(line)
        except InvalidJson as exc:
            self.send(rpc.error(None, PARSE_ERROR, str(exc)))
            return
        task = self._loop.create_task(self._answer(message))
        self._tasks[task] = len(line)
        self._bytes += len(line)
        task.add_done_callback(self._answered)

    async def _answer(self, message: JSON) -> None:
        answer, bug = await settle(self.handler.handle(message))
        if bug is not None:
            _log.error("a request failed inside toolcrib", exc_info=bug)
            answer = rpc.error(_id(message), INTERNAL_ERROR, f"internal error: {type(bug).__name__}")
        if answer is not None:
            self.send(answer)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._bytes -= self._tasks.pop(task)
        self._relieve()

    def _crowded(self) -> bool:
        return len(self._tasks) >= UNDER_WAY or self._bytes > UNDER_WAY_BYTES or self._outbox.size > UNREAD_BYTES

    def _relieve(self) -> None:
        if self._crowd_waits and not self._crowded():
            self._crowd_waits = False
            self._inlet.resume()

    def _input_ended(self) -> None:
        self._start(self._lines.rest())
        # Whoever closed a pipe has left; whoever gave a file wants all of its answers.
        self._finish(within=None if self._inlet.is_file else GRACE_SECONDS)

    def _signalled(self, by: signal.Signals) -> None:
        if self._over.is_set():
            self._finish(within=0.0)
            return
        self._ended_by, self.handler.refusing = by, True
        self._finish(within=DRAIN_SECONDS)

    def _finish(self, *, within: float | None) -> None:
        """Come to an end: when nothing is under way any more, or after so many seconds. The shortest word counts."""
        self._over.set()
        if within == 0:
            self._give_up()
        elif within is not None:
            self._timers.append(self._loop.call_later(within, self._give_up))

    def _give_up(self) -> None:
        self._crowd_waits = False
        self._inlet.pause()
        for task in self._tasks:
            task.cancel()

    async def _end(self, tasks: Iterable["asyncio.Task[None]"]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._outbox.flush()
        self._outbox.close()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """End in good order when asked to. Only the main thread is ever asked."""
        here = threading.current_thread() is threading.main_thread()
        wanted = ending_signals() if here else ()
        for number in wanted:
            self._loop.add_signal_handler(number, partial(self._signalled, number))
        try:
            yield
        finally:
            for number in wanted:
                self._loop.remove_signal_handler(number)


def _id(message: JSON) -> rpc.RequestId | None:
    id = message.get("id") if isinstance(message, dict) else None
    return id if rpc.is_id(id) else None


@contextmanager
def _streams(stdin: int | None, stdout: int | None) -> Iterator[tuple[int, int]]:
    """The two ends of the conversation, and nobody else on them: a stray print must not break the protocol."""
    if stdin is not None and stdout is not None:
        yield stdin, stdout
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    # Where a stream was closed when we were started, its number belongs to something else by now.
    if sys.__stdin__ is None or sys.__stdout__ is None:
        yield nothing, nothing
        os.close(nothing)
        return
    source, sink = os.dup(0), os.dup(1)
    try:
        os.dup2(nothing, 0)
        os.dup2(nothing if sys.__stderr__ is None else 2, 1)
        yield source, sink
    finally:
        for stray in (sys.stdout, sys.__stdout__):
            with suppress(OSError, ValueError):
                stray.flush()
        os.dup2(source, 0)
        os.dup2(sink, 1)
        for fd in (nothing, source, sink):
            os.close(fd)
