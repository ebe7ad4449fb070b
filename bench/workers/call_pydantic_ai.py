"""Peer: pydantic-ai, a function tool called through its ToolManager, without a model."""

from __future__ import annotations

import asyncio

from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.usage import RunUsage

from bench.workers.batch import serve_async


async def greet(name: str, age: int | None = None) -> str:
    """Say hello to a person."""
    return f"Hello, {name}"


async def main() -> None:
    context: RunContext[None] = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    manager = await ToolManager(FunctionToolset([greet])).for_run_step(context)

    async def call() -> None:
        part = ToolCallPart("greet", {"name": "Bob", "age": 25}, tool_call_id="1")
        if await manager.handle_call(part) != "Hello, Bob":
            raise SystemExit("pydantic-ai gave a wrong answer")

    await serve_async(call)


asyncio.run(main())
