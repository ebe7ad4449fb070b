"""Programs that print without end, all at once: HOME WORKSPACE HOW_MANY BYTES. Prints what that took, as JSON."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

import toolcrib


def highest_memory() -> int:
    """The most that this process ever held, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


async def flood(home: str, workspace: str, count: int, size: int) -> list[toolcrib.Result]:
    async with toolcrib.open(home=home, workspace=workspace) as crib:
        calls = (crib.call("custom_tool_flood", {"bytes": size}) for _ in range(count))
        return await asyncio.gather(*calls)


def main() -> None:
    home, workspace, count, size = sys.argv[1:]
    results = asyncio.run(flood(home, workspace, int(count), int(size)))
    artifacts = [path.stat().st_size for path in Path(home, "artifacts").iterdir()]
    told = {
        "failed": [str(result.error) for result in results if result.error][:3],
        "sizes": sorted({result.metadata["stdout_bytes"] for result in results}),
        "answers": sorted({len(result.output) for result in results}),
        "artifacts": [len(artifacts), max(artifacts)],
        "temporary": os.listdir(tempfile.gettempdir()),
        "memory": highest_memory(),
    }
    sys.stdout.write(json.dumps(told))


main()
