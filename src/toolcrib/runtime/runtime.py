"""One client's crib: its tools, its gate, and the one way to call through it."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import is_
from typing import TYPE_CHECKING, Any

from ..core.call import Call, Result
from ..core.context import Context, Host, new_id
from ..core.executor import Executor
from ..core.jsontext import JSON
from ..core.policy import Approver, Question, Verdict
from ..core.registry import OWN, PROJECT, USER, Registry
from ..core.source import Loaded, Problem
from ..core.tool import Subject, Tool
from ..observe.audit import Audit
from ..observe.stats import Stats
from ..policy.approvers import Remembering
from ..policy.grants import Grants
from ..policy.remember import project_key
from ..policy.request import Request, Surroundings, describe
from ..policy.rules import RulePolicy
from ..policy.trust import PROJECT_DIR, Trust
from ..sandbox.aftermath import Aftermath, PutAside
from ..sandbox.choose import choose
from ..sandbox.guard import GuardedFiles
from ..sandbox.places import Places
from ..sandbox.processes import Processes
from ..sandbox.readings import Readings
from ..sources.probe import Prober
from ..sources.probe_cache import undisturbed
from ..store.artifacts import ArtifactFiles
from ..store.blobs import Blobs
from ..store.home import Home
from ..store.seen_files import SeenFiles
from ..store.sessions import KeptSessions, SessionNotFound
from ..store.state import State
from .belongings import Belongings
from .broken import Broken
from .capacity import places_at_once
from .code import code_engine
from .config import Config
from .confinement import Confinement
from .confinement import Surroundings as Standing
from .demand import withheld
from .finding import find_modules, find_sources, tool_directories
from .gate import POLICY, Vault, gate
from .reach import Reach
from .session import Handed, Session
from .sessions import Sessions
from .standing_rules import StandingRules
from .toolsets import builtin_names
from .viewing import viewable

if TYPE_CHECKING:
    from .skills import SkillShelf


class Crib:
    """Tools, and the gate in front of them. Made by `build`."""

    def __init__(
        self,
        *,
        workspace: str,
        home: Home,
        config: Config,
        trust: Trust,
        approver: Approver | None,
        session: str | None,
        asker: str,
        typed: bool = False,
        tools: Sequence[Tool] = (),
    ) -> None:
        """`typed`: a person types each call at a terminal."""
        self.workspace, self.home, self.config, self._asker = workspace, home, config, asker
        self._own = tuple(tools)
        self.artifacts = ArtifactFiles(home)
        identity, environ = new_id(), dict(os.environ)
        self._directories = tool_directories(workspace, home, config, environ)
        self.trust = trust
        made = partial(gate, workspace, home, config, directories=self._directories.all, environ=environ, trust=trust)
        rules = (home.file(POLICY), home.file("trust.json"), os.path.join(workspace, PROJECT_DIR, POLICY))
        self._rules = StandingRules(made, rules)
        grants = Grants(home.file("grants.json"), lambda data: None)
        self._vault = Vault(config, environ, grants, allowed=self._allowed)
        self.audit = Audit(lambda: home.directory("audit"), self._vault.conceal)
        self._blobs = Blobs(home)
        told: dict[str, Sequence[PutAside]] = {}
        aftermath = Aftermath(partial(home.directory, "aside"), told.__setitem__)
        self._sandbox = Processes(identity, name="off" if config.sandbox == "off" else "process", aftermath=aftermath)
        tiers = partial(choose, home.file("cache"))
        self._reach = Reach(self._sandbox.scratch.root, config.network_allow)
        given = self._vault.all_granted, self._allowed, self._reach.socket_for
        standing = Standing(workspace, home.path, environ, tiers, *given, told, self._vault.lent, self.tools)
        self.confinement = Confinement(self._sandbox, config, standing)
        self._readings = Readings(SeenFiles(home), nameless=identity)
        self._code = code_engine(home, self._sandbox, identity=identity, environ=environ)
        self._host = Host(
            workspace,
            self._sandbox,
            partial(GuardedFiles, self._rules.places, readings=self._readings),
            environ,
            self.artifacts,
            self._blobs,
            code=self._code,
            id=identity,
            conceal=self._vault.conceal,
            filters=self._vault.filter,
            secrets=partial(self._secrets_of, lambda: self.registry),
            confine=self.confinement.sandbox_for,
        )
        self._belongings = Belongings(home, workspace=workspace, asker=asker)
        self._state = State(home)
        self._approver = Remembering(
            approver,
            self._state,
            session=lambda: self.session,
            project=project_key(workspace),
            describe=self._describe,
            typed=typed,
        )
        self._places_at_once = asyncio.Semaphore(places_at_once())
        self.generation, self._ours = 0, tuple[Tool, ...]()
        self._shelf: SkillShelf | None = None
        self._kept_sessions, self._named = KeptSessions(home), session is not None
        self.sessions = Sessions(self._kept_sessions, self, asker=asker)
        self._view = Session(session or identity, self, asker=asker)
        self.call = self._view.call
        found = [
            *config.toolsets.sources(workspace, config.tools),
            *find_modules(workspace, home, config, self._host, trust, confine=self.confinement.for_module),
            *find_sources(
                self._directories,
                workspace,
                home,
                config,
                self.prober(),
                self.trust,
                environ,
                self.audit.skipped,
                around=lambda: self.skills().around,
            ),
        ]
        self._sources = [config.offer.around(source, taken=builtin_names()) for source in found]
        self._broken = Broken(self._directories.all, lambda name: config.offer.name_for(config.prefix + name))
        self._loaded: list[Loaded] | None = None

    # Looking

    @property
    def session(self) -> str:
        """Whose calls these are."""
        return self._view.id

    @session.setter
    def session(self, ident: str) -> None:
        self._view.id = ident

    @property
    def registry(self) -> Registry:
        return self._view.registry

    @property
    def policy(self) -> RulePolicy:
        return self._rules.policy

    @property
    def places(self) -> Places:
        """Which paths are whose."""
        return self._rules.places

    def tools(self) -> tuple[Tool, ...]:
        """A snapshot, in a stable order."""
        return self._view.tools()

    def problems(self) -> tuple[Problem, ...]:
        """What is not on offer, and why."""
        return (*self.config.problems, *self._rules.problems, *self._view.problems())

    def find(self, name: str) -> Tool | None:
        """A tool by its exposed name, or by its bare name where that is unambiguous."""
        return self._view.find(name)

    def full_name(self, name: str) -> str:
        return self._view.full_name(name)

    def verdict(self, tool: Tool, args: Mapping[str, JSON] | None = None) -> Verdict:
        """What the gate would say to a call; without arguments, what holds for the tool in general."""
        return self._view.verdict(tool, args)

    def tool_directories(self) -> tuple[str, ...]:
        """Where programs are looked for, the project's last."""
        return self._directories.all if self.config.enabled else ()

    def stats(self) -> dict[str, Any]:
        """Counters of this crib's calls."""
        return self._view.stats()

    async def refresh(self) -> bool:
        """Read again what changed on disk, and which skills are active. Says whether the tools are others now."""
        found = await asyncio.gather(*(source.load() for source in self._sources))
        before = self._view.registry
        if self._loaded is None or not all(map(is_, found, self._loaded)):
            with undisturbed():
                self._loaded, self._ours = found, (*self._builtins(), *self._own)
                self.generation += 1
                self.tools()
        if self._named:
            with suppress(SessionNotFound):  # a name for calls to be recorded under, and no more
                await self._view.settle(self._kept_sessions)
        return self._view.registry is not before

    def register(self, tool: Tool) -> None:
        """Offer one more tool of the host program's own.

        Raises:
            DuplicateTool: if the name is taken.
        """
        self.registry.register(tool)
        self._own, self._ours = (*self._own, tool), (*self._ours, tool)
        self._changed()

    def unregister(self, name: str) -> bool:
        """Take a tool of the host program's own away again. Says whether it was there."""
        was_there = any(tool.name == name for tool in self._own) and self.registry.unregister(name)
        gone = {id(tool) for tool in self._own if tool.name == name}
        self._own, self._ours = (
            tuple(tool for tool in held if id(tool) not in gone) for held in (self._own, self._ours)
        )
        self._changed()
        return was_there

    def _changed(self) -> None:
        """What the view has already, other sessions learn."""
        self.generation += 1
        self._view.is_current()

    # Skills, for this crib's own session

    async def register_skill_tools(self, content: str) -> list[str]:
        """Offer the tools of a SKILL.md that is handed over as text. Says which they are. Raises: `ToolcribError`."""
        return await self._view.use_skill("", content)

    async def unregister_tools(self, names: Sequence[str]) -> list[str]:
        """Take tools away again that a skill brought or that were registered. Says which were there."""
        own = [name for name in dict.fromkeys(names) if self.unregister(name)]
        return [*own, *await self._view.drop_tools([name for name in names if name not in own])]

    def definitions(self) -> list[dict[str, JSON]]:
        """All tools, as a model is told of them."""
        return [
            {"name": each.name, "description": each.description, "parameters": each.input_schema}
            for each in self.tools()
        ]

    def execute(self, name: str, args: Mapping[str, JSON]) -> Coroutine[Any, Any, Result]:
        """The same as `call`, under the name that agents around `execute` know."""
        return self.call(name, args)

    # Calling: `call` is the session's own

    def validate(self, name: str, args: Mapping[str, JSON]) -> list[str]:
        """What is wrong with these arguments. Nothing runs."""
        return self._view.validate(name, args)

    def viewable(self, result: Result) -> Result:
        """The result, with an artifact that holds the answer whole where it is too long to be shown to a model."""
        return viewable(result, self.artifacts)

    # Life

    async def start(self) -> None:
        await self.refresh()
        await self.registry.initialize_all(self._context_for)

    async def close(self) -> None:
        try:
            await self.registry.shutdown_all()
        finally:
            await self._belongings.close()
            if self._code is not None:
                await self._code.close()
            self._readings.close()
            self._reach.close()
            self._sandbox.close()
            self.audit.close()

    def prober(self) -> Prober:
        host = self._host
        return Prober(
            host.sandbox,
            host.environ,
            self.config.variables,
            marks=host.next_id,
            programs=host.programs,
            confine=self.confinement.for_probe,
        )

    def _context_for(self, tool: Tool) -> Context:
        return self._view.context_for(tool)

    def _builtins(self) -> list[Tool]:
        from .fitting import fitted_builtins  # late: nothing needs them before the tools are first looked at

        return fitted_builtins(self, self._host, self._directories.user[0], self._belongings.benches())

    # What sessions stand on (`runtime.session.Floor`).

    def host_for(self, session: Session) -> Host:
        """The crib's own session has the crib's; others have ids of calls and artifacts that nobody can guess."""
        if not hasattr(self, "_view"):
            return self._host
        secrets = partial(self._secrets_of, lambda: session.registry)
        return replace(self._host, secrets=secrets, id=f"{self._host.id}-{new_id()}")

    def executor(self, registry: Registry, host: Host, stats: Stats) -> Executor:
        return Executor(
            registry,
            self.policy,
            host,
            approver=self._approver,
            observers=(self.audit, stats),
            places=self._places_at_once,
        )

    def keep_up(self, executor: Executor) -> None:
        """Let it judge by the rules as they are now."""
        self._rules.keep_up()
        executor.policy = self._rules.policy

    def registry_with(self, skills: Sequence[Loaded], *, rank: int, only: frozenset[str] | None) -> Registry:
        """A new one, with what everybody has, or `only` these of it, and what skills bring on top."""
        fresh = Registry()
        if self._loaded is None:
            return fresh
        for tool in self._ours:
            if only is None or tool.name in only:
                fresh.register(tool, rank=OWN)
        loaded = list(zip(self._broken.answering(self._loaded, self._ours), self._sources, strict=True))
        offers = {each: [loaded for loaded, source in loaded if source.rank == each] for each in (USER, PROJECT)}
        for each, given in {**offers, rank: skills}.items():
            safe = [withheld(one, self.config) for one in given]
            tools, problems = chain(*(one.tools for one in safe)), chain(*(one.problems for one in safe))
            fresh.add([one for one in tools if only is None or each == rank or one.name in only], problems, rank=each)
        fresh.tools()
        return fresh

    async def offered(self, loaded: Loaded) -> Loaded:
        """What a skill brings, under the names and restrictions that hold here."""
        return await self.config.offer.around(Handed(loaded, rank=USER), taken=builtin_names()).load()

    def taken(self) -> frozenset[str]:
        """Names, folded, that no skill may give to a tool."""
        return frozenset(name.replace("-", "_") for name in (*builtin_names(), *(tool.name for tool in self._ours)))

    def skills(self) -> "SkillShelf":
        """The skills that can be used from here."""
        if self._shelf is None:
            from .skills import SkillShelf  # late: it brings YAML and the backends

            about = (self.workspace, self.home, self.config, self.trust, self._vault, self._blobs)
            self._shelf = SkillShelf(*about, person=self._approver.is_person)
        return self._shelf

    def name_in(self, registry: Registry, name: str) -> str:
        prefixed = self.config.offer.name_for(self.config.prefix + name)
        known = registry.has(name) or registry.held(name)
        return prefixed if not known and (registry.has(prefixed) or registry.held(prefixed)) else name

    def judged(self, call: Call | None, tool: Tool) -> Verdict:
        return self.policy.in_general(tool) if call is None else self.policy.judge(call, tool)

    def _allowed(self, tool: Tool) -> bool:
        """Whether a person who saw what this very version declares said yes to it."""
        return self._approver.allowed(tool)

    def _secrets_of(self, registry: Callable[[], Registry], name: str) -> Mapping[str, str]:
        tool = registry().get(name)
        return {} if tool is None else self._vault.variables(tool)

    def _describe(self, question: Question, subjects: tuple[Subject, ...]) -> Request:
        """All that a person should see of a question."""
        around = Surroundings(
            self.workspace,
            self._sandbox.name,
            self._host.conceal,
            variables=lambda tool: (*getattr(tool.backend, "variables", ()), *self._vault.visible(tool)),
            secrets=self._vault.names,
            previous=lambda tool: self._state.knew(tool.id, tool.digest),
            content=self._blobs.content,
            folder=self._blobs.folder,
            confinement=self.confinement.shown,
        )
        return describe(question, subjects, around)
