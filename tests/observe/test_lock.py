"""The lock of the record: the one that lies there now, and never waited for twice in vain."""

import asyncio
import fcntl
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

import toolcrib
from toolcrib.core.source import Problem
from toolcrib.observe import _lock
from toolcrib.observe.audit import Audit
from toolcrib.observe.verify import verify


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "audit"


@pytest.fixture
def audit(place: Path) -> Iterator[Audit]:
    def directory() -> str:
        place.mkdir(exist_ok=True)
        return str(place)

    made = Audit(directory)
    yield made
    made.close()


def write(audit: Audit) -> None:
    audit.skipped(Problem("a", "TIMEOUT", "b"))


def test_a_directory_that_was_replaced_is_written_to_at_once(audit: Audit, place: Path) -> None:
    """Also by a record of what was refused, before which nobody asks whether there is anything to write to."""
    old = place.with_name("audit.old")
    write(audit)
    place.rename(old)
    write(audit)
    write(audit)
    assert [verify(str(each)).records for each in (old, place)] == [1, 2]
    assert [verify(str(each)).fault for each in (old, place)] == [None, None]


def test_the_lock_of_the_new_directory_keeps_those_out_who_wrote_to_the_old_one(
    audit: Audit, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two who hold two locks would tear the chain."""
    audit.ready()
    write(audit)
    place.rename(place.with_name("audit.old"))
    place.mkdir()
    monkeypatch.setattr(audit, "_look_again", 0.0)
    audit.ready()
    with open(place / ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        monkeypatch.setattr(_lock, "LOCK_SECONDS", 0.05)
        write(audit)
        assert [file.read_bytes() for file in place.glob("*.jsonl")] == [b""]
    write(audit)
    assert verify(str(place)).records == 1


def in_crib(home: Path, workspace: Path, use: Callable[[toolcrib.Crib], Awaitable[None]]) -> None:
    async def go() -> None:
        tool = toolcrib.tool(name="note", input_schema={"type": "object"})(lambda: "")
        async with toolcrib.open(home=home, workspace=workspace, tools=[tool]) as crib:
            assert (await crib.call("note")).success
            await use(crib)
            assert (await crib.call("note")).success, "all is as before"

    asyncio.run(go())


def test_a_place_where_no_directory_can_be_is_named(home: Path, workspace: Path) -> None:
    async def use(crib: toolcrib.Crib) -> None:
        home.rename(home.with_name("old"))
        home.write_text("")
        for name in ("no_such_tool", "note", "note"):
            refused = (await crib.call(name)).error
            assert refused is not None and refused.code == "RESOURCE_EXHAUSTED"
            assert "the audit log cannot be written" in refused.message and str(home) in refused.message
        home.unlink()

    in_crib(home, workspace, use)


def test_a_lock_that_is_not_let_go_of_is_waited_for_once(
    home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one waits, nothing else in the process goes on: not a server's other calls, and not its end."""
    monkeypatch.setattr(_lock, "LOCK_SECONDS", 1.0)

    async def use(crib: toolcrib.Crib) -> None:
        with open(home / "audit" / ".lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            began = time.monotonic()
            for _ in range(30):
                refused = (await crib.call("no_such_tool")).error
                assert refused is not None and "another process has held the lock" in refused.message
            assert time.monotonic() - began < 15

    in_crib(home, workspace, use)
    assert verify(str(home / "audit")).records == 2
