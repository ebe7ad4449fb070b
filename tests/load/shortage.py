"""Few descriptors while a warm tool runs: HOME WORKSPACE. Prints what became of its call, and of others, as JSON."""

import asyncio
import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import toolcrib


@contextmanager
def room_for(more: int) -> Iterator[None]:
    """Only so many descriptors can be opened meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def main() -> None:
    home, workspace = sys.argv[1:]
    async with toolcrib.open(home=home, workspace=workspace) as crib:
        fifo, nothing = f"{workspace}/go", {"for": "", "more": "x" * 200_000}  # so that its input stays open
        os.mkfifo(fifo)
        assert (await crib.call("custom_tool_wait", nothing)).metadata["warm"]
        waiting = asyncio.create_task(crib.call("custom_tool_wait", {"for": fifo}))
        reading = await asyncio.to_thread(os.open, fifo, os.O_WRONLY)  # once it listens
        others = []
        for more in range(1, 20):
            with room_for(more):
                others.append(await crib.call("custom_tool_wait", nothing))
        os.write(reading, b"done")
        os.close(reading)
        result = await waiting
        after = await crib.call("custom_tool_wait", nothing)
    told = {
        "waited": [result.error and str(result.error), result.output],
        "codes": sorted({each.error.code if each.error else "" for each in others}),
        "after": [after.error and str(after.error), after.metadata.get("warm")],
    }
    sys.stdout.write(json.dumps(told))


asyncio.run(main())
