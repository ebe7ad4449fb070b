"""Prints, as JSON, the words with which a tool is started in bubblewrap, as they could be typed."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import toolcrib
from toolcrib.core.errors import ToolError
from toolcrib.sandbox import bubblewrap
from toolcrib.sandbox.spawn import Start

BY_DESCRIPTOR = {"--bind-fd": "--bind", "--ro-bind-fd": "--ro-bind"}


async def main(home: Path, workspace: Path, name: str, kept: Path) -> None:
    seen: list[list[str]] = []

    def start(about: Start) -> int:
        seen.append([lasting(word, kept) for word in typed(about.argv, kept)])
        raise ToolError("only looked at", before_effect=True)

    async with toolcrib.open(workspace=workspace, home=home) as crib:
        bubblewrap.start = start
        await crib.call(name, {"name": "Bob"})
    print(json.dumps(seen[0]))


def typed(command: Sequence[str], kept: Path) -> list[str]:
    """Without what goes by descriptor: arguments and mounts are written out, the filter is a file (`@FILE`, see
    `spawn_floor`), and the report is left out."""
    words = list(command)
    arguments = os.pread(int(words[words.index("--args") + 1]), 1 << 20, 0).rstrip(b"\0").decode().split("\0")
    out = []
    for at, word in enumerate(arguments):
        if at and arguments[at - 1] in BY_DESCRIPTOR:
            out.append(arguments[at + 1])
        else:
            out.append(BY_DESCRIPTOR.get(word, word))
    calls = kept / "calls"
    calls.write_bytes(os.pread(int(words[words.index("--seccomp") + 1]), 1 << 20, 0))
    return [words[0], *out, "--seccomp", f"@{calls}", *words[words.index("--") :]]


def lasting(word: str, kept: Path) -> str:
    """What lies in the temporary directory of the runtime is gone with it; so it is copied."""
    if "/toolcrib-" not in word or not os.path.isdir(word) or str(kept) in word:
        return word
    copy = kept / word.replace("/", "_")
    shutil.copytree(word, copy, symlinks=True, dirs_exist_ok=True)
    return str(copy)


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])))
