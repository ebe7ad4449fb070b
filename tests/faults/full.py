"""Fills a small disk and calls tools on it: workspace|inodes HOME WORKSPACE TMP. Needs mounts of its own."""

import asyncio
import os
import subprocess
import sys

import toolcrib
from toolcrib.core.jsontext import dump
from toolcrib.observe.verify import verify

WHICH, HOME, WORKSPACE, TMP = sys.argv[1:]


def mount(place: str, *options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(("mode=700", *options)), "none", place], check=True)


def fill(path: str) -> None:
    """Take all the room there is, to the last byte."""
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue


async def full_workspace() -> dict[str, object]:
    mount(WORKSPACE, "size=64k")
    kept, filler = os.path.join(WORKSPACE, "kept.txt"), os.path.join(WORKSPACE, "filler")
    with open(kept, "w") as file:
        file.write("as it was")
    async with toolcrib.open(home=HOME, workspace=WORKSPACE, approver=toolcrib.SaysYes()) as crib:
        await crib.call("read_file", {"path": "kept.txt"})
        fill(filler)
        results = [
            await crib.call("write_file", {"path": "kept.txt", "content": "x" * 9000}),
            await crib.call("write_file", {"path": "new.txt", "content": "x" * 9000}),
        ]
        left = sorted(os.listdir(WORKSPACE))
        with open(kept) as file:
            content = file.read()
        os.unlink(filler)
        again = await crib.call("write_file", {"path": "new.txt", "content": "x" * 9000})
    return {"codes": codes(results), "words": words(results), "kept": content, "left": left, "after": codes([again])[0]}


async def full_of_names() -> dict[str, object]:
    """What the first call left for the next is used again, so of several at once some find no room."""
    mount(TMP, "nr_inodes=20")
    async with toolcrib.open(home=HOME, workspace=WORKSPACE, approver=toolcrib.SaysYes()) as crib:
        await crib.call("custom_tool_mark")
        os.unlink(os.path.join(WORKSPACE, "marks"))
        fillers = []
        try:
            while True:
                path = os.path.join(TMP, str(len(fillers)))
                os.mkdir(path)
                fillers.append(path)
        except OSError:
            pass
        results = await asyncio.gather(*(crib.call("custom_tool_mark") for _ in range(4)))
        for path in fillers:
            os.rmdir(path)
        again = await crib.call("custom_tool_mark")
    with open(os.path.join(WORKSPACE, "marks")) as file:
        ran = len(file.readlines())
    return {"codes": codes(results), "words": words(results), "after": codes([again])[0], "ran": ran}


def words(results: list[toolcrib.Result]) -> list[str]:
    return [result.error.message if result.error else "" for result in results]


def codes(results: list[toolcrib.Result]) -> list[str | None]:
    return [result.error and result.error.code for result in results]


told = asyncio.run(full_workspace() if WHICH == "workspace" else full_of_names())
sys.stdout.buffer.write(dump({**told, "fault": verify(os.path.join(HOME, "audit")).fault}))
