"""Runs in the venv of the official SDK, version 1: one session with a server, reported as JSON.

Usage: drive_mcp1.py SERVER_COMMAND…
"""

import asyncio
import json
import os
import sys
from datetime import timedelta
from typing import Any

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(command: list[str]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        opened = await session.initialize()
        said["version"], said["server"] = opened.protocolVersion, opened.serverInfo.name
        await session.send_ping()
        said["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        said["again"] = [tool.name for tool in (await session.list_tools()).tools]
        hello = await session.call_tool("custom_tool_hello", {"name": "Bob", "age": 25})
        said["hello"] = [hello.isError, hello.content[0].text]
        many = await asyncio.gather(
            *(session.call_tool("custom_tool_hello", {"name": str(number)}) for number in range(10))
        )
        said["many"] = [each.content[0].text for each in many]
        invalid = await session.call_tool("custom_tool_hello", {})
        said["invalid"] = [invalid.isError, invalid.content[0].text]
        failed = await session.call_tool("custom_tool_error_tool", {"should_fail": True})
        said["failed"] = [failed.isError, failed.content[0].text]
        try:
            await session.call_tool("nope", {})
        except McpError as exc:
            said["unknown"] = exc.error.code
        try:
            await session.call_tool("custom_tool_slow", {}, read_timeout_seconds=timedelta(seconds=2))
        except McpError as exc:
            said["timed_out"] = exc.error.code
        await session.send_ping()
    return said


sys.stdout.write(json.dumps(asyncio.run(main(sys.argv[1:]))))
