"""For comparison: the same program, the same input, by `subprocess.run`."""

from __future__ import annotations

import subprocess
import sys

from bench.workers.batch import serve_sync


def call() -> None:
    done = subprocess.run([sys.argv[1], "run"], input=sys.argv[2].encode(), capture_output=True)
    if done.returncode or done.stdout != b"hello\n":
        raise SystemExit(f"subprocess gave a wrong answer: {done}")


serve_sync(call)
