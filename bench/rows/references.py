"""Row: all uses of a name in a tree of Django's size, beside ripgrep looking for the same word."""

from __future__ import annotations

import shutil
import subprocess
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.measure import Comparison, Contender, Row, interleave
from bench.scratch import Scratch
from bench.source_tree import source_tree

NAME = "references"
TITLE = "find_references in Django's tree, warm, whole pipeline; ripgrep: rg -n -w NAME as a process"
MARK, ROUNDS, CALLS = 1.0, 20, 3
NAMES = ("SimpleLazyObject", "QuerySet", "get_queryset", "filter")
"""From rare to frequent."""
THEIRS = "ripgrep"


def ask(scratch: Scratch) -> Row:
    """Both tell file, line and text of each use; only ours knows what is code, and which line is the definition."""
    row = Row(NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample=f"the mean of {CALLS} searches")
    rg = shutil.which("rg")
    if rg is None:
        row.skipped.append("ripgrep (rg) is not installed")
        return row
    tree = source_tree(scratch.folder)
    home = scratch.home("references")
    for name in NAMES:
        with ExitStack() as stack:
            ours = stack.enter_context(scratch.worker("toolcrib", "references_toolcrib", str(home), str(tree), name))
            contenders = [ours.contender(calls=CALLS), Contender(THEIRS, partial(_searched, rg, tree, name))]
            taken = interleave(contenders, rounds=row.rounds)
        row.lines.append(Comparison(name, taken["toolcrib"], THEIRS, taken[THEIRS], MARK))
    return row


def _searched(rg: str, tree: Path, name: str) -> float:
    """The mean time of some searches, from the start of the process to the last byte of its output."""
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        subprocess.run([rg, "-n", "-w", name, "."], cwd=tree, stdout=subprocess.PIPE, check=True)
    return (time.perf_counter_ns() - start) / CALLS
