"""Python modules and packages that the user's own configuration names, as tools.

What is imported here runs in this process, with all its rights: that it may is the user's own word. A project's module
is imported in a worker, which is another process (`isolated`).
"""

import hashlib
import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, NamedTuple

from ..core.call import settle
from ..core.errors import ConfigError, ToolcribError
from ..core.policy import Decision
from ..core.registry import USER
from ..core.source import Loaded, Problem
from ..core.tool import NAME, Tool
from .exports import BadExport, exported_tool
from .imported import Text, executed, explained, quietly, read, unchanged

ENTRY_POINTS = "toolcrib.tools"
_SAID = 200
_NO_SECONDS: Mapping[str, float] = MappingProxyType({})


class ModuleSource:
    """The exports of one file that the configuration lists, and nothing else of it.

    It is imported when its tools are first asked for, and again when its content is another. While it cannot be
    imported it keeps its tools' names, so that nobody gets another tool in place of the one that was meant.
    """

    rank = USER

    def __init__(
        self,
        path: str,
        tools: Iterable[str],
        *,
        seconds: Mapping[str, float] = _NO_SECONDS,
        taken: Iterable[str] = (),
        content: str = "",
    ) -> None:
        """`seconds` are for single tools; `taken` are names of tools that this cannot cover.

        `content` is where the file is read, if that is not where people know it.
        """
        self.path, self._names = path, tuple(dict.fromkeys(tools))
        self._file = content or path
        self._fitting = _Fitting(path, "module", seconds, frozenset(taken))
        self._module = ""
        self._seen: Text | None = None
        self._loaded = Loaded()

    async def load(self) -> Loaded:
        seen = self._seen
        if not self._names or (seen is not None and unchanged(self._file, seen.stamp)):
            return self._loaded
        try:
            text = read(self._file)
        except ToolcribError as exc:
            self._seen = None
            return self._offer(Loaded(problems=(self._problem(exc.code, str(exc)),)))
        # What failed may have failed for want of something else: it is tried again once its file was touched.
        again = seen is not None and not self._loaded.tools and seen.stamp != text.stamp
        if seen is None or seen.digest != text.digest or again:
            self._offer(await self._import(text))
        self._seen = text
        return self._loaded

    async def _import(self, text: Text) -> Loaded:
        sys.modules.pop(self._module, None)
        where = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        self._module = f"_toolcrib_module_{where}_{text.digest[-16:]}"
        module, failure, said = await quietly(lambda: executed(text, self.path, self._module))
        if failure is not None:
            sys.modules.pop(self._module, None)
            message = f"it cannot be imported: {explained(failure, self.path)}"
            return Loaded(problems=(self._problem("CONFIG_INVALID", message),))
        found = vars(module)
        made = [await self._fitting.tool(name, found.get(name), found, text.digest) for name in self._names]
        return _together(made, self.path, said)

    def _offer(self, loaded: Loaded) -> Loaded:
        """The very same object as before, when it says the same."""
        if loaded.tools or loaded != self._loaded:
            self._loaded = loaded
        return self._loaded

    def _problem(self, code: str, message: str) -> Problem:
        return Problem(self.path, code, message, tuple(name for name in self._names if NAME.fullmatch(name)))


