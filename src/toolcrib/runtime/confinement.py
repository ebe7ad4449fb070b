"""Which sandbox each tool runs in, by the configuration, by what it declares, and by what was granted to it.

Who says what: the user's configuration first. Where that is silent about the network, a tool has what it declares, once
a person said yes to it with that in view, and what was granted to it by name. A project can only tighten.
"""

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ..backends.wishes import NO_WISHES, Wishes
from ..core.errors import Refused
from ..core.process import Command, Completed, Ended, Sandbox
from ..core.tool import Tool
from ..policy.grants import ENV, Granted
from ..policy.request import Shown
from ..sandbox.aftermath import PutAside
from ..sandbox.cage import BUBBLEWRAP, LANDLOCK, OFF, PROCESS, SEATBELT, UNCONFINED, Bounds, Cage
from ..sandbox.choose import Chosen
from ..sandbox.confined import Confined
from ..sandbox.grantable import Grounds
from ..sandbox.processes import Processes
from .config import Config
from .demand import demanded_in_vain, in_words, kind_of, wishes_of
from .rights import NOTHING_SAID, ON, Network, Rights, listed, narrower, reach, spelt, stricter
from .rights import OFF as NO_NETWORK

if TYPE_CHECKING:
    from ..sandbox.lending import Loan

_BY_STRICTNESS = (OFF, PROCESS, LANDLOCK, SEATBELT, BUBBLEWRAP)
_MOST_HELD = 4096


class Given(NamedTuple):
    """What a tool runs with, to be put into force and to be shown."""

    tier: str
    network: Network = NO_NETWORK
    ro: tuple[str, ...] = ()
    rw: tuple[str, ...] = ()
    """Beyond the system, its own folder, the installations on PATH and the workspace. Only what is there now."""
    bounds: Bounds = Bounds()
    whole: bool = True
    """Nothing that it is given is missing at the moment."""

    @property
    def confined(self) -> bool:
        return self.tier not in UNCONFINED

    def __str__(self) -> str:
        if not self.confined:
            return "none: it runs with your rights"
        network = {ON: "the network", NO_NETWORK: "no network"}.get(str(self.network))
        reads = [f"reads {listed(self.ro)}"] if self.ro else []
        writes = " and in ".join(("writes in the workspace", *self.rw))
        return f"{self.tier}: {', '.join((writes, *reads, network or f'reaches only {listed(self.network)}'))}"


class Surroundings(NamedTuple):
    """Where a runtime stands."""

    workspace: str
    home: str
    """Where Toolcrib keeps its own."""
    environ: Mapping[str, str]
    tiers: Callable[[], Chosen]
    granted: Callable[[Tool], Sequence[Granted]] = lambda tool: ()
    """What a person granted to this very version of a tool."""
    allowed: Callable[[Tool], bool] = lambda tool: False
    """Whether a person who saw what this very version declares said yes to it."""
    proxy: Callable[[tuple[str, ...]], str] = lambda hosts: ""
    """The socket of a proxy that lets through to these hosts alone."""
    told: MutableMapping[str, Sequence[PutAside]] | None = None
    """Where it is noted what a program made in protected places."""
    lent: Callable[[], Iterable[str]] = tuple
    """All paths that some tool was granted to write to."""
    tools: Callable[[], Iterable[Tool]] = tuple
    """All that are there."""


