"""`file_info`: what a file is, without reading more of it than its beginning."""

import stat
import time
from collections.abc import Mapping

from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._text import HEAD, type_of
from ._tool import ONE_PATH, builtin, in_process


async def _run(args: Mapping[str, JSON], ctx: Context) -> dict[str, JSON]:
    path, seen = args["path"], ctx.workspace.stat(args["path"])
    kinds = ((stat.S_ISDIR, "directory"), (stat.S_ISREG, "file"))
    about = {
        "path": path,
        "type": next((kind for is_one, kind in kinds if is_one(seen.st_mode)), "other"),
        "size": seen.st_size,
        "modified": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seen.st_mtime)),
        "mode": f"{stat.S_IMODE(seen.st_mode):04o}",
    }
    if about["type"] == "file":
        about["content"] = _content(path, ctx)
    return about


def _content(path: str, ctx: Context) -> str:
    """`text`, `empty`, or `binary` and of which type."""
    try:
        with ctx.workspace.open(path, glance=True) as file:
            head = file.read(HEAD)
    except ToolError:  # it is there, and may not be read
        return "unreadable"
    kind = type_of(head)
    return f"binary, {kind}" if kind else "text" if head else "empty"


file_info = builtin(
    "file_info",
    "Tell what a file or directory of the workspace is: type, size in bytes, time of the last change, mode, and "
    "whether it holds text or is binary.",
    ONE_PATH,
    in_process(_run),
    capabilities=Capabilities(idempotent=True),
    hooks=Hooks(touches=lambda args: [Subject("read", (args["path"],))]),
)
