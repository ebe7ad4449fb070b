"""Row: an executable tool call beside the cheapest way C has to run the same program."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

from bench.measure import Comparison, Row, interleave
from bench.scratch import INPUT, ROOT, Scratch, add_bash_tools
from bench.worker import Worker

NAME = "executable"
TITLE = "executable tool call, whole pipeline with policy and audit, sandbox off"
MARK = 1.4
ROUNDS, CALLS = 60, 10
FLOOR, OURS = "C posix_spawn", "toolcrib"


def ask(scratch: Scratch) -> Row:
    """Time one program four ways, for a program that costs nothing and for one in bash."""
    row = Row(NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample=f"the mean of {CALLS} calls")
    home = scratch.home("executable")
    tiny = home / "tools" / "tiny"
    shutil.copy(scratch.program("tiny_tool"), tiny)
    (bash,) = add_bash_tools(home, ["shell"])
    for title, program in (("a tool in C", tiny), ("a tool in bash", bash)):
        row.lines += _compare(scratch, home, title=title, program=program, rounds=row.rounds)
    return row


def _compare(scratch: Scratch, home: Path, *, title: str, program: Path, rounds: int) -> list[Comparison]:
    floor = [str(scratch.program("spawn_floor")), INPUT, str(program), "run"]
    ours = [str(home), str(scratch.workspace()), f"custom_tool_{program.name}"]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(FLOOR, floor, cwd=ROOT, env=scratch.env())),
            stack.enter_context(scratch.worker(OURS, "run_toolcrib", *ours)),
            stack.enter_context(scratch.worker("subprocess.run", "run_subprocess", str(program), INPUT)),
            stack.enter_context(scratch.worker("asyncio exec", "run_asyncio", str(program), INPUT)),
        ]
        taken = interleave([worker.contender(calls=CALLS) for worker in workers], rounds=rounds)
    mine = taken.pop(OURS)
    return [
        Comparison(title, mine, against, theirs, MARK if against == FLOOR else None)
        for against, theirs in taken.items()
    ]
