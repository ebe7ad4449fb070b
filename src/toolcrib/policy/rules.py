"""The verdict on a call: the strictest of what speaks, and only where nothing speaks, a default."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..core.call import Call
from ..core.policy import Decision, Verdict
from ..core.tool import NO_HOOKS, Capabilities, Subject, Tool
from .index import Index
from .rule import Rule
from .subjects import WHOLE, Judged, Located, Places, subjects

_OWN = Verdict(Decision.PRE_APPROVED, "the program that runs this handed the tool over")
_READS = Verdict(Decision.PRE_APPROVED, "a built-in that only reads the workspace")
_ELSE = Verdict(Decision.ASK, "nothing is configured for it, and the default is to ask")
_ANY_OPTION = frozenset("*")
_LOOSENING = "module"
"""The source of tools whose claims may loosen: modules that the user's own configuration names, and nothing else."""
_GROUPED = frozenset(("builtin", "module", "package", "project_module"))
"""Sources whose tools belong to a toolset."""


class Voice(NamedTuple):
    """What one layer says of one subject."""

    layer: str
    verdict: Verdict
    rule: Rule | None = None


class Opinion(NamedTuple):
    """All that is said of one subject, and what comes of it."""

    judged: Judged
    voices: tuple[Voice, ...]
    default: Voice

    @property
    def decisive(self) -> Voice:
        return max(self.voices, key=lambda voice: voice.verdict.decision) if self.voices else self.default


@dataclass(frozen=True, slots=True)
class Toolset:
    """What the configuration says of a group of tools."""

    tools: frozenset[str]
    """Names of built-ins; from any other source, all its tools belong to the group."""
    default: Verdict | None = None
    entries: Mapping[str, Verdict] = field(default_factory=dict)
    source: str = "builtin"


class Anywhere:
    """No workspace: nothing is inside. For those who judge without one."""

    def locate(self, path: str, *, write: bool = False) -> Located:
        return _Nowhere(path)


