"""Calls a tool many times, in a process of its own: HOME WORKSPACE COUNT. Says when it is ready, and waits for a word."""

import asyncio
import sys

import toolcrib
from toolcrib.core.jsontext import dump


@toolcrib.tool(name="note", input_schema={"type": "object"})
async def note(text: str = "") -> str:
    """Give the text back."""
    return text


async def main(home: str, workspace: str, count: int) -> None:
    async with toolcrib.open(home=home, workspace=workspace, tools=[note]) as crib:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        results = [await crib.call("note", {"text": str(number)}) for number in range(count)]
    sys.stdout.buffer.write(dump({"calls": [result.metadata["call_id"] for result in results if result.success]}))


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
