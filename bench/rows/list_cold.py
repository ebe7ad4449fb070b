"""Row: `toolcrib list` as a person types it, beside an interpreter that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import chdir
from pathlib import Path

from bench.measure import Comparison, Contender, Row, interleave
from bench.scratch import Scratch, add_bash_tools

NAME = "list"
TITLE = "`toolcrib list` with 100 cached tools, cold process"
MARK = 3.0
ROUNDS, TOOLS = 50, 100
OURS, NOTHING = "toolcrib list", "python -c pass"


def ask(scratch: Scratch) -> Row:
    """Time whole processes, from spawn to exit, of the same interpreter."""
    row = Row(NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample="one process")
    home = scratch.home("list")
    names = [f"tool{number:03}" for number in range(TOOLS)]
    add_bash_tools(home, names)
    env = scratch.env(home)
    ours = [str(Path(sys.executable).parent / "toolcrib"), "list"]
    nothing = [sys.executable, "-c", "pass"]
    with chdir(scratch.workspace()):
        for _ in range(2):
            listed = subprocess.run(ours, env=env, capture_output=True, text=True, check=True).stdout
        if missing := [name for name in names if name not in listed]:
            raise RuntimeError(f"`toolcrib list` does not show {len(missing)} of {TOOLS} tools")
        contenders = [
            Contender(OURS, lambda: _process(ours, env)),
            Contender(NOTHING, lambda: _process(nothing, env)),
        ]
        taken = interleave(contenders, rounds=row.rounds)
    row.lines.append(Comparison("list, 100 tools", taken[OURS], NOTHING, taken[NOTHING], MARK))
    return row


def _process(command: list[str], env: dict[str, str]) -> float:
    """Nanoseconds from spawn to exit, with stdout and stderr thrown away."""
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    start = time.perf_counter_ns()
    pid = os.posix_spawn(command[0], command, env, file_actions=nowhere)
    _, status = os.waitpid(pid, 0)
    taken = time.perf_counter_ns() - start
    if status:
        raise RuntimeError(f"{command[0]} ended with status {status}")
    return taken
