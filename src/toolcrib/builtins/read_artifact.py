"""`read_artifact`: lines of an answer that was too long to be shown whole."""

import asyncio
from collections.abc import Mapping

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks
from ._artifact import IDENT, opened
from ._reading import LINES, answer, part_of, wanted
from ._tool import builtin, in_process


async def _run(args: Mapping[str, JSON], ctx: Context) -> str:
    def read() -> str:
        with opened(args["id"], ctx) as (file, size):
            return answer(part_of(file, size, **wanted(args), stop=lambda: ctx.over), ctx)

    return await asyncio.to_thread(read)  # it takes a moment, and others want to go on


read_artifact = builtin(
    "read_artifact",
    "Read the whole of an answer that was cut: all of it, or `limit` lines from line `offset` on. The cut answer "
    "names the artifact's id.",
    {
        "type": "object",
        "properties": {"id": IDENT, **LINES},
        "required": ["id"],
        "additionalProperties": False,
    },
    in_process(_run),
    capabilities=Capabilities(idempotent=True),
    hooks=Hooks(),
)
