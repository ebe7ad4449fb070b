"""One program, from its start to its certain end.

A call returns when its program has exited. Descendants that still hold the output get a short drain and are ended; so
is everything else that carries the call's mark. On cancellation, TERM, a grace, then KILL, for the whole tree.
"""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial

from ..core.errors import ToolError
from ..core.limits import DRAIN_SECONDS, GRACE_SECONDS
from ..core.process import Command, Completed, Ended, Filter
from .capture import Capture
from .poller import Poller
from .spawn import start, with_memory_limit
from .sweep import LINUX, end_marked, signal_marked

UNKNOWN = -1
"""The exit status of a program whose end somebody else collected."""
_PIPE_ROOM = 65536
_PATIENCE_SECONDS = 0.002
_REAP_TRIES = 1000


class Program:
    """A command that was started."""

    def __init__(self, command: Command, env: dict[str, str], poller: Poller) -> None:
        limits = command.limits
        argv = command.argv
        if limits.memory_bytes is not None:
            argv = with_memory_limit(argv, limits.memory_bytes)
        self._command = command
        self._poller = poller
        self._gone: asyncio.Future[None] = poller.loop.create_future()
        self._quiet: asyncio.Future[None] = poller.loop.create_future()
        self._code = UNKNOWN
        self._input = memoryview(command.stdin)
        child_in, self._stdin, out, child_out, err, child_err = _pipes()
        self._feed()  # what fits into the pipe is there before the program is
        try:
            self._pid = start(argv, cwd=command.cwd, env=env, stdin=child_in, stdout=child_out, stderr=child_err)
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
        self._exit: _ExitNotice | None = None
        self._patience: asyncio.TimerHandle | None = None

    async def run(self, ended: Ended | None) -> Completed:
        cut_off = False
        try:
            self._watch()
            await self._gone
            cut_off = await self._drain()
        except asyncio.CancelledError:
            await self._terminate()
            raise
        finally:
            self._finish()
            completed = Completed(self._code, self._streams[0].result(), self._streams[1].result(), cut_off)
            if ended is not None:
                ended(completed)
        return completed

    # Watching

    def _watch(self) -> None:
        if self._stdin >= 0:
            self._poller.on_writable(self._stdin, self._feed)
        self._exit = _ExitNotice(self._poller, self._pid, self._on_exit)
        # Most programs say little and are gone in a moment: waking up for their output before they are would only take
        # the processor from them. The pipe holds what comes until then.
        self._patience = self._poller.loop.call_later(_PATIENCE_SECONDS, self._watch_output)

    def _watch_output(self) -> None:
        for stream in self._streams:
            if stream.open:
                self._poller.on_readable(stream.fd, partial(self._on_output, stream))

    def _on_output(self, stream: Capture) -> None:
        if not stream.read():
            self._poller.forget(stream.fd)
            stream.close()
            self._open_streams -= 1
            if not self._open_streams and not self._quiet.done():
                self._quiet.set_result(None)

    def _on_exit(self) -> None:
        if self._exit is not None:
            self._exit.close()  # it would tell again and again while the output is drained
        if not self._gone.done():
            self._gone.set_result(None)

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

    async def _drain(self) -> bool:
        """The program is gone; whoever still holds its output has a moment. Says whether it had to be cut off."""
        for stream in self._streams:
            if stream.open:
                self._on_output(stream)
        if self._open_streams:
            await asyncio.wait((self._quiet,), timeout=DRAIN_SECONDS)
        return self._open_streams > 0

    async def _terminate(self) -> None:
        """Ask the tree to end, give it a moment, then end it. `_finish` makes sure, also when this is interrupted."""
        self._signal(signal.SIGTERM)
        signal_marked(self._command.mark, signal.SIGTERM)
        await asyncio.wait((self._gone, self._quiet), timeout=GRACE_SECONDS)
        self._signal(signal.SIGKILL)
        await asyncio.wait((self._gone,), timeout=GRACE_SECONDS)

    def _finish(self) -> None:
        """Nothing of the program is left after this: no process, no descriptor."""
        if self._exit is not None:
            self._exit.close()
        if self._patience is not None:
            self._patience.cancel()
        self._close_stdin()
        self._signal(signal.SIGKILL)  # the group; the program itself is not reaped yet, so its pid is still its own
        self._reap()
        end_marked(self._command.mark, first=self._pid, seconds=time.monotonic() - self._started)
        for stream in self._streams:
            if stream.open:
                self._poller.forget(stream.fd)
                stream.read()
                stream.close()

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._pid, number)
        except OSError:
            pass

    def _reap(self) -> None:
        try:
            for _ in range(_REAP_TRIES):
                pid, status = os.waitpid(self._pid, os.WNOHANG)
                if pid:
                    code = os.waitstatus_to_exitcode(status)
                    self._code = code if code >= 0 else 128 - code
                    return
                time.sleep(0.001)  # killed a moment ago
            threading.Thread(target=_wait_for, args=(self._pid, 0), daemon=True).start()
        except ChildProcessError:
            pass  # the host program waits for all children itself; how this one ended is its secret


def _filter(command: Command) -> Filter | None:
    return None if command.filters is None else command.filters()


class _ExitNotice:
    """Tells when a process has exited, without reaping it."""

    def __init__(self, poller: Poller, pid: int, callback: Callable[[], None]) -> None:
        self._poller, self._fd = poller, -1
        try:
            if not LINUX:
                raise OSError
            self._fd = os.pidfd_open(pid)
            poller.on_readable(self._fd, callback)
        except OSError:  # no pidfd here, or no descriptor left for one
            threading.Thread(target=self._wait, args=(pid, callback), daemon=True).start()

    def close(self) -> None:
        if self._fd >= 0:
            self._poller.forget(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _wait(self, pid: int, callback: Callable[[], None]) -> None:
        _wait_for(pid, os.WNOWAIT)
        try:
            self._poller.loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop is over, and with it everybody who wanted to know
            pass


def _wait_for(pid: int, flags: int) -> None:
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | flags)
    except ChildProcessError:
        pass


def _pipes() -> tuple[int, int, int, int, int, int]:
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
