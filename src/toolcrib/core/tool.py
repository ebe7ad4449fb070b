"""What a tool is: a description the model reads, and something that runs."""

import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from .context import Context
from .jsontext import JSON
from .limits import Limits
from .schema import Schema

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a tool may be called; matched whole."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a tool says of itself. A claim: it may make the gate stricter, never laxer."""

    writes_files: bool = False
    executes_commands: bool = False
    requires_code: bool = False
    """Needs the code index of the context."""
    accesses_network: bool = False
    idempotent: bool = False
    retryable: bool = False


class Backend(Protocol):
    """How a tool runs."""

    @property
    def starts_process(self) -> bool:
        """Whether it takes one of the places for processes, and is recorded before it starts."""
        ...

    def run(self, args: Mapping[str, JSON], ctx: Context) -> Coroutine[Any, Any, Any]:
        """The tool's answer. Raise `ToolError` for what the model should read."""
        ...

    def digest(self) -> str:
        """Of what would run now; compared with the tool's own, so that what was approved is what runs."""
        ...


class Subject(NamedTuple):
    """One thing a call would do, judged, asked about and remembered by itself."""

    kind: str = "call"
    """`read` or `write` a path, run a `shell`'s text or a `command`'s words, reach a `host`, or the call as a whole."""
    value: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a tool may bring beyond running."""

    validate: Callable[[Mapping[str, JSON]], Sequence[str]] | None = None
    """More faults in the arguments, beyond the schema."""
    dry_run: Callable[[Mapping[str, JSON], Context], Coroutine[Any, Any, JSON]] | None = None
    initialize: Callable[[Context], Awaitable[None]] | None = None
    shutdown: Callable[[], Awaitable[None]] | None = None
    touches: Callable[[Mapping[str, JSON]], Sequence[Subject]] | None = None
    """What a call would do beyond its own process, for the rules to look at."""


NO_HOOKS = Hooks()
NO_CAPABILITIES = Capabilities()
DEFAULT_LIMITS = Limits()

Claim = str | bool | Callable[[Mapping[str, JSON]], str | bool]
"""What a tool says of its own approval: a decision's name, or `True` for ask; or a function of the arguments."""


class Tool(NamedTuple):
    """Frozen data. A NamedTuple, because a thousand of them are made before the first list is shown."""

    name: str
    """The exposed name, unique in a registry."""
    description: str
    schema: Schema
    backend: Backend
    source: str = "function"
    """The kind of source it came from."""
    origin: str = ""
    """Path or URL of what describes it."""
    version: str = "0.0.0"
    digest: str = ""
    capabilities: Capabilities = NO_CAPABILITIES
    limits: Limits = DEFAULT_LIMITS
    hooks: Hooks = NO_HOOKS
    needs_approval: Claim | None = None
    output_schema: dict[str, JSON] | None = None
    came_with: tuple[str, str, str] | None = None
    """Name, version and digest of the skill that brought it."""

    @property
    def input_schema(self) -> dict[str, JSON]:
        return self.schema.document

    @property
    def id(self) -> str:
        return f"{self.source}:{self.name}"
