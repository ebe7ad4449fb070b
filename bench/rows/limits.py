"""Row: what happens at the edges; figures of their own, beside a limit instead of a peer."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.measure import Fact, Row
from bench.scratch import ROOT, Scratch

NAME = "limits"
TITLE = "a program that floods stdout, and 1000 programs at once"
CONFIG = "tools: {custom_tool_flood: {timeout: 2s}}\n"
FLOOD_TOOL = """#!/bin/bash
if [ "$1" = description ]; then
    echo '{"name": "flood", "description": "Print without end.", "input_schema": {"type": "object"}}'
    exit
fi
exec yes
"""


def ask(scratch: Scratch) -> Row:
    """Let `yes` run into its timeout, then 1000 naps of 50 ms with 256 descriptors."""
    row = Row(NAME, TITLE, rounds=1, sample="one run")
    home = scratch.home("limits", config=CONFIG)
    shutil.copy(scratch.program("tiny_tool"), home / "tools" / "tiny")
    shutil.copy(scratch.program("nap_tool"), home / "tools" / "nap")
    flood = home / "tools" / "flood"
    flood.write_text(FLOOD_TOOL)
    flood.chmod(0o755)
    flooded = _said(scratch, home, "flood")
    crowded = _said(scratch, home, "crowd")
    row.lines += [
        Fact("`yes` for 2 s: growth of the caller's memory", flooded["grown_kib"] / 1024, "MiB", 20),
        Fact("`yes` for 2 s: bytes counted", (flooded["stdout_bytes"] or 0) / 2**20, "MiB"),
        Fact("1000 naps of 50 ms at ulimit -n 256: errors", crowded["errors"], "", 0, crowded["first"]),
        Fact("1000 naps of 50 ms at ulimit -n 256: wall time", crowded["seconds"], "s"),
    ]
    return row


def _said(scratch: Scratch, home: Path, what: str) -> dict[str, Any]:
    module = "bench.workers.limits_toolcrib"
    command = [sys.executable, "-m", module, str(home), str(scratch.workspace()), what]
    answer: dict[str, Any] = json.loads(subprocess.check_output(command, cwd=ROOT, env=scratch.env(home)))
    return answer
