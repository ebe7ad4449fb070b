"""`serve mcp --watch`: the client hears of a changed tool when it changes, not when the server next looks."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("watchfiles", reason="watchfiles is not installed")

import toolcrib
from toolcrib.cli import serve
from toolcrib.cli._watching import watch_of
from toolcrib.serve.mcp import McpHandler

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
HELLO = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "NAME", "description": "Says hello.", "version": "2.5.0", "input_schema": {"type": "object"}}'; exit
fi
echo hello
"""


class Heard:
    """A client that keeps what it is told."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def send(self, message: dict[str, Any]) -> None:
        self.messages.put_nowait(message)

    offer = send


async def ask(handler: McpHandler, method: str, **params: Any) -> Any:
    answer = await handler.handle({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert isinstance(answer, dict)
    return answer["result"]


async def test_a_changed_tool_is_told_at_once(home: Path, workspace: Path, make_tool: Any) -> None:
    """K69: the server would look by itself in an hour; what it tells before that, the watch told it."""
    heard = Heard()
    async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
        async with watch_of(lambda: crib) as watch:
            handler = McpHandler(crib, outlet=heard, version="0")
            looking = asyncio.create_task(handler.watch(3600, watch.wait))
            await ask(handler, "initialize", protocolVersion="2025-11-25")
            await ask(handler, "tools/list")
            for name in ("one", "two"):
                make_tool("hello", HELLO.replace("NAME", name))
                assert await heard.messages.get() == CHANGED
                shown = [tool["name"] for tool in (await ask(handler, "tools/list"))["tools"]]
                assert f"custom_tool_{name}" in shown
            looking.cancel()
            await asyncio.wait([looking])


async def test_many_changes_at_once_are_one(home: Path, workspace: Path, make_tool: Any) -> None:
    """What is written in one go is told in a few words, not in as many as there are files."""
    heard = Heard()
    async with toolcrib.open(workspace=workspace, home=home) as crib:
        async with watch_of(lambda: crib) as watch:
            handler = McpHandler(crib, outlet=heard, version="0")
            await ask(handler, "initialize", protocolVersion="2025-11-25")
            await ask(handler, "tools/list")
            looking = asyncio.create_task(handler.watch(3600, watch.wait))
            for number in range(20):
                make_tool(f"tool{number}", HELLO.replace("NAME", f"tool{number}"))
            while len([tool for tool in crib.tools() if tool.source == "executable"]) < 20:
                assert await heard.messages.get() == CHANGED
            assert heard.messages.qsize() < 10
            looking.cancel()
            await asyncio.wait([looking])


def test_the_flag_is_written_into_a_clients_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    assert serve.main(["mcp", "--watch", "--print-config", "json"]) == 0
    (server,) = json.loads(capsys.readouterr().out)["mcpServers"].values()
    assert server["args"] == ["serve", "mcp", "--ask", "client", "--watch"]


async def test_a_result_says_which_version_ran(home: Path, workspace: Path, make_tool: Any) -> None:
    """K71, F47: in `_meta`, where the model does not read it and a client can."""
    make_tool("hello", HELLO.replace("NAME", "hello"))
    async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
        handler = McpHandler(crib, outlet=Heard(), version="0")
        await ask(handler, "initialize", protocolVersion="2025-11-25")
        result = await ask(handler, "tools/call", name="custom_tool_hello")
        tool = crib.find("hello")
    assert tool is not None
    about = result["_meta"]["toolcrib/call"]
    assert (about["version"], about["digest"]) == ("2.5.0", tool.digest)
