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
    name: frozenset(tools.split())
    for name, tools in {
        "filesystem": """
            read_file write_file edit_file delete_file list_directory list_files file_exists file_info read_artifact
            grep_artifact
        """,
        "search": "glob grep",
        "shell": "run_command job_output job_kill job_list",
        "todos": "todo_write todo_read",
        "code": """
            search_code get_codebase_map get_symbol_info get_imports_exports build_dependency_graph resolve_symbol
            find_references
        """,
        "project": "detect_project_type extract_conventions get_project_overview",
        "workshop": """
            create_custom_tool build_custom_tool run_custom_tool list_custom_tools delete_custom_tool
        """,
    }.items()
}
SOURCES = {"custom": "module", "external": "package"}
"""Toolsets that bring tools of their own, and the source these have."""
KEYS = {
    **dict.fromkeys(TOOLSETS, ("approval",)),
    "filesystem": ("approval", "roots"),
    "shell": ("approval", "rules"),
    "custom": ("approval", "module", "tools", "isolation"),
    "external": ("approval", "package", "import"),
}
ACCESS = ("read", "write")
ISOLATION = ("inline", "process")
"""Where a module's code runs: in this process, with all its rights, or in one of its own."""

PROJECT_MODULE = "project_module"
"""The source of tools from a project's module, which no claim of theirs can loosen."""

_NOT_ITS_OWN = "a project brings no packages; name it in your own configuration"
_OUTSIDE = "a project's module lies in {}, so that it is what was trusted"


@dataclass(frozen=True, slots=True)
class RuleList:
    """Rules as they stand in a file, to be read when the workspace is known."""

    document: "Document"
    at: tuple[str, ...]
    value: Any
    tightens: bool = False
    """Whether it is a project's, whose rules can only do that."""


@dataclass(frozen=True, slots=True)
class ModuleNamed:
    """A Python file, and which of its exports are tools."""

    path: str
    tools: tuple[str, ...]
    isolation: str = ""
    """Empty where nothing is said: then the user's runs `inline`, a project's in a `process`."""


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
    project_module: ModuleNamed | None = None
    """A file of the trusted project. Its code never runs in this process."""

    def offers(self, tool: str) -> bool:
        return self.named is None or any(tool in TOOLSETS.get(name, ()) for name in self.named)

    @property
    def files(self) -> tuple[str, ...]:
        """Files that are imported, which no tool may therefore write to."""
        return tuple(each.path for each in (self.module, self.project_module) if each is not None)

    def sources(self, workspace: str, settings: Mapping[str, "ToolSettings"]) -> list[Source]:
        """Of the modules and packages that are named. What they hold is not imported before it is asked for."""
        if self.module is None and self.package is None:
            return []
        from ..sources.python import ModuleSource, PackageSource  # late: most name none, and they look at signatures

        seconds = {name: each.seconds for name, each in settings.items() if each.seconds is not None}
        taken = builtin_names()
        found: list[Source] = []
        if self.module is not None and self.module.isolation != "process":
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

    def tightened(
        self, other: "Toolsets", ignored: Callable[..., None], refused: Callable[..., None], *, directory: str
    ) -> "Toolsets":
        """With what a project asks for, as far as it is stricter. `directory` is where all lies that is its own."""
        if other.package is not None:
            refused("toolsets", "external", "package", why=_NOT_ITS_OWN)
        brings = self._brought(other.module, ignored, refused, directory)
        unsaid = other.named is None or ("custom" in other.named and other.module is None)
        for name in other.named or ():
            if self.named is not None and name not in self.named and not (name == "custom" and brings):
                ignored("toolsets", name)
        named = self.named if other.named is None else other.named
        if self.named is not None and named is not None:
            named &= self.named
        if other.roots:
            ignored("toolsets", "filesystem", "roots")
        approvals = dict(self.approvals)
        for name, asked in other.approvals.items():
            of_its_own = name == "custom" and brings is not None
            place, source = (PROJECT_MODULE, PROJECT_MODULE) if of_its_own else (name, asked.source)
            held = approvals.get(place, Toolset(asked.tools, source=source))
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
            approvals[place] = replace(held, default=default, entries=entries)
        return replace(
            self,
            named=named,
            approvals=approvals,
            rules=(*self.rules, *(replace(each, tightens=True) for each in other.rules)),
            module=self.module if named is None or "custom" in named else None,
            package=self.package if named is None or "external" in named else None,
            project_module=brings or (self.project_module if unsaid else None),
        )

    def _brought(
        self, module: ModuleNamed | None, ignored: Callable[..., None], refused: Callable[..., None], directory: str
    ) -> ModuleNamed | None:
        """The module of a project, which is as good as its programs: it was trusted, and runs elsewhere."""
        if module is None:
            return None
        if not module.path.startswith(directory.rstrip("/") + "/"):
            refused("toolsets", "custom", "module", why=_OUTSIDE.format(directory))
            return None
        if module.isolation == "inline":
            ignored("toolsets", "custom", "isolation")
        return replace(module, isolation="process")


def builtin_names() -> frozenset[str]:
    """Of all built-in tools, on offer or not: nothing else is ever called so."""
    return frozenset().union(*TOOLSETS.values())
