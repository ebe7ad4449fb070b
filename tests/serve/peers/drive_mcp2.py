"""Runs in the venv of the official SDK, version 2: one connection to a server, reported as JSON.

Usage: drive_mcp2.py legacy|auto|2026-07-28 SERVER_COMMAND…
"""

import asyncio
import json
import os
import sys
from typing import Any

from mcp import Client, MCPError, StdioServerParameters


async def main(mode: str, command: list[str]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        said["version"] = client.protocol_version
        said["server"] = client.server_info and client.server_info.name
        said["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        said["again"] = [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]
        hello = await client.call_tool("custom_tool_hello", {"name": "Bob", "age": 25})
        said["hello"] = [hello.is_error, hello.content[0].text]
        many = await asyncio.gather(
            *(client.call_tool("custom_tool_hello", {"name": str(number)}) for number in range(10))
        )
        said["many"] = [each.content[0].text for each in many]
        invalid = await client.call_tool("custom_tool_hello", {})
        said["invalid"] = [invalid.is_error, invalid.content[0].text]
        failed = await client.call_tool("custom_tool_error_tool", {"should_fail": True})
        said["failed"] = [failed.is_error, failed.content[0].text]
        try:
            await client.call_tool("nope", {})
        except MCPError as exc:
            said["unknown"] = exc.error.code
        try:
            await client.call_tool("custom_tool_slow", {}, read_timeout_seconds=2)
        except MCPError as exc:
            said["timed_out"] = exc.error.code
    return said


sys.stdout.write(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2:]))))
