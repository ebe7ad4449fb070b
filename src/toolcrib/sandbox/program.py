"""One program, from its start to its certain end.

A call returns when its program has exited. Descendants that still hold the output get a short drain and are ended; so
is everything else that carries the call's mark. On cancellation, TERM, a grace, then KILL, for the whole tree.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial

from ..core.errors import ToolError
from ..core.limits import DRAIN_SECONDS, GRACE_SECONDS
from ..core.process import Captured, Command, Completed, Ended, Filter
from .cage import Cage
from .capture import Capture
from .child import UNKNOWN, Launched
from .launch import launch
from .poller import Poller
from .spawn import Start
from .sweep import end_marked, signal_marked

_PIPE_ROOM = 65536
_PATIENCE_SECONDS = 0.002


CHANNEL = "TOOLCRIB_CHANNEL"
"""The variable in which a program finds the number of the descriptor that it was handed."""

Launch = Callable[[Command, Mapping[str, str], int, int, int], Launched]
"""Starts a command with an environment and the descriptors of its standard input, output and error."""


def as_child(poller: Poller) -> Launch:
    """Start a command as a process of our own."""

    def started(command: Command, env: Mapping[str, str], stdin: int, stdout: int, stderr: int) -> Launched:
        kept = () if command.channel < 0 else (command.channel,)
        given = {**env, CHANNEL: str(command.channel)} if kept else env
        about = Start(command.argv, command.cwd, given, (stdin, stdout, stderr), kept)
        memory_bytes = command.limits.memory_bytes
        return launch(cage_of(command), about, poller, tmp=env["TMPDIR"], memory_bytes=memory_bytes)

    return started


def cage_of(command: Command) -> Cage | None:
    cage = command.cage
    assert cage is None or isinstance(cage, Cage)  # the core knows no cage, and hands it through
    return cage


class Program:
    """A command that was started."""

    def __init__(self, command: Command, env: dict[str, str], poller: Poller, launch: Launch) -> None:
        limits = command.limits
        self._command = command
        self._poller = poller
        self._over: asyncio.Future[None] = poller.loop.create_future()
        """It has exited, and nobody holds its output any more, or not for much longer."""
        self._exited = False
        self._code = UNKNOWN
        self.failure: ToolError | None = None
        """Why nothing of it ran, if that came out only when it had ended."""
        self._input = memoryview(command.stdin)
        child_in, self._stdin, out, child_out, err, child_err = pipes()
        self._feed()  # what fits into the pipe is there before the program is
        try:
            self._process = launch(command, env, child_in, child_out, child_err)
        except BaseException:
            self._close_stdin()
            os.close(out)
            os.close(err)
            raise
        finally:
            os.close(child_in)
            os.close(child_out)
            os.close(child_err)
        self._started = time.monotonic()
        keep, kept_in = limits.output_bytes, command.artifacts
        self._streams = (
            Capture(out, name=f"{command.mark}.stdout", keep=keep, artifacts=kept_in, filter=_filter(command)),
            Capture(err, name=f"{command.mark}.stderr", keep=keep, artifacts=kept_in, filter=_filter(command)),
        )
        self._open_streams = 2
        self._patience: asyncio.TimerHandle | None = None
        """Until its output is watched; when it has exited, until nobody waits for that any longer."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def so_far(self) -> tuple[Captured, Captured]:
        """What came on both streams up to now."""
        return self._streams[0].so_far(), self._streams[1].so_far()

    async def run(self, ended: Ended | None) -> Completed:
        cut_off = False
        try:
            self._watch()
            await self._over
            cut_off = self._open_streams > 0
        except asyncio.CancelledError:
            await self._terminate()
            raise
        finally:
            completed = self.finish(cut_off=cut_off)
            if ended is not None:
                ended(completed)
        return completed

    def finish(self, *, cut_off: bool = False) -> Completed:
        """End it at once, if it has not ended. Once; `run` does this, and whoever never came to run it."""
        self._finish()
        out, err = (stream.result() for stream in self._streams)
        self.failure = self._process.failure(self._code, err)
        return Completed(self._code, out, err, cut_off, self._process.borrowed)

    # Watching

    def _watch(self) -> None:
        if self._stdin >= 0:
            self._poller.on_writable(self._stdin, self._feed)
        self._process.on_exit(self._on_exit)
        # Most programs say little and are gone in a moment: waking up for their output before they are would only take
        # the processor from them. The pipe holds what comes until then.
        self._patience = self._poller.loop.call_later(_PATIENCE_SECONDS, self._watch_output)

    def _watch_output(self) -> None:
        self._patience = None
        for stream in self._streams:
            if stream.open:
                self._poller.on_readable(stream.fd, partial(self._on_output, stream))

    def _on_output(self, stream: Capture) -> None:
        if not stream.read():
            self._poller.forget(stream.fd)
            stream.close()
            self._open_streams -= 1
            if not self._open_streams and self._exited:
                self._note_over()

    def _on_exit(self) -> None:
        """What it said last is read; whoever still holds its output has a moment."""
        self._process.close()  # it would tell again and again while the output is drained
        self._exited = True
        for stream in self._streams:
            if stream.open:
                self._on_output(stream)
        if not self._open_streams:
            self._note_over()
            return
        if self._patience is not None:
            self._patience.cancel()
            self._watch_output()
        self._patience = self._poller.loop.call_later(DRAIN_SECONDS, self._note_over)

    def _note_over(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    def _feed(self) -> None:
        """Write what the pipe takes. A program that does not want its input is in its right."""
        try:
            while self._input:
                self._input = self._input[os.write(self._stdin, self._input[:_PIPE_ROOM]) :]
        except BlockingIOError:
            return
        except OSError:
            pass
        self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._poller.forget(self._stdin)
            os.close(self._stdin)
            self._stdin = -1

    # Ending

    async def _terminate(self) -> None:
        """Ask the tree to end, and give it a moment. Then `_finish` ends it, also when this is interrupted."""
        if self._over.cancelled():  # with whoever waited for it
            self._over = self._poller.loop.create_future()
        self._process.signal(signal.SIGTERM)
        signal_marked(self._command.mark, signal.SIGTERM)
        await asyncio.wait((self._over,), timeout=GRACE_SECONDS)

    def _finish(self) -> None:
        """Nothing of the program is left after this: no process, no descriptor."""
        self._process.close()
        if self._patience is not None:
            self._patience.cancel()
        self._close_stdin()
        self._process.signal(signal.SIGKILL)  # it is not collected yet, so its pid is still its own
        self._code = self._process.collect()
        if not self._process.whole:
            end_marked(self._command.mark, first=self._process.pid, seconds=time.monotonic() - self._started)
        for stream in self._streams:
            if stream.open:
                self._poller.forget(stream.fd)
                stream.read()
                stream.close()


def _filter(command: Command) -> Filter | None:
    return None if command.filters is None else command.filters()


def pipes() -> tuple[int, int, int, int, int, int]:
    """Three pipes, whose ends on our side do not block: input, output, errors, each as (read, write).

    Raises:
        ToolError: there are no descriptors left; none is lost.
    """
    made: list[int] = []
    try:
        for _ in range(3):
            made += os.pipe()
    except OSError as exc:
        for fd in made:
            os.close(fd)
        raise ToolError(f"no pipe could be made: {exc}", code="RESOURCE_EXHAUSTED", before_effect=True) from None
    for ours in (made[1], made[2], made[4]):
        os.set_blocking(ours, False)
    return made[0], made[1], made[2], made[3], made[4], made[5]
