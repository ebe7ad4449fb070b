"""A wall clock that jumps a day forward or back in the middle of things.

Answers that last, waiting approvals and the months of the record: `tests/store/test_state.py`,
`tests/store/test_pending.py`, `tests/observe/test_audit.py`.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib.observe.verify import verify

DAY = 86_400.0


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """`jump(DAY)` sets the wall clock, for this process, that much ahead of the true one."""
    true, true_ns = time.time, time.time_ns

    def set_to(seconds: float) -> None:
        monkeypatch.setattr(time, "time", lambda: true() + seconds)
        monkeypatch.setattr(time, "time_ns", lambda: true_ns() + int(seconds * 1e9))

    return set_to


@pytest.mark.parametrize("seconds", [DAY, -DAY])
def test_a_call_has_the_time_it_was_given(warm: Any, jump: Any, seconds: float) -> None:
    """Deadlines go by the clock that cannot be set: a call that waits through a jump is not over, nor longer."""

    async def go() -> tuple[Any, Any]:
        async with warm.open() as crib:
            running = asyncio.create_task(crib.call("custom_tool_slow", timeout=30))
            while not warm.marks():
                await asyncio.sleep(0.01)
            jump(seconds)
            await asyncio.sleep(0)
            assert not running.done()
            (warm.workspace / "go").touch()
            ended = await running
            (warm.workspace / "go").unlink()
            began = time.monotonic()
            late = await crib.call("custom_tool_slow", timeout=0.2)
            assert time.monotonic() - began < 20
            return ended, late

    ended, late = asyncio.run(asyncio.wait_for(go(), 60))
    assert (ended.error, ended.data) == (None, "done\n")
    assert 0 <= ended.metadata["execution_time_ms"] < 60_000
    assert late.error.code == "TIMEOUT"
    found = verify(str(warm.audit))
    assert (found.fault, found.records) == (None, len(warm.records())), "the chain goes by numbers"
    warm.assert_nothing_is_left()


@pytest.mark.parametrize("seconds", [DAY, -DAY])
def test_what_is_kept_is_found_after_a_jump(warm: Any, cli: Any, jump: Any, seconds: float) -> None:
    """Sessions, trust and grants have no age; a clock that is wrong takes nothing of it away."""
    assert cli("session", "new", "kept").returncode == 0
    assert cli("trust", "--yes").returncode == 0
    jump(seconds)
    assert "kept" in cli("session", "list").stdout
    assert cli("call", "mark", "--session", "kept", "--yes").returncode == 0
    assert cli("clean").returncode == 0
    assert warm.marks() == 1
    assert cli("audit", "verify").returncode == 0
    warm.assert_recovers()
