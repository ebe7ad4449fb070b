"""`toolcrib session`: begin, look at and end sessions, in which skills are active."""

import os
import sys
import time
from typing import Any

from ..core.jsontext import dump_ascii
from ..observe.verify import fold
from ..runtime.sessions import new_session_id, valid_id
from ..store.home import Home
from ..store.sessions import KeptSession, KeptSessions, SessionNotFound
from ..store.todos import Todos
from ._failure import in_vain
from ._parser import verb_parser
from ._text import one_line, visible
from .audit import UNREADABLE
from .clean import living_runtimes

EXAMPLE = """
  toolcrib session new                       begin one, and print its name
  toolcrib skill use pdf-tools --session ID  a skill's tools are there in this session, and nowhere else
  toolcrib call --session ID pdf_text --path a.pdf
  toolcrib session show ID
  toolcrib session end ID                    its skills, todos and remembered answers are gone
"""


def main(argv: list[str]) -> int:
    parser = verb_parser("session", "Begin, look at and end sessions.", EXAMPLE)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="new|list|show|end")
    new = verbs.add_parser("new", help="begin a session", allow_abbrev=False)
    new.add_argument("id", nargs="?", help="what it is to be called; left out, a name nobody can guess")
    shelf = verbs.add_parser("list", help="all sessions, the oldest first", allow_abbrev=False)
    show = verbs.add_parser("show", help="the skills, todos and counters of a session", allow_abbrev=False)
    end = verbs.add_parser("end", help="end a session, and forget what was kept for it alone", allow_abbrev=False)
    for each in (show, end):
        each.add_argument("id", help="as `session list` names it")
    for each in (new, shelf, show, end):
        each.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(argv)
    home = Home()
    answer, lines = _VERBS[options.verb](home, KeptSessions(home), getattr(options, "id", None))
    if options.json:
        sys.stdout.write(dump_ascii(answer).decode() + "\n")
        return 0
    for line in lines:
        print(line)
    if not lines:
        print("No sessions. Begin one: toolcrib session new", file=sys.stderr)
    return 0


def _new(home: Home, kept: KeptSessions, ident: str | None) -> tuple[Any, list[str]]:
    made = kept.create(valid_id(ident or new_session_id()), os.getcwd())
    return {"session_id": made.id}, [made.id]


def _list(home: Home, kept: KeptSessions, ident: str | None) -> tuple[Any, list[str]]:
    found = kept.all()
    lines = [
        f"{visible(each.id)}  {_time(each.created)}  {', '.join(visible(skill.name) for skill in each.skills) or '-'}"
        for each in found
    ]
    return {"sessions": [_about(each) for each in found]}, lines


def _show(home: Home, kept: KeptSessions, ident: str | None) -> tuple[Any, list[str]]:
    session = kept.get(ident or "")
    if session is None:
        raise SessionNotFound(ident or "")
    todos = Todos(home).read(session.id)
    with in_vain(UNREADABLE):
        counted = fold(home.file("audit"), living=living_runtimes(), session=session.id).to_dict()
    about = {**_about(session), "todos": todos, "stats": counted}
    lines = [
        f"session    {visible(session.id)}",
        f"begun      {_time(session.created)} in {visible(session.workspace)}",
    ]
    for skill in session.skills:
        tools = ", ".join(map(visible, skill.tool_names)) or "no tools"
        lines.append(f"skill      {visible(skill.name)} {visible(skill.version)}: {tools}")
    lines += [f"todo       [{each.get('status', '')}] {one_line(str(each.get('content', '')), 100)}" for each in todos]
    lines.append(f"calls      {counted['total_executions']}, {counted['error_count']} of them failed or were refused")
    return about, lines


def _end(home: Home, kept: KeptSessions, ident: str | None) -> tuple[Any, list[str]]:
    if not kept.end(ident or ""):
        raise SessionNotFound(ident or "")
    return {"session_id": ident, "ended": True}, [f"{visible(ident or '')} has ended"]


_VERBS = {"new": _new, "list": _list, "show": _show, "end": _end}


def _about(session: KeptSession) -> dict[str, Any]:
    skills = [
        {
            "name": each.name,
            "version": each.version,
            "digest": each.digest,
            "origin": each.origin,
            "tools": list(each.tool_names),
            "activated_at": each.at,
        }
        for each in session.skills
    ]
    return {
        "session_id": session.id,
        "workspace": session.workspace,
        "created_at": session.created,
        "skills": skills,
    }


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
