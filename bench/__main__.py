"""`python -m bench`: ask every question, print a table, write JSON."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

from bench.measure import Row
from bench.peers import PeersUnavailable, peer_versions
from bench.report import WIDTH, document, missed, table
from bench.rows import (
    code,
    confined,
    discovery,
    executable,
    glob,
    grep,
    grpc,
    in_process,
    judging,
    limits,
    list_cold,
    manifests,
    mcp_stdio,
    references,
    serve,
    warm,
)  # fmt: skip
from bench.scratch import CompilerMissing, Scratch
from bench.worker import WorkerFailed

MODULES = (
    executable, confined, in_process, list_cold, discovery, manifests, mcp_stdio, judging, limits, warm, serve, code,
    references, grep, glob, grpc,
)  # fmt: skip
ROWS: dict[str, tuple[str, Callable[[Scratch], Row]]] = {m.NAME: (m.TITLE, m.ask) for m in MODULES}
RESULTS = Path(__file__).parent / "results.json"
FAILURES = (PeersUnavailable, CompilerMissing, WorkerFailed, RuntimeError, OSError, subprocess.CalledProcessError)


def main() -> int:
    """Status 0 when every row asked for was measured, 1 when one could not be; a missed mark is in the table."""
    options = _options()
    names = options.only or list(ROWS)
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        scratch = Scratch(Path(folder), quick=options.quick)
        rows = [_ask(name, scratch) for name in names]
    peers = peer_versions()
    print(table(rows))
    if peers:
        named = ", ".join(f"{name} {version}" for name, version in peers.items())
        print("\n" + textwrap.fill(f"peers: {named}", WIDTH))
    text = json.dumps(document(rows, peers=peers, quick=options.quick), indent=1)
    options.json.write_text(text + "\n")
    failed = missed(rows)
    skipped = [row.name for row in rows if row.skipped]
    print(f"\n{len(failed)} missed", *failed, sep="\n    ")
    return 1 if skipped else 0


def _ask(name: str, scratch: Scratch) -> Row:
    """One row; a row that cannot be measured says why and does not stop the others."""
    title, ask = ROWS[name]
    print(f"bench: {name} ...", file=sys.stderr)
    try:
        return ask(scratch)
    except FAILURES as exc:
        return Row(name, title, skipped=[str(exc)])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Toolcrib beside its floors and its peers, as ratios.")
    parser.add_argument("--quick", action="store_true", help="a fifth of the rounds")
    names = f"one of {', '.join(ROWS)}; may be given again"
    parser.add_argument("--only", action="append", choices=list(ROWS), metavar="ROW", help=names)
    where = "where the JSON goes (default: bench/results.json)"
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=where)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
