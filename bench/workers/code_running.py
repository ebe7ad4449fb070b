"""An index in a running process: what it costs to settle when nothing changed, and when one file did."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time

from bench.workers.code_cold import IDENTITY, files, index
from toolcrib.codeindex.index import CodeIndex
from toolcrib.codeindex.view import View
from toolcrib.core.workspace import Workspace
from toolcrib.sandbox.processes import Processes

UNITS = 1024 if sys.platform == "darwin" else 1


async def main(root: str, cache: str, name: str, changed: str, rounds: str) -> None:
    sandbox = Processes(IDENTITY)
    known, tree = index(cache, sandbox), files(root)
    before = _peak()
    view = await known.settled(tree)
    assert view.defined(name) and view.mentioning(name)
    memory = _peak() - before
    taken: dict[str, list[float]] = {"unchanged": [], "changed": [], "saved": [], "new": []}
    for number in range(int(rounds)):
        for how in ("changed", "saved", "new"):
            await _rest(known, tree)
            taken["unchanged"].append((await known.settled(tree)).settled_ms)
            _change(os.path.join(root, changed), how, number)
            view = await known.settled(tree)
            assert view.reread == 1, view.reread
            assert view.defined(f"{how}_{number}")
            taken[how].append(view.settled_ms)
    sandbox.close()
    print(json.dumps({"memory": memory, **taken}))


async def _rest(known: CodeIndex, tree: Workspace) -> View:
    """Until all files are old enough to be believed by their states."""
    started = time.monotonic()
    while (view := await known.settled(tree)).reread or time.monotonic() - started < 0.2:
        pass
    return view


def _change(path: str, how: str, number: int) -> None:
    if how == "new":
        path = path.replace(".py", f"_{number}.py")
    added = f"\n\ndef {how}_{number}():\n    pass\n"
    if how == "saved":  # as most editors do it
        with open(path) as old, open(path + ".draft", "w") as new:
            new.write(old.read() + added)
        os.rename(path + ".draft", path)
    else:
        with open(path, "a") as file:
            file.write(added)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / UNITS


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
