"""Time limits, giving up, trying again, and the counters."""

import asyncio
import os
import time

import pytest

from toolcrib.backends.quantity import duration
from toolcrib.core.call import Retry
from toolcrib.core.limits import Limits
from toolcrib.core.tool import Capabilities

COUNTING = "n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count; "
QUICK = Retry(max_attempts=3, delay_ms=1, backoff_multiplier=2)


def test_the_limit_ends_a_hang_and_shows_what_came_before(shop) -> None:
    """K30, K63, C35. "one implementation's 1 s timeout came back after 8 s" """
    began = time.monotonic()
    result = shop.run("echo so far; echo noise >&2; sleep 60 & sleep 60", limits=Limits(seconds=0.4))
    assert time.monotonic() - began < 1.4
    assert (result.error.code, result.error.details["seconds"]) == ("TIMEOUT", 0.4)
    assert (result.error.details["stdout"], result.error.details["stderr"]) == ("so far\n", "noise\n")


@pytest.mark.parametrize(
    ("value", "seconds"), [("0.5", 0.5), ("0.5s", 0.5), ("500ms", 0.5), (0.5, 0.5), ("90s", 90), ("2m", 120)]
)
def test_fractions_of_a_second_are_kept(value, seconds) -> None:
    """ "`timeout: 0.5` became 0" """
    assert duration(value) == seconds


@pytest.mark.parametrize(
    "value", [0, "0", "0s", -1, "-1s", "", "soon", None, True, "1e3", float("inf"), float("nan"), "٣s"]
)
def test_zero_is_no_duration_and_never_means_default(value) -> None:
    """ "`0` meant "default"" """
    with pytest.raises(ValueError, match="not a duration above zero"):
        duration(value)


def test_the_caller_s_limit_replaces_the_tool_s(shop) -> None:
    """C30"""
    result = shop.run("sleep 60", call={"timeout": 0.2})
    assert (result.error.code, result.error.details["seconds"]) == ("TIMEOUT", 0.2)
    assert shop.run("sleep 0.3; echo done", limits=Limits(seconds=0.1), call={"timeout": 5.0}).data == "done\n"


def test_giving_up_reaches_the_process_within_a_second(shop, there, tmp_path) -> None:
    """C17"""
    shop.offer("echo $$ > pid; mkfifo wait; cat wait")

    async def given_up() -> float:
        task = asyncio.create_task(shop.call())
        await there(tmp_path / "wait")
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert asyncio.run(given_up()) < 1
    assert not os.path.exists(f"/proc/{(tmp_path / 'pid').read_text().strip()}")
    assert shop.stats.to_dict()["errors_by_code"] == {"CANCELLED": 1}


def attempts(shop, text: str, **about) -> tuple[int, int, str | None]:
    """How often it ran, how often we say it did, and how it ended."""
    (shop.root / "count").write_text("0")
    result = shop.run(COUNTING + text, **about)
    return int((shop.root / "count").read_text()), result.metadata["attempts"], result.error and result.error.code


FLAKY = "[ $n -ge 3 ] && echo ok || exit 1"


def test_what_is_safe_to_repeat_is_tried_again_and_every_attempt_is_counted(shop) -> None:
    """C32. "Retry declared and never made" """
    for claim in (Capabilities(idempotent=True), Capabilities(retryable=True)):
        assert attempts(shop, FLAKY, call={"retry": QUICK}, capabilities=claim) == (3, 3, None)


def test_what_is_not_safe_to_repeat_runs_once(shop) -> None:
    """C32. "retry of what is not idempotent" """
    assert attempts(shop, FLAKY, call={"retry": QUICK}) == (1, 1, "EXECUTION_ERROR")
    assert attempts(shop, FLAKY, capabilities=Capabilities(idempotent=True)) == (1, 1, "EXECUTION_ERROR")
    hangs = {"limits": Limits(seconds=0.2), "call": {"retry": QUICK}}
    assert attempts(shop, "sleep 60", **hangs) == (1, 1, "TIMEOUT")


def test_attempts_end_at_the_number_that_was_asked_for(shop) -> None:
    two = Retry(max_attempts=2, delay_ms=1)
    assert attempts(shop, "exit 1", call={"retry": two}, capabilities=Capabilities(idempotent=True)) == (
        2,
        2,
        "EXECUTION_ERROR",
    )


def test_what_provably_did_not_begin_is_tried_again_whatever_the_tool(shop) -> None:
    """C32: the interpreter is not there, so nothing ran."""
    result = shop.run("", interpreter="/nowhere/sh", call={"retry": QUICK})
    assert (result.error.code, result.metadata["attempts"]) == ("EXECUTION_ERROR", 3)
    assert "not there" in result.error.message


def test_the_delay_grows(shop) -> None:
    """C32"""
    began = time.monotonic()
    slow = Retry(max_attempts=3, delay_ms=60, backoff_multiplier=3)
    assert attempts(shop, "exit 1", call={"retry": slow}, capabilities=Capabilities(idempotent=True))[0] == 3
    assert 0.24 <= time.monotonic() - began < 3


def test_giving_up_between_two_attempts(shop, there) -> None:
    shop.offer(COUNTING + "exit 1", capabilities=Capabilities(idempotent=True))

    async def given_up() -> None:
        task = asyncio.create_task(shop.call(retry=Retry(5, delay_ms=60_000)))
        await there(shop.root / "count")
        await asyncio.wait((task,), timeout=0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(given_up())
    assert (shop.root / "count").read_text() == "1\n"


def test_every_outcome_is_counted(shop) -> None:
    """C38. "Stats that miss unknown and invalid calls." """
    schema = {"type": "object", "required": ["n"]}
    shop.run("echo fine", {"n": 1}, schema=schema)
    shop.run("echo fine", {}, schema=schema)
    shop.run("exit 1", {"n": 1}, schema=schema)
    shop.run("sleep 9", {"n": 1}, limits=Limits(seconds=0.1))
    asyncio.run(shop.call(name="nobody"))
    counted = shop.stats.to_dict()
    assert (counted["total_executions"], counted["success_count"], counted["error_count"]) == (5, 1, 4)
    assert counted["errors_by_code"] == {"EXECUTION_ERROR": 1, "TIMEOUT": 1, "TOOL_NOT_FOUND": 1, "VALIDATION_ERROR": 1}
    assert counted["executions_by_tool"] == {"nobody": 1, "tool": 4}


def test_a_memory_limit_is_in_force(shop) -> None:
    """K49"""
    text = 'exec python3 -c "x = bytearray(600 * 1024 * 1024)"'
    result = shop.run(text, limits=Limits(memory_bytes=300 * 1024 * 1024))
    assert result.error.code == "EXECUTION_ERROR"
    assert "MemoryError" in result.error.message


def test_a_workspace_that_is_gone_is_said_and_nothing_runs(shop, tmp_path) -> None:
    shop.offer(f": > {tmp_path}/ran")
    gone = tmp_path / "gone"
    object.__setattr__(shop.host, "cwd", str(gone))
    result = asyncio.run(shop.call())
    assert (result.error.code, (tmp_path / "ran").exists()) == ("EXECUTION_ERROR", False)
    assert str(gone) in result.error.message
