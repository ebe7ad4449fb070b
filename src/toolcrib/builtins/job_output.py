"""`job_output`: what a command in the background printed since somebody last looked, and whether it still runs."""

from collections.abc import Mapping

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.limits import Limits
from ..core.tool import NO_CAPABILITIES
from ._bench import BenchBackend, Craft, crafted
from .jobs import ALONE, JOB_ID, Jobs

LONGEST_WAIT = 300
_SPARE_SECONDS = 30.0


async def _run(args: Mapping[str, JSON], ctx: Context, own: BenchBackend[Jobs]) -> dict[str, JSON]:
    job, from_start = own.bench.get(args, ctx), args.get("since") == "start"
    if args.get("wait"):
        await job.program.wait(args["wait"])
    return job.output(ctx, from_start=from_start)


job_output = crafted(
    "job_output",
    "Give what a background job printed since you last looked, whether it still runs, and its exit code once it has "
    "ended. With `wait`, wait for news first. Output that was too long to keep is left out at its beginning, and "
    "an artifact then holds the whole.",
    {
        "type": "object",
        "properties": {
            "job_id": JOB_ID,
            "wait": {
                "type": "number",
                "minimum": 0,
                "maximum": LONGEST_WAIT,
                "default": 0,
                "description": "Seconds to wait at most, for new output or for the end of the job.",
            },
            "since": {
                "enum": ["last", "start"],
                "default": "last",
                "description": "Since you last looked, or all from the start as far as it is kept.",
            },
        },
        "required": ["job_id"],
        "additionalProperties": False,
    },
    Craft(_run),
    ALONE,
    capabilities=NO_CAPABILITIES,
    limits=Limits(LONGEST_WAIT + _SPARE_SECONDS),
)