class _Nowhere(NamedTuple):
    real: str
    zone: str = "outside"
    writable: bool = False
    protected: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class RulePolicy:
    """Rules, entries for single tools, the tool's own claim. `blocked` is absolute.

    A claim can only tighten; that of a module which the user's own configuration names may also replace a default.
    """

    entries: Mapping[str, Verdict] = field(default_factory=dict)
    default: Verdict | None = None
    rules: Sequence[Rule] = ()
    toolsets: Sequence[Toolset] = ()
    places: Places = field(default_factory=Anywhere)
    search: str = ""
    """The PATH by which programs are found."""
    _known: dict[str, tuple[str, Capabilities, Index]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    _reached: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    def judge(self, call: Call, tool: Tool) -> Verdict:
        default = self.default
        if default is not None and default.decision is Decision.BLOCKED:
            return default
        if tool.hooks.touches is None and tool.source not in _GROUPED and not (self.rules and self._index(tool)):
            entry = self.entries.get(tool.name)
            claim = None if tool.needs_approval is None else _claimed(call, tool)
            if entry is None or claim is None:
                return entry or claim or default or _by_kind(tool)
        return self.veiled(together(self.opinions(call, tool)), call, tool)

    def veiled(self, verdict: Verdict, call: Call, tool: Tool) -> Verdict:
        """With what the rules keep from a call that looks through a directory."""
        veil = self._index(tool).veil(call) if self.rules else None
        if veil is None:
            return verdict
        before = verdict.veil or (lambda path: False)
        return replace(verdict, veil=lambda path: before(path) or veil(path))

    def in_general(self, tool: Tool) -> Verdict:
        """What holds for a tool before anything is known of a call: for a list of tools."""
        return self.generally(tool).decisive.verdict

    def generally(self, tool: Tool) -> Opinion:
        """All that is said of a tool before anything is known of a call."""
        claim = "ask" if callable(tool.needs_approval) else tool.needs_approval
        plain = tool._replace(hooks=NO_HOOKS, needs_approval=claim)
        general = self._general(Call(tool.name, {}, ""), plain)
        return self._opinion(plain, WHOLE[0], self._index(tool).general(), general)

    def opinions(self, call: Call, tool: Tool) -> tuple[Opinion, ...]:
        """What every layer says, subject by subject."""
        index = self._index(tool)
        whole, general = index.speaking(call), tuple(self._general(call, tool))
        return tuple(
            self._opinion(tool, judged, index.matching(call, judged, self.places, whole), general)
            for judged in subjects(call, tool, self.places)
        )

    def _opinion(self, tool: Tool, judged: Judged, matching: Sequence[Rule], general: Iterable[Voice]) -> Opinion:
        voices = [*(Voice(rule.origin.layer, rule.verdict, rule) for rule in matching), *general]
        if judged.own is not None and not _is_named(judged, matching):
            voices.append(Voice("analysis", judged.own))
        elif judged.subject.kind == "command" and (doubt := self._doubt(judged.subject, matching)):
            voices.append(Voice("analysis", Verdict(Decision.ASK, f"never pre-approved: {doubt}")))
        return Opinion(judged, tuple(voices), self._default(tool, judged))

    def _doubt(self, subject: Subject, matching: Sequence[Rule]) -> str:
        """Why a command that is about to be pre-approved should not be."""
        from .programs import hazards  # late: the table of programs is needed when a command is judged

        covered = any(rule.commands and rule.loosens for rule in matching)
        risky = () if covered else hazards(subject.value, _ANY_OPTION)
        return "; ".join(risky) or self._misplaced(subject.value[0])

    def _misplaced(self, program: str) -> str:
        """A bare name means another program when PATH leads through the workspace."""
        if "/" in program:
            return ""
        for directory in self.search.split(":"):
            if not self._is_elsewhere(directory):
                return f"PATH looks for {program} in {directory or 'the current directory'}, which tools can write to"
            found = os.path.join(directory, program)
            if os.path.isfile(found) and os.access(found, os.X_OK):
                return ""
        return ""

    def _is_elsewhere(self, directory: str) -> bool:
        """Whether a directory of the PATH is out of the tools' reach. The path is fixed, so this is asked once."""
        held = self._reached.get(directory)
        if held is None:
            outside = os.path.isabs(directory) and self.places.locate(directory).zone == "outside"
            held = self._reached[directory] = outside
        return held

    def _general(self, call: Call, tool: Tool) -> Iterator[Voice]:
        """What is said of the tool, whatever the call does with it."""
        if entry := self.entries.get(tool.name):
            yield Voice("config", entry)
        for toolset in self._toolsets(tool):
            if entry := toolset.entries.get(tool.name):
                yield Voice("toolset", entry)
        if tool.needs_approval is not None and (claim := _claimed(call, tool)):
            yield Voice("tool", claim)
        for default in (self.default, *(toolset.default for toolset in self._toolsets(tool))):
            if default is not None and default.decision is Decision.BLOCKED:
                yield Voice("default", default)

    def _default(self, tool: Tool, judged: Judged) -> Voice:
        for toolset in self._toolsets(tool):
            if toolset.default is not None:
                return Voice("default", toolset.default)
        if self.default is not None:
            return Voice("default", self.default)
        return Voice("default", judged.default or _by_kind(tool))

    def _toolsets(self, tool: Tool) -> Iterator[Toolset]:
        for toolset in self.toolsets:
            if toolset.source == tool.source and (tool.source != "builtin" or tool.name in toolset.tools):
                yield toolset

    def _index(self, tool: Tool) -> Index:
        held = self._known.get(tool.name)
        if held is None or held[0] != tool.source or held[1] is not tool.capabilities:
            index = Index([rule for rule in self.rules if rule.concerns(tool)])
            held = self._known[tool.name] = (tool.source, tool.capabilities, index)
        return held[2]


def together(opinions: Sequence[Opinion]) -> Verdict:
    """One verdict: the strictest of all subjects, with what a person would have to be asked about."""
    decisive = [opinion.decisive.verdict for opinion in opinions]
    verdict = max(decisive, key=lambda each: each.decision)
    asked = tuple(
        dict.fromkeys(
            opinion.judged.asked or opinion.judged.subject
            for opinion, each in zip(opinions, decisive, strict=True)
            if each.decision is Decision.ASK
        )
    )
    paths = {opinion.judged.given: opinion.judged.subject.value[0] for opinion in opinions if opinion.judged.given}
    return replace(verdict, asked=asked, paths=paths) if asked or paths else verdict


def _is_named(judged: Judged, matching: Sequence[Rule]) -> bool:
    """Whether a rule allows a file of a tool, and names the place: one for all of the workspace does not mean tools."""
    kind, value = judged.subject
    if kind not in ("read", "write") or len(value) < 2:
        return False
    tools = os.path.dirname(value[1]) + "/"
    named = (path for rule in matching if rule.loosens for path in rule.paths if path.matches(value[0]))
    return any(f"{path.prefix}/".startswith(tools) for path in named)


def _by_kind(tool: Tool) -> Verdict:
    if tool.source == "function":
        return _OWN
    claims = tool.capabilities
    if tool.source == "builtin" and not (claims.writes_files or claims.executes_commands or claims.accesses_network):
        return _READS
    return _ELSE


def _claimed(call: Call, tool: Tool) -> Verdict | None:
    """What the tool says of itself, where that is stricter than saying nothing, or where it may loosen."""
    claim = tool.needs_approval
    if callable(claim):
        claim = claim(call.args)
    if claim is True:
        claim = "ask"
    decision = Decision.PRE_APPROVED if claim is False else Decision.parse(claim)
    heard = decision is not Decision.PRE_APPROVED or tool.source == _LOOSENING
    return Verdict(decision, "the tool itself says so") if heard else None
