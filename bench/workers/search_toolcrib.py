"""Ours: `glob` or `grep` in a running process, through the whole pipeline with policy and audit.

search_toolcrib HOME WORKSPACE TOOL ARGUMENTS
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import toolcrib
from bench.workers.batch import serve_async


async def main(home: Path, workspace: Path, name: str, arguments: str) -> None:
    args = json.loads(arguments)
    async with toolcrib.open(workspace=workspace, home=home) as crib:

        async def call() -> None:
            result = await crib.call(name, args)
            if not result.success or not result.data:
                raise SystemExit(f"toolcrib found nothing: {result.error}")

        await serve_async(call)


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
