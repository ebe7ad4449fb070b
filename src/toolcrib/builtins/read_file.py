"""`read_file`: the lines of a text file in the workspace."""

import asyncio
from collections.abc import Mapping, Sequence
from io import BytesIO

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._reading import ANSWER_BYTES, LINES, answer, part_of, wanted
from ._tool import PATH, builtin, in_process


async def _run(args: Mapping[str, JSON], ctx: Context) -> str:
    path, files = args["path"], ctx.workspace
    size = files.stat(path).st_size
    if size <= ANSWER_BYTES:
        data = files.read(path)
        return answer(part_of(BytesIO(data), len(data), **wanted(args)), ctx)

    def read() -> str:
        with files.open(path) as file:
            return answer(part_of(file, size, **wanted(args), stop=lambda: ctx.over), ctx)

    return await asyncio.to_thread(read)  # it takes a moment, and others want to go on


def _validate(args: Mapping[str, JSON]) -> Sequence[str]:
    faults = []
    if not args.get("path") or not isinstance(args["path"], str):
        faults.append("path is required and must be a string")
    for name, least, word in (("offset", 0, "non-negative"), ("limit", 1, "positive")):
        value = args.get(name, least)
        if isinstance(value, bool) or not isinstance(value, int | float):
            faults.append(f"{name} must be a number")
        elif value < least:
            faults.append(f"{name} must be {word}")
    return faults


read_file = builtin(
    "read_file",
    "Read a text file of the workspace: all of it, or `limit` lines from line `offset` on. Of an image or another "
    "binary file, the type and size are returned. A byte in no known encoding is shown as \\xNN.",
    {
        "type": "object",
        "properties": {"path": PATH, **LINES},
        "required": ["path"],
        "additionalProperties": False,
    },
    in_process(_run),
    capabilities=Capabilities(idempotent=True, retryable=True),
    hooks=Hooks(validate=_validate, touches=lambda args: [Subject("read", (args["path"],))]),
)
