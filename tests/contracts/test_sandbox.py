"""What every sandbox keeps to: `core.process.Sandbox`."""

import asyncio
import functools
import os
import sys
from pathlib import Path

import pytest

from toolcrib.core.context import new_id
from toolcrib.core.process import Captured, Command, Completed
from toolcrib.sandbox import bubblewrap, child, landlock, poller, spawn, sweep
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.confined import Confined
from toolcrib.sandbox.processes import Processes
from toolcrib.testing import ScriptedSandbox

ANSWER = Completed(3, Captured(b"out", total=3), Captured(b"err", total=3))
TIERS = {"landlock": landlock, "bubblewrap": bubblewrap}
MARK = new_id() + "-1"
COMMAND = Command(
    ("/bin/sh", "-c", "cat >/dev/null; printf out; printf err >&2; exit 3"),
    "/",
    MARK,
    {"PATH": os.environ["PATH"], "TOOLCRIB_CALL_ID": MARK},
    stdin=b"{}",
)


def left_behind() -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if MARK.encode() in place.read_bytes():
                found.append(place.parent.name)
        except OSError:  # gone, or not ours
            pass
    return found


REAL = ("process", "process, another Python", "process, another system", "landlock", "bubblewrap")
"""The one that starts processes, also with what it falls back to elsewhere, and in each tier."""


@pytest.fixture
def sandbox(request, monkeypatch, tmp_path):
    kind = request.param
    if why_not := _why_not(kind):
        pytest.skip(why_not)
    if kind == "scripted":
        yield ScriptedSandbox(ANSWER, ANSWER)
        return
    if kind.endswith("Python"):
        monkeypatch.setattr(spawn, "FAST", False)
    if kind.endswith("system"):  # no pidfd, no epoll, no /proc
        monkeypatch.setattr(child, "LINUX", False)
        monkeypatch.setattr(sweep, "LINUX", False)
        monkeypatch.setattr(poller, "_HAS_EPOLL", False)
    sandbox = Processes(new_id())
    yield Confined(sandbox, Cage(kind, workspace=os.path.realpath(tmp_path))) if kind in TIERS else sandbox
    sandbox.close()


@functools.cache
def _why_not(kind: str) -> str:
    """Why a tier cannot be tried here, or nothing."""
    if kind not in TIERS:
        return ""
    return TIERS[kind].canary() if sys.platform == "linux" else "it is a tier of Linux"


every_kind = pytest.mark.parametrize("sandbox", [*REAL, "scripted"], indirect=True)
real_kinds = pytest.mark.parametrize("sandbox", REAL, indirect=True)


@every_kind
def test_it_has_a_name(sandbox) -> None:
    assert sandbox.name and isinstance(sandbox.name, str)


@every_kind
def test_it_says_how_a_command_ended(sandbox) -> None:
    assert asyncio.run(sandbox.exec(COMMAND)) == ANSWER


@every_kind
def test_it_tells_the_same_to_who_asked(sandbox) -> None:
    told: list[Completed] = []
    done = asyncio.run(sandbox.exec(COMMAND, ended=told.append))
    assert told == [done]


@every_kind
def test_it_runs_one_command_after_another(sandbox) -> None:
    assert [asyncio.run(sandbox.exec(COMMAND)) for _ in range(2)] == [ANSWER, ANSWER]


def test_the_scripted_one_starts_nothing_and_remembers(tmp_path) -> None:
    sandbox = ScriptedSandbox(b"plain")
    command = Command(("/bin/sh", "-c", f": > {tmp_path}/ran"), "/", "m")
    assert asyncio.run(sandbox.exec(command)) == Completed(0, Captured(b"plain", total=5), Captured())
    assert (sandbox.commands, os.listdir(tmp_path)) == ([command], [])


@real_kinds
def test_a_hanging_command_ends_when_it_is_cancelled(sandbox, tmp_path) -> None:
    """Its descendants in its session too, wherever there is nothing better than a process group."""

    async def main() -> None:
        up = tmp_path / "up"
        hanging = COMMAND._replace(argv=("/bin/sh", "-c", f"sleep 60 & : > {up}; sleep 60"))
        task = asyncio.create_task(sandbox.exec(hanging))
        async with asyncio.timeout(10):
            while not up.exists():
                await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(5):
                await task

    asyncio.run(main())
    assert left_behind() == []


@real_kinds
def test_much_input_that_nobody_reads(sandbox) -> None:
    done = asyncio.run(sandbox.exec(COMMAND._replace(argv=("/bin/sh", "-c", "exit 7"), stdin=b"x" * 5_000_000)))
    assert done.code == 7
