"""`delete_custom_tool`: take a folder out of the user's tools."""

import os
from collections.abc import Mapping
from typing import Any

from ..backends.folder import paths_in
from ..core.context import Context
from ..core.errors import ToolcribError
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Subject
from .workbench import NAMED, BenchBackend, Craft, Workbench, crafted


async def _run(args: Mapping[str, JSON], ctx: Context, own: BenchBackend) -> str:
    from ..sources import workshop  # late, with YAML: most sessions remove no tool

    folder = own.bench.folder(args["name"])
    name = os.path.basename(folder)
    ctx.report["custom_tool"] = own.bench.prefix + name
    workshop.delete(own.bench.directory, name)
    return f"{folder} is removed; {own.bench.prefix}{name} is gone from the next turn on"


async def _preview(args: Mapping[str, JSON], ctx: Context, own: BenchBackend) -> dict[str, Any]:
    """What would go."""
    folder = own.bench.folder(args["name"])
    return {"folder": folder, "would_remove": _inside(folder)}


def _touches(args: Mapping[str, JSON], bench: Workbench) -> list[Subject]:
    folder = bench.folder(args["name"])
    return [Subject("remove", (folder, f"with {len(_inside(folder))} files and directories in it, for good"))]


def _inside(folder: str) -> list[str]:
    try:
        return sorted(path for path in paths_in(folder) if path != f"{folder}/.")
    except ToolcribError:  # too deep or too wide to be a tool; it can be removed all the same
        return [folder]


delete_custom_tool = crafted(
    "delete_custom_tool",
    "Remove a tool that create_custom_tool made, with its folder and all that is in it. The user is asked first.",
    {"type": "object", "properties": {"name": NAMED}, "required": ["name"], "additionalProperties": False},
    Craft(_run, _touches, _preview),
    capabilities=Capabilities(writes_files=True),
)
