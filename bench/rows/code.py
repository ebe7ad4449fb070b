"""Row: the index of a source tree, beside universal-ctags on the same tree."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.measure import Comparison, Contender, Fact, Row, interleave
from bench.scratch import ROOT, Scratch
from bench.source_tree import RELEASE, source_tree

NAME = "code"
TITLE = f"the symbol index of {RELEASE}, whole processes from start to answer"
COLD_MARK, WARM_MARK, CHANGED_LIMIT, SETTLED_LIMIT = 1.0, 0.1, 10.0, 40.0
ROUNDS, RUNNING_ROUNDS = 15, 10
SYMBOL, CHANGED = "QuerySet", "django/db/models/query.py"
CTAGS, COLD, WORDS, WARM, LOOP = "ctags -R", "cold", "cold, with words", "warm", "warm, with asyncio"


def ask(scratch: Scratch) -> Row:
    """An empty cache, a warm one, and a running process."""
    row = Row(NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample="one process")
    ctags = shutil.which("ctags")
    if ctags is None:
        row.skipped.append("no ctags; install universal-ctags")
        return row
    tree = scratch.folder / "code-tree"  # a copy: files in it are changed
    shutil.copytree(source_tree(scratch.folder), tree, symlinks=True)
    cold, warm = scratch.folder / "code-cold", scratch.folder / "code-warm"
    _warm_up(scratch, tree, warm)
    tags = [ctags, "-R", "-f", str(scratch.folder / "tags"), str(tree)]
    contenders = [
        Contender(CTAGS, lambda: _process(tags, scratch)),
        Contender(COLD, lambda: _process(_command("code_cold", tree, cold), scratch, empty=cold)),
        Contender(WORDS, lambda: _process([*_command("code_cold", tree, cold), "words"], scratch, empty=cold)),
        Contender(WARM, lambda: _process(_command("code_warm", tree, warm), scratch)),
        Contender(LOOP, lambda: _process(_command("code_cold", tree, warm), scratch)),
    ]
    taken = interleave(contenders, rounds=row.rounds)
    for what, mark in ((COLD, COLD_MARK), (WORDS, None), (WARM, WARM_MARK), (LOOP, None)):
        row.lines.append(Comparison(what, taken[what], CTAGS, taken[CTAGS], mark))
    row.lines += _running(scratch, tree, warm)
    return row


def _running(scratch: Scratch, tree: Path, cache: Path) -> list[Fact]:
    command = [*_command("code_running", tree, cache), CHANGED, str(scratch.rounds(RUNNING_ROUNDS))]
    said = json.loads(subprocess.run(command, env=_env(scratch), capture_output=True, check=True).stdout)
    unchanged = statistics.median(said["unchanged"])
    size = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
    beyond = {how: statistics.median(said[how]) - unchanged for how in ("changed", "saved", "new")}
    return [
        Fact("settling, nothing changed", unchanged, "ms", SETTLED_LIMIT),
        Fact("one file changed: beyond that", beyond["changed"], "ms", CHANGED_LIMIT),
        Fact("one file saved by renaming: beyond that", beyond["saved"], "ms", CHANGED_LIMIT),
        Fact("one new file: beyond that", beyond["new"], "ms", CHANGED_LIMIT),
        Fact("memory of the index, loaded and asked", said["memory"] / 1024, "MiB"),
        Fact("the index on disk", size / 1024**2, "MiB"),
    ]


def _warm_up(scratch: Scratch, tree: Path, cache: Path) -> None:
    """Until nothing has to be read: what is written this moment is not yet believed."""
    command = _command("code_warm", tree, cache)
    for _ in range(50):
        _process([*_command("code_cold", tree, cache), "words"], scratch)
        if not subprocess.run(command, env=_env(scratch), capture_output=True).returncode:
            return
    raise RuntimeError("the cache does not become warm")


def _command(worker: str, tree: Path, cache: Path) -> list[str]:
    return [sys.executable, str(ROOT / "bench" / "workers" / f"{worker}.py"), str(tree), str(cache), SYMBOL]


def _env(scratch: Scratch) -> dict[str, str]:
    return scratch.env() | {"PYTHONPATH": str(ROOT)}


def _process(command: list[str], scratch: Scratch, *, empty: Path | None = None) -> float:
    """Nanoseconds from spawn to exit, with a cache that was emptied before; what it says is checked, if it is ours."""
    if empty is not None:
        shutil.rmtree(empty, ignore_errors=True)
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    env = _env(scratch)
    start = time.perf_counter_ns()
    pid = os.posix_spawn(command[0], command, env, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    taken = time.perf_counter_ns() - start
    os.close(writing)
    with open(reading) as pipe:
        said = pipe.read().strip()
    if status or (command[0] == sys.executable and said != "1"):
        raise RuntimeError(f"{' '.join(command[:3])} ended with status {status} and said {said!r}")
    return taken
