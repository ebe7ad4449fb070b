"""Runs in the venv of the official SDK, version 1: a client that shows questions, and answers them from a list.

Usage: elicit_mcp1.py ANSWERS_AS_JSON SERVER_COMMAND…
"""

import asyncio
import json
import os
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult


async def main(answers: list[dict[str, Any]], command: list[str]) -> dict[str, Any]:
    said: dict[str, Any] = {"asked": [], "called": []}

    async def show(context: Any, params: Any) -> ElicitResult:
        said["asked"].append([params.message, params.requestedSchema])
        return ElicitResult(**answers.pop(0))

    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write, elicitation_callback=show) as session:
        await session.initialize()
        for number in range(4):
            result = await session.call_tool("custom_tool_hello", {"name": str(number)})
            said["called"].append([result.isError, result.content[0].text])
    return said


sys.stdout.write(json.dumps(asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2:]))))
