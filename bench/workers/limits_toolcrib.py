"""Ours at the edges: a program that never stops printing, and a thousand programs at once.

    limits_toolcrib HOME WORKSPACE flood|crowd

Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from pathlib import Path

import toolcrib

CROWD = 1000
FILES = 256


def peak_kib() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def flood(crib: toolcrib.Crib) -> dict[str, object]:
    await crib.call("custom_tool_tiny", {"name": "Bob"})
    before = peak_kib()
    result = await crib.call("custom_tool_flood", {})
    return {"grown_kib": peak_kib() - before, "stdout_bytes": result.metadata.get("stdout_bytes")}


async def crowd(crib: toolcrib.Crib) -> dict[str, object]:
    start = time.perf_counter()
    results = await asyncio.gather(*(crib.call("custom_tool_nap", {}) for _ in range(CROWD)))
    seconds = time.perf_counter() - start
    errors = [result.error for result in results if result.error]
    return {"seconds": seconds, "errors": len(errors), "first": str(errors[0]) if errors else ""}


async def main(home: Path, workspace: Path, what: str) -> None:
    if what == "crowd":
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    async with toolcrib.open(workspace=workspace, home=home) as crib:
        print(json.dumps(await {"flood": flood, "crowd": crowd}[what](crib)))


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
