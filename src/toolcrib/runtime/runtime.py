"""One client's crib: its tools, its gate, and the one way to call through it."""

import asyncio
import os
import resource
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import is_
from typing import Any

from ..core.call import Call, ProgressSink, Result, Retry
from ..core.context import Context, Host, new_id
from ..core.errors import ConfigError
from ..core.executor import Executor
from ..core.jsontext import JSON
from ..core.limits import ARTIFACT_BYTES, VIEW_BYTES
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
from ..policy.trust import PROJECT_DIR, Trust
from ..sandbox.guard import GuardedFiles
from ..sandbox.readings import Readings
from ..sandbox.unconfined import Unconfined
from ..sources.executable import ToolSettings
from ..sources.probe import Prober
from ..sources.probe_cache import undisturbed
from ..store.artifacts import ArtifactFiles
from ..store.blobs import Blobs
from ..store.home import Home
from ..store.seen_files import SeenFiles
from ..store.state import State
from .belongings import Belongings
from .broken import Broken
from .code import code_engine
from .config import BUILT_SANDBOXES, Config
from .finding import find_modules, find_sources, tool_directories
from .gate import POLICY, Vault, gate
from .toolsets import builtin_names

_FDS_PER_PROCESS = 8
_FDS_RESERVED = 48
_MOST_AT_ONCE = 64
_RULES_SECONDS = 1.0


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
        self._stats = Stats()
        identity, environ = new_id(), dict(os.environ)
        self._directories = tool_directories(workspace, home, config, environ)
        self.trust = trust
        self._open_gate = partial(
            gate, workspace, home, config, directories=self._directories.all, environ=environ, trust=trust
        )
        self._rules_seen, self._look_again = self._rules_stamp(), 0.0
        self.policy, self.places, self._misfits = self._open_gate()
        self._vault = Vault(config, environ, Grants(home.file("grants.json"), lambda data: None))
        self.audit = Audit(lambda: home.directory("audit"), self._vault.conceal)
        self._blobs = Blobs(home)
        self._sandbox = Unconfined(identity, name="off" if config.sandbox == "off" else "process")
        self._readings = Readings(SeenFiles(home), nameless=identity)
        self._code = code_engine(home, self._sandbox, identity=identity, environ=environ)
        self._host = Host(
            workspace,
            self._sandbox,
            partial(GuardedFiles, self.places, readings=self._readings),
            environ,
            self.artifacts,
            self._blobs,
            code=self._code,
            id=identity,
            secrets=self._secrets_of,
            conceal=self._vault.conceal,
            filters=self._vault.filter,
        )
        self.session = session or identity
        self._belongings = Belongings(home, workspace=workspace, asker=asker)
        self.registry = Registry()
        self._state = State(home)
        self._executor = Executor(
            self.registry,
            self.policy,
            self._host,
            approver=Remembering(
                approver,
                self._state,
                session=lambda: self.session,
                project=project_key(workspace),
                describe=self._describe,
                typed=typed,
            ),
            observers=(self.audit, self._stats),
            places=asyncio.Semaphore(places_at_once()),
        )
        found = [
            *config.toolsets.sources(workspace, config.tools),
            *find_modules(workspace, home, config, self._host, trust),
            *find_sources(
                self._directories, workspace, home, config, self.prober(), self.trust, environ, self.audit.skipped
            ),
        ]
        self._sources = [config.offer.around(source, taken=builtin_names()) for source in found]
        self._broken = Broken(self._directories.all, lambda name: config.offer.name_for(config.prefix + name))
        self._loaded: list[Loaded] | None = None

    # Looking

    def tools(self) -> tuple[Tool, ...]:
        """A snapshot, in a stable order."""
        return self.registry.tools()

    def problems(self) -> tuple[Problem, ...]:
        """What is not on offer, and why."""
        return (*self.config.problems, *self._misfits, *self.registry.problems())

    def find(self, name: str) -> Tool | None:
        """A tool by its exposed name, or by its bare name where that is unambiguous."""
        return self.registry.get(self.full_name(name))

    def full_name(self, name: str) -> str:
        prefixed = self.config.offer.name_for(self.config.prefix + name)
        known = self.registry.has(name) or self.registry.held(name)
        return prefixed if not known and (self.registry.has(prefixed) or self.registry.held(prefixed)) else name

    def verdict(self, tool: Tool, args: Mapping[str, JSON] | None = None) -> Verdict:
        """What the gate would say to a call; without arguments, what holds for the tool in general."""
        if args is None:
            return self.policy.in_general(tool)
        return self.policy.judge(Call(tool.name, args, "", self.session, self._asker), tool)

    def tool_directories(self) -> tuple[str, ...]:
        """Where programs are looked for, the project's last."""
        return self._directories.all if self.config.enabled else ()

    def stats(self) -> dict[str, Any]:
        """Counters of this crib's calls."""
        return self._stats.to_dict()

    async def refresh(self) -> bool:
        """Read again what changed on disk. Says whether anything did."""
        found = await asyncio.gather(*(source.load() for source in self._sources))
        if self._loaded is not None and all(map(is_, found, self._loaded)):
            return False
        with undisturbed():
            fresh = self._registry_of(found)
        self.registry = self._executor.registry = fresh  # calls in flight keep the tool they have
        self._loaded = found
        return True

    def register(self, tool: Tool) -> None:
        """Offer one more tool of the host program's own.

        Raises:
            DuplicateTool: if the name is taken.
        """
        self.registry.register(tool)
        self._own = (*self._own, tool)

    def unregister(self, name: str) -> bool:
        """Take a tool of the host program's own away again. Says whether it was there."""
        kept = tuple(tool for tool in self._own if tool.name != name)
        was_there = len(kept) < len(self._own) and self.registry.unregister(name)
        self._own = kept
        return was_there

    def _registry_of(self, found: Sequence[Loaded]) -> Registry:
        fresh = Registry()
        ours = (*self._builtins(), *self._own)
        for tool in ours:
            fresh.register(tool, rank=OWN)
        loaded = list(zip(self._broken.answering(found, ours), self._sources, strict=True))
        for rank in (USER, PROJECT):
            offers = [self._protected(each) for each, source in loaded if source.rank == rank]
            fresh.add(
                [tool for each in offers for tool in each.tools],
                [problem for each in offers for problem in each.problems],
                rank=rank,
            )
        fresh.tools()
        return fresh

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
        self._keep_up()
        if timeout is not None and timeout <= 0:
            raise ValueError(f"a timeout of {timeout!r} s leaves no time; leave it out for the tool's own")
        given: Any = {} if args is None else dict(args) if isinstance(args, Mapping) else args
        call = Call(
            name,
            given,
            self._host.next_id(),
            self.session,
            self._asker,
            timeout,
            retry,
            dry_run,
            skip_validation,
            progress,
        )
        return self._executor.call(call)

    def _keep_up(self) -> None:
        """Judge by the rules as they are now; looked at once a second, for a server may run for days."""
        now = time.monotonic()
        if now < self._look_again:
            return
        self._look_again = now + _RULES_SECONDS
        stamp = self._rules_stamp()
        if stamp == self._rules_seen:
            return
        self._rules_seen = stamp
        try:
            self.policy, _, self._misfits = self._open_gate()
        except ConfigError as exc:  # the rules that were good stay in force
            self._misfits = (Problem(exc.path, exc.code, f"{exc}; until then the rules of before are in force"),)
        self._executor.policy = self.policy

    def _rules_stamp(self) -> tuple[tuple[int, ...] | None, ...]:
        paths = (
            self.home.file(POLICY),
            self.home.file("trust.json"),
            os.path.join(self.workspace, PROJECT_DIR, POLICY),
        )
        return tuple(map(_stamp, paths))

    def viewable(self, result: Result) -> Result:
        """The result, with an artifact that holds the answer whole where it is too long to be shown to a model."""
        if result.error is not None or result.metadata.get("artifacts"):
            return result
        raw = result.output.encode("utf-8", "surrogatepass")
        if len(raw) <= VIEW_BYTES:
            return result
        try:
            ident, path, fd = self.artifacts.create(f"{result.metadata['call_id']}.data")
            with open(fd, "wb") as file:
                file.write(raw[:ARTIFACT_BYTES])
        except OSError:  # a full disk costs the artifact, not the answer
            return result
        kept = {"id": ident, "stream": "data", "path": path, "bytes": min(len(raw), ARTIFACT_BYTES)}
        return Result(result.data, None, {**result.metadata, "artifacts": [kept]})

    def validate(self, name: str, args: Mapping[str, JSON]) -> list[str]:
        """What is wrong with these arguments. Nothing runs."""
        return self._executor.validate(name, args)

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
            self._sandbox.close()
            self.audit.close()

    def prober(self) -> Prober:
        host = self._host
        return Prober(host.sandbox, host.environ, self.config.variables, marks=host.next_id, programs=host.programs)

    def _protected(self, loaded: Loaded) -> Loaded:
        """Without the tools for which a protection is demanded that is not there: those answer with a problem."""
        config, unprotected = self.config, self.config.unprotected
        everywhere = "" if config.sandbox in BUILT_SANDBOXES else f"sandbox: {config.sandbox}"
        if not everywhere and not unprotected:
            return loaded
        tools, problems = [], list(loaded.problems)
        for tool in loaded.tools:
            missing = unprotected.get(config.offer.own_name(tool)) or unprotected.get(tool.name) or everywhere
            if missing:
                message = (
                    f"{tool.name} is configured with `{missing}`, which this version cannot provide; it does not run"
                )
                problems.append(Problem(tool.origin, "SANDBOX_UNAVAILABLE", message, holds=(tool.name,)))
            else:
                tools.append(tool)
        return Loaded(tuple(tools), tuple(problems))

    def _context_for(self, tool: Tool) -> Context:
        return Context(self._host, Call(tool.name, {}, self._host.next_id(), self.session), tool.limits, self._executor)

    def _builtins(self) -> list[Tool]:
        """Those of the toolsets that are configured, with the variables that every process is given."""
        from ..builtins import TOOLS  # late: nothing needs them before the tools are first looked at
        from ..builtins.workbench import Workbench, fitted

        config, environ = self.config, self._host.environ
        bench = Workbench(
            self._directories.user[0],
            config.prefix,
            config.variables,
            self._sandbox.name,
            environ.get("PATH", os.defpath) if "PATH" in config.variables else os.defpath,
            self.tools,
            self.problems,
            approval=lambda tool: self.verdict(tool).decision.wire,
            longest=lambda tool: config.tools.get(config.offer.own_name(tool), ToolSettings()).seconds,
        )
        benches = (bench, *self._belongings.benches())
        found = [fitted(tool, *benches) for tool in TOOLS if config.offers(tool.name)]
        return config.offer.spoken(self._equipped(tool) if tool.backend.starts_process else tool for tool in found)

    def _equipped(self, tool: Tool) -> Tool:
        given = self.config.tools.get(tool.name, ToolSettings())
        limits = tool.limits if given.seconds is None else replace(tool.limits, seconds=given.seconds)
        variables = tuple(dict.fromkeys((*self.config.variables, *given.variables)))
        return tool._replace(backend=tool.backend._replace(variables=variables), limits=limits)  # type: ignore[attr-defined]  # built-in backends are named tuples

    def _secrets_of(self, name: str) -> Mapping[str, str]:
        tool = self.registry.get(name)
        return {} if tool is None else self._vault.variables(tool)

    def _describe(self, question: Question, subjects: tuple[Subject, ...]) -> Request:
        """All that a person should see of a question."""
        around = Surroundings(
            self.workspace,
            self._sandbox.name,
            self._host.conceal,
            variables=lambda tool: (*getattr(tool.backend, "variables", ()), *self._vault.granted(tool)),
            secrets=self._vault.names,
            previous=lambda tool: self._state.knew(tool.id, tool.digest),
            content=self._blobs.content,
            folder=self._blobs.folder,
        )
        return describe(question, subjects, around)


def places_at_once() -> int:
    """How many processes may run at once, so that descriptors never run out."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(_MOST_AT_ONCE, (soft - _FDS_RESERVED) // _FDS_PER_PROCESS))


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size
