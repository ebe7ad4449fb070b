"""`toolcrib stats`: what was called, and how it went, counted from the record."""

import os
import sys
from typing import Any

from ..core.jsontext import dump_ascii
from ..observe.custom_tools import lives
from ..observe.verify import fold, records
from ..store.home import Home
from ._failure import in_vain
from ._parser import verb_parser
from ._text import visible
from .audit import UNREADABLE
from .clean import living_runtimes

EXAMPLE = """
  toolcrib stats
  toolcrib stats --json | jq .errors_by_code
  toolcrib stats --tools                 what became of the tools that you and your agents made

Every call counts, whatever became of it: also those that were refused, invalid, or named no tool.
"""


def main(argv: list[str]) -> int:
    parser = verb_parser("stats", "Count the calls in the record.", EXAMPLE)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--tools", action="store_true", help="of the tools that were made: built, used, used again")
    options = parser.parse_args(argv)
    home = Home()
    if options.tools:
        return _tools(home, as_json=options.json)
    with in_vain(UNREADABLE):
        counted = fold(home.file("audit"), living=living_runtimes()).to_dict()
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


def _tools(home: Home, *, as_json: bool) -> int:
    from ..runtime.build import read_config  # late: the other numbers need no configuration

    prefix = read_config(os.getcwd(), home).prefix
    with in_vain(UNREADABLE):
        counted = lives(records(home.file("audit")), prefix=prefix)
    if as_json:
        sys.stdout.write(dump_ascii(counted).decode() + "\n")
        return 0
    print(f"tools made    {counted['created']} by a call, and {counted['creations_refused']} refused")
    print(f"  built       {counted['built']}, {counted['built_at_first_try']} of them at the first try")
    print(f"  removed     {counted['deleted']}")
    print(f"  never used  {counted['never_used']}")
    print(f"tools used    {counted['used']}, {counted['reused']} of them in several sessions or on several days")
    print(f"  succeeded   {_percent(counted['success_rate'])}")
    rows = sorted(counted["by_tool"].items(), key=lambda row: (-row[1]["calls"], row[0]))
    if rows:
        print("by tool          calls  succeeded")
    for name, about in rows:
        print(f"  {about['calls']:>20}  {_percent(about['success_rate']):>9}  {visible(name)}{_standing(about)}")
    print(f"not recorded: {', '.join(counted['not_recorded']).replace('_', ' ')}", file=sys.stderr)
    return 0


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.1%}"


def _standing(about: dict[str, Any]) -> str:
    return " (removed)" if about["deleted"] else ""
