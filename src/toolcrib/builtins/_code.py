"""What the tools on the code index share: they all need the engine, all only read, and all answer within bounds."""

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ..backends.process import callers
from ..core.call import settle
from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON
from ..core.limits import Limits
from ..core.process import Command
from ..core.tool import Capabilities, Hooks, Subject, Tool
from ..core.workspace import Workspace
from ._place import veil_from
from ._tool import builtin, in_process

if TYPE_CHECKING:
    from ..codeindex.query import Code
    from ..codeindex.view import View

INSTALL = "pip install 'toolcrib[code]'"
LONGEST_NAME = 500
_LONGEST_SAID = 16 * 1024 * 1024
Ask = Callable[["Code", Mapping[str, JSON]], Awaitable[JSON]]

SYMBOL: dict[str, JSON] = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_NAME,
    "description": "A name; with its class or module where that matters: Class.method.",
}
PATH: dict[str, JSON] = {
    "type": "string",
    "minLength": 1,
    "default": ".",
    "description": "A directory or file of the workspace; left out, all of it.",
}
FILE: dict[str, JSON] = {"type": "string", "minLength": 1, "description": "A source file of the workspace."}
LIMIT: dict[str, JSON] = {"type": "integer", "minimum": 1, "maximum": 500, "description": "Most results to give."}


def code_tool(name: str, description: str, properties: dict[str, JSON], ask: Ask, *, required: tuple[str, ...]) -> Tool:
    """A tool that puts one question to the code index."""

    async def run(args: Mapping[str, JSON], ctx: Context) -> JSON:
        if ctx.code is None:
            message = f"the code index is not installed; to install it: {INSTALL}"
            raise ToolError(message, code="ENGINE_NOT_AVAILABLE", details={"install": INSTALL})
        from ..codeindex.query import Code  # late: nobody who does not ask about code pays for it

        with ctx.workspace.directory(".") as top:
            veil = veil_from(ctx, top.real)
        if veil is None:
            code = Code(cast(Any, ctx.code), ctx.workspace, partial(_started, ctx))
        else:  # and without the precise engine, which reads files by itself
            code = Code(_Veiled(ctx.code, veil), ctx.workspace)
        answer, failure = await settle(ask(code, args))
        if failure is None:
            return answer
        if isinstance(failure, ToolError):
            raise failure
        message = f"the search failed: {str(failure) or type(failure).__name__}; try a simpler question, or use grep"
        raise ToolError(message, code="SEARCH_ERROR", details={"exception": type(failure).__name__}) from failure

    schema = {
        "type": "object",
        "properties": properties,
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }
    return builtin(
        name,
        description,
        schema,
        in_process(run),
        capabilities=Capabilities(requires_code=True, idempotent=True),
        hooks=Hooks(touches=_touches),
    )


class _Veiled:
    """The index, without files that rules keep from being read."""

    def __init__(self, index: Any, veil: Callable[[str], bool]) -> None:
        self._index, self._veil = index, veil

    async def settled(self, files: Workspace) -> "View":
        view: View = await self._index.settled(files)
        return view.without(self._veil)


async def _started(ctx: Context, argv: tuple[str, ...], stdin: bytes) -> bytes:
    """Start a program of our own for a call: confined as others are, with nothing of the environment."""
    env = {"TOOLCRIB_CALL_ID": ctx.call_id, **callers(ctx.host.environ)}
    done = await ctx.sandbox.exec(Command(argv, os.sep, ctx.call_id, env, stdin, Limits(output_bytes=_LONGEST_SAID)))
    if done.code or done.stdout.omitted:
        raise ToolError(f"it ended with status {done.code}: {done.stderr.text()[-200:].strip()}")
    return done.stdout.head + done.stdout.tail


def _touches(args: Mapping[str, JSON]) -> list[Subject]:
    """Every question may lead anywhere below its place; a question about one file leads to others too."""
    return [Subject("read", (path,)) for path in dict.fromkeys((args.get("path", "."), args.get("file", ".")))]
