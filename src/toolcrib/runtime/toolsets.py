"""`toolsets:` of the configuration: which groups of tools there are, and what holds for each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..core.policy import Decision, strictest
from ..core.source import Source
from ..policy.rules import Toolset

if TYPE_CHECKING:
    from ..sources.executable import ToolSettings
    from ..store.yamltext import Document

TOOLSETS: Mapping[str, frozenset[str]] = {
    "filesystem": frozenset(("read_file", "write_file")),
    "shell": frozenset(("run_command",)),
}
SOURCES = {"custom": "module", "external": "package"}
"""Toolsets that bring tools of their own, and the source these have."""
KEYS = {
    "filesystem": ("approval", "roots"),
    "shell": ("approval", "rules"),
    "custom": ("approval", "module", "tools"),
    "external": ("approval", "package", "import"),
}
ACCESS = ("read", "write")


@dataclass(frozen=True, slots=True)
class RuleList:
    """Rules as they stand in a file, to be read when the workspace is known."""

    document: "Document"
    at: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class ModuleNamed:
    """A Python file, and which of its exports are tools."""

    path: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PackageNamed:
    """An installed package, and what of it holds tools; nothing for its entry points."""

    package: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Toolsets:
    """All built-ins when nothing is said; else only the groups that are named."""

    named: frozenset[str] | None = None
    approvals: Mapping[str, Toolset] = field(default_factory=dict)
    roots: Mapping[str, str] = field(default_factory=dict)
    """More directories that tools may touch, and whether they may `read` or `write` there."""
    rules: tuple[RuleList, ...] = ()
    """For `run_command`, each file's own."""
    module: ModuleNamed | None = None
    package: PackageNamed | None = None

    def offers(self, tool: str) -> bool:
        return self.named is None or any(tool in TOOLSETS.get(name, ()) for name in self.named)

    @property
    def files(self) -> tuple[str, ...]:
        """Files that are imported, which no tool may therefore write to."""
        return () if self.module is None else (self.module.path,)

    def sources(self, workspace: str, settings: Mapping[str, "ToolSettings"]) -> list[Source]:
        """Of the modules and packages that are named. What they hold is not imported before it is asked for."""
        if self.module is None and self.package is None:
            return []
        from ..sources.python import ModuleSource, PackageSource  # late: most name none, and they look at signatures

        seconds = {name: each.seconds for name, each in settings.items() if each.seconds is not None}
        taken = frozenset().union(*TOOLSETS.values())
        found: list[Source] = []
        if self.module is not None:
            found.append(ModuleSource(self.module.path, self.module.tools, seconds=seconds, taken=taken))
        if self.package is not None:
            approval = self.approvals.get("external")
            found.append(
                PackageSource(
                    self.package.package,
                    self.package.attribute,
                    workspace=workspace,
                    expected=approval.entries if approval else (),
                    seconds=seconds,
                    taken=taken,
                )
            )
        return found

    def tightened(self, other: "Toolsets", ignored: Callable[..., None], refused: Callable[..., None]) -> "Toolsets":
        """With what a project asks for, as far as it is stricter. Code that it names is refused."""
        if other.module is not None:
            refused("toolsets", "custom", "module")
        if other.package is not None:
            refused("toolsets", "external", "package")
        for name in other.named or ():
            if self.named is not None and name not in self.named:
                ignored("toolsets", name)
        named = self.named if other.named is None else other.named & (self.named or other.named)
        if other.roots:
            ignored("toolsets", "filesystem", "roots")
        approvals = dict(self.approvals)
        for name, asked in other.approvals.items():
            held = approvals.get(name, Toolset(asked.tools, source=asked.source))
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
        return replace(
            self,
            named=named,
            approvals=approvals,
            rules=(*self.rules, *other.rules),
            module=self.module if named is None or "custom" in named else None,
            package=self.package if named is None or "external" in named else None,
        )
