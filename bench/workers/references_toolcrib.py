"""Ours: all uses of a name, by the tool, through the whole pipeline with policy and audit.

references_toolcrib HOME WORKSPACE NAME
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import toolcrib
from bench.workers.batch import serve_async


async def main(home: Path, workspace: Path, name: str) -> None:
    async with toolcrib.open(workspace=workspace, home=home) as crib:

        async def call() -> None:
            result = await crib.call("find_references", {"symbol": name})
            if not result.success or not result.data["references"]:
                raise SystemExit(f"toolcrib found nothing: {result.error}")

        await serve_async(call)


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
