"""A crib whose tools are coroutines, a client that talks to a handler in process, and async tests."""

import asyncio
import inspect
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.unconfined import unconfined

from toolcrib.core.call import ErrorInfo, ProgressSink, Result
from toolcrib.core.schema import Schema
from toolcrib.core.tool import Tool
from toolcrib.serve.mcp import McpHandler
from toolcrib.serve.stdio import serve_stdio

ROOT = Path(__file__).parents[2]
Body = Callable[[dict[str, Any], ProgressSink | None], Awaitable[Result]]

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an `async def test_…` to its end, or fail it after a minute."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}), 60))
    return True


class FakeCrib:
    """What the runtime offers a door, with tools that are coroutines."""

    def __init__(self) -> None:
        self.bodies: dict[str, Body] = {}
        self.offered: tuple[Tool, ...] = ()
        self.changed = False
        self.refreshes = 0
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refusals: dict[str, ErrorInfo] = {}

    def offer(self, name: str, body: Body, **more: Any) -> None:
        schema = more.pop("input_schema", {"type": "object", "properties": {}})
        self.bodies[name] = body
        self.offered = (*self.offered, Tool(name, f"Does {name}.", Schema(schema), None, **more))  # type: ignore[arg-type]
        self.changed = True

    def tools(self) -> tuple[Tool, ...]:
        return self.offered

    async def refresh(self) -> bool:
        self.refreshes += 1
        changed, self.changed = self.changed, False
        return changed

    def viewable(self, result: Result) -> Result:
        return result

    async def call(self, name: str, args: dict[str, Any], *, progress: ProgressSink | None = None) -> Result:
        self.calls.append((name, args))
        if name in self.refusals:
            return Result(error=self.refusals[name])
        if name not in self.bodies:
            return Result(error=ErrorInfo("TOOL_NOT_FOUND", f"{name} is not here"))
        return await self.bodies[name](args, progress)


class Client:
    """The other end: sends messages in order, keeps what comes unasked, remembers tasks by id."""

    def __init__(self, crib: FakeCrib) -> None:
        self.crib = crib
        self.heard: list[dict[str, Any]] = []
        self.offered: list[dict[str, Any]] = []
        self.handler = McpHandler(crib, outlet=self, version="1.2.3")

    def send(self, message: dict[str, Any]) -> None:
        self.heard.append(message)

    def offer(self, message: dict[str, Any]) -> None:
        self.offered.append(message)

    async def raw(self, message: Any) -> Any:
        return await self.handler.handle(message)

    def start(self, method: str, params: Any = None, *, id: Any = 1) -> "asyncio.Task[Any]":
        return asyncio.create_task(self.raw({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))

    async def ask(self, method: str, params: Any = None, *, id: Any = 1) -> Any:
        return await self.start(method, params, id=id)

    async def modern(self, method: str, params: dict[str, Any] | None = None, *, id: Any = 1) -> Any:
        return await self.ask(method, {"_meta": META, **(params or {})}, id=id)

    async def tell(self, method: str, params: Any = None) -> Any:
        return await self.raw({"jsonrpc": "2.0", "method": method, "params": params})

    async def initialize(self, version: str = "2025-11-25") -> Any:
        info = {"name": "test", "version": "0"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
        answer = await self.ask("initialize", params, id="init")
        await self.tell("notifications/initialized")
        return answer


class Gate:
    """A tool that stops in the middle until it is let go on, and says what became of it."""

    def __init__(self) -> None:
        self.entered, self.open, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.cancelled = False

    async def __call__(self, args: dict[str, Any], progress: ProgressSink | None) -> Result:
        self.entered.set()
        try:
            await self.open.wait()
            return Result(data="through")
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        finally:
            self.ended.set()


async def echo(args: dict[str, Any], progress: ProgressSink | None) -> Result:
    return Result(data=args)


@pytest.fixture
def crib() -> FakeCrib:
    crib = FakeCrib()
    crib.offer("echo", echo)
    return crib


@pytest.fixture
def gate() -> Callable[[], Gate]:
    return Gate


@pytest.fixture
def client(crib: FakeCrib) -> Client:
    return Client(crib)


SLOW = """#!/bin/sh
if [ "$1" = description ]; then
    echo '{"name": "slow", "description": "Never ends by itself.", "input_schema": {"type": "object"}}'
    exit
fi
echo $$ > "$TOOLCRIB_WORKSPACE/slow.pid.new"
mv "$TOOLCRIB_WORKSPACE/slow.pid.new" "$TOOLCRIB_WORKSPACE/slow.pid"
exec sleep 600
"""


@pytest.fixture
def workshop(tmp_path: Path) -> "Workshop":
    """A user's home with the example tools and a slow one, a workspace, and the command that serves them."""
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    workspace.mkdir()
    shutil.copytree(ROOT / "examples" / "tools", home / "tools")
    (home / "tools" / "slow").write_text(SLOW)
    (home / "tools" / "slow").chmod(0o755)
    return Workshop(unconfined(home), workspace)


class Workshop(NamedTuple):
    home: Path
    workspace: Path

    def command(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "toolcrib", "serve", "mcp", "--workspace", str(self.workspace), *options]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "TOOLCRIB_HOME": str(self.home)}


@pytest.fixture
def meta() -> dict[str, Any]:
    """What a request of 2026-07-28 carries."""
    return dict(META)


class Wire:
    """The client's ends of two pipes, with a server at the others."""

    def __init__(self, server: "asyncio.Task[Any]", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server, self.reader, self.writer = server, reader, writer

    async def send(self, *lines: Any) -> None:
        """Messages, or bytes as they are."""
        for line in lines:
            self.writer.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        await self.writer.drain()

    async def receive(self) -> Any:
        line = await self.reader.readline()
        assert line.endswith(b"\n"), line
        return json.loads(line)

    async def ask(self, method: str, params: Any = None, *, id: Any = 1) -> Any:
        await self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return await self.receive()

    async def initialize(self) -> None:
        await self.ask("initialize", {"protocolVersion": "2025-11-25"}, id="init")

    async def hang_up(self) -> Any:
        """Close the server's input, and wait for what `serve_stdio` returns."""
        self.writer.close()
        return await self.server


@asynccontextmanager
async def wired(crib: FakeCrib) -> AsyncIterator[Wire]:
    loop = asyncio.get_running_loop()
    (stdin, to_server), (from_server, stdout) = os.pipe(), os.pipe()
    server = asyncio.create_task(serve_stdio(crib, stdin=stdin, stdout=stdout))
    reader = asyncio.StreamReader(limit=2**26)
    incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_server))
    outgoing, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(to_server, "w"))
    wire = Wire(server, reader, asyncio.StreamWriter(outgoing, flow, None, loop))  # type: ignore[arg-type]
    try:
        yield wire
    finally:
        wire.writer.close()
        incoming.close()
        await asyncio.wait([server])
        os.close(stdin)
        os.close(stdout)


@pytest.fixture
def wire(crib: FakeCrib) -> Callable[[], AbstractAsyncContextManager[Wire]]:
    return lambda: wired(crib)
