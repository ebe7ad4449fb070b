"""A program as a tool: arguments as JSON on stdin, answer on stdout, failure by exit code or by a structured error."""

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeGuard

from ..core.context import Context
from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, dump, parse
from ..core.process import Captured, Command, Completed, Sandbox
from .wishes import NO_WISHES, Wishes, with_wishes

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
    wishes: Wishes = NO_WISHES

    @property
    def starts_process(self) -> bool:
        return True

    @property
    def kind(self) -> str:
        """By which settings of the confinement it runs."""
        return "executable"

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        programs = ctx.host.programs
        program = self.program if programs is None else programs.verified(self.program, self.content_digest())
        own = {"TOOLCRIB_TOOL_DIR": os.path.dirname(self.program)}
        argv: tuple[str, ...] = (program, "run")
        if self.dialect != "run":
            argv, own["TOOLBOX_ACTION"] = (program,), "execute"
        stdin = _lines(args) if self.dialect == "amp-text" else dump(args)
        try:
            warm = worker_for(program) if self.warm else None
            done = await run_program(
                argv, ctx, variables=self.variables, own=own, stdin=stdin, warm=warm, reads=readable(program)
            )
        except ToolError as exc:
            raise in_terms_of(self.program, program, exc) from None
        return _answer(done, ctx)

    def digest(self) -> str:
        return with_wishes(file_digest(self.program, executable=True), self.wishes)

    def content_digest(self) -> str:
        """Of the file that may run."""
        return self.pinned or file_digest(self.program, executable=True)


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
    reads: tuple[str, ...] = (),
) -> Completed:
    """Start a program for a call, with the variables named, the tool's secrets and its `own`, and wait for its end.

    It starts in the workspace, unless `cwd` says otherwise. `reads` is what it must be able to read to run at all.
    """
    command = command_for(argv, ctx, variables=variables, own=own, cwd=cwd)._replace(reads=reads)
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
        if done.code:
            note_denied(done, ctx, stays=command.warm is not None)

    try:
        return await ctx.sandbox.exec(command, ended=ended)
    finally:
        note_put_aside(ctx)


class Explains(Protocol):
    """A sandbox that can tell what it probably refused to a program that failed, and what it put aside of any."""

    def denied(self, tool: str, done: Completed, *, said: str = "", stays: bool = False) -> list[dict[str, str]]: ...

    def put_aside(self, tool: str, mark: str) -> list[dict[str, str]]: ...


def _explains(sandbox: Sandbox) -> TypeGuard[Explains]:
    """Whether a sandbox does. Every call asks, so a look at the name has to do."""
    return hasattr(sandbox, "put_aside")


def note_denied(done: Completed, ctx: Context, *, said: str = "", stays: bool = False) -> None:
    """Put into a call's metadata what its sandbox probably refused.

    `said` is an error that the tool told itself; `stays`, that its program stays running.
    """
    sandbox = ctx.sandbox
    if _explains(sandbox) and (found := sandbox.denied(ctx.tool_name, done, said=said, stays=stays)):
        ctx.report["denied"] = found


def note_put_aside(ctx: Context) -> None:
    """Put into a call's metadata what its program made or changed in protected places, and say so in the log."""
    sandbox = ctx.sandbox
    if _explains(sandbox) and (found := sandbox.put_aside(ctx.tool_name, ctx.call_id)):
        ctx.report["denied"] = [*ctx.report.get("denied", ()), *found]
        for each in found:
            ctx.log.warn(each["message"])


def with_hint(message: str, ctx: Context) -> str:
    """An error's message, and on a line of its own what was probably refused, with the command that allows it."""
    found: list[dict[str, str]] = ctx.report.get("denied") or []
    if not found:
        return message
    hint, more = found[0], f" ({len(found) - 1} more in `denied`)" if len(found) > 1 else ""
    return f"{message}\nSandbox: {hint['message']}" + (f": {hint['command']}" if hint["command"] else "") + more


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


@lru_cache(1024)
def readable(*paths: str) -> tuple[str, ...]:
    """What a program is let into, by the way it is named and by where that leads. Not a home, nor what is above it."""
    home = os.path.realpath(os.path.expanduser("~"))
    named = dict.fromkeys(each for path in paths if path for each in (path, os.path.realpath(path)))
    return tuple(path for path in named if not f"{home}/".startswith(f"{path.rstrip('/')}/"))


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
        if not done.code:  # else that was done when it ended
            note_denied(done, ctx, said=str(structured["error"]))
        raise ToolError(with_hint(str(structured["error"]), ctx), details={**structured, **_evidence(done)})
    return plain_answer(done, ctx)


def plain_answer(done: Completed, ctx: Context) -> str:
    """What a program printed, if it went well."""
    if done.code < 0:
        raise ToolError(
            "the exit status was collected by somebody else", code="OUTCOME_UNKNOWN", details=_evidence(done)
        )
    if done.code:
        said = done.stderr.text().strip() or done.stdout.text().strip()
        message = f"{ctx.tool_name} failed with exit status {done.code}" + (f": {said}" if said else "")
        raise ToolError(with_hint(message, ctx), details=_evidence(done))
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
