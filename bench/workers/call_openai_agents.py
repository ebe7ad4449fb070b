"""Peer: openai-agents, a FunctionTool invoked directly, without its runner.

    call_openai_agents once|each

`once` shares one ToolContext among all calls, which is the least this library can be asked to do; `each` makes one
per call, as its runner does, since it carries the call's id and arguments.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from agents import function_tool
from agents.tool_context import ToolContext

from bench.workers.batch import serve_async

ARGUMENTS = '{"name": "Bob", "age": 25}'


@function_tool
async def greet(name: str, age: int | None = None) -> str:
    """Say hello to a person."""
    return f"Hello, {name}"


def context() -> ToolContext[Any]:
    return ToolContext(context=None, tool_name="greet", tool_call_id="1", tool_arguments=ARGUMENTS)


async def main(contexts: str) -> None:
    shared = context() if contexts == "once" else None

    async def call() -> None:
        if await greet.on_invoke_tool(shared or context(), ARGUMENTS) != "Hello, Bob":
            raise SystemExit("openai-agents gave a wrong answer")

    await serve_async(call)


asyncio.run(main(sys.argv[1]))
