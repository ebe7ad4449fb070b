"""One client's crib: its tools, its gate, and the one way to call through it."""

import asyncio
import os
import resource
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any

from ..core.call import Call, ProgressSink, Result, Retry
from ..core.context import Context, Host, new_id
from ..core.executor import Executor
from ..core.jsontext import JSON
from ..core.limits import ARTIFACT_BYTES, VIEW_BYTES
from ..core.policy import Approver, Verdict
from ..core.registry import OWN, PROJECT, USER, Registry
from ..core.source import Loaded, Problem, Source
from ..core.tool import Tool
from ..observe.audit import Audit
from ..observe.stats import Stats
from ..policy.rules import ConfigPolicy
from ..policy.trust import Trust
from ..sandbox.guard import GuardedFiles
from ..sandbox.unconfined import Unconfined
from ..sources.executable import ExecutableSource, Settings, untrusted
from ..sources.probe import Prober
from ..sources.probe_cache import ProbeCache, undisturbed
from ..store.artifacts import ArtifactFiles
from ..store.home import Home
from .compat import foreign_directories
from .config import BUILT_SANDBOXES, Config

_FDS_PER_PROCESS = 8
_FDS_RESERVED = 48
_MOST_AT_ONCE = 64


class Crib:
    """Tools, and the gate in front of them. Made by `build`."""

    def __init__(
        self,
        *,
        workspace: str,
        home: Home,
        config: Config,
        approver: Approver | None,
        session: str | None,
        asker: str,
        tools: Sequence[Tool] = (),
    ) -> None:
        self.workspace, self.home, self.config, self._asker = workspace, home, config, asker
        self._own = tuple(tools)
        self.artifacts = ArtifactFiles(home)
        self.audit = Audit(lambda: home.directory("audit"))
        self._stats = Stats()
        identity = new_id()
        self._sandbox = Unconfined(identity, name="off" if config.sandbox == "off" else "process")
        self._host = Host(
            workspace,
            self._sandbox,
            partial(GuardedFiles, workspace),
            dict(os.environ),
            self.artifacts,
            id=identity,
        )
        self.session = session or identity
        self.trust = Trust(home.file("trust.json"), lambda data: home.replace(data, "trust.json"))
        self.registry = Registry()
        self.policy = ConfigPolicy(config.approval_tools, config.approval_default)
        self._executor = Executor(
            self.registry,
            self.policy,
            self._host,
            approver=approver,
            observers=(self.audit, self._stats),
            places=asyncio.Semaphore(places_at_once()),
        )
        self._sources = self._find_sources()
        self._loaded: list[Loaded] | None = None

    # Looking

    def tools(self) -> tuple[Tool, ...]:
        """A snapshot, in a stable order."""
        return self.registry.tools()

    def problems(self) -> tuple[Problem, ...]:
        """What is not on offer, and why."""
        return (*self.config.problems, *self._unread, *self.registry.problems())

    def find(self, name: str) -> Tool | None:
        """A tool by its exposed name, or by its bare name where that is unambiguous."""
        return self.registry.get(self.full_name(name))

    def full_name(self, name: str) -> str:
        prefixed = self.config.prefix + name
        known = self.registry.has(name) or self.registry.held(name)
        return prefixed if not known and (self.registry.has(prefixed) or self.registry.held(prefixed)) else name

    def verdict(self, tool: Tool, args: Mapping[str, JSON] | None = None) -> Verdict:
        """What the gate would say to a call."""
        return self.policy.judge(Call(tool.name, args or {}, "", self.session, self._asker), tool)

    def tool_directories(self) -> tuple[str, ...]:
        """Where programs are looked for, the project's last."""
        return self._directories

    def stats(self) -> dict[str, Any]:
        """Counters of this crib's calls."""
        return self._stats.to_dict()

    async def refresh(self) -> bool:
        """Read again what changed on disk. Says whether anything did."""
        found = await asyncio.gather(*(source.load() for source in self._sources))
        loaded = [(each, source.rank) for each, source in zip(found, self._sources, strict=True)]
        if self._loaded is not None and all(map(is_, found, self._loaded)):
            return False
        with undisturbed():
            fresh = self._registry_of(loaded)
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

    def _registry_of(self, loaded: Sequence[tuple[Loaded, int]]) -> Registry:
        fresh = Registry()
        for tool in self._own:
            fresh.register(tool, rank=OWN)
        for rank in (USER, PROJECT):
            offers = [self._protected(each) for each, its_rank in loaded if its_rank == rank]
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
            self._sandbox.close()
            self.audit.close()

    def prober(self) -> Prober:
        return Prober(self._host.sandbox, self._host.environ, self.config.variables, marks=self._host.next_id)

    def _protected(self, loaded: Loaded) -> Loaded:
        """Without the tools for which a protection is demanded that is not there: those answer with a problem."""
        config = self.config
        everywhere = "" if config.sandbox in BUILT_SANDBOXES else f"sandbox: {config.sandbox}"
        if not everywhere and not config.unprotected:
            return loaded
        tools, problems = [], list(loaded.problems)
        for tool in loaded.tools:
            missing = config.unprotected.get(tool.name) or everywhere
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

    def _find_sources(self) -> list[Source]:
        config = self.config
        self._directories: tuple[str, ...] = ()
        self._unread: list[Problem] = []
        if not config.enabled:
            return []
        global_dir = os.path.expanduser(config.global_dir) if config.global_dir else self.home.file("tools")
        project_dirs = [os.path.normpath(os.path.join(self.workspace, config.local_dir))]
        user_dirs = [os.path.abspath(global_dir)]
        for foreign in foreign_directories(self.workspace, self._host.environ):
            if foreign.system == "forge" and "forge" in config.compat:
                message = "these are folders with a tool.yaml, which this version does not read yet"
                self._unread.append(Problem(foreign.path, "CONFIG_INVALID", message))
            elif foreign.system in config.compat:
                (project_dirs if foreign.in_project else user_dirs).append(foreign.path)
        settings = Settings(config.prefix, config.limits, config.variables, config.tools)
        prober, cache = self.prober(), ProbeCache(self._cached, self._cache)

        def source(directory: str, rank: int, within: str | None = None) -> Source:
            return ExecutableSource(
                directory, prober, cache, settings, rank=rank, within=within, skipped=self.audit.skipped
            )

        self._directories = (*user_dirs, *project_dirs)
        found: list[Source] = [source(directory, USER) for directory in user_dirs]
        trusted = self.trust.trusts(self.workspace)
        for directory in project_dirs:
            if directory not in user_dirs:
                inner = source(directory, PROJECT, os.path.realpath(self.workspace)) if trusted else None
                found.append(ProjectSource(inner, directory, self.workspace, self.trust, prefix=config.prefix))
        return found

    def _cached(self, directory: str) -> bytes | None:
        try:
            with open(self.home.file("cache", _cache_name(directory)), "rb") as file:
                return file.read()
        except OSError:
            return None

    def _cache(self, directory: str, data: bytes) -> None:
        self.home.replace(data, "cache", _cache_name(directory))


class ProjectSource:
    """A project's tools, for as long as the project is trusted; before and after, only the word that they are there."""

    rank = PROJECT

    def __init__(self, inner: Source | None, directory: str, project: str, trust: Trust, *, prefix: str) -> None:
        self._inner, self._trust, self._project = inner, trust, project
        self._withheld = untrusted(directory, project, prefix)

    async def load(self) -> Loaded:
        if self._inner is not None and self._trust.trusts(self._project):
            return await self._inner.load()
        return self._withheld


def places_at_once() -> int:
    """How many processes may run at once, so that descriptors never run out."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(_MOST_AT_ONCE, (soft - _FDS_RESERVED) // _FDS_PER_PROCESS))


def _cache_name(directory: str) -> str:
    return "probes-" + directory.replace("%", "%25").replace("/", "%2F")[-200:] + ".json"
