"""One file of the configuration, checked key by key."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..backends.quantity import duration, size
from ..core.limits import Limits
from ..core.policy import Decision, Verdict
from ..policy.rules import Toolset
from ..policy.secrets import Grant
from ..sandbox.cage import Bounds
from ..sources.executable import ToolSettings
from . import toolsets
from .config import SANDBOXES, Config
from .config_values import (
    boolean,
    compat,
    count,
    mapping,
    network_entries,
    one_of,
    passed_on,
    places,
    prefix,
    reachable,
    roots,
    secret_grants,
    secret_templates,
    text,
    variables,
    whole_seconds,
    words,
)
from .rights import KINDS, NOTHING_SAID, Rights
from .toolsets import ModuleNamed, PackageNamed, RuleList, Toolsets

if TYPE_CHECKING:
    from ..store.yamltext import Document

_SECTIONS = {
    "": ("approval", "custom_tools", "toolsets", "sandbox", "tools", "kinds", "network", "mcp_servers", "compat"),
    "approval": ("default", "tools"),
    "custom_tools": (
        "enabled", "global_dir", "local_dir", "timeout", "max_output_size", "max_memory", "env_whitelist", "prefix",
    ),
    "tools": ("timeout", "sandbox", "network", "files", "limits", "env", "secrets", "warm"),
    "kinds": KINDS,
    "kind": ("sandbox", "network", "files", "limits"),
    "files": ("ro", "rw"),
    "limits": ("memory", "processes", "file_size", "cpu"),
    "network": ("allow",),
    "profile": (
        "name", "description", "model", "instructions", "toolsets", "approval", "tools", "kinds", "sandbox",
        "network", "sources", "vocabulary",
    ),
    "sources": ("only", "without", "prefix", "rename", "first"),
    **toolsets.KEYS,
}  # fmt: skip


class ConfigFile:
    """Checks a document key by key and applies it."""

    kind = ""
    """Which keys it may have: see `_SECTIONS`."""

    def __init__(self, document: "Document") -> None:
        self._document = document
        self._root = self._section((), self.kind)

    def apply(self, config: Config) -> Config:
        """The configuration with what stands in this file. What the file does not speak of stays as it is."""
        approval = self._section(("approval",), "approval")
        custom = self._section(("custom_tools",), "custom_tools")
        limits = Limits(
            self._get(custom, ("custom_tools", "timeout"), duration, config.limits.seconds),
            self._get(custom, ("custom_tools", "max_output_size"), size, config.limits.output_bytes),
            self._get(custom, ("custom_tools", "max_memory"), size, config.limits.memory_bytes),
        )
        self._get(self._root, ("mcp_servers",), mapping, {})  # known; read by what will use them
        network = self._section(("network",), "network")
        tools, rights = self._tools(config)
        secrets, templates = self._secrets(config)
        default = approval.get("default")
        named = self._get(approval, ("approval", "tools"), mapping, {})
        entries = {name: self._verdict(("approval", "tools", name)) for name in named}
        return replace(
            config,
            approval_default=config.approval_default if default is None else self._verdict(("approval", "default")),
            approval_tools={**config.approval_tools, **entries},
            enabled=self._get(custom, ("custom_tools", "enabled"), boolean, config.enabled),
            global_dir=self._get(custom, ("custom_tools", "global_dir"), text, config.global_dir),
            local_dir=self._get(custom, ("custom_tools", "local_dir"), text, config.local_dir),
            limits=limits,
            variables=self._get(custom, ("custom_tools", "env_whitelist"), variables, config.variables),
            prefix=self._get(custom, ("custom_tools", "prefix"), prefix, config.prefix),
            sandbox=self._get(self._root, ("sandbox",), one_of(SANDBOXES), config.sandbox),
            tools=tools,
            secrets=secrets,
            templates=templates,
            toolsets=self._toolsets(config.toolsets),
            rights=rights,
            kinds=self._kinds(config),
            network_allow=self._get(network, ("network", "allow"), network_entries, config.network_allow),
            compat=self._get(self._root, ("compat",), compat, config.compat),
        )

    def _tools(self, config: Config) -> tuple[dict[str, ToolSettings], dict[str, Rights]]:
        settings, rights = dict(config.tools), dict(config.rights)
        for name in self._get(self._root, ("tools",), mapping, {}):
            at = ("tools", name)
            section = self._section(at, "tools")
            rights[name] = self._rights(section, at, rights.get(name, NOTHING_SAID))
            held = settings.get(name, ToolSettings())
            settings[name] = held._replace(
                seconds=self._get(section, (*at, "timeout"), duration, held.seconds),
                variables=self._get(section, (*at, "env"), passed_on, held.variables),
                warm=self._get(section, (*at, "warm"), boolean, held.warm),
            )
        return settings, {name: said for name, said in rights.items() if said != NOTHING_SAID}

    def _kinds(self, config: Config) -> dict[str, Rights]:
        kinds = dict(config.kinds)
        for kind in self._section(("kinds",), "kinds"):
            at = ("kinds", kind)
            kinds[kind] = self._rights(self._section(at, "kind"), at, kinds.get(kind, NOTHING_SAID))
        return {kind: said for kind, said in kinds.items() if said != NOTHING_SAID}

    def _rights(self, section: Mapping[str, Any], at: tuple[str, ...], held: Rights) -> Rights:
        """What a section says, over what was said before, key by key."""
        files, limits = self._section((*at, "files"), "files"), self._section((*at, "limits"), "limits")
        bounds = held.bounds
        return Rights(
            self._get(section, (*at, "sandbox"), one_of(SANDBOXES), held.sandbox),
            self._get(section, (*at, "network"), reachable, held.network),
            self._get(files, (*at, "files", "ro"), places, held.ro),
            self._get(files, (*at, "files", "rw"), places, held.rw),
            Bounds(
                self._get(limits, (*at, "limits", "memory"), size, bounds.memory_bytes),
                self._get(limits, (*at, "limits", "processes"), count, bounds.processes),
                self._get(limits, (*at, "limits", "file_size"), size, bounds.file_bytes),
                self._get(limits, (*at, "limits", "cpu"), whole_seconds, bounds.cpu_seconds),
            ),
        )

    def _secrets(self, config: Config) -> tuple[dict[str, tuple[Grant, ...]], dict[str, Mapping[str, str]]]:
        grants, templates = dict(config.secrets), dict(config.templates)
        for name, section in (self._root.get("tools") or {}).items():
            at = ("tools", name)
            grants[name] = self._get(section or {}, (*at, "secrets"), secret_grants, grants.get(name, ()))
            templates[name] = self._get(section or {}, (*at, "env"), secret_templates, templates.get(name, {}))
        return (
            {name: granted for name, granted in grants.items() if granted},
            {name: made for name, made in templates.items() if made},
        )

    def _toolsets(self, held: Toolsets) -> Toolsets:
        value = self._get(self._root, ("toolsets",), mapping, None)
        if value is None:
            return held
        approvals: dict[str, Toolset] = {}
        places: dict[str, str] = {}
        rules = []
        for name in value:
            at = ("toolsets", name)
            if name not in toolsets.KEYS:
                known = ", ".join(toolsets.KEYS)
                raise self._document.error(f"there is no toolset {name!r}; known are {known}", *at)
            section = self._section(at, name)
            if approval := self._section((*at, "approval"), "approval"):
                tools = toolsets.TOOLSETS.get(name) or frozenset(self._get(section, (*at, "tools"), words, ()))
                entries = self._get(approval, (*at, "approval", "tools"), mapping, {})
                for tool in entries:
                    if tools and tool not in tools:
                        raise self._document.error(f"{name} has no tool {tool!r}", *at, "approval", "tools", tool)
                approvals[name] = Toolset(
                    tools,
                    self._verdict((*at, "approval", "default")) if approval.get("default") is not None else None,
                    {tool: self._verdict((*at, "approval", "tools", tool)) for tool in entries},
                    toolsets.SOURCES.get(name, "builtin"),
                )
            places |= self._get(section, (*at, "roots"), roots, {})
            if section.get("rules") is not None:
                rules.append(RuleList(self._document, (*at, "rules"), section["rules"]))
        return Toolsets(frozenset(value), approvals, places, tuple(rules), self._module(), self._package())

    def _module(self) -> ModuleNamed | None:
        at = ("toolsets", "custom")
        section = self._section(at, "custom")
        path = self._get(section, (*at, "module"), text, "")
        tools = self._get(section, (*at, "tools"), words, ())
        if tools and not path:
            raise self._document.error("toolsets.custom.tools: say with `module:` in which file", *at, "tools")
        beside = os.path.dirname(os.path.abspath(self._document.path))
        isolation = self._get(section, (*at, "isolation"), one_of(toolsets.ISOLATION), "")
        whole = os.path.normpath(os.path.join(beside, os.path.expanduser(path)))
        return ModuleNamed(whole, tools, isolation) if path else None

    def _package(self) -> PackageNamed | None:
        at = ("toolsets", "external")
        section = self._section(at, "external")
        package = self._get(section, (*at, "package"), text, "")
        attribute = self._get(section, (*at, "import"), text, "")
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
