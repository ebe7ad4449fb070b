"""Row: the same tool call unconfined, under Landlock, and in bubblewrap beside bubblewrap alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from bench.measure import Comparison, Row, interleave
from bench.scratch import INPUT, ROOT, Scratch
from bench.worker import Worker
from toolcrib.sandbox.choose import choose

NAME = "confined"
TITLE = "executable tool call, whole pipeline, in each tier"
LANDLOCK_MARK, BUBBLEWRAP_MARK = 1.3, 1.2
ROUNDS, CALLS = 80, 10
UNCONFINED, LANDLOCK, BUBBLEWRAP, BARE = "unconfined", "landlock", "bubblewrap", "bwrap alone, same flags"


def ask(scratch: Scratch) -> Row:
    """Time one program in C, called in each tier that holds here, and by bubblewrap without us."""
    row = Row(NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample=f"the mean of {CALLS} calls")
    why = choose(str(scratch.folder / "tiers")).why
    held = [tier for tier in (LANDLOCK, BUBBLEWRAP) if not why.get(tier, "it is another system")]
    if not held:
        row.skipped = [f"{tier}: {reason}" for tier, reason in why.items()]
        return row
    homes = {tier: _home(scratch, tier) for tier in (UNCONFINED, *held)}
    work = _with_repository(scratch.workspace())
    with ExitStack() as stack:
        workers = [
            stack.enter_context(scratch.worker(tier, "run_toolcrib", str(home), str(work), "custom_tool_tiny"))
            for tier, home in homes.items()
        ]
        if BUBBLEWRAP in held:
            floor = [str(scratch.program("spawn_floor")), INPUT, *_words(scratch, homes[BUBBLEWRAP], work)]
            workers.append(stack.enter_context(Worker(BARE, floor, cwd=ROOT, env=scratch.env())))
        taken = interleave([worker.contender(calls=CALLS) for worker in workers], rounds=row.rounds)
    plain = taken[UNCONFINED]
    if LANDLOCK in held:
        row.lines.append(Comparison("under Landlock", taken[LANDLOCK], UNCONFINED, plain, LANDLOCK_MARK))
    if BUBBLEWRAP in held:
        row.lines.append(Comparison("in bubblewrap", taken[BUBBLEWRAP], BARE, taken[BARE], BUBBLEWRAP_MARK))
        row.lines.append(Comparison("in bubblewrap", taken[BUBBLEWRAP], UNCONFINED, plain))
    return row


def _with_repository(work: Path) -> Path:
    """As most workspaces have one: what is protected in it is held, or looked after, around every call."""
    git = work / ".git"
    for name in ("hooks", "info", "objects", "refs"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text("[core]\n\tbare = false\n")
    (git / "info" / "exclude").write_text("*~\n")
    for number in range(14):  # so many samples `git init` leaves there
        (git / "hooks" / f"{number}.sample").write_text("exit 0\n" * 100)
    return work


def _home(scratch: Scratch, tier: str) -> Path:
    home = scratch.home(f"confined-{tier}")
    text = (home / "config.yaml").read_text()
    (home / "config.yaml").write_text(
        text.replace("sandbox: off", f"sandbox: {'process' if tier == UNCONFINED else tier}")
    )
    shutil.copy(scratch.program("tiny_tool"), home / "tools" / "tiny")
    return home


def _words(scratch: Scratch, home: Path, work: Path) -> list[str]:
    kept = scratch.folder / "kept"
    kept.mkdir()
    command = [
        sys.executable,
        "-m",
        "bench.workers.bubblewrap_words",
        str(home),
        str(work),
        "custom_tool_tiny",
        str(kept),
    ]
    words: list[str] = json.loads(subprocess.check_output(command, cwd=ROOT, env=scratch.env(home)))
    return words
