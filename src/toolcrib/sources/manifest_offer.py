"""What is offered of the folders of one tools directory: tools, and problems in the place of others."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..backends.arguments import Carried
from ..backends.declared import Surroundings
from ..backends.folder import MANIFEST, FolderBackend, content_of
from ..backends.wishes import NO_WISHES, Wishes
from ..core.errors import ToolcribError
from ..core.jsontext import parse
from ..core.limits import Limits
from ..core.schema import Schema
from ..core.source import Loaded, Problem
from ..core.tool import NAME, Capabilities, Hooks, Tool
from .executable import CAPABILITIES, Settings
from .manifest_cache import DECLARED, MORE, PROBLEM, TOOL, Kept, More
from .requirement import UNMET

_made = tuple.__new__
_UNSAID = tuple(Tool._field_defaults[name] for name in Tool._fields[11:])
"""The last fields of a tool, of which a manifest says nothing."""
_NO_MORE = More()
_CLOSED = Hooks(Carried(None))
"""Of all tools whose schema refuses arguments that they do not know."""


@dataclass(frozen=True, slots=True)
class Misread(Problem):
    """A problem that stands at a place of a manifest."""

    line: int = 1
    column: int = 1

    def to_dict(self) -> dict[str, Any]:
        return Problem.to_dict(self) | {"line": self.line, "column": self.column}


class Offering:
    """Makes tools of what is known of folders. A thousand are made before the first list is shown."""

    def __init__(
        self,
        directory: str,
        settings: Settings,
        *,
        of_project: bool,
        around: Callable[[], Surroundings] | None = None,
    ) -> None:
        """`around` is what tools with a `backend:` are handed; without it there are none."""
        self._directory, self._settings, self._of_project, self._around = directory, settings, of_project, around
        self._limits: dict[tuple[float | None, int | None], Limits] = {}

    def offer(self, now: Mapping[str, Kept], objections: Mapping[str, str], lacking: Mapping[str, str]) -> Loaded:
        """All of these, but those that something speaks against, that need what is not there, or are replaced."""
        tools: dict[str, Tool] = {}
        problems, replacing = [], {}
        prefix, spoken = self._settings.prefix, bool(objections or lacking)
        for name, kept in now.items():
            exposed, listing, answer = prefix + name, kept[2], kept[3]
            if spoken or len(answer) != TOOL or len(exposed) > 64:  # none of it is so of a thousand good ones
                if problem := self._against(name, exposed, kept, objections, lacking):
                    problems.append(problem)
                if problem or not answer:
                    continue
                if len(answer) == DECLARED:
                    made = self._declared(name, *answer)
                    if isinstance(made, Problem):
                        problems.append(made)
                    else:
                        tools[name] = made
                    continue
            tools[name] = self._tool(name, exposed, listing, answer)
            if answer[MORE] and (replaces := More(*answer[MORE]).replaces):
                replacing[name] = replaces
        replaced = _replaced(replacing, tools)
        problems += [self._replaced(tools[old], tools[new], old) for old, new in replaced.items()]
        return Loaded(tuple(tool for name, tool in tools.items() if name not in replaced), tuple(problems))

    def _against(
        self, name: str, exposed: str, kept: Kept, objections: Mapping[str, str], lacking: Mapping[str, str]
    ) -> Problem | None:
        """What speaks against offering a folder."""
        if name in objections:
            return self._problem(name, "WORKSPACE_UNTRUSTED", objections[name], holds=True)
        _, _, listing, answer = kept
        if len(answer) == PROBLEM:
            return self._misread(name, *answer, holds=self._of_project and not listing)
        if answer and len(exposed) > 64:
            message = f"{exposed} is longer than 64 characters; give the tool a shorter name"
            return self._problem(name, "TOOL_NAME_INVALID", message)
        return self._problem(name, UNMET, lacking[name]) if name in lacking else None

    def _tool(self, name: str, exposed: str, listing: str, answer: tuple[Any, ...]) -> Tool:
        about, version, entrypoint, schema, names, digest, more = answer
        seconds, output, claims, wished, replaces, warm, closed = more or _NO_MORE
        settings = self._settings
        limits, variables = self._limits.get((seconds, output)) or self._limited(seconds, output), settings.variables
        if exposed in settings.per_tool:
            limits, variables = settings.of(exposed, seconds)
            limits = _within(limits, output)
            told = settings.per_tool[exposed].warm
            warm = warm if told is None else told
        wishes = Wishes(*wished) if wished else NO_WISHES
        folder = f"{self._directory}/{name}"
        # Made as tuples, which takes a third of the time that their own constructors take; so all fields stand here.
        backend = (folder, entrypoint, names, listing, digest, variables, wishes, replaces, warm)
        tool = (
            exposed,
            about,
            Schema(None, schema),
            _made(FolderBackend, backend),
            "manifest",
            f"{folder}/{MANIFEST}",
            version,
            digest,
            _capabilities(claims, wishes) if claims or wished else CAPABILITIES,
            limits,
            _CLOSED if closed else Hooks(Carried(names)),
            *_UNSAID,
        )
        return _made(Tool, tool)

    def _declared(self, name: str, declaration: str, digest: str) -> Tool | Problem:
        """A tool of the form that skills have as well."""
        from ..store.yamltext import Document  # late: it brings YAML, and few tools are of this form
        from .declared import Stand, declared_tool

        folder, settings = f"{self._directory}/{name}", self._settings
        path = f"{folder}/{MANIFEST}"
        if self._around is None:
            return self._problem(name, "ENGINE_NOT_AVAILABLE", "this host runs no tools with a `backend:`")
        stand = Stand(path, folder, digest, source="manifest", prefix=settings.prefix)
        made = declared_tool(
            Document(parse(declaration), "", path), (), stand=stand, around=self._around(), settings=settings
        )
        if made.tool is None:
            fault = made.faults[0]
            return self._misread(name, fault.code, str(fault), fault.line, fault.column, holds=self._of_project)
        if _digest(folder) != digest:  # the backend may have read another file than was looked at
            message = "it changes while it is read; list the tools again"
            return self._problem(name, "TOOL_PIN_MISMATCH", message, holds=self._of_project)
        return made.tool

    def _limited(self, seconds: float | None, output: int | None) -> Limits:
        """What holds for all, with a tool's own wishes. Many tools have the same ones."""
        usual = self._settings.limits
        found = _within(Limits(seconds or usual.seconds, usual.output_bytes, usual.memory_bytes), output)
        self._limits[seconds, output] = found
        return found

    def _problem(self, name: str, code: str, message: str, *, holds: bool = False) -> Problem:
        return Problem(f"{self._directory}/{name}/{MANIFEST}", code, message, self._held(name) if holds else ())

    def _misread(self, name: str, code: str, message: str, line: int, column: int, *, holds: bool) -> Problem:
        if not line:  # it is about the folder
            return self._problem(name, code, message, holds=holds)
        held = self._held(name) if holds else ()
        return Misread(f"{self._directory}/{name}/{MANIFEST}", code, message, held, line, column)

    def _held(self, name: str) -> tuple[str, ...]:
        exposed = self._settings.prefix + name
        return (exposed,) if NAME.fullmatch(exposed) else ()

    def _replaced(self, old: Tool, new: Tool, name: str) -> Problem:
        """What stands in place of a tool that another one replaces.

        It holds the name, so that whoever calls the old one is told, and gets neither the new one nor one that the old
        one covered. Without a prefix the name could be that of a built-in, which no folder takes away.
        """
        if old is new:
            message = f"{old.name} and another tool replace each other; take `replaces` out of one of them"
        else:
            message = f"{old.name} was replaced by {new.name} (version {new.version}); call that, and remove this one"
        return self._problem(name, "TOOL_NAME_CONFLICT", message, holds=bool(self._settings.prefix))


def _replaced(replacing: Mapping[str, Iterable[str]], tools: Mapping[str, Tool]) -> dict[str, str]:
    """Each tool that is replaced, and by which in the end; by itself, where several replace each other."""
    by = {old: new for new in sorted(replacing, reverse=True) for old in replacing[new] if old in tools}
    found = {}
    for old in by:
        new, passed = by[old], {old}
        while new in by and new not in passed:
            passed.add(new)
            new = by[new]
        found[old] = new
    return found


def _digest(folder: str) -> str:
    try:
        return content_of(folder).digest
    except ToolcribError:
        return ""


def _capabilities(claims: Iterable[str], wishes: Wishes) -> Capabilities:
    held = dict.fromkeys(claims, True) | ({"accesses_network": True} if wishes.network else {})
    return Capabilities(**(held | {"executes_commands": True}))


def _within(limits: Limits, output: int | None) -> Limits:
    """With less output, where less is wished for."""
    if output is None or output >= limits.output_bytes:
        return limits
    return Limits(limits.seconds, output, limits.memory_bytes)
