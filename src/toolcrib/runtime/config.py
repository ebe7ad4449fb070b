"""`config.yaml`: the user's word, then the project's, which may only tighten."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..core.errors import Refused
from ..core.limits import Limits, duration, size
from ..core.policy import Decision, Verdict, strictest
from ..core.source import Problem
from ..policy.rules import Toolset
from ..policy.secrets import Grant, canonical_host, mentioned
from ..sources.executable import ToolSettings
from . import toolsets
from .toolsets import ModuleNamed, PackageNamed, RuleList, Toolsets

if TYPE_CHECKING:
    from ..store.yamltext import Document

SANDBOXES = ("off", "process", "auto", "landlock", "bubblewrap")
"""From lax to strict; `auto` is the best there is."""
BUILT_SANDBOXES = ("off", "process", "auto")
COMPAT = ("kodelet", "forge", "amp")
_SECTIONS = {
    "": ("approval", "custom_tools", "toolsets", "sandbox", "tools", "network", "mcp_servers", "compat"),
    "approval": ("default", "tools"),
    "custom_tools": (
        "enabled", "global_dir", "local_dir", "timeout", "max_output_size", "max_memory", "env_whitelist", "prefix",
    ),
    "tools": ("timeout", "sandbox", "network", "env", "secrets", "warm"),
    "network": ("allow",),
    **toolsets.KEYS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Config:
    """Everything the files say, with the defaults for what they do not."""

    approval_default: Verdict | None = None
    approval_tools: Mapping[str, Verdict] = field(default_factory=dict)
    enabled: bool = True
    global_dir: str = ""
    """Empty: the `tools` directory of the home."""
    local_dir: str = "./.toolcrib/tools"
    limits: Limits = Limits()
    variables: tuple[str, ...] = ("PATH", "HOME", "USER")
    prefix: str = "custom_tool_"
    sandbox: str = "auto"
    tools: Mapping[str, ToolSettings] = field(default_factory=dict)
    secrets: Mapping[str, tuple[Grant, ...]] = field(default_factory=dict)
    """What each tool may have of the user's secrets."""
    templates: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Variables of each tool whose value is made from secrets."""
    toolsets: Toolsets = Toolsets()
    unprotected: Mapping[str, str] = field(default_factory=dict)
    """Tools for which a protection is demanded that is not built, and which."""
    compat: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def read(user: str, project: tuple[str, bytes] | None = None) -> Config:
    """The configuration of the user and of the project: where that lies, and what was trusted of it.

    Raises:
        ConfigError: with path and line.
    """
    config = Config()
    if not os.path.exists(user) and project is None:
        return config
    from ..store.yamltext import load, parse  # late: most have no configuration, and YAML costs more than the tools

    if os.path.exists(user):
        config = _Reader(load(user)).apply(config)
    if project is not None:
        document = parse(project[1], project[0])
        asked = _Reader(document).apply(Config(prefix=config.prefix, global_dir=config.global_dir))
        config = _tightened(config, asked, document)
    return config


class _Reader:
    """Checks a document key by key and applies it."""

    def __init__(self, document: "Document") -> None:
        self._document = document
        self._root = self._section((), "")

    def apply(self, config: Config) -> Config:
        approval = self._section(("approval",), "approval")
        custom = self._section(("custom_tools",), "custom_tools")
        limits = Limits(
            self._get(custom, ("custom_tools", "timeout"), duration, config.limits.seconds),
            self._get(custom, ("custom_tools", "max_output_size"), size, config.limits.output_bytes),
            self._get(custom, ("custom_tools", "max_memory"), size, config.limits.memory_bytes),
        )
        self._get(self._root, ("mcp_servers",), _mapping, {})  # known; read by what will use them
        self._get(self._section(("network",), "network"), ("network", "allow"), _words, ())
        tools, unprotected = self._tools()
        secrets, templates = self._secrets()
        default = approval.get("default")
        return replace(
            config,
            approval_default=None if default is None else self._verdict(("approval", "default")),
            approval_tools={
                name: self._verdict(("approval", "tools", name)) for name in _mapping(approval.get("tools") or {})
            },
            enabled=self._get(custom, ("custom_tools", "enabled"), _boolean, config.enabled),
            global_dir=self._get(custom, ("custom_tools", "global_dir"), _text, config.global_dir),
            local_dir=self._get(custom, ("custom_tools", "local_dir"), _text, config.local_dir),
            limits=limits,
            variables=self._get(custom, ("custom_tools", "env_whitelist"), _variables, config.variables),
            prefix=self._get(custom, ("custom_tools", "prefix"), _prefix, config.prefix),
            sandbox=self._get(self._root, ("sandbox",), _one_of(SANDBOXES), config.sandbox),
            tools=tools,
            secrets=secrets,
            templates=templates,
            toolsets=self._toolsets(),
            unprotected=unprotected,
            compat=self._get(self._root, ("compat",), _compat, config.compat),
        )

    def _tools(self) -> tuple[dict[str, ToolSettings], dict[str, str]]:
        settings, unprotected = {}, {}
        for name in self._get(self._root, ("tools",), _mapping, {}):
            at = ("tools", name)
            section = self._section(at, "tools")
            self._get(section, (*at, "warm"), _boolean, False)
            sandbox = self._get(section, (*at, "sandbox"), _one_of(SANDBOXES), "auto")
            network = self._get(section, (*at, "network"), _one_of(("on", "off")), "on")
            if sandbox not in BUILT_SANDBOXES:
                unprotected[name] = f"sandbox: {sandbox}"
            elif network == "off":
                unprotected[name] = "network: off"
            settings[name] = ToolSettings(
                self._get(section, (*at, "timeout"), duration, None),
                self._get(section, (*at, "env"), _passed_on, ()),
            )
        return settings, unprotected

    def _secrets(self) -> tuple[dict[str, tuple[Grant, ...]], dict[str, dict[str, str]]]:
        grants, templates = {}, {}
        for name, section in (self._root.get("tools") or {}).items():
            at = ("tools", name)
            if granted := self._get(section or {}, (*at, "secrets"), _grants, ()):
                grants[name] = granted
            if made := self._get(section or {}, (*at, "env"), _templates, {}):
                templates[name] = made
        return grants, templates

    def _toolsets(self) -> Toolsets:
        value = self._get(self._root, ("toolsets",), _mapping, None)
        if value is None:
            return Toolsets()
        approvals: dict[str, Toolset] = {}
        roots: dict[str, str] = {}
        rules = []
        for name in value:
            at = ("toolsets", name)
            if name not in toolsets.KEYS:
                known = ", ".join(toolsets.KEYS)
                raise self._document.error(f"there is no toolset {name!r}; known are {known}", *at)
            section = self._section(at, name)
            if approval := self._section((*at, "approval"), "approval"):
                tools = toolsets.TOOLSETS.get(name) or frozenset(self._get(section, (*at, "tools"), _words, ()))
                entries = self._get(approval, (*at, "approval", "tools"), _mapping, {})
                for tool in entries:
                    if tools and tool not in tools:
                        raise self._document.error(f"{name} has no tool {tool!r}", *at, "approval", "tools", tool)
                approvals[name] = Toolset(
                    tools,
                    self._verdict((*at, "approval", "default")) if approval.get("default") is not None else None,
                    {tool: self._verdict((*at, "approval", "tools", tool)) for tool in entries},
                    toolsets.SOURCES.get(name, "builtin"),
                )
            roots |= self._get(section, (*at, "roots"), _roots, {})
            if section.get("rules") is not None:
                rules.append(RuleList(self._document, (*at, "rules"), section["rules"]))
        return Toolsets(frozenset(value), approvals, roots, tuple(rules), self._module(), self._package())

    def _module(self) -> ModuleNamed | None:
        at = ("toolsets", "custom")
        section = self._section(at, "custom")
        path = self._get(section, (*at, "module"), _text, "")
        tools = self._get(section, (*at, "tools"), _words, ())
        if tools and not path:
            raise self._document.error("toolsets.custom.tools: say with `module:` in which file", *at, "tools")
        beside = os.path.dirname(os.path.abspath(self._document.path))
        return ModuleNamed(os.path.normpath(os.path.join(beside, os.path.expanduser(path))), tools) if path else None

    def _package(self) -> PackageNamed | None:
        at = ("toolsets", "external")
        section = self._section(at, "external")
        package = self._get(section, (*at, "package"), _text, "")
        attribute = self._get(section, (*at, "import"), _text, "")
        if attribute and not package:
            raise self._document.error("toolsets.external.import: say with `package:` of what", *at, "import")
        return PackageNamed(package, attribute) if package else None

    def _section(self, at: tuple[str, ...], kind: str) -> Mapping[str, Any]:
        value = self._document.value
        for key in at:
            value = (value or {}).get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._document.error(f"{'.'.join(at) or 'the file'} must be a mapping of keys to values", *at)
        known = _SECTIONS[kind]
        for key in value:
            if key not in known:
                near = get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                raise self._document.error(f"unknown key {key!r}; {hint}", *at, key)
        return value

    def _get(self, section: Mapping[str, Any], at: tuple[str, ...], read_as: Callable[[Any], Any], default: Any) -> Any:
        value = section.get(at[-1])
        if value is None:
            return default
        try:
            return read_as(value)
        except ValueError as exc:
            raise self._document.error(f"{'.'.join(at)}: {exc}", *at) from None

    def _verdict(self, at: tuple[str, ...]) -> Verdict:
        value = self._document.value
        for key in at:
            value = value[key]
        try:
            decision = Decision.parse(value)
        except ValueError as exc:
            raise self._document.error(f"{'.'.join(at)}: {exc}", *at) from None
        return Verdict(decision, f"{'.'.join(at)} in {self._document.path}:{self._document.line(*at)}")


def _tightened(user: Config, project: Config, document: "Document") -> Config:
    """The user's configuration, made stricter by the project's. What would loosen is ignored and reported."""
    problems = []

    def ignored(*at: str) -> None:
        message = f"line {document.line(*at)}: {'.'.join(at)} would loosen the user's configuration and is ignored"
        problems.append(Problem(document.path, "CONFIG_INVALID", message))

    def refused(*at: str) -> None:
        why = "a project's module needs a process of its own, which this version does not have"
        message = f"line {document.line(*at)}: {'.'.join(at)} is ignored: {why}"
        problems.append(Problem(document.path, "CONFIG_INVALID", message))

    approvals = dict(user.approval_tools)
    for name, verdict in project.approval_tools.items():
        if verdict.decision is Decision.PRE_APPROVED and name not in approvals:
            ignored("approval", "tools", name)
        else:
            approvals[name] = strictest([verdict, *([approvals[name]] if name in approvals else [])])
    default = user.approval_default
    if project.approval_default is not None:
        if project.approval_default.decision is Decision.PRE_APPROVED:
            ignored("approval", "default")
        else:
            default = strictest([project.approval_default, *([default] if default else [])])
    value = document.value or {}
    for at in (
        ("network",),
        ("mcp_servers",),
        ("compat",),
        *(("custom_tools", key) for key in ("global_dir", "prefix", "local_dir")),
    ):
        section = value if len(at) == 1 else value.get(at[0]) or {}
        if section.get(at[-1]) not in (None, [], {}):
            ignored(*at)
    sandbox = max(user.sandbox, project.sandbox, key=SANDBOXES.index)
    if project.sandbox != sandbox and value.get("sandbox"):
        ignored("sandbox")
    tools = dict(user.tools)
    for name, asked in project.tools.items():
        if asked.variables or name in project.templates:
            ignored("tools", name, "env")
        if name in project.secrets:
            ignored("tools", name, "secrets")
        held = tools.get(name, ToolSettings())
        limits = [seconds for seconds in (held.seconds, asked.seconds) if seconds is not None]
        tools[name] = held._replace(seconds=min(limits, default=None))
    return replace(
        user,
        approval_default=default,
        approval_tools=approvals,
        enabled=user.enabled and project.enabled,
        limits=_stricter(user.limits, project.limits),
        variables=tuple(name for name in user.variables if name in project.variables),
        sandbox=sandbox,
        tools=tools,
        toolsets=user.toolsets.tightened(project.toolsets, ignored, refused),
        unprotected={**project.unprotected, **user.unprotected},
        problems=tuple(problems),
    )


def _stricter(one: Limits, other: Limits) -> Limits:
    memory = [limit for limit in (one.memory_bytes, other.memory_bytes) if limit is not None]
    return Limits(min(one.seconds, other.seconds), min(one.output_bytes, other.output_bytes), min(memory, default=None))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    return value


def _prefix(value: Any) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{0,32}", _text(value)):
        raise ValueError(f"{value!r} cannot begin a tool's name; use up to 32 of A-Z a-z 0-9 _ -")
    return str(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("must be a mapping of keys to values")
    return value


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("must be a list")
    return tuple(_text(item) for item in value)


def _variables(value: Any) -> tuple[str, ...]:
    names = _words(value)
    for name in names:
        if not name.replace("_", "a").isalnum() or not name.isascii() or name[0].isdigit():
            raise ValueError(f"{name!r} is not the name of an environment variable")
    return names


def _passed_on(value: Any) -> tuple[str, ...]:
    """Names of variables that a tool is given as they are."""
    return () if isinstance(value, dict) else _variables(value)


def _templates(value: Any) -> dict[str, str]:
    """Variables that a tool is given with another value: text, with `${env:NAME}` for a secret."""
    if not isinstance(value, dict):
        return {}
    _variables(list(value))
    for template in value.values():
        try:
            mentioned(_text(template))
        except Refused as exc:
            raise ValueError(str(exc)) from None
    return dict(value)


def _grants(value: Any) -> tuple[Grant, ...]:
    """Names of secrets, or names with the hosts that each may be sent to."""
    if isinstance(value, dict):
        _variables(list(value))
        return tuple(Grant(name, tuple(_host(host) for host in _words(hosts))) for name, hosts in value.items())
    return tuple(Grant(name) for name in _variables(value))


def _host(value: str) -> str:
    host = canonical_host(value)
    if host is None:
        raise ValueError(f"{value!r} is not a host; write api.example.com")
    return host


def _roots(value: Any) -> dict[str, str]:
    found = {}
    for path, access in _mapping(value).items():
        whole = os.path.expanduser(path)
        if not os.path.isabs(whole):
            raise ValueError(f"{path!r} is not an absolute path; begin with / or ~/")
        found[whole] = _one_of(toolsets.ACCESS)(access)
    return found


def _compat(value: Any) -> tuple[str, ...]:
    return tuple(_one_of(COMPAT)(item) for item in _words(value))


def _one_of(known: tuple[str, ...]) -> Callable[[Any], str]:
    def read_as(value: Any) -> str:
        if value not in known or not isinstance(value, str):
            raise ValueError(f"{value!r} is not one of {', '.join(known)}")
        return value

    return read_as
