"""Row: finding 1000 tools that have not changed, beside a bare stat of their files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.measure import Comparison, Row, Series
from bench.scratch import ROOT, Scratch, add_bash_tools

NAME = "discovery"
TITLE = "discovery of 1000 cached tools, imports not counted"
MARK = 2.0
FRESH, WARM, TOOLS = 20, 40, 1000
FLOOR = "os.stat of the files"


def ask(scratch: Scratch) -> Row:
    """Open Toolcrib in fresh processes, then refresh an open one; stat the files beside each."""
    fresh, warm = scratch.rounds(FRESH), scratch.rounds(WARM)
    row = Row(NAME, TITLE, rounds=fresh, sample=f"one load ({warm} refreshes in the warm process)")
    home = scratch.home("discovery")
    add_bash_tools(home, [f"tool{number:04}" for number in range(TOOLS)])
    _pairs(scratch, home, mode="cold", rounds=1)
    loads = [_pairs(scratch, home, mode="cold", rounds=turn)[0] for turn in range(fresh)]
    row.lines.append(_comparison("load, fresh process", loads))
    row.lines.append(_comparison("refresh, warm", _pairs(scratch, home, mode="warm", rounds=warm)))
    return row


def _pairs(scratch: Scratch, home: Path, *, mode: str, rounds: int) -> list[tuple[float, float]]:
    module = "bench.workers.discover_toolcrib"
    command = [sys.executable, "-m", module, str(home), str(scratch.workspace()), mode, str(rounds)]
    said = subprocess.run(
        command, cwd=ROOT, env=scratch.env(home), stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    pairs = [line.split() for line in said.splitlines()]
    return [(float(ours), float(floor)) for ours, floor in pairs]


def _comparison(what: str, pairs: list[tuple[float, float]]) -> Comparison:
    ours, floor = zip(*pairs, strict=True)
    return Comparison(what, Series(ours), FLOOR, Series(floor), MARK)
