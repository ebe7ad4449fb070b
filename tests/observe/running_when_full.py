"""Fills the disk under the home while calls run, and has others refused all the time: HOME WORKSPACE RUNNING REFUSED.

Needs mounts of its own.
"""

import asyncio
import os
import subprocess
import sys

import toolcrib
from toolcrib.core.jsontext import dump
from toolcrib.observe.verify import records, verify

HOME, WORKSPACE, RUNNING, REFUSED = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def fill(path: str) -> None:
    """Take all the room there is, to the last byte."""
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue


async def main() -> None:
    begun, go = asyncio.Semaphore(0), asyncio.Semaphore(0)

    @toolcrib.tool(name="wait", input_schema={"type": "object"})
    async def wait() -> str:
        """Wait for a word."""
        begun.release()
        await go.acquire()
        return "done"

    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "none", HOME], check=True)
    async with (
        toolcrib.open(home=HOME, workspace=WORKSPACE, tools=[wait], approver=toolcrib.SaysYes()) as crib,
        toolcrib.open(home=HOME, workspace=WORKSPACE, tools=[wait], approver=toolcrib.SaysYes()) as other,
    ):
        await other.call("no_such_tool")
        running = [asyncio.create_task(crib.call("wait")) for _ in range(RUNNING)]
        for _ in running:
            await begun.acquire()
        fill(os.path.join(HOME, "filler"))
        codes: set[str | None] = set()
        ended: list[toolcrib.Result] = []
        for _ in running:
            for _ in range(REFUSED):
                refused = await other.call("no_such_tool")
                codes.add(refused.error and refused.error.code)
            go.release()
            done, left = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            ended += [each.result() for each in done]
            running = list(left)
        at_last = await crib.call("wait")
        os.unlink(os.path.join(HOME, "filler"))
        go.release()
        again = await crib.call("wait")
    audit = os.path.join(HOME, "audit")
    told = {
        "succeeded": sum(each.success for each in ended),
        "recorded": sum(each["tool"] == "wait" and each["code"] is None for each in records(audit)),
        "refused": sorted(str(code) for code in codes),
        "at_last": at_last.error and at_last.error.code,
        "again": again.success,
        "fault": verify(audit).fault,
        "reserve": os.path.getsize(os.path.join(audit, ".ballast")),
    }
    sys.stdout.buffer.write(dump(told))


asyncio.run(main())
