"""Where tools are described."""

from dataclasses import dataclass
from typing import Protocol

from .tool import Tool


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not on offer, and why. It never takes anything else with it."""

    origin: str
    code: str
    message: str
    holds: tuple[str, ...] = ()
    """Exposed names that answer with this problem, instead of falling back to a tool it covers."""

    def to_dict(self) -> dict[str, str]:
        return {"origin": self.origin, "code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a source had to offer when it was last read."""

    tools: tuple[Tool, ...] = ()
    problems: tuple[Problem, ...] = ()


class Source(Protocol):
    """Finds tools. Holds no registry and asks no policy."""

    rank: int
    """Which source covers which: see `core.registry`."""

    async def load(self) -> Loaded:
        """What is there now. The very same object as last time when nothing changed."""
        ...
