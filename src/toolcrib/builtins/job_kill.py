"""`job_kill`: end a command that this session started in the background, with all that it started."""

from collections.abc import Mapping

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities
from ._bench import BenchBackend, Craft, crafted
from .jobs import ALONE, JOB_ID, KILLED, RUNNING, Job, Jobs

_TERM, _KILL = 128 + 15, 128 + 9
_WORDS = {_TERM: "it ended when it was asked to", _KILL: "it did not end when it was asked to, and was killed"}


async def _run(args: Mapping[str, JSON], ctx: Context, own: BenchBackend[Jobs]) -> dict[str, JSON]:
    job = own.bench.get(args, ctx)
    ran = job.state == RUNNING
    job.end(KILLED)
    await job.program.ended()
    return {"job_id": job.id, "state": job.state, "exit_code": job.exit_code, "message": _how(job, ran=ran)}


def _how(job: Job, *, ran: bool) -> str:
    if not ran:
        return f"it was no longer running ({job.state}), and nothing was ended"
    if job.exit_code is None:
        return "it is gone; how it ended is not known"
    return _WORDS.get(job.exit_code, f"it ended with exit status {job.exit_code}")


job_kill = crafted(
    "job_kill",
    "End a background job of this session and every process that it started: they are asked to end, and killed a "
    "moment later if they have not. Returns how it ended; what it printed is still there for job_output.",
    {"type": "object", "properties": {"job_id": JOB_ID}, "required": ["job_id"], "additionalProperties": False},
    Craft(_run),
    ALONE,
    # It ends only what this session was allowed to start, and neither writes nor runs anything: nobody need be asked.
    capabilities=Capabilities(idempotent=True),
)
