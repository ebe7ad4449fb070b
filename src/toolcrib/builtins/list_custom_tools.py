"""`list_custom_tools`: the tools that people and agents made, and what is wrong with those that are not offered."""

from collections.abc import Mapping
from typing import Any

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Tool
from .guidance import guidance
from .workbench import CUSTOM, BenchBackend, Craft, Workbench, crafted


async def _run(args: Mapping[str, JSON], ctx: Context, own: BenchBackend) -> dict[str, Any]:
    bench = own.bench
    problems = [problem.to_dict() for problem in bench.problems()]
    found: dict[str, Any] = {
        "directory": bench.directory,
        "tools": [_about(tool, bench) for tool in bench.tools() if tool.source in CUSTOM],
        "problems": problems,
        "from_the_next_turn": _new(bench),
    }
    return {**found, "guidance": guidance()} if args.get("guidance") else found


def _about(tool: Tool, bench: Workbench) -> dict[str, str]:
    return {
        "name": tool.name,
        "description": tool.description,
        "version": tool.version,
        "source": tool.source,
        "place": tool.origin,
        "approval": bench.approval(tool),
    }


def _new(bench: Workbench) -> list[str]:
    """Folders that are there by now, and were not when the tools were last read."""
    known = {tool.origin for tool in bench.tools()} | {problem.origin for problem in bench.problems()}
    return [name for name in bench.names() if f"{bench.directory}/{name}/tool.yaml" not in known]


list_custom_tools = crafted(
    "list_custom_tools",
    "List the custom tools, with their place, version and approval; and those that are not offered, with what is wrong "
    "and what puts it right. With guidance=true also how to make a tool.",
    {
        "type": "object",
        "properties": {
            "guidance": {"type": "boolean", "default": False, "description": "Also say how to make a good tool."}
        },
        "additionalProperties": False,
    },
    Craft(_run),
    capabilities=Capabilities(idempotent=True),
)
