"""Fifty programs that print far more than anybody wants, at once: memory and disk stay within their bounds."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.soak import turns

from toolcrib.core.limits import ARTIFACT_BYTES

COUNT, BYTES = 50, turns(1024, 8) * 1024 * 1024
MOST_MEMORY = 300 * 1024 * 1024
FLOOD = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "flood", "description": "Prints.", "input_schema": {"type": "object"}}'
else
  exec head -c "$(tr -dc 0-9)" /dev/zero
fi
"""


@pytest.mark.parametrize("tier", ["process", "landlock", "bubblewrap"])
def test_fifty_programs_print_at_once_and_the_caller_stays_small(
    tier: str, place: Any, needs_tier: Callable[[str], None]
) -> None:
    """K49, I7: what is kept follows from the limits, not from what programs say."""
    needs_tier(tier)
    (place.home / "config.yaml").write_text(
        f"approval: {{default: preApproved}}\nsandbox: {tier}\ncustom_tools: {{timeout: 30m}}\n"
    )
    (place.home / "tools").mkdir()
    (place.home / "tools" / "flood").write_text(FLOOD)
    (place.home / "tools" / "flood").chmod(0o755)
    told = place.run("floods.py", place.home, place.workspace, COUNT, BYTES)
    memory, answers = told.pop("memory"), told.pop("answers")
    kept = min(BYTES, ARTIFACT_BYTES)
    assert told == {"failed": [], "sizes": [BYTES], "artifacts": [COUNT, kept], "temporary": []}
    assert max(answers) < 1024 * 1024 + 200, "head, tail, and a word on what is left out"
    assert memory < MOST_MEMORY
