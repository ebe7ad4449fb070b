"""What the gRPC service needs of the runtime: sessions, and what is common to them."""

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Protocol

from ..core.call import ProgressSink, Result
from ..core.jsontext import JSON
from ..core.policy import Verdict
from ..core.source import Problem
from ..core.tool import Tool
from .crib import Crib


class ActiveSkill(Protocol):
    """A skill that is active in a session."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def tool_names(self) -> tuple[str, ...]: ...
    @property
    def at(self) -> float: ...


class Session(Protocol):
    """One client's tools and skills."""

    id: str

    def tools(self) -> Sequence[Tool]: ...

    def problems(self) -> Sequence[Problem]: ...

    def verdict(self, tool: Tool) -> Verdict: ...

    def active_skills(self) -> Sequence[ActiveSkill]: ...

    async def use_skill(self, name: str, content: str | None = None) -> list[str]: ...

    async def remove_skill(self, name: str) -> list[str]: ...

    def call(
        self,
        name: str,
        args: Mapping[str, JSON] | None = None,
        *,
        timeout: float | None = None,
        dry_run: bool = False,
        progress: ProgressSink | None = None,
    ) -> Coroutine[Any, Any, Result]: ...


class Sessions(Protocol):
    """The sessions of a home. Every method may raise `ToolcribError`."""

    async def create(self, session_id: str | None = None) -> Session: ...

    async def get(self, session_id: str) -> Session: ...

    async def end(self, session_id: str) -> bool: ...


class SessionCrib(Crib, Protocol):
    """A crib with sessions."""

    @property
    def sessions(self) -> Sessions: ...
