"""Row: 1000 folders with a manifest: reading them beside PyYAML's C loader, finding them again beside a bare stat."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.measure import Comparison, Row, Series
from bench.scratch import ROOT, Scratch

NAME = "manifests"
TITLE = "1000 folders with a manifest, imports not counted"
FRESH, WARM, FOLDERS = 20, 40, 1000
READ_MARK, CACHED_MARK = 1.3, 2.0
LOADER = "yaml.load(CSafeLoader) of the manifests"
STAT = "os.stat of the folders and files"
TYPES = ("string", "number", "boolean")


def ask(scratch: Scratch) -> Row:
    """Read them all, find them in the cache, and look at them again; each but the last in fresh processes."""
    fresh, warm = scratch.rounds(FRESH), scratch.rounds(WARM)
    row = Row(NAME, TITLE, rounds=fresh, sample=f"one load ({warm} in the warm process)")
    place = scratch.folder / "manifests"
    for number in range(FOLDERS):
        write_folder(place / f"tool{number:04}", number)
    reads = [_pairs(scratch, place, "read", rounds=turn)[0] for turn in range(fresh)]
    found = [_pairs(scratch, place, "cached", rounds=turn)[0] for turn in range(fresh)]
    again = _pairs(scratch, place, "again", rounds=warm)
    for what, pairs, against, mark in (
        ("read, hash and check, fresh process", reads, LOADER, READ_MARK),
        ("from the cache, fresh process", found, STAT, CACHED_MARK),
        ("look again, warm", again, STAT, CACHED_MARK),
    ):
        ours, theirs = zip(*pairs, strict=True)
        row.lines.append(Comparison(what, Series(ours), against, Series(theirs), mark))
    return row


def write_folder(folder: Path, number: int) -> None:
    """One that differs from the others as tools do: in its words, its parameters and their number."""
    folder.mkdir(parents=True)
    lines = [
        f"name: {folder.name}",
        f"description: Count the {number} words of a text, and say which of them come most often.",
        f'version: "1.{number}.0"',
        "entrypoint: run.sh",
    ]
    if number % 2:
        lines += ["usage: |", f"  Give the text in `text{number}`.", "  With a limit, at most that many are shown."]
    if number % 3 == 0:
        lines += ["limits:", f"  timeout: {number % 60 + 1}s"]
    lines.append("parameters:" if number % 5 else "parameters: []")
    for which in range(number % 5):
        lines += [
            f"  - name: word{number}_{which}",
            f"    type: {TYPES[which % 3]}",
            f"    required: {json.dumps(which == 0)}",
            f"    description: What to do with word {which} of {number}",
        ]
    (folder / "tool.yaml").write_text("\n".join(lines) + "\n")
    (folder / "run.sh").write_text(f"#!/bin/sh\necho {number}\n")
    (folder / "run.sh").chmod(0o755)


def _pairs(scratch: Scratch, place: Path, mode: str, *, rounds: int) -> list[tuple[float, float]]:
    command = [sys.executable, "-m", "bench.workers.discover_manifests", str(place), mode, str(rounds)]
    said = subprocess.run(command, cwd=ROOT, env=scratch.env(), stdout=subprocess.PIPE, text=True, check=True).stdout
    return [(float(ours), float(theirs)) for ours, theirs in (line.split() for line in said.splitlines())]
