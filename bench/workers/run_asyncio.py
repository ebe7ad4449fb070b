"""For comparison: the same program, the same input, by `asyncio.create_subprocess_exec`."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE

from bench.workers.batch import serve_async


async def call() -> None:
    process = await asyncio.create_subprocess_exec(sys.argv[1], "run", stdin=PIPE, stdout=PIPE, stderr=PIPE)
    stdout, _ = await process.communicate(sys.argv[2].encode())
    if process.returncode or stdout != b"hello\n":
        raise SystemExit(f"asyncio gave a wrong answer: {process.returncode}, {stdout!r}")


asyncio.run(serve_async(call))
