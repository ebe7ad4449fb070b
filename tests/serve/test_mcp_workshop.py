"""An agent that makes a tool through the protocol sees it in its next list."""

from pathlib import Path
from typing import Any

import toolcrib
from toolcrib.builtins.guidance import SHORT
from toolcrib.serve.mcp import McpHandler


class Ends:
    """What the server sends unasked."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def send(self, message: Any) -> None:
        self.heard.append(message["method"])

    offer = send


async def ask(handler: McpHandler, method: str, params: Any = None) -> Any:
    return (await handler.handle({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}))["result"]  # type: ignore[index, call-overload]


async def test_a_tool_that_was_made_is_in_the_next_list(home: Path, workspace: Path) -> None:
    """F26, F38: and the client is told that the list is another one."""
    async with toolcrib.open(home=home, workspace=workspace, approver=toolcrib.SaysYes()) as crib:
        ends = Ends()
        handler = McpHandler(crib, outlet=ends, version="1")
        await ask(handler, "initialize", {"protocolVersion": "2025-11-25"})
        before = {tool["name"] for tool in (await ask(handler, "tools/list"))["tools"]}
        wanted = {"name": "shout", "description": "Say it loudly.", "language": "bash"}
        made = await ask(handler, "tools/call", {"name": "create_custom_tool", "arguments": wanted})
        after = {tool["name"] for tool in (await ask(handler, "tools/list"))["tools"]}
        ran = await ask(handler, "tools/call", {"name": "custom_tool_shout", "arguments": {}})
    assert (made["isError"], ran["isError"]) == (False, False)
    assert after - before == {"custom_tool_shout"}
    assert ends.heard == ["notifications/tools/list_changed"]


async def test_models_are_told_that_they_can_make_tools(home: Path, workspace: Path) -> None:
    """F40."""
    async with toolcrib.open(home=home, workspace=workspace) as crib:
        handler = McpHandler(crib, outlet=Ends(), version="1")
        assert SHORT in (await ask(handler, "initialize", {"protocolVersion": "2025-11-25"}))["instructions"]


async def test_where_no_tools_are_made_nothing_is_said_of_it(home: Path, workspace: Path) -> None:
    (home / "config.yaml").write_text("toolsets: {filesystem: {}}")
    async with toolcrib.open(home=home, workspace=workspace) as crib:
        handler = McpHandler(crib, outlet=Ends(), version="1")
        answer = await ask(handler, "initialize", {"protocolVersion": "2025-11-25"})
    assert SHORT not in str(answer)
