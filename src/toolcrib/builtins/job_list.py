"""`job_list`: the commands that this session started in the background."""

from collections.abc import Mapping

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities
from ._bench import BenchBackend, Craft, crafted
from .jobs import ALONE, Jobs


async def _run(args: Mapping[str, JSON], ctx: Context, own: BenchBackend[Jobs]) -> dict[str, JSON]:
    return {"jobs": [job.about() for job in own.bench.all(ctx)]}


job_list = crafted(
    "job_list",
    "List the background jobs of this session, the oldest first: command, state, exit code, age and running time in "
    "seconds, how many bytes each printed, and how many of them you have not looked at.",
    {"type": "object", "properties": {}, "additionalProperties": False},
    Craft(_run),
    ALONE,
    capabilities=Capabilities(idempotent=True),
)
