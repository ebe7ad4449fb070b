"""One rule: which calls it is about, and what it says of them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ..core.call import Call
from ..core.policy import Decision, Verdict
from ..core.tool import Tool
from .names import ArgumentPattern, HostPattern, NamePattern, PathPattern
from .subjects import Judged, Mentions

if TYPE_CHECKING:
    from .commands import Pattern


class Origin(NamedTuple):
    """Where a rule stands."""

    layer: str
    """`user policy`, `project policy`, `toolsets`, …"""
    path: str
    line: int | None
    id: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.id})" if self.id else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Rule:
    """All conditions that are given must hold. Of several values in one condition, one must.

    A rule that loosens matches only what it surely covers; one that tightens matches what might be meant.
    """

    decision: Decision
    origin: Origin
    tools: tuple[NamePattern, ...] = ()
    sources: frozenset[str] = frozenset()
    capabilities: frozenset[str] = frozenset()
    arguments: tuple[ArgumentPattern, ...] = ()
    commands: tuple["Pattern", ...] = ()
    paths: tuple[PathPattern, ...] = ()
    access: str = ""
    """`read` or `write`; empty for both."""
    hosts: tuple[HostPattern, ...] = ()
    reason: str = ""
    verdict: Verdict = field(init=False, compare=False)
    loosens: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "loosens", self.decision is Decision.PRE_APPROVED)
        says = f"{self.reason} ({self.origin})" if self.reason else f"the rule at {self.origin}"
        object.__setattr__(self, "verdict", Verdict(self.decision, says))

    @property
    def narrow(self) -> bool:
        """Whether it looks at single commands, files or hosts."""
        return bool(self.commands or self.paths or self.hosts)

    def concerns(self, tool: Tool) -> bool:
        """Whether it could ever match a call of this tool."""
        if self.tools and not any(pattern.matches(tool.name) for pattern in self.tools):
            return False
        if self.sources and tool.source not in self.sources:
            return False
        return all(getattr(tool.capabilities, name) for name in self.capabilities)

    def admits(self, call: Call) -> bool:
        """Whether the arguments are such as it is about."""
        return not self.arguments or all(pattern.matches(call.args) for pattern in self.arguments)

    def matches(self, call: Call, judged: Judged, mentions: Mentions) -> bool:
        """Of a tool that it concerns."""
        if not self.admits(call):
            return False
        if self.commands:
            return self._matches_command(judged)
        if self.paths:
            return self._matches_path(judged, mentions)
        if self.hosts:
            return self._matches_host(judged, mentions)
        return True

    def _matches_command(self, judged: Judged) -> bool:
        if self.loosens:
            kind, words = judged.subject
            if kind != "command" or judged.own is not None:
                return False
            return any(pattern.covers(words) for pattern in self.commands)
        # A program that is not known at all could be any: that is asked about, as everything that cannot be seen.
        seen = [words for words in judged.commands if words and words[0] is not None]
        return any(pattern.touches(words) for words in seen for pattern in self.commands)

    def _matches_path(self, judged: Judged, mentions: Mentions) -> bool:
        kind, value = judged.subject
        if kind in ("read", "write"):
            return self.access in ("", kind) and self.holds(value[0])
        # A tool that does not say what it touches might mean any of its texts as a path, and so might a command: `cat`
        # is no way around a rule for files. Whether a command would write is not known; rules on commands are for that.
        if self.loosens or kind == "host" or (self.access == "write" and kind in ("command", "shell")):
            return False
        return mentions.too_many or any(map(self.holds, mentions.paths))

    def _matches_host(self, judged: Judged, mentions: Mentions) -> bool:
        kind, value = judged.subject
        if kind == "host":
            return any(pattern.matches(value[0]) for pattern in self.hosts)
        if self.loosens or kind in ("read", "write"):
            return False
        return mentions.too_many or any(pattern.matches(host) for pattern in self.hosts for host in mentions.hosts)

    def holds(self, path: str) -> bool:
        """Whether one of its paths is meant."""
        return any(pattern.matches(path) for pattern in self.paths)
