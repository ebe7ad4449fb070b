"""`write_file`: make a file in the workspace, or replace what it holds."""

from collections.abc import Mapping
from difflib import unified_diff

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._tool import builtin, in_process


async def _run(args: Mapping[str, JSON], ctx: Context) -> str:
    path, data = args["path"], args["content"].encode("utf-8", "surrogatepass")
    ctx.workspace.write(path, data)
    return f"wrote {len(data)} bytes to {path}"


async def _preview(args: Mapping[str, JSON], ctx: Context) -> str:
    """The difference it would make."""
    path, files = args["path"], ctx.workspace
    old = files.read(path).decode("utf-8", "backslashreplace") if files.exists(path) else ""
    lines = (old.split("\n"), args["content"].split("\n"))
    return "\n".join(unified_diff(*lines, f"a/{path}", f"b/{path}", lineterm=""))


write_file = builtin(
    "write_file",
    "Write a text file of the workspace: make it, or replace all it holds. Missing directories are made.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "Relative to the workspace."},
            "content": {"type": "string", "description": "The whole new content."},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    },
    in_process(_run),
    capabilities=Capabilities(writes_files=True, idempotent=True),
    hooks=Hooks(dry_run=_preview, touches=lambda args: [Subject("write", (args["path"],))]),
)
