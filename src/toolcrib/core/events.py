"""What the executor tells those who listen: the record, the counters, a screen."""

from typing import NamedTuple, Protocol

from .call import Call, Result
from .tool import Tool


class Started(NamedTuple):
    """A call passed the gate and is about to run something that outlives a killed caller."""

    call: Call
    tool: Tool
    payload: bytes | None
    """The arguments as canonical JSON."""
    approval: str


class Finished(NamedTuple):
    """A call is over, whatever became of it: also refused, invalid and unknown ones."""

    call: Call
    tool: Tool | None
    payload: bytes | None
    result: Result


class Logged(NamedTuple):
    """A line a tool wrote to its log."""

    call: Call
    level: str
    message: str


Event = Started | Finished | Logged


class Observer(Protocol):
    """Is told of every event, in order, before the caller is.

    Raising `ToolcribError` for `Started` refuses the call: what cannot be recorded does not run.
    """

    def ready(self) -> None:
        """Called before anything runs. Raises when an event could not be kept."""
        ...

    def notice(self, event: Event) -> None: ...
