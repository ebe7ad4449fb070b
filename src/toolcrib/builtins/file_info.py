"""`file_info`: what is known of a file without reading it."""

import stat
import time
from collections.abc import Mapping

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._tool import ONE_PATH, builtin, in_process


async def _run(args: Mapping[str, JSON], ctx: Context) -> dict[str, JSON]:
    seen = ctx.workspace.stat(args["path"])
    kinds = ((stat.S_ISDIR, "directory"), (stat.S_ISREG, "file"))
    return {
        "path": args["path"],
        "type": next((kind for is_one, kind in kinds if is_one(seen.st_mode)), "other"),
        "size": seen.st_size,
        "modified": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seen.st_mtime)),
        "mode": f"{stat.S_IMODE(seen.st_mode):04o}",
    }


file_info = builtin(
    "file_info",
    "Give type, size in bytes, time of the last change and mode of a file or directory of the workspace.",
    ONE_PATH,
    in_process(_run),
    capabilities=Capabilities(idempotent=True),
    hooks=Hooks(touches=lambda args: [Subject("read", (args["path"],))]),
)
