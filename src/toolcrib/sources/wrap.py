"""Sources around sources: fewer tools, other names, another rank. None of them knows what it is around."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..core.call import Call
from ..core.registry import PROJECT, USER
from ..core.source import Loaded, Problem, Source
from ..core.tool import NAME, Tool
from ..policy.names import NamePattern
from .vocabularies import OWN, VOCABULARIES
from .vocabulary import Word, own_call, own_tool, spoken

_UNWRAPPED = frozenset(("builtin", "function"))
"""Where tools come from that no wrapper is around."""


class _Around:
    """What is made of another source's offer, kept for as long as that is the very same object."""

    def __init__(self, inner: Source) -> None:
        self._inner, self.rank = inner, inner.rank
        self._given: Loaded | None = None
        self._made = Loaded()

    async def load(self) -> Loaded:
        given = await self._inner.load()
        if given is not self._given:
            self._given, self._made = given, self._changed(given)
        return self._made

    def _changed(self, given: Loaded) -> Loaded:
        return given


class Only(_Around):
    """The tools whose names are admitted. A problem stays, but holds no other name."""

    def __init__(self, inner: Source, admits: Callable[[str], bool]) -> None:
        super().__init__(inner)
        self._admits = admits

    def _changed(self, given: Loaded) -> Loaded:
        problems = (replace(each, holds=tuple(filter(self._admits, each.holds))) for each in given.problems)
        return Loaded(tuple(tool for tool in given.tools if self._admits(tool.name)), tuple(problems))


class _Otherwise(_Around):
    """Tools under other names. Who cannot have the new one is not offered at all, and never under the old one."""

    def __init__(self, inner: Source, name: Callable[[str], str], taken: Iterable[str]) -> None:
        super().__init__(inner)
        self._name, self._taken = name, frozenset(map(_fold, taken))

    def _objection(self, own: str, new: str) -> tuple[str, str] | None:
        """Code and words of what speaks against it."""
        if not NAME.fullmatch(new):
            return "TOOL_NAME_INVALID", f"{own} would be called {new}, which is not 1 to 64 of A-Z a-z 0-9 _ -"
        if _fold(new) in self._taken:
            called = own if own == new else f"{own} would be called {new}, which"
            return "TOOL_NAME_CONFLICT", f"{called} is the name of a built-in tool"
        return None

    def _held(self, new: str) -> tuple[str, ...]:
        """What is kept from others when a tool cannot have its name. Never the name of a built-in."""
        return (new,) if NAME.fullmatch(new) and _fold(new) not in self._taken else ()

    def _changed(self, given: Loaded) -> Loaded:
        tools, problems = [], [self._holding(each) for each in given.problems]
        for tool in given.tools:
            new = self._name(tool.name)
            if objection := self._objection(tool.name, new):
                problems.append(Problem(tool.origin, *objection, holds=self._held(new)))
            else:
                tools.append(tool if new == tool.name else tool._replace(name=new))
        return Loaded(tuple(tools), tuple(problems))

    def _holding(self, problem: Problem) -> Problem:
        """A name that is held stays held, under what it would be called."""
        return replace(problem, holds=tuple(held for own in problem.holds for held in self._held(self._name(own))))


class Prefixed(_Otherwise):
    """Every tool as `<prefix><name>`."""

    def __init__(self, inner: Source, prefix: str, *, taken: Iterable[str] = ()) -> None:
        super().__init__(inner, lambda own: prefix + own, taken)


class Renamed(_Otherwise):
    """Some tools under the names that are given for them.

    A tool that has such a name of its own is a conflict: neither is offered, so that nobody gets one for the other.
    """

    def __init__(self, inner: Source, names: Mapping[str, str], *, taken: Iterable[str] = ()) -> None:
        super().__init__(inner, lambda own: names.get(own, own), taken)
        self._names, self._given_away = names, {_fold(new): own for own, new in names.items()}

    def _objection(self, own: str, new: str) -> tuple[str, str] | None:
        if own not in self._names and (other := self._given_away.get(_fold(own))) is not None:
            message = f"{own} is also the name that {other} is given; neither is offered until one is called otherwise"
            return "TOOL_NAME_CONFLICT", message
        return super()._objection(own, new)


class Ranked(_Around):
    """The same tools at another rank: see `core.registry`."""

    def __init__(self, inner: Source, rank: int) -> None:
        super().__init__(inner)
        self.rank = rank


@dataclass(frozen=True, slots=True)
class Offer:
    """How what is found is offered. All names and patterns here are of names as they are without it.

    No two tools of different names are ever offered under one, so that each name tells whose it was: `own_name`.
    """

    only: tuple[tuple[NamePattern, ...], ...] = ()
    """A tool must be named in each of these."""
    without: tuple[NamePattern, ...] = ()
    prefix: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    first: str = "project"
    """Whose tools cover the other's: the `project`'s or the `user`'s."""
    vocabulary: str = OWN
    """By whose names the built-in tools are called."""

    def admits(self, name: str) -> bool:
        """Whether a tool is offered at all. Of built-in tools, too."""
        if any(pattern.matches(name) for pattern in self.without):
            return False
        return all(any(pattern.matches(name) for pattern in patterns) for patterns in self.only)

    def around(self, source: Source, *, taken: Iterable[str] = ()) -> Source:
        """The source, as it is to be offered. `taken` are names that no tool can be given."""
        if self.only or self.without:
            source = Only(source, self.admits)
        taken = (*taken, *(word.name for word in self.words))
        if self.rename or self.words:
            source = Renamed(source, self.rename, taken=() if self.prefix else taken)
        if self.prefix:
            source = Prefixed(source, self.prefix, taken=taken)
        if self.first == "user":
            source = Ranked(source, PROJECT if source.rank == USER else USER)
        return source

    @property
    def renames(self) -> bool:
        return bool(self.prefix or self.rename or self.words)

    @property
    def words(self) -> tuple[Word, ...]:
        return VOCABULARIES[self.vocabulary]

    def spoken(self, builtins: Iterable[Tool]) -> list[Tool]:
        """The built-in tools, as they are called in the vocabulary."""
        return spoken(builtins, self.words)

    def name_for(self, own: str) -> str:
        """What a tool of this name is called."""
        return self.prefix + self.rename.get(own, own)

    def own_name(self, tool: Tool) -> str:
        """What a tool that is on offer is called without all this: the name that rules and settings speak of."""
        if not self.renames or tool.source in _UNWRAPPED:
            return own_tool(tool).name
        return self.meant_by(tool.name)

    def meant_by(self, exposed: str) -> str:
        """What a tool that was found is called without all this, by the name it is offered under."""
        bare = exposed.removeprefix(self.prefix)
        return next((own for own, new in self.rename.items() if new == bare), bare)

    def in_own_words(self, call: Call, tool: Tool) -> tuple[Call, Tool]:
        """A call and its tool as they would be without all this; the very same where nothing is called otherwise."""
        if (meant := own_tool(tool)) is not tool:
            return own_call(call, tool), meant
        own = self.own_name(tool)
        return (call, tool) if own == tool.name else (call._replace(name=own), tool._replace(name=own))


def _fold(name: str) -> str:
    """As the registry tells names apart."""
    return name.replace("-", "_")
