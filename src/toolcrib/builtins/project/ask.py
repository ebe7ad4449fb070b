"""One tool about projects: its schema, and how it looks before it answers."""

import asyncio
from collections.abc import Mapping

from ...core.context import Context
from ...core.jsontext import JSON
from ...core.tool import Capabilities, Hooks, Subject, Tool
from .._tool import DIRECTORY, builtin, in_process


def about_projects(name: str, description: str) -> Tool:
    async def run(args: Mapping[str, JSON], ctx: Context) -> JSON:
        return await asyncio.to_thread(_answer, name, args.get("path", "."), ctx)

    return builtin(
        name,
        description,
        {"type": "object", "properties": {"path": DIRECTORY}, "additionalProperties": False},
        in_process(run),
        capabilities=Capabilities(idempotent=True),
        hooks=Hooks(touches=lambda args: [Subject("read", (args.get("path", "."),))]),
    )


def _answer(name: str, path: str, ctx: Context) -> JSON:
    from .._place import veil_from
    from .describe import ANSWERS  # late, with the readers of all formats: few calls are about projects
    from .survey import Survey

    with ctx.workspace.directory(path) as folder:
        survey = Survey(folder, path, stop=lambda: ctx.over, veil=veil_from(ctx, folder.real))
        answer = ANSWERS[name](survey)
    ctx.report["bytes_read"] = ctx.report.get("bytes_read", 0) + survey.bytes_read
    return answer
