"""`toolsets:` of the configuration: which groups of built-in tools there are, and what holds for each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..core.policy import Decision, strictest
from ..policy.rules import Toolset

if TYPE_CHECKING:
    from ..store.yamltext import Document

TOOLSETS: Mapping[str, frozenset[str]] = {
    "filesystem": frozenset(("read_file", "write_file")),
    "shell": frozenset(("run_command",)),
}
LATER = ("custom", "external")
"""Known, and not read by this version."""
KEYS = {"filesystem": ("approval", "roots"), "shell": ("approval", "rules")}
ACCESS = ("read", "write")


@dataclass(frozen=True, slots=True)
class RuleList:
    """Rules as they stand in a file, to be read when the workspace is known."""

    document: "Document"
    at: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Toolsets:
    """All built-ins when nothing is said; else only the groups that are named."""

    named: frozenset[str] | None = None
    approvals: Mapping[str, Toolset] = field(default_factory=dict)
    roots: Mapping[str, str] = field(default_factory=dict)
    """More directories that tools may touch, and whether they may `read` or `write` there."""
    rules: tuple[RuleList, ...] = ()
    """For `run_command`, each file's own."""

    def offers(self, tool: str) -> bool:
        return self.named is None or any(tool in TOOLSETS.get(name, ()) for name in self.named)

    def tightened(self, other: "Toolsets", ignored: Callable[..., None]) -> "Toolsets":
        """With what a project asks for, as far as it is stricter."""
        for name in other.named or ():
            if self.named is not None and name not in self.named:
                ignored("toolsets", name)
        named = self.named if other.named is None else other.named & (self.named or other.named)
        if other.roots:
            ignored("toolsets", "filesystem", "roots")
        approvals = dict(self.approvals)
        for name, asked in other.approvals.items():
            held = approvals.get(name, Toolset(asked.tools))
            default, entries = held.default, dict(held.entries)
            if asked.default is not None and asked.default.decision is Decision.PRE_APPROVED:
                ignored("toolsets", name, "approval", "default")
            elif asked.default is not None:
                default = strictest([asked.default, *([default] if default else [])])
            for tool, verdict in asked.entries.items():
                if verdict.decision is Decision.PRE_APPROVED:
                    ignored("toolsets", name, "approval", "tools", tool)
                else:
                    entries[tool] = strictest([verdict, *([entries[tool]] if tool in entries else [])])
            approvals[name] = replace(held, default=default, entries=entries)
        return replace(self, named=named, approvals=approvals, rules=(*self.rules, *other.rules))
