"""`list_files`: what lies in a directory of the workspace."""

import stat
from collections.abc import Mapping

from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._tool import builtin, in_process


async def _run(args: Mapping[str, JSON], ctx: Context) -> list[str]:
    path, files = args.get("path", "."), ctx.workspace
    return [name + ("/" if _is_directory(f"{path}/{name}", ctx) else "") for name in files.list(path)]


def _is_directory(path: str, ctx: Context) -> bool:
    try:
        return stat.S_ISDIR(ctx.workspace.stat(path).st_mode)
    except ToolError:  # a link that leads out, or nowhere
        return False


list_files = builtin(
    "list_files",
    "List what lies in a directory of the workspace, by name; the name of a directory ends with a slash.",
    {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "minLength": 1,
                "default": ".",
                "description": "Relative to the workspace; left out, the workspace itself.",
            }
        },
        "additionalProperties": False,
    },
    in_process(_run),
    capabilities=Capabilities(idempotent=True),
    hooks=Hooks(touches=lambda args: [Subject("read", (args.get("path", "."),))]),
)
