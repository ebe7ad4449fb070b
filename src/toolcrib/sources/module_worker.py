"""What happens in the worker of a module: it is imported once, and each call is a fork of that.

Run by `sandbox/zygote.py`, which calls `prepare` and, in each fork, `run`; or, where nothing can be forked, by `once`
in a process for each call. The host (`isolated`) speaks to a fork over a socket, one JSON document a line: first the
request, then the answers to what the running tool asks for. All that a tool may touch beyond its own process is asked
for there.
"""

import asyncio
import os
import socket
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from io import BytesIO
from typing import Any, BinaryIO

from ..core.call import Call, ErrorInfo, Result, explain, settle, writable
from ..core.context import Context, Host
from ..core.errors import Refused, ToolError
from ..core.jsontext import JSON, dump, parse
from ..core.limits import Limits
from ..core.policy import Decision
from ..core.process import Command, Completed, Ended
from ..core.source import Loaded
from ..core.tool import Tool
from ..core.workspace import Folder
from .isolated import DESCRIBE, DRY_RUN, raised
from .python import ModuleSource

CHANNEL = "TOOLCRIB_CHANNEL"

_loaded = Loaded()


def prepare(path: str, copy: str, names: str) -> None:
    """Import a module from a copy of its file."""
    global _loaded
    _loaded = asyncio.run(ModuleSource(path, parse(names), content=copy).load())


def run(words: list[str]) -> None:
    """Do what is asked for: describe the tools, or run one of them."""
    with socket.socket(fileno=int(os.environ.pop(CHANNEL))) as connection:
        channel = Channel(connection)
        asyncio.run(_answered(channel, words[-1]))


def once(words: list[str]) -> None:
    """Both, in a process that serves this one call."""
    prepare(*words[:3])
    run(words)


class Channel:
    """The way to the host. One side speaks at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("rwb")

    def tell(self, what: str, value: JSON) -> None:
        self._file.write(dump({what: value}) + b"\n")
        self._file.flush()

    def hear(self) -> JSON:
        return parse(self._file.readline())

    def ask(self, what: str, value: JSON) -> JSON:
        """Raises: `ToolError`, as the host did."""
        self.tell(what, value)
        answer = self.hear()
        if "error" in answer:
            raise raised(answer["error"])
        return answer["value"]


async def _answered(channel: Channel, what: str) -> None:
    request = channel.hear()
    if what == DESCRIBE:
        channel.tell("result", _described())
        return
    value, failure = await settle(_performed(channel, what, request))
    if failure is None:
        channel.tell("result", value)
    else:
        channel.tell("error", {**explain(failure).to_dict(), "refused": isinstance(failure, Refused)})


async def _performed(channel: Channel, what: str, request: Mapping[str, Any]) -> JSON:
    tool = next(each for each in _loaded.tools if each.name == request["tool"])
    args = request["args"]
    ctx = _context(channel, request)
    if callable(tool.needs_approval) and _claims(tool, args) is Decision.BLOCKED:
        raise Refused(f"{tool.name} is blocked: it says so itself")
    if tool.hooks.validate is not None and (faults := list(tool.hooks.validate(args))):
        raise ToolError("Invalid parameters", code="VALIDATION_ERROR", details=faults)
    try:
        if what == DRY_RUN and tool.hooks.dry_run is not None:
            return writable(await tool.hooks.dry_run(args, ctx))
        return writable(await tool.backend.run(args, ctx))
    finally:
        if tool.hooks.shutdown is not None:
            await tool.hooks.shutdown()


def _claims(tool: Tool, args: Mapping[str, JSON]) -> Decision:
    said = tool.needs_approval(args) if callable(tool.needs_approval) else tool.needs_approval
    return Decision.ASK if isinstance(said, bool) or said is None else Decision.parse(said)


def _described() -> JSON:
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "schema": tool.input_schema,
            "version": tool.version,
            "seconds": tool.limits.seconds,
            "capabilities": [name for name, value in asdict(tool.capabilities).items() if value],
            # What a function says of a call is asked in the call: until then, that somebody is to be asked.
            "needs_approval": True if callable(tool.needs_approval) else tool.needs_approval,
            "output_schema": tool.output_schema,
            "dry_run": tool.hooks.dry_run is not None,
            "origin": tool.origin,
            "digest": tool.digest,
        }
        for tool in _loaded.tools
    ]
    problems = [{**problem.to_dict(), "holds": list(problem.holds)} for problem in _loaded.problems]
    return {"tools": tools, "problems": problems}


def _context(channel: Channel, request: Mapping[str, Any]) -> Context:
    host = Host(os.getcwd(), _NoSandbox(), lambda *_: Files(channel), dict(os.environ))
    call = Call(request["tool"], request["args"], request["call_id"], request["session"], progress=_progress(channel))
    return Context(host, call, Limits(request["seconds"]), _Hands(channel))


def _progress(channel: Channel) -> Any:
    return lambda done, total, message: channel.tell("progress", [done, total, message])


class _Hands:
    """What the executor does for a running tool, asked for."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def confirm(self, ctx: Context, message: str) -> bool:
        return bool(self._channel.ask("confirm", message))

    async def call_from(self, ctx: Context, name: str, args: Mapping[str, JSON], limit: float | None) -> Result:
        said = self._channel.ask("call", [name, dict(args), limit])
        error = said["error"] and ErrorInfo(**said["error"])
        return Result(said["data"], error, said["metadata"])

    def log(self, ctx: Context, level: str, message: str) -> None:
        self._channel.tell("log", [level, message])


class Files:
    """The workspace, through the host's guard."""

    def __init__(self, channel: Channel) -> None:
        self._ask = channel.ask

    def read(self, path: str) -> bytes:
        return b64decode(self._ask("read", [path]))

    def write(self, path: str, data: bytes | str) -> None:
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        self._ask("write", [path, b64encode(raw).decode()])

    @contextmanager
    def open(self, path: str, *, glance: bool = False) -> Iterator[BinaryIO]:
        yield BytesIO(self.read(path))

    def change(self, path: str, make: Callable[[bytes | None], bytes]) -> None:
        raise ToolError("a module does not change files in place; use ctx.call('edit_file', …)", before_effect=True)

    def directory(self, path: str = ".") -> AbstractContextManager[Folder]:
        raise ToolError("a module does not open directories; use ctx.call('glob', …)", before_effect=True)

    def exists(self, path: str) -> bool:
        return bool(self._ask("exists", [path]))

    def unlink(self, path: str) -> None:
        self._ask("unlink", [path])

    def list(self, path: str = ".") -> list[str]:
        found: list[str] = self._ask("list", [path])
        return found

    def stat(self, path: str) -> os.stat_result:
        return os.stat_result(self._ask("stat", [path]))


class _NoSandbox:
    """This process is the confined one."""

    name = "process"

    async def exec(self, command: Command, *, ended: Ended | None = None) -> Completed:
        message = "a tool of a module starts no programs through its context; use ctx.call('run_command', …)"
        raise ToolError(message, before_effect=True)
