"""`run_custom_tool`: call a tool that somebody made, by its name. It is judged, limited and recorded as itself."""

from collections.abc import Mapping
from difflib import get_close_matches

from ..core.context import Context
from ..core.errors import REFUSALS, Refused, ToolError
from ..core.jsontext import JSON
from ..core.limits import Limits
from ..core.tool import NO_CAPABILITIES
from .workbench import CUSTOM, BenchBackend, Craft, Workbench, crafted

LONGEST = 3600
_OWN_SECONDS = 2.0 * LONGEST
"""The called tool's time, and as much again for a person to answer what it asks."""
_PASSED_ON = ("exit_code", "stderr", "stdout_bytes", "stderr_bytes", "truncated", "artifacts", "output_incomplete")


async def _run(args: Mapping[str, JSON], ctx: Context, own: BenchBackend) -> JSON:
    bench, seconds = own.bench, args.get("timeout")
    tool = bench.find(args["tool_name"])
    name = tool.name if tool else _held(args["tool_name"], bench)
    ctx.report["custom_tool"] = name
    if tool and seconds is not None and (most := bench.longest(tool)):
        seconds = min(seconds, most)  # nobody is given more than the user said
    result = await ctx.call(name, args.get("arguments", {}), timeout=seconds)
    ctx.report.update({key: result.metadata[key] for key in _PASSED_ON if key in result.metadata})
    error = result.error
    if error is None:
        return result.data
    kind = Refused if error.code in REFUSALS else ToolError
    raise kind(error.message, code=error.code, details=error.details)


def _held(name: str, bench: Workbench) -> str:
    """A name in whose place a problem stands, which then answers.

    Raises:
        ToolError: there is no such tool, or none of this kind.
    """
    held = {each for problem in bench.problems() for each in problem.holds}
    for whole in (name, bench.prefix + name):
        if whole in held:
            return whole
    if any(tool.name == name for tool in bench.tools()):
        raise ToolError(f"{name} is no custom tool; call it directly", code="TOOL_NOT_FOUND")
    names = [tool.name for tool in bench.tools() if tool.source in CUSTOM]
    nearest = get_close_matches(bench.prefix + name.removeprefix(bench.prefix), names, n=3)
    message = f"there is no custom tool {name}; call list_custom_tools to see what is there, and what is wrong with it"
    raise ToolError(message, code="TOOL_NOT_FOUND", details={"nearest": nearest})


run_custom_tool = crafted(
    "run_custom_tool",
    "Call a custom tool by its name, with or without the prefix: the same as calling it directly, for those who do not "
    "see it in their list of tools yet.",
    {
        "type": "object",
        "properties": {
            "tool_name": {"type": "string", "minLength": 1, "maxLength": 64, "description": "The tool to call."},
            "arguments": {"type": "object", "default": {}, "description": "What it is called with."},
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": LONGEST,
                "description": "Seconds. Without it, the tool's own limit: 30, unless the tool says otherwise.",
            },
        },
        "required": ["tool_name"],
        "additionalProperties": False,
    },
    Craft(_run),
    capabilities=NO_CAPABILITIES,
    limits=Limits(_OWN_SECONDS),
)
