"""Peer: FastMCP, a function tool called by its own client over the in-memory transport."""

from __future__ import annotations

import asyncio

from fastmcp import Client, FastMCP

from bench.workers.batch import serve_async

server = FastMCP("bench")


@server.tool
async def greet(name: str, age: int | None = None) -> str:
    """Say hello to a person."""
    return f"Hello, {name}"


async def main() -> None:
    async with Client(server) as client:

        async def call() -> None:
            if (await client.call_tool("greet", {"name": "Bob", "age": 25})).data != "Hello, Bob":
                raise SystemExit("FastMCP gave a wrong answer")

        await serve_async(call)


asyncio.run(main())
