"""Row: `glob` over a tree of Django's size, beside a bare walk with os.scandir that looks at nothing."""

from __future__ import annotations

import json
from contextlib import ExitStack

from bench.measure import Comparison, Row, interleave
from bench.scratch import Scratch
from bench.source_tree import source_tree

NAME = "glob"
TITLE = "glob in Django's tree, whole pipeline with policy and audit; floor: a recursive os.scandir in Python"
MARK, ROUNDS = 1.5, 60
PATTERNS = ("**/*.py", "**/test_*.py", "django/**/*.{py,txt}")
FLOOR = "os.scandir"


def ask(scratch: Scratch) -> Row:
    """The walk goes by descriptor and through no link, in order, and reads ignore files; the floor does not."""
    row = Row(NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample="one search")
    tree, home = source_tree(scratch.folder), scratch.home("glob")
    for pattern in PATTERNS:
        with ExitStack() as stack:
            asked = [str(home), str(tree), "glob", json.dumps({"pattern": pattern})]
            workers = [
                stack.enter_context(scratch.worker("toolcrib", "search_toolcrib", *asked)),
                stack.enter_context(scratch.worker(FLOOR, "scandir_walk", str(tree))),
            ]
            taken = interleave([worker.contender(calls=1) for worker in workers], rounds=row.rounds)
        row.lines.append(Comparison(pattern, taken["toolcrib"], FLOOR, taken[FLOOR], MARK))
    return row
