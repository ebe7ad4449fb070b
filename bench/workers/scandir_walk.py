"""The floor: going through a tree with `os.scandir`, and doing nothing with what is found.

scandir_walk TREE
"""

from __future__ import annotations

import os
import sys

from bench.workers.batch import serve_sync


def count(path: str) -> int:
    """How many files there are below a directory."""
    files = 0
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                files += count(entry.path)
            else:
                files += 1
    return files


serve_sync(lambda: count(sys.argv[1]))
