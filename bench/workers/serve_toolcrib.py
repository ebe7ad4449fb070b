"""Ours: one Python function served over MCP on stdio, through the whole pipeline."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import toolcrib
from toolcrib.serve.stdio import serve_stdio


@toolcrib.tool
async def greet(name: str, age: int | None = None) -> str:
    """Say hello to a person."""
    return f"Hello, {name}"


async def main(home: Path, workspace: Path) -> None:
    async with toolcrib.open(workspace=workspace, home=home, tools=[greet]) as crib:
        await serve_stdio(crib)


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
