"""One client's view of a crib: its tools and skills, and the one way to call through it."""

import asyncio
import os
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..core.call import Call, ProgressSink, Result, Retry
from ..core.context import Context, Host
from ..core.errors import ToolcribError
from ..core.executor import Executor
from ..core.jsontext import JSON
from ..core.policy import Verdict
from ..core.registry import Registry
from ..core.source import Loaded, Problem
from ..core.tool import Tool
from ..observe.stats import Stats
from ..store.sessions import KeptSessions, KeptSkill, SessionNotFound

if TYPE_CHECKING:
    from ..sources.skill import Skill

SKILL_RANK = 25
"""What a skill brings covers tools of the user and of the project, and nothing of the host program's own."""
ActiveSkill = KeptSkill


class Shelf(Protocol):
    """Where skills are found and read."""

    def find(self, name: str) -> "Skill":
        """By its name in the catalogue, or by a path. Raises: `ToolcribError`."""
        ...

    def from_text(self, content: str, *, name: str) -> "Skill":
        """Of a SKILL.md that somebody handed over. Raises: `ToolcribError`."""
        ...


class Floor(Protocol):
    """What all sessions of a crib stand on."""

    workspace: str

    @property
    def generation(self) -> int:
        """Another one when the tools that everybody has are others."""
        ...

    def skills(self) -> Shelf: ...

    def taken(self) -> frozenset[str]:
        """Names, folded, that no skill may give to a tool."""
        ...

    async def offered(self, loaded: Loaded) -> Loaded:
        """The tools of a skill, under the names and restrictions that hold here."""
        ...

    def registry_with(self, loaded: Sequence[Loaded], *, rank: int, only: frozenset[str] | None) -> Registry:
        """A new one, with what everybody has, or `only` these of it, and this on top."""
        ...

    def executor(self, registry: Registry, host: Host, stats: Stats) -> Executor: ...

    def host_for(self, session: "Session") -> Host: ...

    def keep_up(self, executor: Executor) -> None:
        """Let it judge by the rules as they are now."""
        ...

    def name_in(self, registry: Registry, name: str) -> str:
        """What a name means there: the exposed one, or a bare one where that is unambiguous."""
        ...

    def judged(self, call: Call | None, tool: Tool) -> Verdict:
        """What the gate says to a call; without one, what holds for the tool in general."""
        ...


class _Active(NamedTuple):
    kept: KeptSkill
    offer: Loaded
    skill: "Skill | None" = None
    """None where it is not what was activated any more."""