class Confinement:
    """Hands out sandboxes. One for each runtime."""

    def __init__(self, processes: Processes, config: Config, around: Surroundings) -> None:
        self._processes, self._config, self._around = processes, config, around
        home = around.environ.get("HOME") or os.path.expanduser("~")
        self.grounds = Grounds(*map(os.path.realpath, (around.workspace, home, around.home)))
        self._held: dict[tuple[str, str, Wishes, tuple[Granted, ...]], Sandbox] = {}

    @cached_property
    def chosen(self) -> Chosen:
        """Which tiers hold here. Found out when something is first to be confined."""
        return self._around.tiers()

    def sandbox_for(self, tool: Tool) -> Sandbox:
        """What a tool's programs are started in.

        Raises:
            Refused: it is to be confined in a way that is not to be had here; with the remedy.
        """
        granted, wishes = tuple(self._around.granted(tool)), self._wishes(tool)
        held = self._held.get((tool.name, tool.digest, wishes, granted))
        return held or self._made(tool, wishes, granted)

    def cage_for(self, tool: Tool) -> Cage:
        """What a tool's programs may reach. Raises: `Refused`, as above."""
        return self._cage(tool, self.given(tool))

    def _cage(self, tool: Tool, given: Given) -> Cage:
        if not given.confined:
            return Cage(given.tier, bounds=given.bounds)
        hosts = () if isinstance(given.network, str) else given.network
        return Cage(
            given.tier,
            workspace=self.grounds.workspace,
            readable=tuple(dict.fromkeys((*self._folder_of(tool), *self._installations, *given.ro))),
            writable=given.rw,
            installs=kind_of(tool) == "run_command",
            network=given.network == ON,
            hosts=hosts,
            proxy=self._around.proxy(hosts) if hosts else "",
            bounds=given.bounds,
        )

    def given(self, tool: Tool) -> Given:
        """What a tool runs with. Raises: `Refused`, as above."""
        return self._given(tool, self._wishes(tool))

    def _given(self, tool: Tool, wishes: Wishes) -> Given:
        kind, names = kind_of(tool), self._names(tool)
        if not kind:
            if problem := demanded_in_vain(tool, self._config):
                raise _unavailable(problem)
            return Given(self._processes.name)
        rights = self._config.ruling.of(kind, names[0])
        layers = [*(each.of(kind, *names) for each in self._config.tighter), self._under_its_new_name(names)]
        tier = self._tier(tool, rights, layers)
        self._check_workspace(tool, tier)
        granted = self._around.granted(tool)
        asked = (*wishes.network, *(each.value for each in granted if each.kind == "network"))
        network = self._network(tool, rights, layers, asked, tier)
        bounds = rights.bounds
        for each in layers:
            bounds = stricter(bounds, each.bounds)
        if tier in UNCONFINED:
            return Given(tier, network, bounds=bounds)
        ro, rw = self._files(rights, wishes, granted)
        there = [path for path in (*ro, *rw) if os.path.exists(path)]
        return Given(
            tier,
            network,
            tuple(path for path in ro if path in there),
            tuple(path for path in rw if path in there),
            bounds,
            whole=len(there) == len(ro) + len(rw),
        )

    def shown(self, tool: Tool) -> Shown:
        """What a person is told of it before they answer: what it has when they say yes."""
        if not tool.backend.starts_process:
            return Shown(self._processes.name)
        given = self._given(tool, wishes_of(tool))
        return Shown(given.tier, str(given), tuple(in_words(wishes_of(tool))))

    def tier_of(self, kind: str) -> str:
        """What tools of a kind run in that nothing is said of by name."""
        rights = self._config.ruling.of(kind)
        try:
            return self._tier(None, rights, [each.of(kind) for each in self._config.tighter])
        except Refused:  # they will not run
            return rights.sandbox

    def for_probe(self, folder: str) -> Sandbox:
        """What a program is described in that nobody approved yet: it reads its own folder, and writes nowhere."""
        return _Describing(self, f"{folder}/", "executable")

    def for_module(self, path: str) -> Sandbox:
        """The same for a module of Python, which reads the workspace as well."""
        return _Describing(self, path, "module")

    def probe_cage(self, file: str, kind: str) -> Cage:
        """Raises: `Refused`, as above."""
        layers = [each.of(kind) for each in self._config.tighter]
        tier = self._tier(None, self._config.ruling.of(kind), layers)
        if tier in UNCONFINED:
            return Cage(tier)
        if kind == "module":
            self._check_workspace(None, tier)
        own = self.grounds.folder_of(file)
        return Cage(
            tier,
            workspace=self.grounds.workspace if kind == "module" else "".join(own),
            workspace_writable=False,
            readable=tuple(dict.fromkeys((*own, *self._installations))),
        )

    def caged(self, cage: Cage, withheld: tuple[str, ...] = ()) -> Confined:
        return Confined(self._processes, cage, self._around.told, withheld)

    def _made(self, tool: Tool, wishes: Wishes, granted: tuple[Granted, ...]) -> Sandbox:
        given = self._given(tool, wishes)
        cage = self._cage(tool, given)
        withheld = self._withheld(tool, granted) if wishes is NO_WISHES else ()
        plain = cage == Cage(self._processes.name) and not withheld
        made = self._processes if plain else self.caged(cage, withheld)
        if given.whole:  # what is missing now may come
            if len(self._held) >= _MOST_HELD:
                self._held.clear()
            self._held[tool.name, tool.digest, wishes, granted] = made
        return made

    def _wishes(self, tool: Tool) -> Wishes:
        """What it declares, once somebody who saw that said yes."""
        found = wishes_of(tool)
        asks = found is not NO_WISHES and any(found._replace(requires=()))
        return found if asks and self._around.allowed(tool) else NO_WISHES

    def _withheld(self, tool: Tool, granted: Sequence[Granted]) -> tuple[str, ...]:
        """The variables that it declares, and does not have in another way either."""
        found, own = wishes_of(tool), self._names(tool)[0]
        has = {*getattr(tool.backend, "variables", ()), *(each.name for each in self._config.secrets.get(own, ()))}
        has.update(each.value for each in granted if each.kind == ENV)
        return tuple(name for name in dict.fromkeys((*found.env, *found.secrets)) if name not in has)

    # Which tier

    def _tier(self, tool: Tool | None, rights: Rights, layers: Sequence[Rights]) -> str:
        tier = self._holding(rights.sandbox, tool)
        for each in layers:
            if each.sandbox in ("", OFF, PROCESS):
                tier = max(tier, each.sandbox or OFF, key=_BY_STRICTNESS.index)
                continue
            least = self.chosen.tier if each.sandbox == "auto" else each.sandbox
            if _BY_STRICTNESS.index(tier) < _BY_STRICTNESS.index(least):
                tier = self._holding(least, tool)
        return tier

    def _holding(self, said: str, tool: Tool | None) -> str:
        """The tier that is meant. Raises: `Refused`, when it does not hold here."""
        if said in UNCONFINED:
            return said
        if said == "auto":
            return self.chosen.tier
        if why := self.chosen.why.get(said, "this system does not have it"):
            raise _unavailable(f"{_called(tool)} is to run under `sandbox: {said}`, which does not hold here: {why}")
        return said

    def _check_workspace(self, tool: Tool | None, tier: str) -> None:
        """Raises: `Refused`, when a program would find what decides about tools, keys, or what other calls have."""
        if tier in UNCONFINED:
            return
        temporary = os.path.dirname(self._processes.scratch.root)
        if self.grounds.holds(temporary):
            what = f"the workspace is, or holds, {temporary}, and there the temporary directories of all tools lie"
            raise _unavailable(f"{_called(tool)} does not run: {what}; set TMPDIR to a directory outside of it")
        if not (found := self.grounds.exposed(keys_are_hidden=tier == BUBBLEWRAP)):
            return
        remedy = "use a workspace that holds no keys and nothing of Toolcrib's own"
        if not self.grounds.exposed(keys_are_hidden=True):
            remedy += f", or bubblewrap, which hides them{self._why_not()}"
        what = f"the workspace is, or holds, {found}, and {tier} cannot keep it from there"
        raise _unavailable(f"{_called(tool)} does not run: {what}; {remedy}")

    # What it reaches

    def _network(
        self, tool: Tool, rights: Rights, layers: Sequence[Rights], asked: Sequence[str], tier: str
    ) -> Network:
        network = rights.network or reach(asked)
        demanded: Network = rights.network
        for each in layers:
            network, demanded = narrower(network, each.network), narrower(demanded, each.network)
        name = _called(tool)
        if tier in UNCONFINED:
            if demanded and demanded != ON:
                demand = f"`network: {spelt(demanded)}`, and under `sandbox: {tier}` nothing holds it to that"
                raise _unavailable(f"{name} is to run with {demand}{self._why_not()}")
            return ON
        if not isinstance(network, str) and tier != BUBBLEWRAP:
            why = self.chosen.why.get(BUBBLEWRAP) or "it is not what `sandbox:` says"
            raise _unavailable(
                f"{name} may reach only {listed(network)}, and {tier} can hold no program to hosts. Bubblewrap could: "
                f"{why}. To let it have the whole network, type: toolcrib grant {name} network"
            )
        return network

    def _why_not(self) -> str:
        return "".join(f"; {tier}: {why}" for tier, why in self.chosen.why.items() if why)

    def _files(self, rights: Rights, wishes: Wishes, granted: Sequence[Granted]) -> tuple[list[str], list[str]]:
        """Real paths that it reads, and those that it also writes."""
        grounds = self.grounds
        found: dict[str, dict[str, None]] = {}
        for access, named, asked in (("ro", rights.ro, wishes.ro), ("rw", rights.rw, wishes.rw)):
            # What was granted is a path without links: where one came into its way since, it leads elsewhere.
            fixed = [each.value for each in granted if each.kind == access]
            fixed = [path for path in fixed if os.path.realpath(path) == path]
            paths = [grounds.leads_to(path, written=self._written) for path in (*named, *fixed)]
            paths += [grounds.asked_for(path, written=self._written) for path in asked]
            found[access] = dict.fromkeys(filter(None, paths))
        return [path for path in found["ro"] if path not in found["rw"]], list(found["rw"])

    def _written(self) -> Iterator[str]:
        """Where a tool may have put a link, whether or not it still may: another is not let in where that leads."""
        ruling = self._config.ruling
        for rights in (*ruling.kinds.values(), *ruling.tools.values()):
            yield from rights.rw
        yield from self._around.lent()
        for tool in self._around.tools():
            yield from map(self.grounds.spelt_out, wishes_of(tool).rw)

    # What it reads anyway

    def _folder_of(self, tool: Tool) -> tuple[str, ...]:
        if kind_of(tool) == "run_command" or not os.path.isabs(tool.origin):
            return ()
        backend = getattr(tool.backend, "inner", tool.backend)
        program = getattr(backend, "program", "")
        own = self.behind(program) if isinstance(program, str) and os.path.isabs(program) else ()
        return (*self.grounds.folder_of(tool.origin), *own)

    def behind(self, program: str) -> tuple[str, ...]:
        """The interpreter that a program names, and the environment of Python beside it."""
        from ..sandbox.installations import behind  # late, as below

        return behind(program, self.grounds.home, self.grounds.workspace)

    @cached_property
    def _installations(self) -> tuple[str, ...]:
        from ..sandbox.installations import installations  # late: it looks at all that is on PATH

        environ = self._around.environ
        path = environ.get("PATH", os.defpath) if "PATH" in self._config.variables else os.defpath
        return installations(path, self.grounds.home, self.grounds.workspace)

    # Whom it is about

    def _names(self, tool: Tool) -> tuple[str, ...]:
        """The name that settings speak of, and the one that it is offered under."""
        return tuple(dict.fromkeys((self._config.offer.own_name(tool), tool.name)))

    def _under_its_new_name(self, names: tuple[str, ...]) -> Rights:
        """Settings name a tool by its own name. One under the other name is a mistake that must not loosen anything."""
        return self._config.rights.get(names[1], NOTHING_SAID) if len(names) > 1 else NOTHING_SAID


class _Describing:
    """A sandbox that is made when something is started in it: by then what is wrong with it can be said."""

    name = PROCESS

    def __init__(self, confinement: Confinement, file: str, kind: str) -> None:
        self._confinement, self._about = confinement, (file, kind)

    async def exec(self, command: Command, *, ended: Ended | None = None) -> Completed:
        return await self._confined().exec(self._readable(command), ended=ended)

    def lend(self, command: Command, *, key: Hashable, marks: Callable[[], str]) -> "Loan":
        return self._confined().lend(self._readable(command), key=key, marks=marks)

    def _readable(self, command: Command) -> Command:
        """Its program may be a copy, which lies elsewhere than the environment that it was written for."""
        program = command.argv[0]
        beside = os.path.join(os.path.dirname(self._about[0]), os.path.basename(program))
        found = (*self._confinement.behind(program), *self._confinement.behind(beside))
        return command._replace(reads=(*command.reads, *found))

    def _confined(self) -> Confined:
        return self._confinement.caged(self._confinement.probe_cage(*self._about))


def _called(tool: Tool | None) -> str:
    return "describing a program" if tool is None else tool.name


def _unavailable(message: str) -> Refused:
    return Refused(message, code="SANDBOX_UNAVAILABLE")
