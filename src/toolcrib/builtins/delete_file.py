"""`delete_file`: remove a file of the workspace."""

from collections.abc import Mapping

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._tool import ONE_PATH, builtin, in_process


async def _run(args: Mapping[str, JSON], ctx: Context) -> str:
    ctx.workspace.unlink(args["path"])
    return f"deleted {args['path']}"


async def _preview(args: Mapping[str, JSON], ctx: Context) -> str:
    """What would go."""
    return f"would delete {args['path']}, {ctx.workspace.stat(args['path']).st_size} bytes"


delete_file = builtin(
    "delete_file",
    "Delete a file of the workspace. Of a link, the link itself goes; a directory is not deleted.",
    ONE_PATH,
    in_process(_run),
    capabilities=Capabilities(writes_files=True),
    hooks=Hooks(dry_run=_preview, touches=lambda args: [Subject("write", (args["path"],))]),
)
