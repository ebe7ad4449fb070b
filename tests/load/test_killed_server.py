"""kill -9 of a server at any moment: nothing acknowledged is lost, nothing runs twice, nothing stays alive."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from tests.soak import turns

KILLS = turns(200, 8)
RECOVERY_SECONDS = 2.0
EFFECT = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "effect", "description": "Leaves traces.", "input_schema": {"type": "object"}}'
  exit
fi
id=$(tr -dc '0-9a-z-' | sed s/^id//)
echo "begin $id" >> "$TOOLCRIB_WORKSPACE/effects"
setsid sleep 600 > /dev/null 2>&1 &
sleep 0.02
: > "$TMPDIR/something"
echo "end $id" >> "$TOOLCRIB_WORKSPACE/effects"
echo "$id"
"""


@pytest.mark.parametrize(
    ("door", "tier"), [("mcp", "process"), ("grpc", "process"), ("mcp", "landlock"), ("mcp", "bubblewrap")]
)
def test_a_server_is_killed_at_random_moments(
    door: str, tier: str, place: Any, needs_door: Callable[[str], None], needs_tier: Callable[[str], None]
) -> None:
    """I7, I8: and a call that was begun and has no end is not run again, but said to be unknown."""
    needs_door(door)
    needs_tier(tier)
    (place.home / "config.yaml").write_text(f"approval: {{default: preApproved}}\nsandbox: {tier}\n")
    (place.home / "tools").mkdir()
    (place.home / "tools" / "effect").write_text(EFFECT)
    (place.home / "tools" / "effect").chmod(0o755)
    seed = os.urandom(4).hex()
    told = place.run("killed_server.py", door, place.home, place.workspace, KILLS, seed)
    wrong = {
        key: told[key]
        for key in ("other_codes", "lost_records", "lost_effects", "repeated", "audit", "left")
        if told[key]
    }
    assert wrong == {}, f"seed {seed}"
    assert told["answered"] > 0
    assert told["counted_unknown"] == told["open"] > 0
    assert (told["told_unknown"] > 0) == (door == "grpc"), "only there can a call be asked for again"
    assert told["usual_start"] < told["clean_start"] + RECOVERY_SECONDS, "recovery takes no time"