class PackageSource:
    """The tools that an installed package offers: by an attribute, or by entry points of the group `toolcrib.tools`.

    Entry points are looked at only because the configuration names the package. It is imported once, as packages are.
    """

    rank = USER

    def __init__(
        self,
        package: str,
        attribute: str = "",
        *,
        workspace: str,
        expected: Iterable[str] = (),
        seconds: Mapping[str, float] = _NO_SECONDS,
        taken: Iterable[str] = (),
    ) -> None:
        """`expected` are names that the configuration says something of; one that is missing is a problem."""
        self._package, self._attribute, self._workspace = package, attribute, workspace
        self._expected = tuple(expected)
        self._fitting = _Fitting(package, "package", seconds, frozenset(taken))
        self._loaded: Loaded | None = None

    async def load(self) -> Loaded:
        if self._loaded is None:
            self._loaded = await self._import()
        return self._loaded

    async def _import(self) -> Loaded:
        offers, failure, said = await quietly(lambda: list(self._offers()))
        if failure is not None:
            code = failure.code if isinstance(failure, ToolcribError) else "CONFIG_INVALID"
            message = f"its tools cannot be imported: {explained(failure, '')}"
            return Loaded(problems=(Problem(self._package, code, message, self._expected),))
        made = [await self._fitting.tool(None, each, _beside(each), digest) for each, digest in offers]
        names = {each.name for each in made if isinstance(each, Tool)}
        for name in self._expected:
            if name not in names:
                message = f"Tool {name!r} not found in {self._package}, and the configuration names it"
                made.append(Problem(self._package, "CONFIG_INVALID", message, (name,)))
        return _together(made, self._package, said)

    def _offers(self) -> Iterator[tuple[Any, str]]:
        """Each export, with the digest of the file that lists it. May raise anything."""
        from importlib.metadata import entry_points  # late: it reads the metadata of every package

        points = [
            point
            for point in entry_points(group=ENTRY_POINTS)
            if point.dist is not None
            and _normal(point.dist.name) == _normal(self._package)
            and self._attribute in ("", point.name)
        ]
        for point in points:
            self._check_place(point.module)
            yield from _listed(point.load(), point.module)
        if points:
            return
        if not self._attribute:
            message = f"{self._package} has no entry point in {ENTRY_POINTS}; say with `import:` where its tools are"
            raise BadExport(message)
        self._check_place(self._package)
        value: Any = importlib.import_module(self._package)
        for step in self._attribute.split("."):
            if not hasattr(value, step):
                raise BadExport(f"Export {self._attribute!r} not found in {self._package}")
            value = getattr(value, step)
        yield from _listed(value, self._package)

    def _check_place(self, module: str) -> None:
        """A package is what is installed, not what lies in the directory that somebody works in."""
        named = all(part.isidentifier() for part in module.split("."))  # `../x` would be looked for as a path
        spec = find_spec(module.partition(".")[0]) if named else None
        if spec is None:
            raise BadExport(f"there is no package {module!r} here; install it where toolcrib is installed")
        places = [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.has_location else [])]
        for place in (os.path.realpath(each) for each in places if each):
            if _is_below(place, self._workspace) and not _is_below(place, sys.prefix):
                message = f"{place} lies in the workspace, and nothing there is imported"
                raise BadExport(message, code="WORKSPACE_UNTRUSTED")


class _Fitting(NamedTuple):
    """Makes tools of exports, one by one: what is wrong with one says nothing of the others."""

    place: str
    kind: str
    seconds: Mapping[str, float]
    taken: frozenset[str]

    async def tool(self, name: str | None, exported: Any, beside: Mapping[str, Any], digest: str) -> Tool | Problem:
        made, failure = await settle(self._made(name, exported, beside, digest))
        if isinstance(made, Tool):
            return made
        code = failure.code if isinstance(failure, ToolcribError) else "CONFIG_INVALID"
        words = explained(failure, self.place)
        if not isinstance(failure, BadExport):  # which names the export itself
            words = f"{name or getattr(exported, '__name__', type(exported).__name__)}: {words}"
        return Problem(self.place, code, words, (name,) if name and NAME.fullmatch(name) else ())

    async def _made(self, name: str | None, exported: Any, beside: Mapping[str, Any], digest: str) -> Tool:
        if name is not None and not NAME.fullmatch(name):
            raise BadExport(f"{name!r} is not a tool name: use 1 to 64 of A-Z a-z 0-9 _ -", code="TOOL_NAME_INVALID")
        if name is not None and name not in beside:
            raise BadExport(f"Tool {name!r} not found in {self.place}")
        made = exported_tool(name, exported, beside, place=self.place, digest=digest, source=self.kind)
        if made.name.replace("-", "_") in self.taken:
            message = f"{made.name} is the name of a built-in tool; call this one something else"
            raise BadExport(message, code="TOOL_NAME_CONFLICT")
        if made.name in self.seconds:
            made = made._replace(limits=replace(made.limits, seconds=self.seconds[made.name]))
        return made


