"""One process that indexes a tree and answers one question, as a program would that uses the index alone."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from toolcrib.codeindex.index import CodeIndex
from toolcrib.core.limits import Limits
from toolcrib.core.process import Command
from toolcrib.core.workspace import Folder, Workspace
from toolcrib.sandbox.processes import Processes

IDENTITY = "tc00000000000000be"
LIMITS = Limits(seconds=120.0, output_bytes=256 * 1024 * 1024)


class Tree:
    """All that the index asks of a workspace."""

    def __init__(self, root: str) -> None:
        self.root = root

    @contextmanager
    def directory(self, path: str = ".") -> Iterator[Folder]:
        fd = os.open(os.path.join(self.root, path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield Folder(fd, self.root)
        finally:
            os.close(fd)


def index(cache: str, sandbox: Processes) -> CodeIndex:
    """With processes that are started as the product starts them."""
    numbers = itertools.count(1)

    async def run(argv: tuple[str, ...], stdin: bytes) -> bytes:
        mark = f"{IDENTITY}-{next(numbers)}"
        done = await sandbox.exec(Command(argv, "/", mark, {"TOOLCRIB_CALL_ID": mark}, stdin, LIMITS))
        return done.stdout.head + done.stdout.tail

    return CodeIndex(cache=cache, run=run)


def files(root: str) -> Workspace:
    return cast(Any, Tree(root))


async def main(root: str, cache: str, name: str, words: str = "") -> None:
    sandbox = Processes(IDENTITY)
    view = await index(cache, sandbox).settled(files(root), words=bool(words))
    print(len(view.defined(name)))
    sandbox.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
