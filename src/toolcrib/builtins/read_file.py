"""`read_file`: the text of a file in the workspace."""

from collections.abc import Mapping

from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._tool import ONE_PATH, builtin, in_process

LONGEST = 16 * 1024 * 1024


async def _run(args: Mapping[str, JSON], ctx: Context) -> str:
    path, files = args["path"], ctx.workspace
    size = files.stat(path).st_size
    if size > LONGEST:
        message = f"{path} has {size} bytes, and at most {LONGEST} are read at once; use run_command with head or grep"
        raise ToolError(message, code="READ_ERROR", details={"path": path})
    return files.read(path).decode("utf-8", "backslashreplace")


read_file = builtin(
    "read_file",
    "Read a text file of the workspace and return its content. A byte that is not UTF-8 is shown as \\xNN.",
    ONE_PATH,
    in_process(_run),
    capabilities=Capabilities(idempotent=True),
    hooks=Hooks(touches=lambda args: [Subject("read", (args["path"],))]),
)
