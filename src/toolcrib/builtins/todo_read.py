"""`todo_read`: the list of what this session has to do."""

import asyncio
from collections.abc import Mapping

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities
from ._bench import BenchBackend, Craft, crafted
from .todos import ALONE, TodoLists, told


async def _run(args: Mapping[str, JSON], ctx: Context, own: BenchBackend[TodoLists]) -> dict[str, JSON]:
    return told(await asyncio.to_thread(own.bench.read, ctx.session))


todo_read = crafted(
    "todo_read",
    "Read the list that todo_write wrote in this session, with how many items are in each state.",
    {"type": "object", "properties": {}, "additionalProperties": False},
    Craft(_run),
    ALONE,
    capabilities=Capabilities(idempotent=True),
)
