"""The commands that a session left running: what `run_command` starts in the background, and three tools look after."""

import asyncio
import os
import resource
import time
from collections.abc import Mapping
from typing import Any, Protocol, TypeGuard

from ..backends.view import view
from ..core.context import Context
from ..core.errors import Refused, ToolError
from ..core.jsontext import JSON
from ..core.process import Captured, Command, Sandbox
from ..sandbox.background import Background, News

MOST_RUNNING = 16
"""Of one session at once; fewer where descriptors are few."""
MOST_ENDED = 200
"""Of one session, to be looked at after their end; the oldest is forgotten first."""
_FDS_RESERVED, _FDS_OF_JOBS = 48, 32
_SHOWN_BYTES = 300
"""Of a command, where jobs are listed."""
RUNNING, EXITED, KILLED, TIMED_OUT = "running", "exited", "killed", "timed out"
JOB_ID: dict[str, JSON] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 64,
    "description": "As run_command with `background`, or job_list, gave it.",
}


class Begins(Protocol):
    """A sandbox that starts programs which go on when their call is over."""

    def begin(self, command: Command) -> Background: ...


def _begins(sandbox: Sandbox) -> TypeGuard[Begins]:
    return hasattr(sandbox, "begin")


class Job:
    """One command in the background."""

    def __init__(self, command: str, program: Background) -> None:
        self.id = f"job_{os.urandom(4).hex()}"
        self.command, self.program = view(command, _SHOWN_BYTES), program
        self.timer: asyncio.TimerHandle | None = None
        self._ended_by = EXITED

    @property
    def state(self) -> str:
        return RUNNING if self.program.completed is None else self._ended_by

    @property
    def exit_code(self) -> int | None:
        """None while it runs, and when somebody else collected its end."""
        done = self.program.completed
        return None if done is None or done.code < 0 else done.code

    def end(self, why: str) -> None:
        if self.state == RUNNING and self._ended_by == EXITED:
            self._ended_by = why
            self.program.end()

    def about(self) -> dict[str, JSON]:
        """What is known of it."""
        program = self.program
        stdout, stderr = program.so_far()
        return {
            "job_id": self.id,
            "command": self.command,
            "pid": program.pid,
            "state": self.state,
            "exit_code": self.exit_code,
            "age": round(time.monotonic() - program.began, 1),
            "seconds": round(program.seconds, 1),
            "stdout_bytes": stdout.total,
            "stderr_bytes": stderr.total,
            "unread_bytes": len(program.stdout) + len(program.stderr),
        }

    def output(self, ctx: Context, *, from_start: bool) -> dict[str, JSON]:
        """What nobody looked at yet, or all that is kept; from now on it counts as seen."""
        whole, new = self.program.so_far(), self.program.look()
        names = ("stdout", "stderr")
        streams = tuple(zip(names, whole, new, strict=True))
        cut = any(kept.omitted if from_start else fresh.omitted for _, kept, fresh in streams)
        found: dict[str, JSON] = {"job_id": self.id, "state": self.state, "exit_code": self.exit_code}
        found |= {name: kept.text() if from_start else _fresh(fresh, kept) for name, kept, fresh in streams}
        totals: dict[str, JSON] = {f"{name}_bytes": kept.total for name, kept, _ in streams}
        kept_whole = [
            {"id": kept.artifact[0], "stream": name, "path": kept.artifact[1], "bytes": kept.artifact[2]}
            for name, kept, _ in streams
            if kept.artifact
        ]
        ctx.report.update(totals, truncated=cut, artifacts=kept_whole)
        return {**found, **totals, "truncated": cut}


def _fresh(fresh: News, kept: Captured) -> str:
    if not fresh.omitted:
        return fresh.text
    where = ""
    if kept.artifact:
        ident, _, count = kept.artifact
        where = f"; the {'whole output is' if count == kept.total else f'first {count} bytes are'} artifact {ident}"
    return f"[… {fresh.omitted} bytes left out{where} …]\n{fresh.text}"


class Jobs:
    """All jobs of a runtime, each for the session that started it alone."""

    def __init__(self, *, workspace: str = "", one_shot: bool = False) -> None:
        """`one_shot`: the process that runs this ends with the call, and so would every job."""
        self.one_shot = one_shot
        self.workspace = frozenset((".", *((workspace, os.path.realpath(workspace)) if workspace else ())))
        """How the directory may be spelled in which commands run that say nothing of it."""
        self._sessions: dict[str, dict[str, Job]] = {}
        self._closed = False

    def start(self, command: Command, ctx: Context, *, shown: str, seconds: float | None) -> Job:
        """Start a command for the session of a call, to be ended after so many seconds.

        Raises:
            ToolError: it was not started.
        """
        sandbox, jobs = ctx.sandbox, self._sessions.setdefault(ctx.session, {})
        if self._closed:
            raise ToolError("nothing is started any more, and nothing ran", code="CANCELLED", before_effect=True)
        if not _begins(sandbox):
            message = f"the sandbox {sandbox.name} keeps nothing running; call it without `background`"
            raise Refused(message, code="SANDBOX_UNAVAILABLE")
        running, most = sum(job.state == RUNNING for job in jobs.values()), most_running()
        if running >= most:
            message = f"{running} jobs are running, and more than {most} are not; end one with job_kill, or wait"
            raise ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True)
        shown = ctx.host.conceal(shown)  # before it is cut: half a secret would not be known as one
        job = Job(shown, sandbox.begin(command))
        if seconds is not None:
            job.timer = asyncio.get_running_loop().call_later(seconds, job.end, TIMED_OUT)
        jobs[job.id] = job
        for old in [each for each in jobs.values() if each.state != RUNNING][:-MOST_ENDED]:
            del jobs[old.id]
        return job

    def all(self, ctx: Context) -> list[Job]:
        """Of a call's session, the oldest first."""
        return list(self._sessions.get(ctx.session, {}).values())

    def get(self, args: Mapping[str, Any], ctx: Context) -> Job:
        """Raises: `ToolError`, when this session has no such job."""
        job = self._sessions.get(ctx.session, {}).get(args["job_id"])
        if job is None:
            known: list[JSON] = [each.id for each in self.all(ctx)]
            message = f"this session has no job {args['job_id']}; call job_list to see those that it has"
            raise ToolError(message, details={"jobs": known})
        return job

    async def close(self) -> None:
        """End all of them, and wait until nothing is left."""
        self._closed = True
        jobs = [job for session in self._sessions.values() for job in session.values()]
        for job in jobs:
            if job.timer is not None:
                job.timer.cancel()
            job.end(KILLED)
        for job in jobs:
            await job.program.ended()


ALONE = Jobs()
"""For tools that no runtime gave another."""


def most_running() -> int:
    """So that descriptors never run out: a job holds some for as long as it runs."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(MOST_RUNNING, (soft - _FDS_RESERVED) // _FDS_OF_JOBS))
