"""Ours: a program called as a tool through the whole pipeline, with policy and audit."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import toolcrib
from bench.workers.batch import serve_async


async def main(home: Path, workspace: Path, name: str) -> None:
    async with toolcrib.open(workspace=workspace, home=home) as crib:

        async def call() -> None:
            result = await crib.call(name, {"name": "Bob"})
            if result.data != "hello\n":
                raise SystemExit(f"toolcrib gave a wrong answer: {result}")

        await serve_async(call)


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
