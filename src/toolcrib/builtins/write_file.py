"""`write_file`: make a file in the workspace, or replace what it holds."""

from collections.abc import Mapping

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._changing import changed, present
from ._text import HEAD, difference, text_of, type_of
from ._tool import PATH, builtin, in_process


async def _run(args: Mapping[str, JSON], ctx: Context) -> str:
    path = args["path"]
    _, new = await changed(ctx, path, lambda old: _fitting(args["content"], old))
    return f"wrote {len(new)} bytes to {path}"


async def _preview(args: Mapping[str, JSON], ctx: Context) -> str:
    """The difference it would make."""
    old = present(ctx, args["path"])
    return difference(old, _fitting(args["content"], old), args["path"])


def _fitting(content: str, old: bytes | None) -> bytes:
    """The content as bytes, with the line ends and in the encoding of the text that it replaces."""
    if not old or type_of(old[:HEAD]):
        return content.encode("utf-8", "surrogatepass")
    before = text_of(old)
    if before.crlf and "\r" not in content:
        content = content.replace("\n", "\r\n")
    try:
        return before.encoded(content)
    except UnicodeEncodeError:  # it says what the old encoding has no signs for
        return content.encode("utf-8", "surrogatepass")


write_file = builtin(
    "write_file",
    "Write a text file of the workspace: make it, or replace all it holds. Missing directories are made. A file that "
    "is replaced keeps its mode, its line ends and its encoding, and must not have changed since you read it.",
    {
        "type": "object",
        "properties": {"path": PATH, "content": {"type": "string", "description": "The whole new content."}},
        "required": ["path", "content"],
        "additionalProperties": False,
    },
    in_process(_run),
    capabilities=Capabilities(writes_files=True, idempotent=True),
    hooks=Hooks(dry_run=_preview, touches=lambda args: [Subject("write", (args["path"],))]),
)
