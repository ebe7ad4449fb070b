"""Peer: langchain-core, a tool called with `ainvoke`."""

from __future__ import annotations

import asyncio

from langchain_core.tools import tool

from bench.workers.batch import serve_async


@tool
async def greet(name: str, age: int | None = None) -> str:
    """Say hello to a person."""
    return f"Hello, {name}"


async def main() -> None:
    async def call() -> None:
        if await greet.ainvoke({"name": "Bob", "age": 25}) != "Hello, Bob":
            raise SystemExit("langchain-core gave a wrong answer")

    await serve_async(call)


asyncio.run(main())
