"""A program that stays running and is spoken to in lines.

What it prints is held only while somebody waits for it, and never more than one line's worth; its errors are read all
the time, so that it cannot get stuck on them. Ended, it is gone with all it started, as any program is.
"""

import asyncio
import os
import select
import signal
import time
from collections.abc import Callable

from ..core.errors import ToolError
from ..core.limits import DRAIN_SECONDS, GRACE_SECONDS
from ..core.process import Captured, Command
from .capture import CHUNK, Capture
from .child import UNKNOWN
from .poller import Poller
from .program import as_child, pipes
from .sweep import end_marked, signal_marked

LONGEST_LINE = 8 * 1024 * 1024
_PIPE_ROOM = 65536
_IDLE_NOISE = 1024 * 1024
"""So much may stand on the errors of one that has nothing to do."""


class Peer:
    """One such program, from its start to its certain end. It belongs to the event loop that it was started in."""

    def __init__(
        self, command: Command, env: dict[str, str], poller: Poller, *, mark: str, unfit: Callable[["Peer"], None]
    ) -> None:
        """`mark` and `env` are its own, for its life. `unfit` is told when it ends while nobody speaks to it."""
        self.fresh = True
        """It has not said anything yet."""
        self._mark = mark
        self._poller, self._unfit = poller, unfit
        self._buffer, self._looked_at = bytearray(), 0
        self._unsent = memoryview(b"")
        self._gone: asyncio.Future[None] = poller.loop.create_future()
        self._quiet: asyncio.Future[None] = poller.loop.create_future()
        self._waiting: asyncio.Future[None] | None = None
        self._mute = self._leaving = self._finished = False
        self._noise = 0
        self._code = UNKNOWN
        self._failure: ToolError | None = None
        child_in, self._in, self._out, child_out, self._err, child_err = pipes()
        try:
            self._process = as_child(poller)(command, env, child_in, child_out, child_err)
        except BaseException:
            for fd in (self._in, self._out, self._err):
                os.close(fd)
            raise
        finally:
            for fd in (child_in, child_out, child_err):
                os.close(fd)
        self._started = time.monotonic()
        self._heard: Capture | None = self._listening(command)
        self._news = select.poll()
        self._news.register(self._out, select.POLLIN)
        self._news.register(self._err, select.POLLIN)
        try:
            # The loop itself watches for answers: this descriptor stays, and every call waits for it.
            poller.loop.add_reader(self._out, self._on_output)
            poller.on_readable(self._err, self._on_errors)
            self._process.on_exit(self._on_exit)
        except BaseException:
            self.finish()
            raise

    # A conversation

    def begin(self, command: Command) -> bool:
        """Take up a conversation, which `command` is about. False: it is not fit for one."""
        if self._news.poll(0):
            self._on_output()
            self._on_errors()
        if self._mute or self._buffer:
            return False
        self._heard = self._listening(command)
        return True

    def rest(self) -> bool:
        """The conversation is over. False: it is not fit for another."""
        self._end_listening()
        self._noise = 0
        return not (self._mute or self._buffer or self._unsent)

    def send(self, line: bytes) -> bool:
        """Say something. False: not a single byte of it was taken, for there is nobody who would."""
        self._unsent = memoryview(line)
        self._feed()
        if self._unsent and not self._mute:
            self._poller.on_writable(self._in, self._feed)
        return not self._mute or len(self._unsent) < len(line)

    async def receive(self) -> bytes:
        """The next line, with its end. What comes without one is the last that is said, and then comes nothing.

        Raises:
            ToolError: the line is too long.
        """
        buffer = self._buffer
        while True:
            end = buffer.find(b"\n", self._looked_at) + 1
            if end or self._mute:
                line = bytes(buffer[: end or len(buffer)])
                del buffer[: len(line)]
                self._looked_at = 0
                self.fresh = False
                return line
            self._looked_at = len(buffer)
            if self._looked_at > LONGEST_LINE:
                message = f"it printed a line of more than {LONGEST_LINE} bytes; print less, or write it to a file"
                raise ToolError(message, code="RESOURCE_EXHAUSTED")
            self._waiting = self._poller.loop.create_future()
            await self._waiting

    def heard(self) -> Captured:
        """What stood on its errors since the conversation began."""
        if self._heard is None:
            return Captured()
        if self._err >= 0 and self._news.poll(0):
            self._on_errors()
        return self._heard.result()

    # An end

    async def end(self) -> int:
        """Ask it and all it started to end, give them a moment, then end them. Returns its exit status.

        Raises:
            ToolError: it turned out that nothing of it ever ran; it could not be confined, perhaps. Said once.
        """
        self._leaving = True
        try:
            if self._mute and not self._gone.done():  # one that closed its output is about to exit by itself
                await asyncio.wait((self._gone,), timeout=DRAIN_SECONDS)
            if not self._gone.done():
                self.ask_to_end()
                await asyncio.wait((self._gone, self._quiet), timeout=GRACE_SECONDS)
        finally:
            self.finish()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return self._code

    def close_input(self) -> None:
        """Nobody will ask it anything more; a program that is told so should end by itself."""
        if self._in >= 0:
            self._poller.forget(self._in)
            os.close(self._in)
            self._in = -1

    def ask_to_end(self) -> None:
        self._process.signal(signal.SIGTERM)
        signal_marked(self._mark, signal.SIGTERM)

    def is_gone(self) -> bool:
        """Whether it has exited, also when no loop runs that would have been told."""
        try:
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return self._finished or os.waitid(os.P_PID, self._process.pid, how) is not None
        except ChildProcessError:
            return True

    def finish(self) -> None:
        """Nothing of it is left after this: no process, no descriptor."""
        if self._finished:
            return
        self._finished = self._leaving = True
        self._process.close()
        self.close_input()
        self._process.signal(signal.SIGKILL)  # it is not collected yet, so its pid is still its own
        self._code = self._process.collect()
        if not self._process.whole:
            end_marked(self._mark, first=self._process.pid, seconds=time.monotonic() - self._started)
        if self._heard is not None:
            self._on_errors()
            self._failure = self._process.failure(self._code, self._heard.result())
        self._close_errors()
        self._fall_silent()
        self._tell(self._gone)

    # What happens

    def _on_output(self) -> None:
        if self._out < 0:
            return
        try:
            chunk = os.read(self._out, _PIPE_ROOM)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._fall_silent()
        elif not self._leaving:
            self._buffer += chunk
            self._wake()
        if self._heard is None:  # it has nothing to say now, and what it said would be taken for the next answer
            self._fall_silent()
            self._unfit(self)

    def _on_errors(self) -> None:
        if self._err < 0:
            return
        if self._heard is not None:
            if not self._heard.read():
                self._close_errors()
            return
        try:
            chunk = os.read(self._err, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._noise += len(chunk)
        if not chunk:
            self._close_errors()
        elif self._noise > _IDLE_NOISE:
            self._fall_silent()
            self._unfit(self)

    def _on_exit(self) -> None:
        self._process.close()  # it would tell again and again
        self._tell(self._gone)
        while self._out >= 0 and len(self._buffer) <= LONGEST_LINE:  # what it said last may still be on its way
            before = len(self._buffer)
            self._on_output()
            if len(self._buffer) == before:
                break
        self._fall_silent()
        if self._heard is None:
            self._unfit(self)

    def _feed(self) -> None:
        """Write what the pipe takes."""
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._in, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:  # it does not listen, and so it will not answer
            self._fall_silent()
        if self._in >= 0:
            self._poller.forget(self._in)

    def _fall_silent(self) -> None:
        """No more will be read of what it prints."""
        self._mute = True
        if self._out >= 0:
            self._poller.loop.remove_reader(self._out)
            self._news.unregister(self._out)
            os.close(self._out)
            self._out = -1
            self._note_quiet()
        self._wake()

    def _close_errors(self) -> None:
        if self._err >= 0:
            self._poller.forget(self._err)
            self._news.unregister(self._err)
            os.close(self._err)
            self._err = -1
            self._note_quiet()

    def _note_quiet(self) -> None:
        if self._out < 0 and self._err < 0:
            self._tell(self._quiet)

    def _wake(self) -> None:
        if self._waiting is not None:
            self._tell(self._waiting)
            self._waiting = None

    def _tell(self, waiting: asyncio.Future[None]) -> None:
        if not waiting.done() and not self._poller.loop.is_closed():
            waiting.set_result(None)

    def _end_listening(self) -> None:
        if self._heard is not None:
            self._heard.result()  # nobody need have asked for it, and it may hold a file open
            self._heard = None

    def _listening(self, command: Command) -> Capture:
        filter = None if command.filters is None else command.filters()
        keep, kept_in = command.limits.output_bytes, command.artifacts
        return Capture(self._err, name=f"{command.mark}.stderr", keep=keep, artifacts=kept_in, filter=filter)
