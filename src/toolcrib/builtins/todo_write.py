"""`todo_write`: replace the list of what this session has to do."""

import asyncio
from collections.abc import Mapping

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities
from ._bench import BenchBackend, Craft, crafted
from .todos import ALONE, LONGEST, MOST, STATES, TodoLists, told


async def _run(args: Mapping[str, JSON], ctx: Context, own: BenchBackend[TodoLists]) -> dict[str, JSON]:
    items = list(args["todos"])
    await asyncio.to_thread(own.bench.write, ctx.session, items)  # another process may be writing
    return told(items)


_TEXT: dict[str, JSON] = {"type": "string", "minLength": 1, "maxLength": LONGEST}

todo_write = crafted(
    "todo_write",
    "Write down what you have to do in this session: the whole list, which takes the place of the one before. Use it "
    "for work of several steps, keep one item in_progress, and mark each completed as soon as it is. Returns the list "
    "and how many items are in each state.",
    {
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "maxItems": MOST,
                "description": "All items, in order; an empty list clears it.",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {**_TEXT, "description": "What is to be done, such as: Fix the failing test"},
                        "status": {"enum": list(STATES)},
                        "activeForm": {**_TEXT, "description": "The same while it is done: Fixing the failing test"},
                        "priority": {"enum": ["high", "medium", "low"]},
                        "id": {"type": "string", "minLength": 1, "maxLength": 64},
                    },
                    "required": ["content", "status"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["todos"],
        "additionalProperties": False,
    },
    Craft(_run),
    ALONE,
    capabilities=Capabilities(idempotent=True),
)
