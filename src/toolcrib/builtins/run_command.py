"""`run_command`: a program, or a line of shell, in the workspace; in the background, if it is to go on."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..backends.process import command_for, plain_answer
from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON
from ..core.limits import Limits
from ..core.tool import Capabilities, Subject
from ..sandbox.background import KEPT_BYTES
from ._bench import BenchBackend, Craft, crafted
from ._pace import IDLE_SECONDS, run_in_time
from .jobs import ALONE, Jobs

LONGEST = 600
_LIMITS = Limits(float(LONGEST))
"""This very object: another one in its place is what the user, or the caller, said, and then holds from the start."""
_SHELLS = (("/bin/bash", "-p"), ("/usr/bin/bash", "-p"), ("/bin/sh",))
"""With `-p`, bash takes no functions and no start-up files from its environment: a text means what it says."""
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")
_KEYWORDS = re.compile("case|coproc|do|done|elif|else|esac|fi|for|function|if|in|select|then|time|until|while")
_ONE_SHOT = (
    "background: this process ends with the call, and would end the command with it; run it in the foreground, or "
    "through something that stays, such as `toolcrib serve mcp`"
)


async def _run(args: Mapping[str, JSON], ctx: Context, own: BenchBackend[Jobs]) -> Any:
    with _directory(args, ctx, own.bench) as place:
        argv = _argv(args, ctx, elsewhere=bool(place))
        command = command_for(argv, ctx, variables=own.variables, cwd=place)
        if not args.get("background"):
            idle = IDLE_SECONDS if ctx.limits is _LIMITS else None
            done = await run_in_time(command, ctx, seconds=args.get("timeout"), idle=idle)
            return plain_answer(done, ctx)
        # The end of the call is not the end of the job; what the user said of this tool's time is meant for both.
        said = None if ctx.limits is _LIMITS or ctx.request.timeout is not None else ctx.limits.seconds
        seconds = min((each for each in (args.get("timeout"), said) if each is not None), default=None)
        kept = command._replace(limits=replace(ctx.limits, output_bytes=min(KEPT_BYTES, ctx.limits.output_bytes)))
        job = own.bench.start(kept, ctx, shown=_shown(args), seconds=seconds)
    ctx.report["job_id"] = job.id
    return {"job_id": job.id, "pid": job.program.pid, "command": job.command, "state": job.state}


def _argv(args: Mapping[str, JSON], ctx: Context, *, elsewhere: bool) -> tuple[str, ...]:
    if "argv" not in args:
        return _shell(args["command"])
    program, *words = args["argv"]
    return (_found(program, ctx, elsewhere=elsewhere), *words)


def _shell(text: str) -> tuple[str, ...]:
    for shell in _SHELLS:
        if os.path.exists(shell[0]):
            return (*shell, "-c", text)
    raise ToolError("there is no shell here; give the program and its words as argv", before_effect=True)


def _found(program: str, ctx: Context, *, elsewhere: bool) -> str:
    """Where a program lies: a name is looked for on the PATH, a path is below the directory that it starts in."""
    if "/" in program:
        return program if elsewhere else os.path.join(ctx.cwd, program)
    for directory in ctx.host.environ.get("PATH", os.defpath).split(":"):
        path = os.path.join(directory, program)
        if os.path.isabs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise ToolError(f"there is no program {program!r} on the PATH", code="FILE_NOT_FOUND", before_effect=True)


# Where


def _elsewhere(args: Mapping[str, JSON], jobs: Jobs) -> str:
    """The directory that is given, if it is another than the workspace. Agents like to say where they are."""
    given: str = args.get("cwd", ".")
    return "" if given.rstrip("/") in jobs.workspace else given


@contextmanager
def _directory(args: Mapping[str, JSON], ctx: Context, jobs: Jobs) -> Iterator[str]:
    """The path of the directory to start in, empty for the workspace. It leads to what was opened, and nowhere else."""
    given = _elsewhere(args, jobs)
    if not given:
        yield ""
        return
    with ctx.workspace.directory(given) as folder:
        held = f"/proc/self/fd/{folder.fd}"  # of whoever enters it: a confined one is not let into ours
        yield held if os.path.isdir(held) else folder.real


def _touches(args: Mapping[str, JSON], jobs: Jobs) -> list[Subject]:
    """In another directory, the command is judged as the shell text that goes there first.

    A person is asked about that text as one thing: the same words in the workspace are another, and no answer to the
    one is an answer to the other.
    """
    place = _elsewhere(args, jobs)
    if not place:
        return [Subject("command", tuple(args["argv"])) if "argv" in args else Subject("shell", (args["command"],))]
    return [Subject("read", (place,)), Subject("moved", (f"cd {_word(_below(place, jobs))} && {_shown(args)}",))]


def _below(place: str, jobs: Jobs) -> str:
    """A directory as a person in the workspace would name it."""
    for root in jobs.workspace:
        if root != "." and place.startswith(f"{root}/") and ".." not in place.split("/"):
            return f"./{place[len(root) + 1 :]}"
    return f"./{place}" if place.startswith("-") else place


def _shown(args: Mapping[str, JSON]) -> str:
    """The command as a person would type it into a shell."""
    if "argv" not in args:
        return str(args["command"])
    program, *words = args["argv"]
    return " ".join([f"'{program}'" if _KEYWORDS.fullmatch(program) else _word(program), *map(_word, words)])


def _word(word: str) -> str:
    """So that a shell takes it for this very word. What might be an assignment is quoted as well."""
    return word if _PLAIN.fullmatch(word) else "'" + word.replace("'", "'\"'\"'") + "'"


def _faults(args: Mapping[str, JSON], jobs: Jobs) -> list[str]:
    return [_ONE_SHOT] if args.get("background") and jobs.one_shot else []


run_command = crafted(
    "run_command",
    "Run a command in the workspace and return its standard output. Give either `command`, a line of shell, or `argv`, "
    "a program and its words, which no shell looks at. Simple commands, also several joined by && ; or |, are judged "
    "one by one; keep to those, and you are rarely asked. One that prints nothing for 30 seconds is ended, unless "
    "`timeout` says how long it may take. What is to go on, such as a server, is started with `background`: that "
    "returns a job_id at once, for job_output, job_kill and job_list.",
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1, "description": "A line of shell, such as: git status"},
            "argv": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": 'A program and its words, such as ["git", "status"].',
            },
            "cwd": {
                "type": "string",
                "minLength": 1,
                "description": "The directory to run it in, relative to the workspace, which it is by default.",
            },
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": LONGEST,
                "description": "Seconds that it may take in all. Without it, it may go on while it prints something "
                f"every {IDLE_SECONDS:g} seconds, for {LONGEST} at most.",
            },
            "background": {
                "type": "boolean",
                "default": False,
                "description": "Return at once, and leave it running until it ends, or this session does.",
            },
        },
        "oneOf": [{"required": ["command"]}, {"required": ["argv"]}],
        "additionalProperties": False,
    },
    Craft(_run, _touches, faults=_faults),
    ALONE,
    capabilities=Capabilities(executes_commands=True, writes_files=True),
    variables=("PATH", "HOME", "USER"),
    starts_process=True,
    limits=_LIMITS,
)
