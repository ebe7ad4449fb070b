"""A command in the foreground: how long it may be silent, and telling whoever waits what it prints."""

import asyncio
from dataclasses import dataclass, field

from ..backends.process import run_to_end
from ..core.context import Context
from ..core.errors import ToolError
from ..core.process import Command, Completed
from ..sandbox.overheard import overheard

IDLE_SECONDS = 30.0
"""A command that says nothing for so long is taken to hang, unless somebody said how long it may take."""
_TOLD_EVERY = 0.1
_LONGEST_LINE = 400


@dataclass(slots=True)
class Listener:
    """Hears what a program prints. That shows that it is alive, and its last line is passed on, not too often."""

    ctx: Context
    idle: float | None
    deadline: asyncio.Timeout
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    count: int = 0
    _end: bytes = b""
    _told: float = 0.0
    _later: asyncio.TimerHandle | None = None

    def hear(self, chunk: bytes) -> None:
        now = self.loop.time()
        self._extend(now)
        if not chunk or self.ctx.request.progress is None:
            return
        self.count += len(chunk)
        self._end = (self._end + chunk[-_LONGEST_LINE:])[-_LONGEST_LINE:]
        if self._later is None:
            self._later = self.loop.call_at(max(now, self._told + _TOLD_EVERY), self._tell)

    def close(self) -> None:
        if self._later is not None:
            self._later.cancel()

    def _extend(self, now: float) -> None:
        if self.idle is None or self.deadline.expired():
            return
        until = self.deadline.when()
        if until is not None and now + self.idle - until > _TOLD_EVERY:  # not for every line of a thousand a second
            self.deadline.reschedule(now + self.idle)

    def _tell(self) -> None:
        self._later, self._told = None, self.loop.time()
        lines = self._end.replace(b"\r", b"\n").split(b"\n")
        last = next((line for line in reversed(lines) if line.strip()), b"")
        self.ctx.progress(self.count, None, last.decode("utf-8", "backslashreplace"))


async def run_in_time(command: Command, ctx: Context, *, seconds: float | None, idle: float | None) -> Completed:
    """Run a command to its end, within `seconds` in all; or, when it is silent for longer than `idle`, only so far.

    Raises:
        ToolError: TIMEOUT; what it printed up to then is in the details.
    """
    limit = idle if seconds is None else seconds
    deadline = asyncio.timeout(limit)
    listener = Listener(ctx, idle if seconds is None else None, deadline)
    heard = command._replace(filters=overheard(command.filters, listener.hear, listener.hear))
    try:
        async with deadline:
            return await run_to_end(heard, ctx)
    except TimeoutError:
        if not deadline.expired():
            raise
        ctx.over = True
        details = {"seconds": limit, **ctx.evidence()}
        raise ToolError(_told(ctx.tool_name, seconds, idle), code="TIMEOUT", details=details) from None
    finally:
        listener.close()


def _told(name: str, seconds: float | None, idle: float | None) -> str:
    if seconds is not None:
        return f"{name} ran longer than {seconds:g} s and was ended"
    return (
        f"{name} printed nothing for {idle:g} s and was ended; say with `timeout` how long it may take, or start it "
        "with `background`"
    )
