"""`toolcrib policy approvals` and `revoke`: what was allowed, what waits, what was granted, and taking it back."""

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from ..core.jsontext import dump_ascii
from ..policy.grants import ENV, NETWORK, RO, RW, Grants
from ..runtime.build import read_config
from ..runtime.rights import ANYWHERE
from ..store.home import Home
from ..store.pending import PendingCalls
from ..store.state import Approval, State
from ._approver import columns
from ._parser import verb_parser
from ._text import visible
from .approve import draw_waiting, waiting_rows

APPROVALS_EXAMPLE = """
  toolcrib policy approvals
  toolcrib policy approvals --json | jq .approvals
"""
REVOKE_EXAMPLE = """
  toolcrib policy revoke 8k2m9qx4            one approval, one grant, or a call that waits
  toolcrib policy revoke custom_tool_greet   all of one tool
  toolcrib policy revoke --all               everything
"""
SCOPES = {
    "session": "in one session",
    "project": "in one project",
    "user": "everywhere",
    "terminal": "typed at a terminal",
}


def grants_file(home: Home) -> Grants:
    return Grants(home.file("grants.json"), lambda data: home.replace(data, "grants.json"))


def in_words(kind: str, values: Sequence[str]) -> str:
    """What a tool may do with what it was granted."""
    if kind == NETWORK and ANYWHERE in values:
        return "uses the network"
    words = {ENV: "sees", NETWORK: "reaches", RO: "reads", RW: "reads and writes"}
    return f"{words[kind]} {', '.join(values)}"


def approvals(argv: list[str]) -> int:
    """Raises: `ConfigError`, when the memory cannot be read."""
    parser = verb_parser(
        "policy approvals", "Show what was approved, what waits, and what was granted.", APPROVALS_EXAMPLE
    )
    parser.add_argument("--json", action="store_true", help='print {"approvals", "waiting", "grants"}')
    options = parser.parse_args(argv)
    home = Home()
    held, calls, grants = State(home).approvals(), PendingCalls(home).waiting(), grants_file(home).all()
    if options.json:
        report = {
            "approvals": [_approval(each) for each in held],
            "waiting": waiting_rows(calls),
            "grants": [each._asdict() for each in grants],
        }
        print(dump_ascii(report).decode())
        return 0
    if held:
        print("approved")
        for approval in held:
            _draw(approval)
    if calls:
        print("waiting")
        draw_waiting(calls, width=columns())
    if grants:
        print("granted")
        for grant in grants:
            what = visible(f"{_name(grant.tool)}  {in_words(grant.kind, [grant.value])}")
            print(f"  {grant.id}  {what}, since {_day(grant.at)}")
    sys.stdout.flush()
    if not (held or calls or grants):
        print("nothing was approved or granted, and nothing waits", file=sys.stderr)
    else:
        print("take one back: toolcrib policy revoke ID", file=sys.stderr)
    return 0


def revoke(argv: list[str]) -> int:
    """Raises: `ConfigError`, when the memory cannot be read or written."""
    parser = verb_parser("policy revoke", "Take back what was approved or granted.", REVOKE_EXAMPLE)
    parser.add_argument("what", nargs="?", metavar="ID|TOOL", help="one of them, or all of a tool")
    parser.add_argument("--all", action="store_true", help="everything")
    parser.add_argument("--json", action="store_true", help='print {"revoked": N}')
    options = parser.parse_args(argv)
    if (options.what is None) != options.all:
        parser.error("name an id or a tool, or say --all")
    home = Home()
    config = read_config(os.getcwd(), home, options.profile)
    count = _revoke(home, options.what, full_name=config.offer.name_for(f"{config.prefix}{options.what}"))
    if options.json:
        print(dump_ascii({"revoked": count}).decode())
    elif count:
        print(f"taken back: {count}", file=sys.stderr)
    else:
        name = "anything" if options.all else ascii(options.what)
        print(f"there is no {name} to take back; see: toolcrib policy approvals", file=sys.stderr)
    return 0 if count or options.all else 1


def _revoke(home: Home, what: str | None, *, full_name: str) -> int:
    state, pending, grants = State(home), PendingCalls(home), grants_file(home)

    def meant(tool: str) -> bool:
        return what in (tool, _name(tool)) or full_name == _name(tool)

    calls = [call.id for call in pending.waiting() if what in (None, call.id) or meant(call.tool)]
    ended = sum(pending.withdraw(each) for each in calls)
    if what is None:
        return ended + state.revoke() + grants.remove()
    known = {row.tool for row in state.approvals()} | {row.tool for row in grants.all()}
    taken = sum(state.revoke(tool=tool) + grants.remove(tool=tool) for tool in known if meant(tool))
    return ended + taken + state.revoke(id=what) + grants.remove(id=what)


def _approval(row: Approval) -> dict[str, Any]:
    return {**row._asdict(), "pattern": dict(row.pattern), "name": _name(row.tool)}


def _draw(row: Approval) -> None:
    until = f"until {_day(row.expires)}" if row.expires is not None else "until the tool changes"
    where = f" ({row.key.rpartition(' ')[0] if row.scope == 'project' else row.key})" if row.key else ""
    print(f"  {row.id}  {visible(_name(row.tool))}")
    print(f"            | {visible(row.shown)}")
    print(f"            {SCOPES.get(row.scope, row.scope)}{visible(where)}")
    print(f"            since {_day(row.created)}, {until}")


def _name(tool: str) -> str:
    """The exposed name in a tool's id."""
    return tool.partition(":")[2] or tool


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
