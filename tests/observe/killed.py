"""Kills callers at random moments: HOME WORKSPACE SEED TOOL KILLS. Prints what was acknowledged and what was found.

Each caller is a fork of this process, so that a hundred of them take seconds. It calls a tool in a loop and writes each
call's id to a pipe once it has the result.
"""

import asyncio
import os
import random
import select
import signal
import sys
import time
from typing import Any

import toolcrib
from toolcrib.core.jsontext import dump
from toolcrib.observe.verify import records, verify

HOME, WORKSPACE, SEED, KIND, KILLS = sys.argv[1:]
AUDIT = os.path.join(HOME, "audit")


@toolcrib.tool(name="note", input_schema={"type": "object"})
async def note() -> str:
    """Answer."""
    return "noted"


async def call_on(acknowledged: int, *, name: str = KIND, times: int = 1_000_000) -> None:
    async with toolcrib.open(home=HOME, workspace=WORKSPACE, tools=[note], approver=toolcrib.SaysYes()) as crib:
        for _ in range(times):
            result = await crib.call(name)
            os.write(acknowledged, f"{result.metadata['call_id']}\n".encode())


def fork_caller(**options: Any) -> tuple[int, int]:
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reads)
        asyncio.run(call_on(writes, **options))
        os._exit(0)
    os.close(writes)
    return pid, reads


def kill_after(seconds: float, pid: int, pipe: int) -> list[str]:
    """What the caller acknowledged until it was killed."""
    until, heard = time.monotonic() + seconds, b""
    while (left := until - time.monotonic()) > 0:
        if select.select([pipe], [], [], left)[0]:
            heard += os.read(pipe, 65536)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while chunk := os.read(pipe, 65536):
        heard += chunk
    os.close(pipe)
    return heard.decode().split()


def marked(runtimes: set[str]) -> list[int]:
    """Processes that carry the mark of one of these runtimes."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environ = file.read()
        except OSError:
            continue
        if any(f"TOOLCRIB_CALL_ID={runtime}-".encode() in environ for runtime in runtimes):
            found.append(int(pid))
    return found


def main() -> None:
    moments = random.Random(SEED)
    asyncio.run(
        call_on(os.open(os.devnull, os.O_WRONLY), name="note", times=1)
    )  # the tools are probed, the code is warm
    told: dict[str, Any] = {
        "kills": 0,
        "acknowledged": 0,
        "lost": [],
        "faults": [],
        "torn": 0,
        "left": [],
        "started": 0,
    }
    for _ in range(int(KILLS)):
        pid, pipe = fork_caller()
        heard = kill_after(moments.uniform(0.002, 0.03 if KIND == "note" else 0.08), pid, pipe)
        told["kills"] += 1
        told["acknowledged"] += len(heard)
        if "torn" in (
            verify(AUDIT).fault or ""
        ):  # the kernel may stop in the middle of a line; the next call sees to it
            told["torn"] += 1
            pid, pipe = fork_caller(name="note", times=1)
            os.waitpid(pid, 0)
            os.close(pipe)
        if fault := verify(AUDIT).fault:
            told["faults"].append(fault)
        rows = list(records(AUDIT))
        told["lost"] += sorted(set(heard) - {row["call"] for row in rows if row["event"] == "call"})
        told["started"] += sum(row["event"] == "start" for row in rows)
        runtimes = {row["call"].rpartition("-")[0] for row in rows if row["event"] == "start"}
        deadline = time.monotonic() + 5
        while KIND != "note" and (left := marked(runtimes)):
            if time.monotonic() > deadline:
                told["left"] += left
                break
            select.select([], [], [], 0.005)
        if told["kills"] % 10 == 0:  # a fresh record now and then: verifying all of it each time would take long
            for name in os.listdir(AUDIT):
                os.unlink(os.path.join(AUDIT, name))
    sys.stdout.buffer.write(dump(told))


main()
