"""A program as a tool: arguments as JSON on stdin, answer on stdout, failure by exit code or by a structured error."""

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from ..core.context import Context
from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, dump, parse
from ..core.process import Captured, Command, Completed

_KEY = re.compile(r"[A-Za-z0-9_.-]+")
_digests: dict[str, tuple[tuple[int, int, int, int], str]] = {}
_EXECUTE = 0o111
_FIRST_LINE = 256
_PYTHON = re.compile(r"python[0-9.]*")

Worker = tuple[tuple[str, ...], tuple[str, ...]]
"""An interpreter, and what it is to have ready."""


class ProcessBackend(NamedTuple):
    """`<program> run` with JSON, or the Amp dialect, which names the action in a variable."""

    program: str
    variables: tuple[str, ...] = ("PATH", "HOME", "USER")
    """Names that are passed on from the host's environment."""
    dialect: str = "run"
    """`run`: argv says what to do. `amp-json`, `amp-text`: `TOOLBOX_ACTION` does."""
    pinned: str = ""
    """The digest of what was described, and so of what may run; empty: of what lies there at the call."""
    warm: bool = False
    """Written in Python, a worker that has its libraries at hand may run it."""

    @property
    def starts_process(self) -> bool:
        return True

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        programs = ctx.host.programs
        program = self.program if programs is None else programs.verified(self.program, self.pinned or self.digest())
        own = {"TOOLCRIB_TOOL_DIR": os.path.dirname(self.program)}
        argv: tuple[str, ...] = (program, "run")
        if self.dialect != "run":
            argv, own["TOOLBOX_ACTION"] = (program,), "execute"
        stdin = _lines(args) if self.dialect == "amp-text" else dump(args)
        try:
            warm = worker_for(program) if self.warm else None
            done = await run_program(argv, ctx, variables=self.variables, own=own, stdin=stdin, warm=warm)
        except ToolError as exc:
            raise in_terms_of(self.program, program, exc) from None
        return _answer(done, ctx)

    def digest(self) -> str:
        return file_digest(self.program, executable=True)


async def run_program(
    argv: tuple[str, ...],
    ctx: Context,
    *,
    variables: tuple[str, ...],
    own: Mapping[str, str] = MappingProxyType({}),
    stdin: bytes = b"",
    warm: Worker | None = None,
    channel: int = -1,
    cwd: str = "",
) -> Completed:
    """Start a program for a call, with the variables named, the tool's secrets and its `own`, and wait for its end.

    It starts in the workspace, unless `cwd` says otherwise.
    """
    command = command_for(argv, ctx, variables=variables, own=own, cwd=cwd)
    return await run_to_end(command._replace(stdin=stdin, warm=warm, channel=channel), ctx)


def command_for(
    argv: tuple[str, ...],
    ctx: Context,
    *,
    variables: tuple[str, ...],
    own: Mapping[str, str] = MappingProxyType({}),
    cwd: str = "",
) -> Command:
    """A program, as a call starts one."""
    host, env = ctx.host, environment(ctx, variables, {"TOOLCRIB_CALL_ID": ctx.call_id, **own})
    return Command(argv, cwd or ctx.cwd, ctx.call_id, env, b"", ctx.limits, host.artifacts, host.filters)


async def run_to_end(command: Command, ctx: Context) -> Completed:
    """Start a command for a call, and wait for its end. How it ended is in the call's metadata."""

    def ended(done: Completed) -> None:
        ctx.report.update(_metadata(done))
        ctx.evidence = partial(_evidence, done)

    return await ctx.sandbox.exec(command, ended=ended)


def environment(ctx: Context, variables: tuple[str, ...], own: Mapping[str, str]) -> dict[str, str]:
    """What a program finds in its environment: the variables named, the tool's secrets, where it is, and its `own`."""
    environ = ctx.host.environ
    env = {name: environ[name] for name in variables if name in environ}
    env |= ctx.host.secrets(ctx.tool_name)
    env["TOOLCRIB_WORKSPACE"] = ctx.cwd
    env["TOOLCRIB_SESSION"] = ctx.session
    env |= own
    env |= callers(environ)
    return env


def worker_for(script: str) -> Worker | None:
    """The interpreter that a script's first line names, if that is Python, and the script itself."""
    try:
        with open(script, "rb") as file:
            line = file.readline(_FIRST_LINE)
    except OSError:
        return None
    words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = words[2:] if words[1:2] == ["-S"] else words[1:2]
    if not words or not _PYTHON.fullmatch(os.path.basename(words[0])):
        return None
    return tuple(words), (script,)


