"""What comes faster than it is done waits at its sender, not in our memory.

Elsewhere: the calls under way over gRPC and the connections of its front (`tests/serve/grpc_service`), answers that the
client does not read (`tests/serve/test_stdio.py`), calls that wait for a person (`tests/store/test_pending.py`),
background jobs (`tests/builtins/test_jobs.py`), processes (`tests/sandbox/test_load.py`).
"""

import asyncio
import json
import os
from typing import Any

import pytest

import toolcrib
from toolcrib.serve import stdio
from toolcrib.serve._pipe import READ_BYTES

COUNT, AT_ONCE = 2500, 50


def message(id: int) -> bytes:
    call = {"name": "wait", "arguments": {}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}).encode() + b"\n"


def test_a_client_that_asks_faster_than_is_answered_has_to_wait(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of calls on one pipe: only so many are under way, the rest stays in the pipe, and all are answered."""
    monkeypatch.setattr(stdio, "UNDER_WAY", AT_ONCE)
    running = most = 0
    entered, release = asyncio.Event(), asyncio.Event()

    @toolcrib.tool(name="wait", input_schema={"type": "object"})
    async def wait() -> str:
        """Wait until all may go on."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        entered.set()
        await release.wait()
        running -= 1
        return "done"

    async def go() -> tuple[int, bool]:
        loop = asyncio.get_running_loop()
        (stdin, to_server), (from_server, stdout) = os.pipe(), os.pipe()
        async with site.open(tools=[wait]) as crib:
            server = asyncio.create_task(stdio.serve_stdio(crib, stdin=stdin, stdout=stdout))
            reader = asyncio.StreamReader()
            incoming, _ = await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_server)
            )
            os.set_blocking(to_server, False)
            opening = {"jsonrpc": "2.0", "id": "o", "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
            os.write(to_server, json.dumps(opening).encode() + b"\n")
            await reader.readline()
            left = memoryview(b"".join(map(message, range(COUNT))))
            stuck = False
            while left and not stuck:  # as fast as the pipe takes it, until the server has had all the time it needs
                try:
                    left = left[os.write(to_server, left[:READ_BYTES]) :]
                except BlockingIOError:
                    await entered.wait()
                    before = running
                    for _ in range(200):
                        await asyncio.sleep(0)
                    stuck = running == before
            under_way, was_stuck = most, stuck
            release.set()
            answers = 0
            while answers < COUNT:
                while left:
                    try:
                        left = left[os.write(to_server, left[:READ_BYTES]) :]
                    except BlockingIOError:
                        break
                assert json.loads(await asyncio.wait_for(reader.readline(), 30))["result"]["isError"] is False
                answers += 1
            os.close(to_server)
            await server
            incoming.close()
            os.close(stdin)
            os.close(stdout)
            return under_way, was_stuck

    under_way, was_stuck = asyncio.run(asyncio.wait_for(go(), 60))
    assert was_stuck
    assert under_way <= AT_ONCE + READ_BYTES // len(message(0)) + 1 < COUNT
