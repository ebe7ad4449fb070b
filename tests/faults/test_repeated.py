"""A call is not run a second time unless somebody says so, whatever its end looked like."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import toolcrib
from toolcrib.core.call import Retry
from toolcrib.serve.mcp import McpHandler


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_tool_that_changed_the_tools_and_then_failed_is_not_run_again(site: Any, make_tool: Any) -> None:
    """A tool may end with the code of a call that never ran, and may have changed what is on offer meanwhile."""
    ran = []

    @toolcrib.tool(name="changes", input_schema={"type": "object"})
    async def changes() -> str:
        """Make a tool, and fail."""
        ran.append(1)
        make_tool(f"more{len(ran)}", (site.home / "tools" / "mark").read_text().replace('"mark"', f'"more{len(ran)}"'))
        raise toolcrib.ToolError("it is not there", code="TOOL_NOT_FOUND")

    class Deaf:
        def send(self, message: Any) -> None: ...

        def offer(self, message: Any) -> None: ...

    async def go() -> None:
        async with site.open(tools=[changes]) as crib:
            handler = McpHandler(crib, outlet=Deaf(), version="0")
            opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
            await handler.handle(opening)
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "changes", "arguments": {}}}
            answer = await handler.handle(call)
            assert answer["result"]["isError"] is True
            assert len(ran) == 1
            assert await crib.refresh(), "there was a reason to try once more"

    run(go)


def test_a_caller_who_wants_another_try_gets_none_for_what_may_have_happened(warm: Any, make_tool: Any) -> None:
    """The library's `retry` repeats only what is harmless to repeat, or provably did not happen."""
    text = (warm.home / "tools" / "mark").read_text()
    make_tool("fails", text.replace('"mark"', '"fails"').replace("echo done", "exit 3"))

    async def go() -> None:
        async with warm.open() as crib:
            result = await crib.call("custom_tool_fails", retry=Retry(max_attempts=5, delay_ms=1))
            assert result.error.code == "EXECUTION_ERROR"
            assert (result.metadata["attempts"], warm.marks()) == (1, 1)

    run(go)
