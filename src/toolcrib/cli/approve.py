"""`toolcrib approve`: answer a call that waits for a person, from another terminal."""

import os
import sys
import time
from typing import Any

from ..backends.process import file_digest
from ..core.errors import Refused, ToolcribError
from ..core.jsontext import dump_ascii
from ..policy.approvers import Standing, keep
from ..policy.request import Request
from ..store.home import Home
from ..store.pending import PendingCall, PendingCalls
from ..store.state import State
from ._approver import at_terminal, choose, columns
from ._loop import run
from ._parser import verb_parser
from ._prompt import drawn
from ._text import one_line, visible

EXAMPLE = """
  toolcrib approve                              what waits for an answer
  toolcrib approve 8k2m9qx4                     look at one, and answer
  toolcrib approve 8k2m9qx4 --yes               yes, this once
  toolcrib approve 8k2m9qx4 --yes --scope project    and do not ask again for this in this project
  toolcrib approve 8k2m9qx4 --deny              no
"""
_OVER = {
    "approved": "was approved already; have the call made again",
    "denied": "was denied already; have the call made again to be asked anew",
    "used": "was answered and used already; an answer counts for one call",
    "expired": "is too old; have the call made again, and approve the new id",
}


def main(argv: list[str]) -> int:
    parser = verb_parser("approve", "Answer a call that waits for a person.", EXAMPLE)
    parser.add_argument("id", nargs="?", metavar="ID", help="which one; without it, list what waits")
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument("--yes", action="store_true", help="yes, without being asked")
    answer.add_argument("--deny", action="store_true", help="no, without being asked")
    parser.add_argument("--scope", choices=["once", "session", "project", "user"], help="how long a --yes lasts")
    parser.add_argument("--exactly", action="store_true", help="a --yes lasts for exactly this, and nothing like it")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(argv)
    if (options.scope or options.exactly) and not options.yes:
        parser.error("--scope and --exactly go with --yes")
    if options.id is None and (options.yes or options.deny):
        parser.error("which one? See: toolcrib approve")
    if options.id is None:
        return _list(PendingCalls(Home()), as_json=options.json)
    if refusal := by_a_tool():
        raise Refused(refusal, code="APPROVAL_DENIED")
    return _answer(options)


def by_a_tool() -> str:
    """Why nothing can be allowed from here: a tool does not answer for the person. Empty where a person may."""
    call = os.environ.get("TOOLCRIB_CALL_ID")
    return f"this runs inside a tool's call ({call}); a person answers, at a terminal of their own" if call else ""


def waiting_rows(calls: list[PendingCall]) -> list[dict[str, Any]]:
    """What waits, for `--json`."""
    return [
        {
            "id": call.id,
            "tool": call.request.get("tool"),
            "state": call.state,
            "session": call.session,
            "asker": call.request.get("asker"),
            "created": call.created,
            "expires": call.expires,
        }
        for call in calls
    ]


def draw_waiting(calls: list[PendingCall], *, width: int) -> None:
    for call in calls:
        left = max(0, round(call.expires - time.time()))
        what = f"waits {left} s more" if call.state == "waiting" else f"allowed; the call has {left} s to come back"
        print(one_line(f"  {call.id}  {call.request.get('tool')}  ({call.request.get('asker')})  {what}", width))


def _list(pending: PendingCalls, *, as_json: bool) -> int:
    calls = [call for call in pending.waiting() if call.state == "waiting"]
    if as_json:
        print(dump_ascii({"waiting": waiting_rows(calls)}).decode())
    elif calls:
        draw_waiting(calls, width=columns())
        sys.stdout.flush()
        print("look at one and answer: toolcrib approve ID", file=sys.stderr)
    else:
        print("nothing waits for an answer", file=sys.stderr)
    return 0


def _answer(options: Any) -> int:
    home = Home()
    pending = PendingCalls(home)
    call = pending.get(options.id)
    if call is None:
        raise Refused(f"there is no {options.id}; see what waits: toolcrib approve", code="APPROVAL_REQUIRED")
    if call.state != "waiting":
        raise Refused(f"{call.id} {_OVER[call.state]}", code="APPROVAL_REQUIRED")
    try:
        request = Request.from_dict(dict(call.request))
    except ValueError as exc:
        raise ToolcribError(f"{call.id} cannot be read: {exc}", code="CONFIG_INVALID") from None
    if changed := _changed(request):
        raise Refused(changed, code="TOOL_PIN_MISMATCH")
    answer = _given(options)
    if answer is None:
        if not at_terminal():
            sys.stderr.write(drawn(request, width=columns(), now=time.time(), whole=True))
            message = f"there is no terminal to ask at; answer {call.id} with --yes or --deny"
            raise Refused(message, code="APPROVAL_REQUIRED")
        answer = run(choose(request))
    return _settle(home, request, answer, as_json=options.json)


def _given(options: Any) -> Standing | None:
    """The answer that stands on the command line."""
    if options.yes:
        return Standing(True, "flag", options.scope or "once", exactly=options.exactly)
    return Standing(allowed=False, by="flag") if options.deny else None


def _changed(request: Request) -> str:
    """Why this is no longer what the call was about; empty while it is."""
    if request.source != "executable" or file_digest(request.program) == request.digest:
        return ""
    gone = "is gone" if not os.path.exists(request.program) else "changed"
    return f"{request.program} {gone} since the call was made; nothing was approved. Have the call made again"


def _settle(home: Home, request: Request, answer: Standing, *, as_json: bool) -> int:
    """First the one call, then what lasts: whoever is killed in between has allowed less, not more."""
    if answer.allowed and (changed := _changed(request)):
        raise Refused(changed, code="TOOL_PIN_MISMATCH")
    if not PendingCalls(home).answer(request.id, allowed=answer.allowed, by=answer.by):
        raise Refused(f"{request.id} {_OVER['expired']}", code="APPROVAL_REQUIRED")
    if answer.allowed:
        keep(State(home), request, answer)
    kept = [each.kept(exactly=answer.exactly) for each in request.subjects] if answer.scope != "once" else []
    if as_json:
        report = {"id": request.id, "tool": request.tool, "approved": answer.allowed, "scope": answer.scope}
        print(dump_ascii({**report, "remembered": kept}).decode())
    elif answer.allowed:
        print(f"{visible(request.tool)} may run; if its caller gave up waiting, have it called again", file=sys.stderr)
    else:
        print(f"{visible(request.tool)} may not run", file=sys.stderr)
    return 0
