"""The doors that calls come in by, all with one handle: a library, an MCP server, a gRPC server."""

import asyncio
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from mixture import Said

import toolcrib
from toolcrib.core.call import Result

LINE = 2**26
_START_SECONDS = 60


class Door(Protocol):
    faults: list[str]
    """What came that nobody had asked for, or twice."""

    async def call(self, name: str, args: dict[str, Any]) -> Said:
        """Cancelling this cancels the call."""
        ...


def said(result: Result) -> Said:
    printed = result.metadata.get("stdout_bytes")
    return Said(result.error and result.error.code, result.output, printed if isinstance(printed, int) else 0)


class Library:
    def __init__(self, crib: toolcrib.Crib) -> None:
        self._crib = crib
        self.faults: list[str] = []

    async def call(self, name: str, args: dict[str, Any]) -> Said:
        return said(await self._crib.call(name, args))


class Mcp:
    """One connection to `toolcrib serve mcp`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout
        self.process, self._reader, self._writer = process, process.stdout, process.stdin
        self.faults: list[str] = []
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._given_up: set[int] = set()
        self._reading = asyncio.create_task(self._read())

    async def call(self, name: str, args: dict[str, Any]) -> Said:
        answer = await self.ask("tools/call", {"name": name, "arguments": args})
        if "error" in answer:
            message = str(answer["error"]["message"])
            return Said("TOOL_NOT_FOUND" if message.startswith("Unknown tool") else "RPC", message)
        result = answer["result"]
        about = result["_meta"]["toolcrib/call"]
        return Said(
            about.get("code"), "".join(part["text"] for part in result["content"]), about.get("stdout_bytes", 0)
        )

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self._reading.done():
            raise EOFError("the server is gone")
        number = next(self._ids)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            await self._writer.drain()
            return await waiting
        except asyncio.CancelledError:
            self._given_up.add(number)
            self._send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
            raise
        finally:
            del self._waiting[number]

    async def close(self) -> int:
        self._writer.close()
        code = await asyncio.wait_for(self.process.wait(), _START_SECONDS)
        await self._reading
        return code

    def _send(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        while line := await self._reader.readline():
            answer = json.loads(line)
            waiting = self._waiting.get(answer.get("id"))
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)
            elif answer.get("id") in self._given_up:  # it was on its way when the call was given up
                self._given_up.discard(answer["id"])
            else:
                self.faults.append(f"nobody asked for {line[:200]!r}")
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(EOFError("the server is gone"))


class Grpc:
    """A channel to `toolcrib serve grpc`."""

    def __init__(self, client: Any, session: str) -> None:
        self._client, self._session = client, session
        self.faults: list[str] = []

    async def call(self, name: str, args: dict[str, Any]) -> Said:
        return said(await self._client.call(self._session, name, args))


@asynccontextmanager
async def library(home: str, workspace: str) -> AsyncIterator[Door]:
    async with toolcrib.open(home=home, workspace=workspace) as crib:
        yield Library(crib)


@asynccontextmanager
async def mcp(home: str, workspace: str) -> AsyncIterator[Door]:
    words = (sys.executable, "-m", "toolcrib", "serve", "mcp", "--workspace", workspace)
    process = await asyncio.create_subprocess_exec(
        *words, env={**os.environ, "TOOLCRIB_HOME": home}, stdin=-1, stdout=-1, limit=LINE
    )
    door = Mcp(process)
    await door.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
    yield door
    assert await door.close() == 0


@asynccontextmanager
async def grpc(home: str, workspace: str) -> AsyncIterator[Door]:
    from toolcrib.serve.client import ToolClient  # late: it may not be installed

    words = (sys.executable, "-m", "toolcrib", "serve", "grpc", "--workspace", workspace)
    process = await asyncio.create_subprocess_exec(*words, env={**os.environ, "TOOLCRIB_HOME": home}, stderr=-1)
    assert process.stderr
    line = await asyncio.wait_for(process.stderr.readline(), _START_SECONDS)
    assert b"serving gRPC" in line, line + await process.stderr.read()
    reading = asyncio.create_task(process.stderr.read())
    async with ToolClient(home=home) as client:
        yield Grpc(client, await client.create_session())
    process.terminate()
    assert await asyncio.wait_for(process.wait(), _START_SECONDS) == 0, await reading
    await reading


DOORS = {"library": library, "mcp": mcp, "grpc": grpc}
