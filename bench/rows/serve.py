"""Row: a call of a tool that stays running, beside the cheapest way C has to run the same program anew."""

from __future__ import annotations

import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

from bench.measure import Comparison, Row, interleave
from bench.scratch import INPUT, ROOT, Scratch
from bench.worker import Worker

NAME = "serve"
TITLE = "call of a tool that stays running, whole pipeline with policy and audit, sandbox off"
MARK = 0.5
ROUNDS, CALLS = 60, 20
FLOOR, OURS = "C posix_spawn", "toolcrib"

BASH_SERVER = r"""#!/bin/bash
case $1 in
description)
    echo '{"name": "shell_server", "description": "Answer hello.", "input_schema": {"type": "object",' \
        '"properties": {"name": {"type": "string"}}, "required": ["name"]}}' ;;
config) echo '{"serve": true}' ;;
run) read -r input; echo hello ;;
serve)
    echo '{"serve": 1}'
    while read -r line; do
        id=${line#*\"id\":\"}
        echo "{\"id\":\"${id%%\"*}\",\"output\":\"hello\n\"}"
    done ;;
esac
"""
PYTHON_SERVER = r"""#!PYTHON
import json, sys
verb = sys.argv[1]
if verb == "description":
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    print(json.dumps({"name": "python_server", "description": "Answer hello.", "input_schema": schema}))
elif verb == "config":
    print('{"serve": true}')
elif verb == "run":
    json.load(sys.stdin)
    print("hello")
elif verb == "serve":
    print('{"serve": 1}', flush=True)
    for line in sys.stdin:
        print(json.dumps({"id": json.loads(line)["id"], "output": "hello\n"}), flush=True)
"""


def ask(scratch: Scratch) -> Row:
    """Time the same answer from a server and from a program that is started for it, in three languages."""
    row = Row(NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample=f"the mean of {CALLS} calls")
    home = scratch.home("serve")
    tiny = home / "tools" / "tiny_server"
    shutil.copy(scratch.program("tiny_server"), tiny)
    bash = _written(home / "tools" / "shell_server", BASH_SERVER)
    python = _written(home / "tools" / "python_server", PYTHON_SERVER.replace("PYTHON", sys.executable))
    for title, program in (("a server in C", tiny), ("a server in bash", bash), ("a server in Python", python)):
        row.lines.append(_compare(scratch, home, title=title, program=program, rounds=row.rounds))
    return row


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def _compare(scratch: Scratch, home: Path, *, title: str, program: Path, rounds: int) -> Comparison:
    floor = [str(scratch.program("spawn_floor")), INPUT, str(program), "run"]
    ours = [str(home), str(scratch.workspace()), f"custom_tool_{program.name}"]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(FLOOR, floor, cwd=ROOT, env=scratch.env())),
            stack.enter_context(scratch.worker(OURS, "run_toolcrib", *ours)),
        ]
        taken = interleave([worker.contender(calls=CALLS) for worker in workers], rounds=rounds)
    return Comparison(title, taken[OURS], FLOOR, taken[FLOOR], MARK)
