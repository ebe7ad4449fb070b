"""The user's configuration under a project's, which may only tighten it."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.limits import Limits
from ..core.policy import Decision, strictest
from ..core.source import Problem
from ..sources.executable import ToolSettings
from .config import SANDBOXES, Config

if TYPE_CHECKING:
    from ..store.yamltext import Document


def tightened(user: Config, project: Config, document: "Document") -> Config:
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
