"""Which tool a name means right now."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .context import Context
from .errors import DuplicateTool
from .jsontext import JSON
from .source import Problem
from .tool import NAME, Tool

USER, PROJECT, OWN = 10, 20, 30
"""Ranks: a project's tools cover the user's; nothing covers built-ins and tools that the host program handed over."""

_GROUPS = {"builtin": 0, "function": 0, "mcp": 1}
_LAST_GROUP = 2


class View(NamedTuple):
    """What readers see: immutable, replaced as a whole, in an order that never depends on chance."""

    tools: tuple[Tool, ...]
    by_name: dict[str, Tool]
    held: dict[str, Problem]


class Registry:
    """Name to tool."""

    def __init__(self) -> None:
        self._offers: dict[int, dict[str, Tool]] = {}
        """What each rank offers, by folded name, since clients fold names."""
        self._problems: list[Problem] = []
        self._seen: View | None = None

    def register(self, tool: Tool, *, rank: int = OWN) -> None:
        """Add one tool.

        Raises:
            DuplicateTool: if the name is taken at this rank.
            ValueError: if it is not a name.
        """
        if not NAME.fullmatch(tool.name):
            raise ValueError(f"{tool.name!r} is not a tool name: use 1 to 64 of A-Z a-z 0-9 _ -")
        held = self._offers.setdefault(rank, {})
        if _fold(tool.name) in held:
            raise DuplicateTool(f'Tool "{tool.name}" is already registered')
        held[_fold(tool.name)] = tool
        self._seen = None

    def unregister(self, name: str) -> bool:
        """Take a tool away; what it covered comes back. Says whether it was there."""
        was_there = self.has(name)
        if was_there:
            highest = max(rank for rank, offers in self._offers.items() if _fold(name) in offers)
            del self._offers[highest][_fold(name)]
            self._seen = None
        return was_there

    def add(self, tools: Sequence[Tool], problems: Iterable[Problem] = (), *, rank: int) -> None:
        """Add what a source loaded. Two tools that claim one name at one rank are a problem, and neither is offered."""
        held = self._offers.setdefault(rank, {})
        offers = {_fold(tool.name): tool for tool in tools}
        if len(offers) < len(tools) or (held and not held.keys().isdisjoint(offers)):
            claims: dict[str, list[Tool]] = {}
            for tool in (*held.values(), *tools):
                claims.setdefault(_fold(tool.name), []).append(tool)
            self._problems += [_conflict(claimants) for claimants in claims.values() if len(claimants) > 1]
            offers = {name: claimants[0] for name, claimants in claims.items() if len(claimants) == 1}
            held.clear()
        held.update(offers)
        self._problems += problems
        self._seen = None

    def get(self, name: str) -> Tool | None:
        return self._view().by_name.get(name)

    def has(self, name: str) -> bool:
        return name in self._view().by_name

    def held(self, name: str) -> Problem | None:
        """The problem that stands in the place of a tool of this name."""
        return self._view().held.get(name)

    def tools(self) -> tuple[Tool, ...]:
        """All tools: built-in and handed over, then MCP, then the rest, each by name."""
        return self._view().tools

    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools())

    def problems(self) -> tuple[Problem, ...]:
        return tuple(self._problems)

    def declarations(self) -> list[dict[str, JSON]]:
        """For a model that speaks Gemini's dialect."""
        keys = ("name", "description", "parameters")
        declared = [(tool.name, tool.description, tool.input_schema) for tool in self.tools()]
        return [{"functionDeclarations": [dict(zip(keys, each, strict=True)) for each in declared]}]

    async def initialize_all(self, context: Callable[[Tool], Context]) -> None:
        for tool in self.tools():
            if tool.hooks.initialize is not None:
                await tool.hooks.initialize(context(tool))

    async def shutdown_all(self) -> None:
        for tool in self.tools():
            if tool.hooks.shutdown is not None:
                await tool.hooks.shutdown()

    def _view(self) -> View:
        if self._seen is None:
            own = self._offers.get(OWN, {})
            held = {name: each for each in self._problems for name in each.holds if _fold(name) not in own}
            offers: dict[str, Tool] = {}
            for rank in sorted(self._offers):
                offers |= self._offers[rank]
            for name in held:
                offers.pop(_fold(name), None)
            offered = sorted(offers.values(), key=_order)
            self._seen = View(tuple(offered), {tool.name: tool for tool in offered}, held)
        return self._seen


def _order(tool: Tool) -> tuple[int, str]:
    return _GROUPS.get(tool.source, _LAST_GROUP), tool.name


def _fold(name: str) -> str:
    return name.replace("-", "_")


def _conflict(claimants: list[Tool]) -> Problem:
    origins = " and ".join(sorted(tool.origin for tool in claimants))
    names = tuple(sorted({tool.name for tool in claimants}))
    message = f"{' and '.join(names)} is claimed by {origins}; neither is offered until one is renamed or removed"
    return Problem(min(tool.origin for tool in claimants), "TOOL_NAME_CONFLICT", message, holds=names)
