"""Ours: finding cached tools, beside a bare stat of the same files, in one process.

    discover_toolcrib HOME WORKSPACE cold|warm ROUNDS

`cold` lets a crib find its tools for the first time in this fresh process, when all is imported and the
configuration is read; `warm` refreshes an open one.
Prints one line per round: nanoseconds of ours, nanoseconds of the stats.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import toolcrib.builtins.workbench  # noqa: F401  # imports are not counted
from toolcrib.runtime.build import build


def stat_all(paths: list[str]) -> int:
    start = time.perf_counter_ns()
    for path in paths:
        os.stat(path)
    return time.perf_counter_ns() - start


async def main(home: Path, workspace: Path, mode: str, rounds: int) -> None:
    paths = [str(path) for path in sorted((home / "tools").iterdir())]
    crib = build(workspace=workspace, home=home)
    try:
        if mode == "cold":
            floor = stat_all(paths) if rounds % 2 else 0  # every other time the files are ours to touch first
            start = time.perf_counter_ns()
            await crib.start()
            found = len(crib.tools())
            print(time.perf_counter_ns() - start, floor or stat_all(paths))
        else:
            await crib.start()
            for _ in range(rounds):
                floor = stat_all(paths)
                start = time.perf_counter_ns()
                await crib.refresh()
                print(time.perf_counter_ns() - start, floor)
            found = len(crib.tools())
    finally:
        await crib.close()
    if found < len(paths):
        raise SystemExit(f"{found} tools found where {len(paths)} files are")


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
