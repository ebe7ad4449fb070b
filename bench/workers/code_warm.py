"""One process that loads the index of a tree, settles what changed and answers one question, without an event loop."""

from __future__ import annotations

import os
import sys

from toolcrib.codeindex.settle import SourceTree
from toolcrib.codeindex.store import Store
from toolcrib.codeindex.view import View


def main(root: str, cache: str, name: str) -> None:
    tree = SourceTree(Store(cache, root))
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    work = tree.look(fd)
    if work.paths:
        sys.exit(f"{len(work.paths)} files are to be read: the cache is not warm")
    view = View(tree.take(work, []), None)  # type: ignore[arg-type]  # nothing is read
    print(len(view.defined(name)))


if __name__ == "__main__":
    main(*sys.argv[1:])
