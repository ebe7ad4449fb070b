"""What a running tool may touch. Nothing else is reachable from a backend."""

import asyncio
import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from .call import Call, Result
from .jsontext import JSON
from .limits import Limits
from .process import Artifacts, Filter, Programs, Sandbox
from .workspace import Workspace

if TYPE_CHECKING:
    from .policy import Verdict
    from .tool import Tool


def new_id() -> str:
    """For a runtime or a session; nobody can guess it."""
    return "tc" + os.urandom(8).hex()


@dataclass(frozen=True, slots=True)
class Host:
    """What all calls of one runtime share."""

    cwd: str
    """The workspace; every process tool starts here."""
    sandbox: Sandbox
    files: Callable[[dict[str, JSON], Mapping[str, str], str], Workspace]
    """Makes a call's guarded files: what they did is noted in a dictionary; where judged paths led; whose session."""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Where allow-listed variables are taken from."""
    artifacts: Artifacts | None = None
    programs: Programs | None = None
    secrets: Callable[[str], Mapping[str, str]] = lambda tool: {}
    """Variables with secret values that a tool is given, fetched when it starts. Raises: `Refused`."""
    conceal: Callable[[JSON], JSON] = lambda value: value
    """Takes secret values out of what leaves a tool; `filters` does the same to a stream of bytes."""
    filters: Callable[[], Filter | None] | None = None
    confine: "Callable[[Tool], Sandbox] | None" = None
    """What a tool's processes are started in. Raises: `Refused`, when what must be there is not."""
    code: object | None = None
    """The code index, when it is installed."""
    id: str = field(default_factory=new_id)
    """Begins every call id, so that whatever a killed runtime left behind is known as its own."""
    _count: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1), repr=False)

    def next_id(self) -> str:
        return f"{self.id}-{next(self._count)}"


class Hands(Protocol):
    """What the executor does on behalf of a running tool."""

    async def confirm(self, ctx: "Context", message: str) -> bool: ...

    async def call_from(self, ctx: "Context", name: str, args: Mapping[str, JSON], limit: float | None) -> Result: ...

    def log(self, ctx: "Context", level: str, message: str) -> None: ...


class Context:
    """One call's view of the world, handed to the tool that runs it."""

    __slots__ = (
        "_hands", "_judged", "evidence", "host", "limits", "over", "placed", "report", "request", "sandbox",
        "tool_name", "veil",
    )  # fmt: skip

    def __init__(self, host: Host, call: Call, limits: Limits, hands: Hands, verdict: "Verdict | None" = None) -> None:
        self.host, self.request, self.limits, self._hands = host, call, limits, hands
        self.sandbox = host.sandbox
        self._judged: Mapping[str, str] = verdict.paths if verdict else {}
        self.veil = verdict.veil if verdict else None
        """Says of a real path that it is not to be read, though what lies above it is."""
        self.tool_name = call.name
        self.over = False
        """The caller gave up, or the time was over; nobody waits for the tool any more."""
        self.placed = False
        """It has one of the places for processes."""
        self.report: dict[str, JSON] = {}
        """Goes into the result's metadata."""
        self.evidence: Callable[[], dict[str, JSON]] = dict
        """Gives what there is to show of a call that did not come to its end."""

    @property
    def cwd(self) -> str:
        return self.host.cwd

    @property
    def workspace(self) -> Workspace:
        return self.host.files(self.report, self._judged, self.session)

    @property
    def code(self) -> object | None:
        return self.host.code

    @property
    def session(self) -> str:
        return self.request.session

    @property
    def call_id(self) -> str:
        return self.request.id

    @property
    def cancelled(self) -> bool:
        """Whether to stop, for tools that look now and then, and for what they do while they are being stopped."""
        return self.over or bool((task := asyncio.current_task()) and task.cancelling())

    @property
    def log(self) -> "Log":
        return Log(partial(self._hands.log, self))

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far the work is."""
        if self.request.progress is not None:
            self.request.progress(done, total, self.host.conceal(message))

    async def confirm(self, message: str) -> bool:
        """Ask the person before something destructive. Nobody to ask means no."""
        return await self._hands.confirm(self, message)

    async def call(self, name: str, args: Mapping[str, JSON], *, timeout: float | None = None) -> Result:
        """Use another tool, through the same gate, judged as itself."""
        return await self._hands.call_from(self, name, args, timeout)


class Log:
    """A tool's log. Lines go to whoever observes the runtime."""

    def __init__(self, write: Callable[[str, str], None]) -> None:
        self.debug, self.info = partial(write, "debug"), partial(write, "info")
        self.warn, self.error = partial(write, "warn"), partial(write, "error")
