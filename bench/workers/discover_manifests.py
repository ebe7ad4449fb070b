"""Ours: folders with a manifest, beside the parser alone or a bare stat of the same files, in one process.

    discover_manifests DIRECTORY read|cached|again ROUNDS

`read` reads all of them for the first time, in this fresh process; `cached` finds them in what another process kept;
`again` looks at them ROUNDS times. In the first two, ROUNDS only says who begins: each does so every other time.
Prints one line per round: nanoseconds of ours, nanoseconds of the other.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml

import toolcrib.core.validator
import toolcrib.sources.manifest_file  # noqa: F401  # imports are not counted
from toolcrib.sources.executable import Settings
from toolcrib.sources.manifest import ManifestSource


def source(directory: Path, kept: Path | None) -> ManifestSource:
    """With a cache in a file, or without one."""

    def read(name: str) -> bytes | None:
        return kept.read_bytes() if kept is not None and kept.exists() else None

    def write(name: str, data: bytes) -> None:
        if kept is not None:
            kept.write_bytes(data)

    return ManifestSource(str(directory), Settings(), (read, write), os.defpath, rank=10)


async def ours(found: ManifestSource, count: int) -> int:
    start = time.perf_counter_ns()
    loaded = await found.load()
    spent = time.perf_counter_ns() - start
    if len(loaded.tools) != count:
        raise SystemExit(f"{len(loaded.tools)} tools found where {count} folders are: {loaded.problems[:1]}")
    return spent


def parse_all(paths: list[str]) -> int:
    start = time.perf_counter_ns()
    for path in paths:
        with open(path, "rb") as file:
            yaml.load(file.read(), Loader=yaml.CSafeLoader)
    return time.perf_counter_ns() - start


def stat_all(paths: list[str]) -> int:
    start = time.perf_counter_ns()
    for path in paths:
        os.stat(path)
    return time.perf_counter_ns() - start


async def main(directory: Path, mode: str, rounds: int) -> None:
    folders = sorted(directory.iterdir())  # noqa: ASYNC240  # nothing else runs here
    everything = [str(path) for folder in folders for path in (folder, *sorted(folder.iterdir()))]
    manifests = [str(folder / "tool.yaml") for folder in folders]
    other: Callable[[], int] = (lambda: parse_all(manifests)) if mode == "read" else (lambda: stat_all(everything))
    kept = directory.with_suffix(".cache")
    if mode == "cached" and not kept.exists():
        await ours(source(directory, kept), len(folders))
    found = source(directory, None if mode == "read" else kept)
    if mode == "again":
        await ours(found, len(folders))
        for _ in range(rounds):
            beside = other()
            print(await ours(found, len(folders)), beside)
    else:
        before = other() if rounds % 2 else 0
        print(await ours(found, len(folders)), before or other())


asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
