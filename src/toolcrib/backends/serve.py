"""A program as a tool that stays running: started once, it answers call after call."""

import os
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON, dump
from ..core.limits import VIEW_BYTES
from ..core.process import Captured, Command, Completed
from .conversation import Lends, Peer, answer, greeting, lends
from .process import ProcessBackend, environment, in_terms_of, note_denied, readable, with_hint
from .view import view
from .wishes import Wishes

VERB = "serve"
START_SECONDS = 10.0
"""How long one may take to be ready, or half of the call's time where that is less."""
_ATTEMPTS = 100


class ServeBackend(NamedTuple):
    """`<program> serve` where that works, and `<program> run` where it does not."""

    inner: ProcessBackend
    declined: dict[str, str]
    """By digest, why a program is run in the ordinary way. Shared by all tools of a source, while it lives."""

    @property
    def starts_process(self) -> bool:
        return True

    @property
    def kind(self) -> str:
        return self.inner.kind

    @property
    def wishes(self) -> Wishes:
        return self.inner.wishes

    @property
    def program(self) -> str:
        return self.inner.program

    @property
    def variables(self) -> tuple[str, ...]:
        return self.inner.variables

    @property
    def dialect(self) -> str:
        return self.inner.dialect

    def digest(self) -> str:
        return self.inner.digest()

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        sandbox, digest = ctx.sandbox, self.inner.content_digest()
        if digest in self.declined or not lends(sandbox):
            return await self.inner.run(args, ctx)
        said = await self._asked(dump({"id": ctx.call_id, "input": args}) + b"\n", ctx, sandbox, digest)
        return await self.inner.run(args, ctx) if said is None else _settled(said, ctx)

    async def _asked(self, line: bytes, ctx: Context, sandbox: Lends, digest: str) -> dict[str, JSON] | None:
        """What a server answers; None when there is none, and nothing was asked of anybody."""
        path, programs = self.inner.program, ctx.host.programs
        program = path if programs is None else programs.verified(path, digest)
        command = _command((program, VERB), ctx, self.inner.variables, os.path.dirname(path))
        try:
            while True:  # as long as those that rested turn out to be dead; the last one is fresh
                async with sandbox.lend(command, key=digest, marks=ctx.host.next_id) as peer:
                    ctx.report["serve"] = "started" if peer.fresh else "running"
                    try:
                        fresh = peer.fresh
                        seconds = min(START_SECONDS, ctx.limits.seconds / 2)
                        fault = await greeting(peer, seconds, ctx.host.conceal) if fresh else None
                        if fault is None:
                            if peer.send(line):
                                return await answer(peer, ctx)
                            fault = "it does not read its input"
                        await peer.end()
                    finally:
                        _note(peer, ctx)
                if fresh:
                    break
        except ToolError as exc:
            raise in_terms_of(path, program, exc) from None
        self.declined[digest] = fault
        ctx.report["serve"] = f"declined: {fault}"
        ctx.log.warn(f"{ctx.tool_name} offers `{VERB}`, but {fault}; it is run anew for each call")
        return None


def _command(argv: tuple[str, ...], ctx: Context, variables: tuple[str, ...], folder: str) -> Command:
    """Started as for `run`, but for the mark, which is the server's own. The rest is about this call."""
    host, env = ctx.host, environment(ctx, variables, {"TOOLCRIB_TOOL_DIR": folder})
    command = Command(argv, ctx.cwd, ctx.call_id, env, b"", ctx.limits, host.artifacts, host.filters)
    return command._replace(reads=readable(argv[0]))


def _settled(said: Mapping[str, JSON], ctx: Context) -> JSON:
    """An answer as the result of a call.

    Raises:
        ToolError: the answer is an error.
    """
    if "error" in said:
        raise _error(said["error"], ctx)
    output = said["output"]
    kept = _kept(output.encode() if isinstance(output, str) else dump(output), ctx)
    ctx.report["stdout_bytes"] = kept.total
    ctx.report["truncated"] = bool(kept.omitted or ctx.report["truncated"])
    if kept.artifact:
        ident, path, size = kept.artifact
        ctx.report["artifacts"].insert(0, {"id": ident, "stream": "stdout", "path": path, "bytes": size})
    return kept.text() if kept.omitted else output


def _error(error: JSON, ctx: Context) -> ToolError:
    about = error if isinstance(error, dict) else {"message": error}
    message = about.get("message")
    if not isinstance(message, str) or not message.strip():
        message = f"{ctx.tool_name} failed and did not say why"
    details = {"error": message, **{key: about[key] for key in ("code", "details") if key in about}}
    if len(dump(details)) > ctx.limits.output_bytes:
        details = {"error": view(ctx.host.conceal(message)), "details": view(dump(ctx.host.conceal(about)).decode())}
    evidence = ctx.evidence()
    said = f"{message}\n{evidence.get('stderr', '')}"
    note_denied(Completed(0, Captured(), Captured()), ctx, said=said, stays=True)
    return ToolError(with_hint(view(ctx.host.conceal(message)), ctx), details={**details, **evidence})


def _kept(raw: bytes, ctx: Context) -> Captured:
    """Head and tail of what is too long, and the whole in an artifact from the length on that a model is shown."""
    limit = ctx.limits.output_bytes
    if len(raw) <= min(limit, VIEW_BYTES):
        return Captured(raw, total=len(raw))
    filter = None if ctx.host.filters is None else ctx.host.filters()
    if filter is not None:  # before it is cut: half a secret is not known for one
        raw = filter.feed(raw) + filter.end()
    artifact = _spilled(raw, ctx)
    tail = limit // 2 if len(raw) > limit else 0
    return Captured(raw[: limit - tail], raw[len(raw) - tail :], len(raw), artifact)


def _spilled(raw: bytes, ctx: Context) -> tuple[str, str, int] | None:
    """The whole in a file; nothing on a full disk, which costs the artifact and not the call."""
    artifacts = ctx.host.artifacts
    for attempt in range(1, _ATTEMPTS if artifacts else 1):  # a call that is tried again keeps its id
        assert artifacts is not None
        try:
            name = f"{ctx.call_id}.stdout"
            ident, path, fd = artifacts.create(name if attempt == 1 else f"{name}.{attempt}")
            with open(fd, "wb") as file:
                file.write(raw)
        except FileExistsError:
            continue
        except OSError:
            return None
        return ident, path, len(raw)
    return None


def _note(peer: Peer, ctx: Context) -> None:
    """Write down what the call has to show so far, however it ends."""
    heard = peer.heard()
    ctx.report |= {
        "stderr": heard.text(),
        "stdout_bytes": 0,
        "stderr_bytes": heard.total,
        "truncated": bool(heard.omitted),
        "artifacts": [],
    }
    if heard.artifact:
        ident, path, size = heard.artifact
        ctx.report["artifacts"].append({"id": ident, "stream": "stderr", "path": path, "bytes": size})
    ctx.evidence = partial(_evidence, heard)


def _evidence(heard: Captured) -> dict[str, JSON]:
    return {"stdout": "", "stderr": heard.text()}
