"""Row: a tool in Python that a worker runs, beside a cold start of the same tool."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

from bench.measure import Comparison, Row, interleave
from bench.scratch import INPUT, ROOT, Scratch
from bench.worker import Worker

NAME = "warm"
TITLE = "a Python tool in a warm worker, whole pipeline with policy and audit, sandbox off"
PLAIN_MARK, HEAVY_MARK = 0.2, 0.05
ROUNDS, CALLS = 30, 5
FLOOR, OURS, COLD = "C posix_spawn, cold", "toolcrib, warm", "toolcrib, cold"
TOOL = """#!PYTHON
import json
import sys
IMPORTS

if sys.argv[1] == "description":
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    print(json.dumps({"name": "NAME", "description": "Answer hello.", "input_schema": schema}))
else:
    json.load(sys.stdin)
    print("hello")
"""


def ask(scratch: Scratch) -> Row:
    """One tool that imports nothing of weight, and one that imports pydantic and httpx."""
    row = Row(NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample=f"the mean of {CALLS} calls")
    cases = (
        ("a tool that imports json", Path(sys.executable), "", PLAIN_MARK),
        ("a tool that imports pydantic and httpx", scratch.peers, "import httpx\nimport pydantic", HEAVY_MARK),
    )
    for number, (title, python, imports, mark) in enumerate(cases):
        row.lines += _compare(scratch, f"warm-{number}", title, python, imports, mark, row.rounds)
    return row


def _compare(
    scratch: Scratch, name: str, title: str, python: Path, imports: str, mark: float, rounds: int
) -> list[Comparison]:
    home = scratch.home(name, config="tools: {custom_tool_quick: {warm: true}}\n")
    programs = {}
    for tool in ("quick", "slow"):
        programs[tool] = home / "tools" / tool
        programs[tool].write_text(TOOL.replace("PYTHON", str(python)).replace("IMPORTS", imports).replace("NAME", tool))
        programs[tool].chmod(0o755)
    floor = [str(scratch.program("spawn_floor")), INPUT, str(programs["slow"]), "run"]
    ours = [str(home), str(scratch.workspace())]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(FLOOR, floor, cwd=ROOT, env=scratch.env())),
            stack.enter_context(scratch.worker(OURS, "run_toolcrib", *ours, "custom_tool_quick")),
            stack.enter_context(scratch.worker(COLD, "run_toolcrib", *ours, "custom_tool_slow")),
        ]
        taken = interleave([worker.contender(calls=CALLS) for worker in workers], rounds=rounds)
    mine = taken.pop(OURS)
    return [
        Comparison(title, mine, against, theirs, mark if against == FLOOR else None)
        for against, theirs in taken.items()
    ]
