"""`toolcrib audit`: reading the record of every call, and proving that nobody changed it."""

import argparse
import re
import sys
import time
from collections import deque
from typing import Any

from ..core.errors import ConfigError
from ..core.jsontext import dump_ascii
from ..observe.verify import LOST, records, runtime_of, verify
from ..runtime.build import read_config
from ..runtime.config import Config
from ..store.home import Home
from ._failure import in_vain
from ._parser import verb_parser
from ._text import one_line, visible
from .clean import living_runtimes

EXAMPLE = """
  toolcrib audit show --limit 50 --tool hello
  toolcrib audit show --json | jq '.records[] | select(.code != null)'
  toolcrib audit verify
  toolcrib audit verify --head DIGEST     also that the record kept as DIGEST is still there

`verify` prints the digest of the last record. It finds every byte that was changed, but records cut off at the very
end leave no trace in what is left: to see that too, keep the digest somewhere else and give it as --head later.
"""
_DIGEST = re.compile(r"[0-9a-f]{64}")
UNREADABLE = "the record cannot be read"
_LIMIT = 20
_NAME_WIDTH = 64
_DIGEST_SHOWN = 12
_RUNNING = "running"


def main(argv: list[str]) -> int:
    parser = verb_parser("audit", "Read or verify the record of every call.", EXAMPLE)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="show|verify")
    show = verbs.add_parser("show", help="the newest records, newest last", allow_abbrev=False)
    show.add_argument("--limit", type=_count, default=_LIMIT, metavar="N", help=f"how many (default {_LIMIT})")
    show.add_argument("--tool", metavar="NAME", help="calls of this tool only")
    show.add_argument("--session", metavar="ID", help="calls of this session only")
    check = verbs.add_parser("verify", help="walk the whole chain", allow_abbrev=False)
    check.add_argument("--head", type=_digest, metavar="DIGEST", help="what an earlier `verify` printed")
    for each in (show, check):
        each.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(argv)
    return _show(options) if options.verb == "show" else _verify(options)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"{ascii(text)} is not a number above zero")
    return int(text)


def _digest(text: str) -> str:
    if not _DIGEST.fullmatch(text):
        raise argparse.ArgumentTypeError("a digest is 64 of 0-9 a-f, as `audit verify` prints it")
    return text


def _show(options: argparse.Namespace) -> int:
    names = _names(options.tool, options.profile)
    with in_vain(UNREADABLE):
        rows = newest(Home().file("audit"), limit=options.limit, names=names, session=options.session)
    if options.json:
        sys.stdout.write(dump_ascii({"records": rows}).decode() + "\n")
        return 0
    width = max((len(one_line(str(row.get("tool")), _NAME_WIDTH)) for row in rows if row.get("tool")), default=0)
    for row in rows:
        print(_line(row, width))
    if not rows:
        print("No such records." if options.tool or options.session else "No records yet.", file=sys.stderr)
    return 0


def _names(tool: str | None, profile: str | None) -> tuple[str, ...]:
    """The names a tool may be recorded under: as typed, and with the prefix that programs get."""
    if tool is None:
        return ()
    try:
        config = read_config(".", Home(), profile)
    except ConfigError:  # the record can be read all the same
        config = Config()
    return tool, config.offer.name_for(config.prefix + tool)


def newest(
    directory: str, *, limit: int, names: tuple[str, ...] = (), session: str | None = None
) -> list[dict[str, Any]]:
    """The last records, oldest first. A start stands for its call until that has its own record."""
    ended: deque[dict[str, Any]] = deque(maxlen=limit)
    started: dict[str, dict[str, Any]] = {}
    for record in records(directory):
        if (names and record.get("tool") not in names) or (session is not None and record.get("session") != session):
            continue
        if record.get("event") == "start":
            started[str(record.get("call"))] = record
            continue
        started.pop(str(record.get("call")), None)
        ended.append(record)
    if started:
        living = living_runtimes()
        for call, record in started.items():
            record["code"] = None if runtime_of(call) in living else LOST
    # What cannot be read has no number; it keeps its place.
    rows = list(ended)
    for record in started.values():
        later = (index for index, row in enumerate(rows) if _number(row) > _number(record))
        rows.insert(next(later, len(rows)), record)
    return rows[-limit:]


def _number(record: dict[str, Any]) -> int:
    number = record.get("n")
    return number if isinstance(number, int) else 0


def _line(row: dict[str, Any], width: int) -> str:
    match row.get("event"):
        case "call" | "start" as event:
            outcome = str(row.get("code") or ("ok" if event == "call" else _RUNNING))
            took = f"{row.get('ms', '-')} ms"
            tool = f"{one_line(str(row.get('tool')), _NAME_WIDTH):<{width}}"
            by = f"by {row.get('asker')}"
            words = [f"{outcome:<18}", tool, f"{_version(row):<18}", f"{took:>13}", by, row.get("call")]
        case "skipped":
            words = [f"skipped {row.get('code')}", row.get("origin"), row.get("message")]
        case "refused":
            times = f"{row.get('times')} times" if row.get("times") != 1 else ""
            words = [f"refused at {row.get('door')}", row.get("why"), row.get("peer"), times]
        case "recovered":
            words = ["recovered", f"{row.get('lost_bytes')} bytes of a record whose writer was stopped were cut off"]
        case _:
            words = ["unreadable", row.get("at") or f"record {row.get('n')}"]
    return "  ".join([_when(row.get("time")), *(visible(str(word)) for word in words)])


def _version(row: dict[str, Any]) -> str:
    """Which version of the tool it was: what that calls itself, and the beginning of its digest."""
    version, digest = row.get("version"), str(row.get("tool_digest") or "").removeprefix("sha256:")
    return one_line(f"{version}@{digest[:_DIGEST_SHOWN]}", _NAME_WIDTH) if version is not None else "-"


def _when(at: object) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(str(at))))
    except (ValueError, OverflowError, OSError):  # whoever changed the record may have changed this too
        return "?" * 19


def _verify(options: argparse.Namespace) -> int:
    with in_vain(UNREADABLE):
        found = verify(Home().file("audit"), kept=options.head)
    fault = found.fault
    if fault is None and options.head is not None and found.kept_at is None:
        fault = f"no record has the digest {options.head}: records were cut off at the end, or all were replaced"
    if options.json:
        answer = {"ok": fault is None, "records": found.records, "head": found.head, "fault": fault}
        sys.stdout.write(dump_ascii(answer).decode() + "\n")
        return 1 if fault else 0
    if fault:
        print(f"{visible(fault)}\n{found.records} records before it are as they were written", file=sys.stderr)
        return 1
    print(f"{found.records} records, none changed\nhead {found.head}")
    if options.head is None:
        print("Records cut off at the end show only against a kept head: audit verify --head DIGEST", file=sys.stderr)
    else:
        print(
            f"The kept head is record {found.kept_at}; {found.records - (found.kept_at or 0)} came after it",
            file=sys.stderr,
        )
    return 0
