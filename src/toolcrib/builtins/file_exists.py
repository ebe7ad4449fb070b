"""`file_exists`: whether something lies at a path of the workspace."""

from collections.abc import Mapping

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._tool import ONE_PATH, builtin, in_process


async def _run(args: Mapping[str, JSON], ctx: Context) -> bool:
    return ctx.workspace.exists(args["path"])


file_exists = builtin(
    "file_exists",
    "Say whether there is a file or a directory at a path of the workspace.",
    ONE_PATH,
    in_process(_run),
    capabilities=Capabilities(idempotent=True),
    hooks=Hooks(touches=lambda args: [Subject("read", (args["path"],))]),
)
