"""Fills the disk under the home, and counts what runs then: HOME WORKSPACE TOOL. Needs mounts of its own."""

import asyncio
import os
import subprocess
import sys

import toolcrib
from toolcrib.core.jsontext import dump
from toolcrib.observe.verify import records, verify

HOME, WORKSPACE, KIND = sys.argv[1:]
CANARY = os.path.join(WORKSPACE, "canary")
ABOUT = '{"name": "canary", "description": "Leave a mark.", "input_schema": {"type": "object"}}'
PROGRAM = f"""#!/bin/sh
if [ "$1" = description ]; then echo '{ABOUT}'; exit; fi
echo ran >> {CANARY}
"""


@toolcrib.tool(name="note", input_schema={"type": "object"})
def note() -> None:
    """Leave a mark."""
    with open(CANARY, "a") as file:
        file.write("ran\n")


def fill(path: str, *, leave: int = 0) -> None:
    """Take all the room there is, to the last byte, but for what is to be left."""
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
        file.truncate(file.tell() - leave)


def prepare() -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "none", HOME], check=True)
    program = os.path.join(HOME, "tools", "canary")
    os.mkdir(os.path.dirname(program))
    with open(program, "w") as file:
        file.write(PROGRAM)
    os.chmod(program, 0o755)


async def main() -> None:
    fill(os.path.join(HOME, "filler"), leave=32 * 1024)  # room for the record of this call, but not for all at once
    async with toolcrib.open(home=HOME, workspace=WORKSPACE, tools=[note], approver=toolcrib.SaysYes()) as crib:
        tight = await crib.call(KIND)
    tight_ran = canaries()
    os.unlink(os.path.join(HOME, "filler"))
    async with toolcrib.open(home=HOME, workspace=WORKSPACE, tools=[note], approver=toolcrib.SaysYes()) as crib:
        results = [await crib.call(KIND)]
        fill(os.path.join(HOME, "filler"))
        while results[-1].success:
            results.append(await crib.call(KIND))
        more = [await crib.call(KIND) for _ in range(20)]
        os.unlink(os.path.join(HOME, "filler"))
        before = canaries()
        again = (await crib.call(KIND)).success
    audit = os.path.join(HOME, "audit")
    told = {
        "tight": [tight.error and tight.error.code, tight_ran],
        "first_refusal": results[-1].error and results[-1].error.to_dict(),
        "succeeded": sum(result.success for result in results) + again,
        "refused_in_a_row": sum(each.error is not None and each.error.code == "RESOURCE_EXHAUSTED" for each in more),
        "after_making_room": again and canaries() == before + 1,
        "ran": canaries(),
        "recorded": sum(each.get("event") == "call" and each["code"] is None for each in records(audit)),
        "fault": verify(audit).fault,
    }
    sys.stdout.buffer.write(dump(told))


def canaries() -> int:
    """How often the tool ran."""
    with open(CANARY, "a+") as file:
        file.seek(0)
        return len(file.readlines())


prepare()
asyncio.run(main())
