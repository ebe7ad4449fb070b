"""What every sandbox keeps to: `core.process.Sandbox`."""

import asyncio
import os

import pytest

from toolcrib.core.context import new_id
from toolcrib.core.process import Captured, Command, Completed
from toolcrib.sandbox.unconfined import Unconfined
from toolcrib.testing import ScriptedSandbox

ANSWER = Completed(3, Captured(b"out", total=3), Captured(b"err", total=3))
MARK = new_id() + "-1"
COMMAND = Command(
    ("/bin/sh", "-c", "cat >/dev/null; printf out; printf err >&2; exit 3"),
    "/",
    MARK,
    {"PATH": os.environ["PATH"], "TOOLCRIB_CALL_ID": MARK},
    stdin=b"{}",
)


@pytest.fixture(params=["unconfined", "scripted"])
def sandbox(request):
    if request.param == "scripted":
        yield ScriptedSandbox(ANSWER, ANSWER)
        return
    sandbox = Unconfined(new_id())
    yield sandbox
    sandbox.close()


def test_it_has_a_name(sandbox) -> None:
    assert sandbox.name and isinstance(sandbox.name, str)


def test_it_says_how_a_command_ended(sandbox) -> None:
    assert asyncio.run(sandbox.exec(COMMAND)) == ANSWER


def test_it_tells_the_same_to_who_asked(sandbox) -> None:
    told: list[Completed] = []
    done = asyncio.run(sandbox.exec(COMMAND, ended=told.append))
    assert told == [done]


def test_it_runs_one_command_after_another(sandbox) -> None:
    assert [asyncio.run(sandbox.exec(COMMAND)) for _ in range(2)] == [ANSWER, ANSWER]


def test_the_scripted_one_starts_nothing_and_remembers(tmp_path) -> None:
    sandbox = ScriptedSandbox(b"plain")
    command = Command(("/bin/sh", "-c", f": > {tmp_path}/ran"), "/", "m")
    assert asyncio.run(sandbox.exec(command)) == Completed(0, Captured(b"plain", total=5), Captured())
    assert (sandbox.commands, os.listdir(tmp_path)) == ([command], [])
