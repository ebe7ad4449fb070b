"""The user's configuration under a project's, which may only tighten it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..core.limits import Limits
from ..core.policy import Decision, strictest
from ..core.source import Problem
from ..sources.executable import ToolSettings
from ..sources.wrap import Offer
from .config import SANDBOXES, Config
from .rights import NOTHING_SAID, OFF, ON, Rights, Ruling

if TYPE_CHECKING:
    from ..store.yamltext import Document
    from .profile import Profile


def to_tighten(user: Config) -> Config:
    """What a project's file is read over: where it says nothing of a limit, it does not mean another."""
    return Config(
        prefix=user.prefix,
        global_dir=user.global_dir,
        limits=user.limits,
        variables=user.variables,
        sandbox="",
    )


def tightened(user: Config, project: Config, document: "Document", *, directory: str) -> Config:
    """The user's configuration, made stricter by the project's. What would loosen is ignored and reported.

    `directory` is where all lies that is the project's.
    """
    problems = list(user.problems)

    def ignored(*at: str) -> None:
        message = f"line {document.line(*at)}: {'.'.join(at)} would loosen the user's configuration and is ignored"
        problems.append(Problem(document.path, "CONFIG_INVALID", message))

    def refused(*at: str, why: str) -> None:
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
    ruling = _tighter(user, project, ignored)
    tools = dict(user.tools)
    for name, asked in project.tools.items():
        if asked.variables or name in project.templates:
            ignored("tools", name, "env")
        if name in project.secrets:
            ignored("tools", name, "secrets")
        held = tools.get(name, ToolSettings())
        limits = [seconds for seconds in (held.seconds, asked.seconds) if seconds is not None]
        warm = asked.warm if held.warm is None else held.warm
        tools[name] = held._replace(seconds=min(limits, default=None), warm=warm)
    return replace(
        user,
        approval_default=default,
        approval_tools=approvals,
        enabled=user.enabled and project.enabled,
        limits=_stricter(user.limits, project.limits),
        variables=tuple(name for name in user.variables if name in project.variables),
        tools=tools,
        toolsets=user.toolsets.tightened(project.toolsets, ignored, refused, directory=directory),
        tighter=(*user.tighter, ruling) if ruling != Ruling() else user.tighter,
        offer=_narrowed(user.offer, project.offer, ignored),
        profile=_described(user.profile, project.profile),
        problems=tuple(problems),
    )


def _tighter(user: Config, project: Config, ignored: Callable[..., None]) -> Ruling:
    """What a project demands of the confinement. It is held against the user's word for each tool when that runs.

    Whatever it says, it gives nothing: what could only loosen is left out here, so that somebody hears of it.
    """
    held = user.ruling
    ruling = Ruling(
        _demanded(Rights(project.sandbox), Rights(held.sandbox), ignored).sandbox,
        {kind: _demanded(said, held.of(kind), partial(ignored, "kinds", kind)) for kind, said in project.kinds.items()},
        {
            name: _demanded(said, held.of("", name), partial(ignored, "tools", name))
            for name, said in project.rights.items()
        },
    )
    return Ruling(
        ruling.sandbox,
        {kind: said for kind, said in ruling.kinds.items() if said != NOTHING_SAID},
        {name: said for name, said in ruling.tools.items() if said != NOTHING_SAID},
    )


def _demanded(asked: Rights, held: Rights, ignored: Callable[..., None]) -> Rights:
    sandbox, network = asked.sandbox, asked.network
    if sandbox and SANDBOXES.index(sandbox) < SANDBOXES.index(held.sandbox or SANDBOXES[0]):
        ignored("sandbox")
        sandbox = ""
    if network and (network == ON or held.network == OFF) and network != held.network:
        ignored("network")
        network = ""
    if asked.ro or asked.rw:
        ignored("files")
    return Rights(sandbox, network, bounds=asked.bounds)


def _narrowed(user: Offer, project: Offer, ignored: Callable[..., None]) -> Offer:
    """A project may take tools away. Under another name a tool could pass for one that the user approved."""
    for key in ("prefix", "rename", "first"):
        if getattr(project, key) != getattr(Offer(), key):
            ignored("sources", key)
    if project.vocabulary != Offer().vocabulary:
        ignored("vocabulary")
    return replace(user, only=(*user.only, *project.only), without=(*user.without, *project.without))


def _described(user: "Profile | None", project: "Profile | None") -> "Profile | None":
    """The user's words where there are any, else the project's."""
    if user is None or project is None:
        return user or project
    return replace(
        user,
        description=user.description or project.description,
        model=user.model or project.model,
        instructions=user.instructions or project.instructions,
    )


def _stricter(one: Limits, other: Limits) -> Limits:
    memory = [limit for limit in (one.memory_bytes, other.memory_bytes) if limit is not None]
    return Limits(min(one.seconds, other.seconds), min(one.output_bytes, other.output_bytes), min(memory, default=None))
