"""kill -9 at every stage of a call: what was begun is known as begun, what was acknowledged is there, nothing is left.

At random moments, hundreds of times: `tests/observe/test_killed.py`.
"""

from typing import Any

import pytest

from toolcrib.observe.verify import LOST, fold, verify

KILLER = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "killer", "description": "End its caller.", "input_schema": {"type": "object"}}'; exit
fi
setsid sleep 600 &
echo ran >> "$TOOLCRIB_WORKSPACE/marks"
kill -KILL $PPID
exec sleep 600
"""


def unknown(site: Any) -> int:
    """How many calls are reported as having an outcome that nobody knows."""
    assert verify(str(site.audit)).fault is None
    return fold(str(site.audit)).by_code.get(LOST, 0)


@pytest.mark.parametrize(
    ("inject", "file", "ran", "lost"),
    [
        pytest.param("write:signal=KILL:when=1", "*.jsonl", 0, 0, id="before-its-start-is-recorded"),
        pytest.param("flock:signal=KILL:when=2", ".lock", 0, 1, id="once-its-start-is-recorded"),
        pytest.param("write:signal=KILL:when=2", "*.jsonl", 1, 1, id="before-its-end-is-recorded"),
        pytest.param("flock:signal=KILL:when=4", ".lock", 1, 0, id="once-its-end-is-recorded"),
    ],
)
def test_killed_around_a_record(warm: Any, failing: Any, inject: str, file: str, ran: int, lost: int) -> None:
    """I8: a call that may have run is never missing, and one that is missing never ran."""
    (place,) = warm.audit.glob(file)
    before = len(warm.records())
    done = warm.run("call", "mark", "--yes", before=failing(inject, at=place))
    assert (done.returncode, done.stdout) in ((137, ""), (-9, ""))
    assert (warm.marks(), unknown(warm)) == (ran, lost)
    assert len(warm.records()) == before + {(0, 0): 0, (0, 1): 1, (1, 1): 1, (1, 0): 2}[ran, lost]
    warm.assert_nothing_is_left()
    warm.assert_recovers()
    assert unknown(warm) == lost, "the next call changes nothing about it"


def test_killed_while_the_tool_runs(warm: Any, make_tool: Any) -> None:
    """I7: the tool and what it started are gone, it is known as begun, and it is not begun again."""
    make_tool("killer", KILLER)
    assert warm.run("call", "killer", "--yes").returncode == -9
    warm.assert_nothing_is_left()
    assert (warm.marks(), unknown(warm)) == (1, 1)
    shown = warm.run("audit", "show").stdout.splitlines()[-1]
    assert LOST in shown and "custom_tool_killer" in shown
    warm.assert_recovers()
    assert (warm.marks(), unknown(warm)) == (2, 1), "the new mark is that of the new call"
