"""Row: `grep` beside ripgrep run as a process, in a tree of Django's size and in one of 50 files."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.measure import Comparison, Contender, Row, interleave
from bench.scratch import Scratch
from bench.source_tree import source_tree

NAME = "grep"
TITLE = "grep, whole pipeline with policy and audit; ripgrep: rg -n -e PATTERN ./ as a process, output read"
LARGE_MARK, SMALL_MARK, ROUNDS, CALLS = 1.1, 1.0, 30, 3
PATTERNS = ("SimpleLazyObject", r"def get_\w+\(self", "(?i)queryset.*filter")
"""A word, an expression, and one that is frequent and not easy."""
SMALL_FILES = 50
THEIRS = "ripgrep"


def ask(scratch: Scratch) -> Row:
    """Ours also counts, ranks, and reads again what it shows; ripgrep prints all lines as it finds them."""
    row = Row(NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample=f"the mean of {CALLS} searches")
    rg = shutil.which("rg")
    if rg is None:
        row.skipped.append("ripgrep (rg) is not installed")
        return row
    large = source_tree(scratch.folder)
    home = scratch.home("grep")
    for title, tree, mark in (("Django", large, LARGE_MARK), ("50 files", _small(scratch, large), SMALL_MARK)):
        for pattern in PATTERNS:
            with ExitStack() as stack:
                asked = [str(home), str(tree), "grep", json.dumps({"pattern": pattern})]
                ours = stack.enter_context(scratch.worker("toolcrib", "search_toolcrib", *asked))
                contenders = [ours.contender(calls=CALLS), Contender(THEIRS, partial(_searched, rg, tree, pattern))]
                taken = interleave(contenders, rounds=row.rounds)
            row.lines.append(Comparison(f"{title}: {pattern}", taken["toolcrib"], THEIRS, taken[THEIRS], mark))
    return row


def _small(scratch: Scratch, large: Path) -> Path:
    """A tree of 50 files out of the large one, from all its parts."""
    tree, files = scratch.folder / "fifty", sorted(large.rglob("*.py"))
    for path in files[:: len(files) // SMALL_FILES][:SMALL_FILES]:
        target = tree / path.relative_to(large)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return tree


def _searched(rg: str, tree: Path, pattern: str) -> float:
    """The mean time of some searches, from the start of the process to the last byte of its output."""
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        subprocess.run([rg, "-n", "-e", pattern, "./"], cwd=tree, stdout=subprocess.PIPE)
    return (time.perf_counter_ns() - start) / CALLS
