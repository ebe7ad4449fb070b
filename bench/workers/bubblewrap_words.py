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

OF_A_PLACE = ("--bind-fd", "--ro-bind-fd")


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
    """The same flags without our arguments' file. What goes by descriptor is `@PATH`, which `spawn_floor` opens."""
    words = list(command)
    out = os.pread(int(words[words.index("--args") + 1]), 1 << 20, 0).rstrip(b"\0").decode().split("\0")
    for at, word in enumerate(out):
        if at and out[at - 1] in OF_A_PLACE:
            out[at] = "@" + lasting(os.readlink(f"/proc/self/fd/{word}"), kept)
    calls = kept / "calls"
    calls.write_bytes(os.pread(int(words[words.index("--seccomp") + 1]), 1 << 20, 0))
    handed = ["--seccomp", f"@{calls}", "--json-status-fd", "@/dev/null"]
    return [words[0], *out, *handed, *words[words.index("--") :]]


def lasting(word: str, kept: Path) -> str:
    """What lies in the temporary directory of the runtime is gone with it; so it is copied."""
    if "/toolcrib-" not in word or not os.path.isdir(word) or str(kept) in word:
        return word
    copy = kept / word.replace("/", "_")
    shutil.copytree(word, copy, symlinks=True, dirs_exist_ok=True)
    return str(copy)


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])))
