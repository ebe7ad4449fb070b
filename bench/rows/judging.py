"""Row: what every layer says of one call, with 1000 rules to look at."""

from __future__ import annotations

import json
import subprocess
import sys

from bench.measure import Comparison, Fact, Row, Series
from bench.scratch import ROOT, Scratch

NAME = "judging"
TITLE = "policy explain with 1000 rules, the judging alone"
RULES, LIMIT_MS, ROUNDS = 1000, 5.0, 200


def ask(scratch: Scratch) -> Row:
    """Judge a compound command and a file under 1000 rules, and under one."""
    rounds = scratch.rounds(ROUNDS)
    row = Row(NAME, TITLE, rounds=rounds, sample="one call judged")
    home = scratch.home("judging")
    module = "bench.workers.judge_toolcrib"
    command = [sys.executable, "-m", module, str(home), str(scratch.workspace()), str(RULES), str(rounds)]
    said = json.loads(subprocess.check_output(command, cwd=ROOT, env=scratch.env(home)))
    for what, (many, crowded, one) in said.items():
        ours = Series(tuple(many))
        row.lines.append(Fact(f"{what}: median", ours.median / 1e6, "ms", LIMIT_MS))
        row.lines.append(Fact(f"{what}: slowest", max(ours.samples) / 1e6, "ms"))
        row.lines.append(Fact(f"{what}: median, 200 rules cover each part", Series(tuple(crowded)).median / 1e6, "ms"))
        row.lines.append(Comparison(what, ours, "under one rule", Series(tuple(one))))
    return row
