"""`create_custom_tool`: a new folder in the user's tools, with a manifest and a source to be edited."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..backends.folder import MANIFEST
from ..core.context import Context
from ..core.jsontext import JSON
from ..core.schema import Schema
from ..core.tool import Capabilities, Subject, Tool
from .workbench import NAMED, BenchBackend, Craft, Workbench, crafted

if TYPE_CHECKING:
    from ..sources.workshop import Plan

_UNCONFINED = ("off", "process", "")
_CALLS = {
    "ask": "each call of it is asked about, until you allow more",
    "preApproved": "its calls run without being asked about: your configuration says so",
    "blocked": "its calls are blocked by your configuration",
}


def _plan(args: Mapping[str, JSON], bench: Workbench) -> "Plan":
    from ..sources import workshop  # late, with the templates and YAML: most sessions make no tool

    parameters = [workshop.Parameter(**each) for each in args.get("parameters", [])]
    return workshop.plan(
        bench.directory,
        args["name"],
        description=args["description"],
        language=args.get("language", "python"),
        parameters=parameters,
        prefix=bench.prefix,
    )


async def _run(args: Mapping[str, JSON], ctx: Context, own: BenchBackend) -> dict[str, Any]:
    from ..sources import workshop

    plan, exposed = _plan(args, own.bench), own.bench.prefix + args["name"]
    ctx.report["custom_tool"] = exposed
    files = workshop.create(plan)
    sources = [path for path in files if os.path.basename(path) != MANIFEST]
    return {
        "name": exposed,
        "folder": plan.folder,
        "language": plan.language,
        "files": files,
        "next": [
            f"write_file {sources[0]}: put in what the tool does, in the places marked TODO",
            f"write_file {plan.folder}/{MANIFEST}: put an example of it into `examples`, and its `usage`",
            f"build_custom_tool {args['name']}, after each change" if plan.build else "nothing has to be built",
            f"from the next turn on it is there as {exposed}",
        ],
    }


async def _preview(args: Mapping[str, JSON], ctx: Context, own: BenchBackend) -> dict[str, Any]:
    """What would be written."""
    plan = _plan(args, own.bench)
    return {"folder": plan.folder, "files": {draft.file: draft.text for draft in plan.files}}


def _touches(args: Mapping[str, JSON], bench: Workbench) -> list[Subject]:
    """All that a yes means. What cannot be made is refused here, before anybody is asked."""
    plan, exposed = _plan(args, bench), bench.prefix + args["name"]
    sandbox = bench.sandbox()
    rights = "with your rights, the network too" if sandbox in _UNCONFINED else f"confined by {sandbox}"
    says = (
        plan.folder,
        f"a tool in {plan.language}, offered to agents as {exposed}",
        f"it will run {rights}, and see {', '.join(bench.variables) or 'no variable'} of your environment",
        _CALLS[bench.approval(_as_offered(exposed, args["description"], bench))],
    )
    return [Subject("make", says)]


def _as_offered(exposed: str, description: str, bench: Workbench) -> Tool:
    """As the rules will see it."""
    from ..sources.executable import CAPABILITIES

    backend = BenchBackend("", Craft(_run), bench)
    return Tool(exposed, description, Schema({}), backend, "manifest", capabilities=CAPABILITIES)


create_custom_tool = crafted(
    "create_custom_tool",
    "Make a new tool of your own, which stays: a folder in the user's tools directory with a manifest and a source "
    "that works at once and shows where to go on. The user is asked first. Then edit the source with write_file, build "
    "it with build_custom_tool where the language needs that, and call it from the next turn on. For something that is "
    "needed once, use run_command instead. list_custom_tools with guidance=true says how to make a good one.",
    {
        "type": "object",
        "properties": {
            "name": NAMED,
            "description": {
                "type": "string",
                "minLength": 1,
                "description": "What it does, in a sentence; it is chosen by these words.",
            },
            "language": {
                "type": "string",
                "enum": ["python", "bash", "node", "go", "rust"],
                "default": "python",
                "description": "What the source is written in.",
            },
            "parameters": {
                "type": "array",
                "default": [],
                "description": "What it is called with. Each arrives as one --name=value.",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "minLength": 1},
                        "type": {"type": "string", "enum": ["string", "number", "boolean"], "default": "string"},
                        "required": {"type": "boolean", "default": False},
                        "description": {"type": "string"},
                    },
                    "required": ["name"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["name", "description"],
        "additionalProperties": False,
    },
    Craft(_run, _touches, _preview),
    capabilities=Capabilities(writes_files=True),
)