class Session:
    """The tools of one client, and those that the skills bring which are active for it and for nobody else."""

    def __init__(self, id: str, floor: Floor, *, asker: str) -> None:
        self.id, self._floor, self._asker = id, floor, asker
        self._store: KeptSessions | None = None
        """Where what is active is kept. A session that is kept nowhere ends with the process."""
        self._stats, self._active = Stats(), dict[str, _Active]()
        self._changing = asyncio.Lock()
        self._seen: tuple[int, ...] | None = None
        """The state of the store that is known here."""
        self._generation = -1
        self._host = floor.host_for(self)
        self._registry = Registry()
        self._executor = floor.executor(self._registry, self._host, self._stats)

    # Looking

    @property
    def registry(self) -> Registry:
        if self._generation != self._floor.generation:
            self._rebuild()
        return self._registry

    def tools(self) -> tuple[Tool, ...]:
        """A snapshot, in a stable order."""
        return self.registry.tools()

    def problems(self) -> tuple[Problem, ...]:
        return self.registry.problems()

    def find(self, name: str) -> Tool | None:
        """A tool by its exposed name, or by its bare name where that is unambiguous."""
        return self.registry.get(self.full_name(name))

    def full_name(self, name: str) -> str:
        return self._floor.name_in(self.registry, name)

    def verdict(self, tool: Tool, args: Mapping[str, JSON] | None = None) -> Verdict:
        """What the gate would say to a call; without arguments, what holds for the tool in general."""
        call = None if args is None else Call(tool.name, args, "", self.id, self._asker)
        return self._floor.judged(call, tool)

    def stats(self) -> dict[str, Any]:
        """Counters of this session's calls."""
        return self._stats.to_dict()

    def validate(self, name: str, args: Mapping[str, JSON]) -> list[str]:
        """What is wrong with these arguments. Nothing runs."""
        self._executor.registry = self.registry
        return self._executor.validate(name, args)

    def is_current(self) -> None:
        """What changed for everybody is here already."""
        self._generation = self._floor.generation

    def context_for(self, tool: Tool) -> Context:
        """For what a tool does before its first call."""
        call = Call(tool.name, {}, self._host.next_id(), self.id)
        return Context(self._host, call, tool.limits, self._executor)

    # Calling

    def call(
        self,
        name: str,
        args: Mapping[str, JSON] | None = None,
        *,
        timeout: float | None = None,
        retry: Retry | None = None,
        dry_run: bool = False,
        skip_validation: bool = False,
        progress: ProgressSink | None = None,
    ) -> Coroutine[Any, Any, Result]:
        """Call a tool through the gate and await the result. Failures are in it; only cancellation raises."""
        self._floor.keep_up(self._executor)
        if timeout is not None and timeout <= 0:
            raise ValueError(f"a timeout of {timeout!r} s leaves no time; leave it out for the tool's own")
        given: Any = {} if args is None else dict(args) if isinstance(args, Mapping) else args
        if self._generation != self._floor.generation:
            self._rebuild()
        call = Call(
            name,
            given,
            self._host.next_id(),
            self.id,
            self._asker,
            timeout,
            retry,
            dry_run,
            skip_validation,
            progress,
        )
        return self._executor.call(call)

    # Skills

    def active_skills(self) -> list[ActiveSkill]:
        """In the order in which they were activated."""
        return [each.kept for each in self._active.values()]

    def skill(self, name: str) -> "Skill | None":
        """A skill that is active, with the words it has for the agent; None where there is none."""
        active = self._active.get(name)
        return active and active.skill

    async def use_skill(self, name: str, content: str | None = None, *, only_allowed: bool = False) -> list[str]:
        """Make a skill active: of a name, of a path, or handed over as the text of a SKILL.md. Says what it brings.

        All of its tools are there afterwards, or none. One that is active already is replaced. `only_allowed`: while
        it is active, of the other tools only those are there that its `allowed-tools` names.

        Raises:
            ToolcribError: there is no such skill, or a tool of it cannot have its name.
        """
        async with self._changing:
            found = await asyncio.to_thread(self._read, name, content)
            called = name if content is not None and name else found.name
            offer = await self._admitted(called, found)
            names = tuple(tool.name for tool in offer.tools)
            origin = found.origin if content is None else ""
            only = allowed_names(found.allowed_tools or ()) if only_allowed else None
            about = (found.version, found.digest, found.description, names, time.time(), only)
            kept = KeptSkill(called, origin, content or "", *about)
            if self._store is not None:
                await asyncio.to_thread(self._store.put, self.id, kept)
            self._swap({**self._active, called: _Active(kept, offer, found)})
            return list(names)

    async def remove_skill(self, name: str) -> list[str]:
        """Take a skill and its tools away, by its name or its path; what they covered is there again. Says which."""
        async with self._changing:
            called = self._called(name)
            if self._store is not None:
                await asyncio.to_thread(self._store.remove, self.id, called)
            gone = self._active.get(called)
            self._swap({key: each for key, each in self._active.items() if key != called})
            return [] if gone is None else [tool.name for tool in gone.offer.tools]

    async def drop_tools(self, names: Sequence[str]) -> list[str]:
        """Take single tools of skills away; a skill that brings nothing any more is removed. Says which were there."""
        async with self._changing:
            gone, active = [], dict[str, _Active]()
            for key, each in self._active.items():
                left = tuple(tool for tool in each.offer.tools if tool.name not in names)
                gone += [tool.name for tool in each.offer.tools if tool.name in names]
                if left or len(left) == len(each.offer.tools):
                    active[key] = each._replace(offer=replace(each.offer, tools=left))
                elif self._store is not None:
                    await asyncio.to_thread(self._store.remove, self.id, key)
            if gone:
                self._swap(active)
            return gone

    async def settle(self, store: KeptSessions) -> None:
        """Have exactly those skills active that are kept; what changed on disk since answers with a problem.

        Raises:
            SessionNotFound: nothing is kept of this session, or no longer.
        """
        stamp = store.stamp()
        if stamp == self._seen:
            return
        if not stamp and self._store is None:  # there is no file, so there is none of this name
            raise SessionNotFound(self.id)
        async with self._changing:
            kept = await asyncio.to_thread(store.get, self.id)
            if kept is None:
                if self._store is not None:  # somebody ended it
                    self._store = None
                    self._swap({})
                raise SessionNotFound(self.id)
            self._store, active = store, dict[str, _Active]()
            for skill in kept.skills:
                held = self._active.get(skill.name)
                active[skill.name] = held if held and held.kept == skill else await self._restored(skill)
            if active != self._active:
                self._swap(active)
            self._seen = stamp

    async def _restored(self, kept: KeptSkill) -> _Active:
        def problem(code: str, message: str) -> _Active:
            origin = kept.origin or f"skill {kept.name}"
            return _Active(kept, Loaded((), (Problem(origin, code, message, holds=kept.tool_names),)))

        again = f"to use it as it is now, type: toolcrib skill use {kept.name} --session {self.id}"
        try:
            found = await asyncio.to_thread(self._read, kept.origin or kept.name, kept.content or None)
        except ToolcribError as exc:
            return problem(exc.code, f"the skill {kept.name} was active, and cannot be read now: {exc}")
        if found.digest != kept.digest:
            return problem("TOOL_PIN_MISMATCH", f"the skill {kept.name} changed since it was activated; {again}")
        return _Active(kept, await self._offer(kept.name, found), found)

    async def _offer(self, called: str, found: "Skill") -> Loaded:
        came_with = (called, found.version, found.digest)
        tools = tuple(tool._replace(came_with=came_with) for tool in found.tools)
        return await self._floor.offered(Loaded(tools, found.problems))

    def _read(self, name: str, content: str | None) -> "Skill":
        skills = self._floor.skills()
        return skills.find(name) if content is None else skills.from_text(content, name=name)

    async def _admitted(self, called: str, found: "Skill") -> Loaded:
        held = {
            _fold(tool.name): key for key, each in self._active.items() if key != called for tool in each.offer.tools
        }
        for tool in found.tools:
            if _fold(tool.name) in self._floor.taken():
                message = f"{called} brings a tool {tool.name}, which is the name of a built-in tool; rename it"
                raise ToolcribError(message, code="TOOL_NAME_CONFLICT")
        offer = await self._offer(called, found)
        for tool in offer.tools:
            if other := held.get(_fold(tool.name)):
                message = f"{called} and {other} both bring a tool {tool.name}; remove {other} first, or rename one"
                raise ToolcribError(message, code="TOOL_NAME_CONFLICT")
        return offer

    def _called(self, name: str) -> str:
        if name in self._active or os.sep not in name:
            return name
        path = os.path.realpath(name)
        places = (path, os.path.join(path, "SKILL.md"))
        return next((key for key, each in self._active.items() if each.kept.origin in places), name)

    def _swap(self, active: dict[str, _Active]) -> None:
        """All at once: calls in flight keep the tool they have."""
        self._active = active
        self._rebuild()

    def _rebuild(self) -> None:
        generation = self._floor.generation
        loaded = [each.offer for each in self._active.values()]
        narrowing = [each.kept.only for each in self._active.values() if each.kept.only is not None]
        only = frozenset(name for names in narrowing for name in names) if narrowing else None
        self._registry = self._executor.registry = self._floor.registry_with(loaded, rank=SKILL_RANK, only=only)
        self._generation = generation


def allowed_names(words: Sequence[str]) -> tuple[str, ...]:
    """The names of tools that `allowed-tools` means, ours or those of another system: `Read`, `Bash(git:*)`.

    What stands in brackets is not counted: which arguments are allowed, the rules say.
    """
    from ..sources.vocabularies import VOCABULARIES  # late: few skills say it

    ours = {word.name: word.own for words in VOCABULARIES.values() for word in words}
    named = (word.partition("(")[0] for word in words)
    return tuple(dict.fromkeys(each for name in named for each in (name, ours.get(name, name))))


class Handed:
    """A source of what somebody handed over."""

    def __init__(self, loaded: Loaded, *, rank: int) -> None:
        self._loaded, self.rank = loaded, rank

    async def load(self) -> Loaded:
        return self._loaded


def _fold(name: str) -> str:
    """As the registry tells names apart."""
    return name.replace("-", "_")
