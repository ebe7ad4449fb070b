"""Calls of every kind, many of them at once: each has its own answer, and nothing of them is left."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.load.mixture import furnish
from tests.soak import turns

CALLS, AT_ONCE = turns(10_000, 80), turns(1_000, 80)
MOST_GROWTH = 1.05
NOISE = turns(0, 1024 * 1024)
"""What a heap may differ by after so short a warm-up."""
NOTHING = {
    "faults": [],
    "descriptors": {},
    "new_files": [],
    "written": [],
    "not_recorded": 0,
    "recorded_twice": 0,
    "never_ended": 0,
    "audit": None,
    "alive": [],
    "temporary": [],
}


def check(told: dict[str, Any]) -> None:
    assert {key: told[key] for key in NOTHING} == NOTHING
    assert told["counted"] == CALLS + AT_ONCE
    before, after = told["memory"]
    assert after < before * MOST_GROWTH + NOISE, f"{before} bytes after the warm-up, {after} at the end"


@pytest.mark.parametrize("door", ["library", "mcp", "grpc"])
def test_every_call_has_its_own_answer_and_nothing_is_left(
    door: str, place: Any, needs_door: Callable[[str], None]
) -> None:
    """K61: functions, programs, workers, servers, folders, commands, files; refused, failed, late and given up."""
    needs_door(door)
    furnish(place.home, place.workspace)
    told = place.run("mixed.py", door, place.home, place.workspace, CALLS, AT_ONCE)
    check(told)


@pytest.mark.parametrize("tier", ["landlock", "bubblewrap"])
def test_confined_programs_under_load(tier: str, place: Any, needs_tier: Callable[[str], None]) -> None:
    needs_tier(tier)
    furnish(place.home, place.workspace, sandbox=tier)
    check(place.run("mixed.py", "library", place.home, place.workspace, CALLS, AT_ONCE))
