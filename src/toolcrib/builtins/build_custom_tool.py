"""`build_custom_tool`: run what makes a program of a tool's source."""

import os
import shlex
from collections.abc import Mapping

from ..backends.folder import MANIFEST, content_of
from ..backends.process import plain_answer, run_program
from ..core.context import Context
from ..core.errors import Refused, ToolError
from ..core.jsontext import JSON
from ..core.limits import Limits
from ..core.tool import Capabilities, Subject
from ..sandbox.guard import GuardedFiles
from .workbench import NAMED, BenchBackend, Craft, Workbench, crafted

SECONDS = 300.0


async def _run(args: Mapping[str, JSON], ctx: Context, own: BenchBackend) -> str:
    from ..sources import workshop  # late, with YAML: most sessions build no tool

    bench = own.bench
    folder = bench.folder(args["name"])
    name = os.path.basename(folder)
    ctx.report["custom_tool"] = bench.prefix + name
    _check_judged(folder, ctx)
    said = []
    for step in workshop.build_steps(folder, search_path=bench.search_path):
        done = await run_program(step.argv, ctx, variables=own.variables, cwd=folder)
        try:
            output = plain_answer(done, ctx) + done.stderr.text()
        except ToolError as exc:
            told = str(exc).removeprefix(f"{ctx.tool_name} ")
            raise ToolError(f"{shlex.join(step.argv)} {told}", code=exc.code, details=exc.details) from None
        said += [f"ran {shlex.join(step.argv)} ({step.why})", *([output.rstrip("\n")] if output.strip() else [])]
    if not said:
        return f"{name} needs no build: it runs as it is, and is offered as {bench.prefix}{name} from the next turn on"
    if changed := workshop.fix_entrypoint(folder):
        said.append(f"{MANIFEST} now says {changed}")
    return "\n".join([*said, f"{name} is built, and offered as {bench.prefix}{name} from the next turn on"])


def _touches(args: Mapping[str, JSON], bench: Workbench) -> list[Subject]:
    """The commands, bound to what lies in the folder now: they may run any file of it."""
    from ..sources import workshop

    folder = bench.folder(args["name"])
    steps = workshop.build_steps(folder, search_path=bench.search_path)
    return [Subject("build", (folder, content_of(folder).digest, *(shlex.join(step.argv) for step in steps)))]


async def _preview(args: Mapping[str, JSON], ctx: Context, own: BenchBackend) -> dict[str, JSON]:
    folder, _, *commands = _touches(args, own.bench)[0].value
    return {"folder": folder, "would_run": commands}


def _check_judged(folder: str, ctx: Context) -> None:
    """What was looked at and allowed is what is built, however long the answer took."""
    files = ctx.workspace
    judged = files.judged if isinstance(files, GuardedFiles) else {}
    if f"{folder}@{content_of(folder).digest}" not in judged:
        message = f"{folder} changed since this build was judged; call again to have it judged anew"
        raise Refused(message, code="APPROVAL_DENIED")


build_custom_tool = crafted(
    "build_custom_tool",
    "Build a tool that create_custom_tool made, after its source was changed: compile it, or run the `build` command "
    "of its manifest, in its folder. Returns what was run and what that printed. A tool that needs no build says so. "
    "What a compiler complains of is in the error.",
    {"type": "object", "properties": {"name": NAMED}, "required": ["name"], "additionalProperties": False},
    Craft(_run, _touches, _preview),
    capabilities=Capabilities(writes_files=True, executes_commands=True),
    starts_process=True,
    limits=Limits(SECONDS),
)
