"""`delete_file`: remove a file of the workspace."""

from collections.abc import Mapping

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._changing import patiently
from ._text import difference
from ._tool import ONE_PATH, builtin, in_process

_SHOWN_WHOLE = 1024 * 1024


async def _run(args: Mapping[str, JSON], ctx: Context) -> str:
    await patiently(lambda: ctx.workspace.unlink(args["path"]), args["path"])
    return f"deleted {args['path']}"


async def _preview(args: Mapping[str, JSON], ctx: Context) -> str:
    """What would go."""
    path, files = args["path"], ctx.workspace
    size = files.stat(path).st_size
    return difference(files.read(path), None, path) if size <= _SHOWN_WHOLE else f"would delete {path}, {size} bytes"


delete_file = builtin(
    "delete_file",
    "Delete a file of the workspace. Of a link, the link itself goes; a directory is not deleted.",
    ONE_PATH,
    in_process(_run),
    capabilities=Capabilities(writes_files=True),
    hooks=Hooks(dry_run=_preview, touches=lambda args: [Subject("write", (args["path"],))]),
)
