"""`toolcrib stats`: what was called, and how it went, counted from the record."""

import sys

from ..core.jsontext import dump_ascii
from ..observe.verify import fold
from ..store.home import Home
from ._parser import verb_parser
from ._text import visible
from .clean import living_runtimes

EXAMPLE = """
  toolcrib stats
  toolcrib stats --json | jq .errors_by_code

Every call counts, whatever became of it: also those that were refused, invalid, or named no tool.
"""


def main(argv: list[str]) -> int:
    parser = verb_parser("stats", "Count the calls in the record.", EXAMPLE)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(argv)
    try:
        counted = fold(Home().file("audit"), living=living_runtimes()).to_dict()
    except OSError as exc:
        print(f"toolcrib stats: the record cannot be read: {visible(str(exc))}", file=sys.stderr)
        return 1
    if options.json:
        sys.stdout.write(dump_ascii(counted).decode() + "\n")
        return 0
    print(f"calls         {counted['total_executions']}")
    print(f"  succeeded   {counted['success_count']}")
    print(f"  failed      {counted['error_count']}")
    print(f"average time  {counted['average_execution_time_ms']} ms")
    for title, key in (("by tool", "executions_by_tool"), ("by error", "errors_by_code")):
        rows = sorted(counted[key].items(), key=lambda row: (-row[1], row[0]))
        if rows:
            print(title)
            print("\n".join(f"  {count:>8}  {visible(name)}" for name, count in rows))
    return 0
