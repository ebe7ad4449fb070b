"""A program as a tool: arguments as JSON on stdin, answer on stdout, failure by exit code or by a structured error."""

import hashlib
import os
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from ..core.context import Context
from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, dump, parse
from ..core.process import Captured, Command, Completed

_KEY = re.compile(r"[A-Za-z0-9_.-]+")
_digests: dict[str, tuple[tuple[int, int, int, int], str]] = {}


class ProcessBackend(NamedTuple):
    """`<program> run` with JSON, or the Amp dialect, which names the action in a variable."""

    program: str
    variables: tuple[str, ...] = ("PATH", "HOME", "USER")
    """Names that are passed on from the host's environment."""
    dialect: str = "run"
    """`run`: argv says what to do. `amp-json`, `amp-text`: `TOOLBOX_ACTION` does."""

    @property
    def starts_process(self) -> bool:
        return True

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        command = Command(
            argv=(self.program, "run") if self.dialect == "run" else (self.program,),
            cwd=ctx.cwd,
            mark=ctx.call_id,
            env=self._environment(ctx),
            stdin=_lines(args) if self.dialect == "amp-text" else dump(args),
            limits=ctx.limits,
            artifacts=ctx.host.artifacts,
        )

        def ended(done: Completed) -> None:
            ctx.report.update(_metadata(done))
            ctx.evidence = partial(_evidence, done)

        done = await ctx.sandbox.exec(command, ended=ended)
        return _answer(done, ctx)

    def digest(self) -> str:
        return file_digest(self.program)

    def _environment(self, ctx: Context) -> dict[str, str]:
        environ = ctx.host.environ
        env = {name: environ[name] for name in self.variables if name in environ}
        env["TOOLCRIB_WORKSPACE"] = ctx.cwd
        env["TOOLCRIB_SESSION"] = ctx.session
        env["TOOLCRIB_CALL_ID"] = ctx.call_id
        env["TOOLCRIB_TOOL_DIR"] = os.path.dirname(self.program)
        if self.dialect != "run":
            env["TOOLBOX_ACTION"] = "execute"
        return env | callers(environ)


def callers(environ: Mapping[str, str]) -> dict[str, str]:
    """The calls we ourselves run under, so that whoever started us finds what we start."""
    chain = [environ[name] for name in ("TOOLCRIB_CALLERS", "TOOLCRIB_CALL_ID") if environ.get(name)]
    return {"TOOLCRIB_CALLERS": ",".join(chain)} if chain else {}


def file_digest(path: str) -> str:
    """SHA-256 of a file, read again only when the file is another one; empty when it cannot be read."""
    try:
        identity = _identity(os.stat(path))
        held = _digests.get(path)
        if held is not None and held[0] == identity:
            return held[1]
        with open(path, "rb") as file:
            identity = _identity(os.fstat(file.fileno()))
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
    if done.code < 0:
        raise ToolError(
            "the exit status was collected by somebody else", code="OUTCOME_UNKNOWN", details=_evidence(done)
        )
    structured = _structured_error(done.stdout) or (_structured_error(done.stderr) if done.code else None)
    if structured is not None:
        raise ToolError(str(structured["error"]), details={**structured, **_evidence(done)})
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
    return about
