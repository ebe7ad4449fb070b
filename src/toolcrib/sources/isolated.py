"""A Python module whose code never runs in this process: a worker imports it, and each call is a fork of that.

A project's module is always one of these. What its tools are is asked of the worker and kept, for as long as the file
has the same content.
"""

import asyncio
import os
import socket
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ..backends.process import Worker, file_digest, note_denied, readable, run_program, with_hint
from ..core.call import Call, Result
from ..core.context import Context, Hands, Host
from ..core.errors import InvalidJson, Refused, ToolcribError, ToolError
from ..core.jsontext import JSON, dump, parse
from ..core.limits import DRAIN_SECONDS, Limits
from ..core.schema import Schema
from ..core.source import Loaded, Problem
from ..core.tool import NAME, Capabilities, Hooks, Tool
from .executable import Settings

DESCRIBE, CALL, DRY_RUN = "describe", "call", "dry_run"
"""What a worker can be asked to do."""
ANSWER_BYTES = 8 * 1024 * 1024
"""Longest file that is read at once."""
LINE_BYTES = 2 * ANSWER_BYTES
"""Longest document that a worker may send."""
_CHUNK = 65536
_SECONDS = 30.0
_VERSION = 1
_MESSAGE = 600
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_NAME = "toolcrib.sources.module_worker"
_PYTHON = (_ROOT, os.path.join(_ROOT, "toolcrib"), sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
"""What our own interpreter and we ourselves are made of."""
# Constant text; what it needs are its arguments.
_ONCE = f"import sys; sys.path.append(sys.argv.pop(1)); from {_NAME} import once; once(sys.argv[1:])"


class Module(NamedTuple):
    """The file, and which of its exports are tools."""

    path: str
    names: tuple[str, ...]
    digest: str
    """Of the content that may run."""
    variables: tuple[str, ...]

    def commands(self, ctx: Context) -> tuple[tuple[str, ...], Worker, tuple[str, ...]]:
        """How it is started, for one call, and as a worker, and what that must be able to read.

        Raises:
            Refused: its content is another.
        """
        programs = ctx.host.programs
        copy = self.path if programs is None else programs.verified(self.path, self.digest)
        words = (self.path, copy, dump(self.names).decode())
        worker = ((sys.executable, "-P"), ("--module", _ROOT, _NAME, *words))
        return (sys.executable, "-P", "-c", _ONCE, _ROOT, *words), worker, readable(copy, *_PYTHON)


class ModuleProcess(NamedTuple):
    """Runs one tool of a module in a fork of its worker."""

    module: Module
    name: str
    pin: str

    @property
    def starts_process(self) -> bool:
        return True

    @property
    def kind(self) -> str:
        """By which settings of the confinement it runs."""
        return "module"

    @property
    def variables(self) -> tuple[str, ...]:
        return self.module.variables

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> JSON:
        return await conversation(self.module, CALL, self._request(args, ctx), ctx)

    async def dry_run(self, args: Mapping[str, JSON], ctx: Context) -> JSON:
        return await conversation(self.module, DRY_RUN, self._request(args, ctx), ctx)

    def digest(self) -> str:
        return self.pin if file_digest(self.module.path) == self.module.digest else ""

    def _request(self, args: Mapping[str, JSON], ctx: Context) -> dict[str, JSON]:
        about = {"call_id": ctx.call_id, "session": ctx.session, "seconds": ctx.limits.seconds}
        return {"tool": self.name, "args": dict(args), **about}


async def conversation(module: Module, what: str, request: dict[str, JSON], ctx: Context) -> JSON:
    """Start a fork, give it the request, do what it asks for, and bring back its answer.

    Raises:
        ToolError: the tool failed, or its process did.
    """
    argv, worker, reads = module.commands(ctx)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    talk = asyncio.create_task(_talk(ours, request, ctx))
    try:
        done = await run_program(
            (*argv, what), ctx, variables=module.variables, warm=worker, channel=theirs.fileno(), reads=reads
        )
        theirs.close()
        await asyncio.wait(
            (talk,), timeout=DRAIN_SECONDS
        )  # what it said last is read; what it still asks for is not done
        said = talk.result() if talk.done() else {}
    finally:
        talk.cancel()
        await asyncio.wait((talk,))
        theirs.close()
        ours.close()
    if done.stdout.total:
        ctx.report["stdout"] = done.stdout.text()
    if "result" in said:
        return said["result"]
    if "error" in said:
        note_denied(done, ctx, said=str(said["error"].get("message", "")), stays=True)
        raise raised({**said["error"], "message": with_hint(str(said["error"]["message"]), ctx)})
    why = said.get("broken") or f"its process ended with exit status {done.code}"
    evidence = {"exit_code": done.code, "stdout": done.stdout.text(), "stderr": done.stderr.text()}
    code = "OUTCOME_UNKNOWN" if done.code < 0 else "EXECUTION_ERROR"
    raise ToolError(f"{ctx.tool_name} gave no answer: {why}", code=code, details=evidence)


async def _talk(ours: socket.socket, request: dict[str, JSON], ctx: Context) -> dict[str, Any]:
    """Give the request, and serve until there is an answer, or the other side falls silent."""
    send = partial(asyncio.get_running_loop().sock_sendall, ours)
    lines = _Lines(ours)
    try:
        await send(dump(request) + b"\n")
        while line := await lines.next():
            said = parse(line)
            if not isinstance(said, dict) or len(said) != 1:
                raise ValueError("it is not one key with a value")
            [(what, value)] = said.items()
            if what in ("result", "error"):
                return said
            answer = await _served(what, value, ctx)
            if answer is not None:
                await send(dump(answer) + b"\n")
    except (InvalidJson, ValueError, TypeError, KeyError, IndexError) as exc:
        ours.shutdown(socket.SHUT_RDWR)  # nobody listens to it any more
        return {"broken": f"its worker sent something else than a request: {exc}"[:_MESSAGE]}
    except OSError:  # it is gone
        pass
    return {}


async def _served(what: str, value: Any, ctx: Context) -> dict[str, JSON] | None:
    """Do what a running tool asks for, as its context would; nothing is answered where nothing is waited for."""
    if what == "progress":
        ctx.progress(float(value[0]), None if value[1] is None else float(value[1]), value[2] and str(value[2]))
        return None
    if what == "log":
        level, message = value
        getattr(ctx.log, level if level in ("debug", "info", "warn") else "error")(str(message))
        return None
    try:
        return {"value": await _done(what, value, ctx)}
    except ToolcribError as exc:
        return {"error": {"code": exc.code, "message": str(exc), "details": exc.details}}


async def _done(what: str, value: Any, ctx: Context) -> JSON:
    if what == "confirm":
        return await ctx.confirm(str(value))
    if what == "call":
        name, args, limit = value
        return (await ctx.call(str(name), dict(args), timeout=None if limit is None else float(limit))).to_dict()
    if what == "write":
        path, data = value
        return ctx.workspace.write(str(path), b64decode(data))
    [path] = value
    if what == "read":
        size = ctx.workspace.stat(str(path)).st_size
        if size > ANSWER_BYTES:
            raise ToolError(f"{path} has {size} bytes, and at most {ANSWER_BYTES} are read at once", code="READ_ERROR")
        return b64encode(ctx.workspace.read(str(path))).decode()
    if what == "stat":
        return list(ctx.workspace.stat(str(path)))[:10]
    if what in ("exists", "unlink", "list"):
        return getattr(ctx.workspace, what)(str(path))
    raise ValueError(f"{what!r} is not known")


class _Lines:
    """What comes, line by line, each of bounded length."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._unread = connection, bytearray()

    async def next(self) -> bytes:
        """Without its end; empty when nothing more comes."""
        loop, looked_at = asyncio.get_running_loop(), 0
        while (end := self._unread.find(b"\n", looked_at)) < 0:
            looked_at = len(self._unread)
            if looked_at > LINE_BYTES:
                raise ValueError(f"more than {LINE_BYTES} bytes in one line")
            chunk = await loop.sock_recv(self._connection, _CHUNK)
            if not chunk:
                return b""
            self._unread += chunk
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return line


class IsolatedSource:
    """The exports of a module that the configuration lists, run in processes of their own."""

    def __init__(
        self,
        path: str,
        tools: Iterable[str],
        host: Host,
        *,
        rank: int,
        kind: str,
        cache: tuple[Callable[[str], bytes | None], Callable[[str, bytes], None]],
        settings: Settings,
        taken: Iterable[str] = (),
        allowed: Callable[[], str | None] | None = None,
    ) -> None:
        """`allowed` gives the digest of what alone may run, None for nothing; without it, that is what lies there."""
        self.rank, self.path, self._names, self._kind = rank, path, tuple(dict.fromkeys(tools)), kind
        self._host, self._settings = host, settings
        self._read, self._write = cache
        self._taken, self._allowed = frozenset(taken), allowed
        self._seen: tuple[str, str | None] | None = None
        self._loaded = Loaded()

    async def load(self) -> Loaded:
        digest = file_digest(self.path)
        seen = (digest, digest if self._allowed is None else self._allowed())
        if seen != self._seen:
            self._seen, self._loaded = seen, await self._look(*seen)
        return self._loaded

    async def _look(self, digest: str, allowed: str | None) -> Loaded:
        if self._allowed is not None and (digest != allowed or not digest):
            message = "it is not as it was trusted; look at it, then type: toolcrib trust"
            return self._problem("WORKSPACE_UNTRUSTED", message)
        if not digest:
            return self._problem("CONFIG_INVALID", "it cannot be read, or is no regular file")
        if not sys.executable:
            return self._problem("SANDBOX_UNAVAILABLE", "this program embeds Python, and knows no interpreter to start")
        module = Module(self.path, self._names, digest, self._settings.variables)
        described = self._recall(digest)
        if described is None:
            try:
                described = await self._describe(module)
            except ToolcribError as exc:
                self._seen = None  # what failed may not fail again
                return self._problem(exc.code, str(exc)[:_MESSAGE])
            self._keep(digest, described)
        return self._offer(module, described)

    async def _describe(self, module: Module) -> Any:
        ctx = Context(self._host, Call(self.path, {}, self._host.next_id()), Limits(_SECONDS), _NO_HANDS)
        try:
            async with asyncio.timeout(_SECONDS):
                return await conversation(module, DESCRIBE, {}, ctx)
        except TimeoutError:
            raise ToolError(f"it was not imported within {_SECONDS:g} s", code="TIMEOUT") from None

    def _offer(self, module: Module, described: Any) -> Loaded:
        tools, problems = [], []
        for each in described["tools"]:
            if each["name"].replace("-", "_") in self._taken:
                message = f"{each['name']} is the name of a built-in tool; call this one something else"
                problems.append(Problem(self.path, "TOOL_NAME_CONFLICT", message))
            else:
                tools.append(self._tool(module, each))
        problems += [Problem(each["origin"], each["code"], each["message"], tuple(each["holds"]))
                     for each in described["problems"]]  # fmt: skip
        return Loaded(tuple(tools), tuple(problems))

    def _tool(self, module: Module, said: Mapping[str, Any]) -> Tool:
        limits, variables = self._settings.of(said["name"], said["seconds"])
        backend = ModuleProcess(module._replace(variables=variables), said["name"], said["digest"])
        return Tool(
            said["name"],
            said["description"],
            Schema(said["schema"]),
            backend,
            self._kind,
            said["origin"],
            said["version"],
            said["digest"],
            Capabilities(**dict.fromkeys(said["capabilities"], True)),
            limits,
            Hooks(dry_run=backend.dry_run if said["dry_run"] else None),
            said["needs_approval"],
            said["output_schema"],
        )

    def _problem(self, code: str, message: str) -> Loaded:
        held = tuple(name for name in self._names if NAME.fullmatch(name))
        return Loaded(problems=(Problem(self.path, code, message, held),))

    def _recall(self, digest: str) -> Any:
        raw = self._read(f"{self.path}//module")
        if raw is None:
            return None
        try:
            kept = parse(raw, exact=False)
            return kept["described"] if kept["of"] == self._identity(digest) else None
        except (InvalidJson, KeyError, TypeError):
            return None

    def _keep(self, digest: str, described: Any) -> None:
        try:
            self._write(f"{self.path}//module", dump({"of": self._identity(digest), "described": described}))
        except (OSError, InvalidJson):  # a full or read-only home: slower, but right
            pass

    def _identity(self, digest: str) -> list[Any]:
        return [_VERSION, self.path, digest, list(self._names), sys.version]


def raised(error: Mapping[str, Any]) -> ToolError:
    """An error that was told, to be raised again."""
    kind = Refused if error.get("refused") else ToolError
    return kind(str(error["message"]), code=str(error["code"]), details=error.get("details"))


class _NoHands:
    """There is no call, so there is nothing to be done for one."""

    async def confirm(self, ctx: Context, message: str) -> bool:
        return False

    async def call_from(self, ctx: Context, name: str, args: Mapping[str, JSON], limit: float | None) -> Result:
        raise ToolError("a module calls no tools while it is imported")

    def log(self, ctx: Context, level: str, message: str) -> None:
        pass


_NO_HANDS: Hands = _NoHands()