def in_terms_of(program: str, copy: str, exc: ToolError) -> ToolError:
    """The same error, about the program people know and not about the copy of it that was to run."""
    exc.args = tuple(each.replace(copy, program) if isinstance(each, str) else each for each in exc.args)
    return exc


def callers(environ: Mapping[str, str]) -> dict[str, str]:
    """The calls we ourselves run under, so that whoever started us finds what we start."""
    chain = [environ[name] for name in ("TOOLCRIB_CALLERS", "TOOLCRIB_CALL_ID") if environ.get(name)]
    return {"TOOLCRIB_CALLERS": ",".join(chain)} if chain else {}


def file_digest(path: str, *, executable: bool = False) -> str:
    """SHA-256 of a file, read again only when the file is another one; empty when it cannot be read.

    With `executable`, also empty when nobody may execute it: its owner took it out of use.
    """
    try:
        seen = os.stat(path)
        if not stat.S_ISREG(seen.st_mode) or (executable and not seen.st_mode & _EXECUTE):
            return ""
        identity = _identity(seen)
        held = _digests.get(path)
        if held is not None and held[0] == identity:
            return held[1]
        # A pipe that came to its place this moment must not be waited for.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
            seen = os.fstat(file.fileno())
            if not stat.S_ISREG(seen.st_mode):
                return ""
            identity = _identity(seen)
            digest = "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
    _digests[path] = (identity, digest)
    return digest


def _identity(seen: os.stat_result) -> tuple[int, int, int, int]:
    return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size


def _lines(args: Mapping[str, JSON]) -> bytes:
    """`key: value` lines, as a tool wants them that described itself in lines. A line holds no line break."""
    lines = []
    for name, value in args.items():
        text = value if isinstance(value, str) else dump(value).decode()
        if not _KEY.fullmatch(name) or "\n" in text or "\r" in text:
            what = f"{name} holds a line break" if _KEY.fullmatch(name) else f"{name!r} is no plain name"
            raise ToolError(
                f"{what}, which this tool's `key: value` input cannot carry; send one line",
                code="VALIDATION_ERROR",
                before_effect=True,
            )
        lines.append(f"{name}: {text}\n")
    return "".join(lines).encode()


def _answer(done: Completed, ctx: Context) -> str:
    """What a tool says, which may be an error that it spells out."""
    structured = _structured_error(done.stdout) or (_structured_error(done.stderr) if done.code else None)
    if structured is not None and done.code >= 0:
        raise ToolError(str(structured["error"]), details={**structured, **_evidence(done)})
    return plain_answer(done, ctx)


def plain_answer(done: Completed, ctx: Context) -> str:
    """What a program printed, if it went well."""
    if done.code < 0:
        raise ToolError(
            "the exit status was collected by somebody else", code="OUTCOME_UNKNOWN", details=_evidence(done)
        )
    if done.code:
        said = done.stderr.text().strip() or done.stdout.text().strip()
        raise ToolError(
            f"{ctx.tool_name} failed with exit status {done.code}" + (f": {said}" if said else ""),
            details=_evidence(done),
        )
    return done.stdout.text()


def _structured_error(stream: Captured) -> dict[str, JSON] | None:
    """`{"error": …, "details": …}` as the whole of a stream, or as its last line."""
    if stream.omitted or b'"error"' not in stream.head:
        return None
    text = stream.head.strip()
    for candidate in (text, text.rsplit(b"\n", 1)[-1]):
        try:
            value = parse(candidate)
        except InvalidJson:
            continue
        if isinstance(value, dict) and value.get("error") and set(value) <= {"error", "details", "code"}:
            return value
    return None


def _evidence(done: Completed) -> dict[str, JSON]:
    return {"exit_code": done.code, "stdout": done.stdout.text(), "stderr": done.stderr.text()}


def _metadata(done: Completed) -> dict[str, JSON]:
    streams = (("stdout", done.stdout), ("stderr", done.stderr))
    about: dict[str, JSON] = {
        "exit_code": done.code,
        "stderr": done.stderr.text(),
        "stdout_bytes": done.stdout.total,
        "stderr_bytes": done.stderr.total,
        "truncated": any(stream.omitted for _, stream in streams),
        "artifacts": [
            {"id": stream.artifact[0], "stream": name, "path": stream.artifact[1], "bytes": stream.artifact[2]}
            for name, stream in streams
            if stream.artifact
        ],
    }
    if done.cut_off:
        about["output_incomplete"] = True
    if done.warm:
        about["warm"] = True
    return about