async def load_custom_tools(module_path: str | os.PathLike[str], config: Mapping[str, Any]) -> list[Tool]:
    """The tools of a module: `config` is `{"tools": [...], "approval": {"default": ..., "tools": {...}}}`.

    Of an entry for a tool and what the tool says of itself the stricter counts; the default is for tools of which
    neither speaks, unless it is `blocked`.

    Raises:
        ConfigError: the module cannot be imported, one of the exports cannot be a tool, or the approval is none.
    """
    path, approval = _absolute(module_path), config.get("approval") or {}
    try:
        entries = {name: Decision.parse(value) for name, value in (approval.get("tools") or {}).items()}
        default = None if approval.get("default") is None else Decision.parse(approval["default"])
    except ValueError as exc:
        raise ConfigError(f"approval: {exc}", path=path) from None
    source = ModuleSource(path, config.get("tools") or ())
    loaded = await source.load()
    if len(loaded.tools) < len(set(config.get("tools") or ())):
        raise ConfigError(loaded.problems[0].message, path=path)
    return [_governed(tool, entries.get(tool.name), default) for tool in loaded.tools]


def wrap_with_default_approval(tool: Tool, approval: Mapping[str, Any] | None = None) -> Tool:
    """The tool as it is, if it says itself whether it needs approval; else with the configured word for it, or `ask`.

    Raises:
        ValueError: the configured word is not one of preApproved, ask, blocked.
    """
    if tool.needs_approval is not None:
        return tool
    said = approval or {}
    return tool._replace(
        needs_approval=Decision.parse((said.get("tools") or {}).get(tool.name) or said.get("default") or "ask").wire
    )


def _governed(tool: Tool, entry: Decision | None, default: Decision | None) -> Tool:
    claim = tool.needs_approval
    if default is Decision.BLOCKED or (claim is None and entry is None):
        return tool if default is None else tool._replace(needs_approval=default.wire)
    if claim is None or entry is None:
        return tool if entry is None else tool._replace(needs_approval=entry.wire)

    def stricter(args: Mapping[str, Any]) -> str:
        own = claim(args) if callable(claim) else claim
        said = ("preApproved", "ask")[own] if isinstance(own, bool) else own
        return max(entry, Decision.parse(said)).wire

    return tool._replace(needs_approval=stricter if callable(claim) else stricter({}))


def _together(made: Sequence[Tool | Problem], place: str, said: str) -> Loaded:
    problems = [each for each in made if isinstance(each, Problem)]
    if said:
        shown = said[:_SAID] + ("…" if len(said) > _SAID else "")
        message = f"it prints while it is imported, which is not shown to anybody else: {shown!r}"
        problems.append(Problem(place, "CONFIG_INVALID", message))
    return Loaded(tuple(each for each in made if isinstance(each, Tool)), tuple(problems))


def _listed(value: Any, module: str) -> Iterator[tuple[Any, str]]:
    """The exports that a package's value holds, with the digest of the file of the module."""
    path = getattr(sys.modules.get(module), "__file__", None)
    digest = read(path).digest if path else module
    several = isinstance(value, list | tuple) and not isinstance(value, Tool)  # a tool is a tuple, too
    yield from ((each, digest) for each in (value if several else [value]))


def _beside(exported: Any) -> Mapping[str, Any]:
    """The names that stand where an export of a package was written."""
    module = sys.modules.get(getattr(exported, "__module__", None) or "")
    return {} if module is None else vars(module)


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _normal(name: str) -> str:
    """A distribution's name as all its spellings are one."""
    return name.lower().replace("_", "-").replace(".", "-")


def _is_below(path: str, directory: str) -> bool:
    whole = os.path.realpath(directory)
    return path == whole or path.startswith(whole.rstrip("/") + "/")
