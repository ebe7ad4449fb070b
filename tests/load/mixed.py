"""Calls of every kind through one door: DOOR HOME WORKSPACE CALLS AT_ONCE. Prints what was found, as JSON.

The temporary directory of the environment is this program's own, so that whatever lies there afterwards was left.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from doors import DOORS, Door
from mixture import COLD, FUNCTION, MIXTURE, TOGETHER, Held, kind_of

from toolcrib.core.limits import GRACE_SECONDS
from toolcrib.observe.verify import records, runtime_of, verify
from toolcrib.sandbox.lending import MOST_IDLE

UNDER_WAY = 100
WARM_UP = 25 * len(MIXTURE)
_SETTLE_SECONDS, _QUIET_SECONDS = 20.0, 2 * GRACE_SECONDS + 0.2


class Load:
    """Makes calls, and remembers what was wrong with their answers."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self.made = 0
        self.answered = self.given_up = 0
        self.faults: list[str] = []

    async def one(self, number: int) -> None:
        kind = kind_of(number)
        self.made += 1
        if kind.cancelled:
            await self._given_up(number)
            return
        said = await self.door.call(*kind.called(number))
        self.answered += 1
        if fault := kind.fault(number, said):
            self.faults.append(fault)

    async def some(self, numbers: range, *, under_way: int) -> None:
        """These calls, so many of them under way at any time."""
        left = iter(numbers)

        async def take() -> None:
            for number in left:
                await self.one(number)

        await asyncio.gather(*(take() for _ in range(under_way)))

    async def measure(self) -> Held:
        self.made += 1
        return Held.read(await self.door.call("measure", {}))

    async def settled(self) -> Held:
        """What is held once nothing more is let go of: of the programs that rest, those too many end a little later."""
        until, since, now = time.monotonic() + _SETTLE_SECONDS, time.monotonic(), await self.measure()
        while time.monotonic() < min(until, since + _QUIET_SECONDS):
            await asyncio.sleep(0)  # a call that need not wait for anything does not let others have their turn
            last, now = now, await self.measure()
            if now.descriptors != last.descriptors:
                since = time.monotonic()
        return now

    async def fill_up(self) -> None:
        """Let as many programs rest as may: how many of them calls leave behind is a matter of chance otherwise."""
        self.made += MOST_IDLE + 8
        await asyncio.gather(*(self.door.call(*TOGETHER.called(number)) for number in range(MOST_IDLE + 8)))

    async def _given_up(self, number: int) -> None:
        """Begin it, do something else meanwhile, and give it up, wherever it is by then."""
        call = asyncio.create_task(self.door.call(*kind_of(number).called(number)))
        await asyncio.sleep(0)  # it is asked for
        meanwhile = (FUNCTION, COLD)[number // len(MIXTURE) % 2]
        self.made += 1
        said = await self.door.call(*meanwhile.called(number))
        if fault := meanwhile.fault(number, said):
            self.faults.append(fault)
        call.cancel()
        await asyncio.wait((call,))
        self.answered += 1
        self.given_up += 1
        if not call.cancelled():
            self.faults.append(f"{number}: it was given up, and yet: {call.exception() or call.result()}")


async def work(name: str, home: str, workspace: str, calls: int, at_once: int) -> dict[str, Any]:
    async with DOORS[name](home, workspace) as door:
        load = Load(door)
        await load.some(range(at_once), under_way=at_once)
        await load.some(range(at_once, at_once + WARM_UP if calls > WARM_UP else at_once + calls), under_way=UNDER_WAY)
        await load.fill_up()
        before, files = await load.settled(), names_in(home)
        first, made = load.made + 10_000, load.answered
        await load.some(range(first, first + calls), under_way=UNDER_WAY)
        await load.some(range(first + calls, first + calls + at_once), under_way=at_once)
        await load.fill_up()
        after = await load.settled()
        told = {
            "counted": load.answered - made,
            "faults": (load.faults + door.faults)[:10],
            "descriptors": after.beyond(before),
            "new_files": sorted(names_in(home) - files),
        }
    told |= {"given_up": load.given_up, "made": load.made}
    return told | {"memory": [before.memory, after.memory], "written": written(workspace)}


def names_in(home: str) -> set[str]:
    """Files of a home but those that are its results: artifacts and copies of programs are kept on purpose."""
    found = {str(path.relative_to(home)) for path in Path(home).rglob("*") if path.is_file()}
    return {name for name in found if not name.startswith("artifacts/")}


def written(workspace: str) -> list[str]:
    """Files that do not hold what they were to hold."""
    wrong = [path.name for path in Path(workspace, "out").iterdir() if path.read_text() != path.stem]
    return [*wrong, *(["forbidden"] if Path(workspace, "forbidden").exists() else [])]


def left_alive(runtimes: set[str]) -> list[str]:
    """What carries the mark of one of these runtimes."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            environ = Path("/proc", name, "environ").read_bytes()
            if any(f"{runtime}-".encode() in environ for runtime in runtimes):
                found.append(Path("/proc", name, "cmdline").read_text())
        except OSError:
            continue
    return found


def main() -> None:
    name, home, workspace, calls, at_once = sys.argv[1:]
    began = time.monotonic()
    told = asyncio.run(work(name, home, workspace, int(calls), int(at_once)))
    rows = list(records(f"{home}/audit"))
    ended = [row["call"] for row in rows if row["event"] == "call"]
    never_came = told["made"] - len(ended)
    if name == "grpc" and 0 < never_came <= told["given_up"]:
        never_came = 0  # there a call can be given up before it was sent
    told |= {
        "not_recorded": never_came,
        "recorded_twice": len(ended) - len(set(ended)),
        "never_ended": len({row["call"] for row in rows if row["event"] == "start"} - set(ended)),
        "audit": verify(f"{home}/audit").fault,
        "alive": left_alive({runtime_of(row["call"]) for row in rows if "call" in row}),
        "temporary": sorted(os.listdir(tempfile.gettempdir())),
        "own_descriptors": [os.readlink(f"/proc/self/fd/{fd}") for fd in open_descriptors()],
        "seconds": round(time.monotonic() - began, 1),
    }
    sys.stdout.write(json.dumps(told))


def open_descriptors() -> list[int]:
    """Beyond the three that every program has."""
    with os.scandir("/proc/self/fd") as found:
        own = [int(entry.name) for entry in found]
    return [fd for fd in own if fd > 2 and os.path.exists(f"/proc/self/fd/{fd}")]


main()
