"""The built-in tools, fitted with what they need of this very runtime."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from .. import builtins
from ..builtins.workbench import Workbench, fitted
from ..core.context import Host
from ..core.policy import Verdict
from ..core.source import Problem
from ..core.tool import Tool
from ..sources.executable import ToolSettings
from .config import Config
from .confinement import Confinement


class Crib(Protocol):
    """What the tools that make tools look at."""

    config: Config
    confinement: Confinement

    def tools(self) -> tuple[Tool, ...]: ...

    def problems(self) -> tuple[Problem, ...]: ...

    def verdict(self, tool: Tool) -> Verdict: ...


def fitted_builtins(crib: Crib, host: Host, tools_dir: str, benches: Sequence[object]) -> list[Tool]:
    """Those of the toolsets that are configured, with the variables that every process is given."""
    config, environ = crib.config, host.environ
    bench = Workbench(
        tools_dir,
        config.prefix,
        config.variables,
        lambda: crib.confinement.tier_of("manifest"),
        environ.get("PATH", os.defpath) if "PATH" in config.variables else os.defpath,
        crib.tools,
        crib.problems,
        approval=lambda tool: crib.verdict(tool).decision.wire,
        longest=lambda tool: config.tools.get(config.offer.own_name(tool), ToolSettings()).seconds,
    )
    found = [fitted(tool, bench, *benches) for tool in builtins.TOOLS if config.offers(tool.name)]
    return config.offer.spoken(_equipped(tool, config) if tool.backend.starts_process else tool for tool in found)


def _equipped(tool: Tool, config: Config) -> Tool:
    given = config.tools.get(tool.name, ToolSettings())
    limits = tool.limits if given.seconds is None else replace(tool.limits, seconds=given.seconds)
    variables = tuple(dict.fromkeys((*config.variables, *given.variables)))
    return tool._replace(backend=tool.backend._replace(variables=variables), limits=limits)  # type: ignore[attr-defined]  # built-in backends are named tuples
