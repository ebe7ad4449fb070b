"""Ours: an async function called through the whole pipeline, with policy and audit."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import toolcrib
from bench.workers.batch import serve_async


@toolcrib.tool
async def greet(name: str, age: int | None = None) -> str:
    """Say hello to a person."""
    return f"Hello, {name}"


async def main(home: Path, workspace: Path) -> None:
    async with toolcrib.open(workspace=workspace, home=home, tools=[greet]) as crib:

        async def call() -> None:
            if (await crib.call("greet", {"name": "Bob", "age": 25})).data != "Hello, Bob":
                raise SystemExit("toolcrib gave a wrong answer")

        await serve_async(call)


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
