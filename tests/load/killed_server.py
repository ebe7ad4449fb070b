"""Kills servers at random moments: DOOR HOME WORKSPACE KILLS SEED. Prints what was found, as JSON.

Each server runs tools that leave a trace before and after their work. The client keeps some calls under way, and asks
again for those that it got no answer to, under the same name where the protocol has names.
"""

import asyncio
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from doors import LINE, Mcp

from toolcrib.core.errors import ToolcribError
from toolcrib.core.jsontext import canonical
from toolcrib.observe.verify import LOST, fold, records, verify

DOOR, HOME, WORKSPACE, KILLS, SEED = sys.argv[1:]
AUDIT, EFFECTS = f"{HOME}/audit", Path(WORKSPACE, "effects")
UNDER_WAY = 6
LATEST_SECONDS = 0.4
_PATIENCE_SECONDS = 30.0
TOOL = "custom_tool_effect"


class Client(Protocol):
    pid: int

    async def call(self, ident: str) -> str | None:
        """The code of the answer, None for success. Raises: `EOFError`, when the server is gone."""
        ...


class McpClient:
    def __init__(self, wire: Mcp) -> None:
        self._wire, self.pid = wire, wire.process.pid

    async def call(self, ident: str) -> str | None:
        try:
            said = await self._wire.call(TOOL, {"id": ident})
        except ConnectionError:
            raise EOFError("the server is gone") from None
        assert said.code or ident in said.text, said
        return said.code


class GrpcClient:
    def __init__(self, client: Any, pid: int) -> None:
        self._client, self.pid = client, pid

    async def call(self, ident: str) -> str | None:
        try:
            result = await self._client.call("load", TOOL, {"id": ident}, call_id=ident)
        except ToolcribError as exc:
            raise EOFError(str(exc)) from None
        assert result.error or ident in result.output, result
        return result.error and str(result.error.code)


@asynccontextmanager
async def mcp() -> AsyncIterator[Client]:
    words = (sys.executable, "-m", "toolcrib", "serve", "mcp", "--workspace", WORKSPACE)
    process = await asyncio.create_subprocess_exec(*words, stdin=-1, stdout=-1, limit=LINE)
    wire = Mcp(process)
    await wire.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
    await wire.ask("tools/list", {})
    yield McpClient(wire)
    await wire.close()


@asynccontextmanager
async def grpc() -> AsyncIterator[Client]:
    from toolcrib.serve.client import ToolClient  # late: it may not be installed

    words = (sys.executable, "-m", "toolcrib", "serve", "grpc", "--workspace", WORKSPACE)
    process = await asyncio.create_subprocess_exec(*words, stderr=-1)
    assert process.stderr
    line = await process.stderr.readline()
    assert b"serving gRPC" in line, line + await process.stderr.read()
    async with ToolClient() as client:
        with suppress(ToolcribError):  # an earlier server made it
            await client.create_session("load")
        await client.tools("load")
        yield GrpcClient(client, process.pid)
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)  # if it was not killed
    await process.wait()
    await process.stderr.read()


class Trial:
    """All servers, one after the other, and what the client heard from them."""

    def __init__(self) -> None:
        self._moments = random.Random(SEED)
        self.heard: dict[str, str | None] = {}
        """The code of each answer."""
        self.unanswered: list[str] = []
        self.starts: list[float] = []
        self.left: list[str] = []

    async def kill_one(self, number: int) -> None:
        async with self.started() as client:
            idents = chain(self._again(), (f"{number}-{count}" for count in range(1_000_000)))
            calls = [asyncio.create_task(self._keep_calling(client, idents)) for _ in range(UNDER_WAY)]
            await asyncio.wait(calls, timeout=self._moments.uniform(0.0, LATEST_SECONDS))
            os.kill(client.pid, signal.SIGKILL)
            await asyncio.gather(*calls)
        self.left += await leftovers()

    async def settle(self) -> None:
        """A last server, which is asked for all that is open, and ends in good order."""
        async with self.started() as client:
            await self._keep_calling(client, chain(list(self._again()), ["last"]))
        self.left += await leftovers()

    @asynccontextmanager
    async def started(self) -> AsyncIterator[Client]:
        began = time.monotonic()
        async with {"mcp": mcp, "grpc": grpc}[DOOR]() as client:
            self.starts.append(time.monotonic() - began)
            yield client

    def _again(self) -> Iterator[str]:
        """What got no answer and can be asked for again: MCP has no name for a call that outlives a connection."""
        while DOOR == "grpc" and self.unanswered:
            yield self.unanswered.pop(0)

    async def _keep_calling(self, client: Client, idents: Iterator[str]) -> None:
        for ident in idents:
            try:
                self.heard[ident] = await client.call(ident)
            except EOFError:
                self.unanswered.append(ident)
                return


async def leftovers() -> list[str]:
    """What is still there of a server that is gone, once nothing more changes: processes, and temporary files."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while (found := [*processes(), *os.listdir(tempfile.gettempdir())]) and time.monotonic() < until:
        await asyncio.sleep(0.002)  # there is nobody to tell: whoever could is gone
    return found


def processes() -> list[str]:
    """Everything that has to do with this home, by its environment or its words, and is not this program."""
    root, found = os.path.dirname(HOME).encode(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", name, "cmdline").read_bytes()
            environ = Path("/proc", name, "environ").read_bytes()
        except OSError:
            continue
        if int(name) != os.getpid() and (root in words or root in environ):
            found.append(words.decode(errors="replace"))
    return found


def args_digest(ident: str) -> str:
    return hashlib.sha256(canonical({"id": ident})).hexdigest()


def traces(word: str) -> Counter[str]:
    """How often each call left this trace."""
    lines = [line.split() for line in EFFECTS.read_text().splitlines()]
    return Counter(ident for said, ident in lines if said == word)


async def main() -> None:
    trial = Trial()
    async with trial.started():  # the tools are probed, the code is compiled
        pass
    trial.starts.clear()
    for number in range(int(KILLS)):
        await trial.kill_one(number)
    await trial.settle()
    rows = list(records(AUDIT))
    ended = {row["args_digest"]: row["code"] for row in rows if row["event"] == "call"}
    over = {row["call"] for row in rows if row["event"] == "call"}
    begun, done = traces("begin"), traces("end")
    answered = [ident for ident, code in trial.heard.items() if code is None]
    told = {
        "answered": len(answered),
        "told_unknown": sum(code == LOST for code in trial.heard.values()),
        "other_codes": sorted({code for code in trial.heard.values() if code not in (None, LOST)}),
        "lost_records": [ident for ident in answered if ended.get(args_digest(ident), "missing") is not None],
        "lost_effects": [ident for ident in answered if done[ident] != 1],
        "repeated": [ident for ident in begun | done if max(begun[ident], done[ident]) > 1],
        "open": len({row["call"] for row in rows if row["event"] == "start"} - over),
        "counted_unknown": fold(AUDIT).by_code.get(LOST, 0),
        "audit": verify(AUDIT).fault,
        "left": trial.left,
        "clean_start": trial.starts[0],
        "usual_start": median(trial.starts[1:]),
    }
    sys.stdout.write(json.dumps(told))


asyncio.run(main())
