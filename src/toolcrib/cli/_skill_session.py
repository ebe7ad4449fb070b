"""`toolcrib skill use`, `remove`, and what of the active skills is not what lies on disk now."""

import os
import shlex
import sys
from typing import Any

from ..core.errors import ToolcribError
from ..core.jsontext import dump_ascii
from ..core.source import Problem
from ..runtime.build import build
from ..runtime.session import ActiveSkill
from ..store.sessions import SessionNotFound
from ._loop import run
from ._skill_shelf import as_dict, draw_problems
from ._survey import crib_here
from ._text import one_line, readable, visible


def change_session(options: Any) -> int:
    """Raises: `ToolcribError`."""
    names, problems = run(_change(options))
    if names is None:
        raise ToolcribError(f"{options.skill} is not active in {options.session}", code="TOOL_NOT_FOUND")
    if options.json:
        key = "tool_names" if options.verb == "use" else "removed_tools"
        said = {"session_id": options.session, "skill": readable(options.skill), key: names}
        print(dump_ascii({**said, "problems": [as_dict(each) for each in problems]}).decode())
        return 0
    for name in names:
        print(name)
    sys.stdout.flush()
    draw_problems(problems)
    done = "active" if options.verb == "use" else "no longer active"
    tools = f"{len(names)} tool{'' if len(names) == 1 else 's'}"
    print(f"{visible(readable(options.skill))} is {done} in {visible(options.session)}: {tools}", file=sys.stderr)
    return 0


async def _change(options: Any) -> tuple[list[str] | None, tuple[Problem, ...]]:
    """The tools that came or went, and what is wrong with the skill; None when there was nothing to remove."""
    crib = build(workspace=os.getcwd(), asker="terminal", profile=options.profile)
    try:
        await crib.start()
        session = await crib.sessions.get(options.session)
        if options.verb == "remove":
            before = len(session.active_skills())
            gone = await session.remove_skill(options.skill)
            return gone if len(session.active_skills()) < before else None, ()
        names = await session.use_skill(options.skill, only_allowed=options.only_allowed)
        return names, crib.skills().find(options.skill).problems
    finally:
        await crib.close()


def list_active(options: Any) -> int:
    """The skills of one session, or of all; with `--outdated` those that are others on disk now.

    Raises:
        ToolcribError: there is no such session.
    """
    crib = crib_here(options.profile)
    sessions = run(crib.sessions.all())
    if options.session is not None:
        sessions = [each for each in sessions if each.id == options.session]
        if not sessions:
            raise SessionNotFound(options.session)
    rows, problems = [], []
    for session in sessions:
        for active in session.skills:
            row = _about(session.id, active)
            if options.outdated:
                now = _now(crib, active)
                if isinstance(now, dict) and now["digest"] == active.digest:
                    continue
                if isinstance(now, Problem):
                    problems.append(now)
                row["now"] = now if isinstance(now, dict) else None
                row["settle"] = f"toolcrib skill use {shlex.quote(active.origin)} --session {session.id}"
            rows.append(row)
    if options.json:
        print(dump_ascii({"skills": rows, "problems": [as_dict(each) for each in problems]}).decode())
        return 0
    for row in rows:
        _draw(row)
    sys.stdout.flush()
    draw_problems(problems)
    if not rows:
        print("nothing is outdated" if options.outdated else "No skill is active there.", file=sys.stderr)
    return 0


def _now(crib: Any, active: ActiveSkill) -> dict[str, str] | Problem:
    """The version and digest of what lies where an active skill came from."""
    if not active.origin:  # it was handed over as text, and is kept as it was
        return {"version": active.version, "digest": active.digest}
    try:
        found = crib.skills().find(active.origin)
    except ToolcribError as exc:
        return Problem(active.origin, exc.code, str(exc))
    return {"version": found.version, "digest": found.digest}


def _about(session: str, active: ActiveSkill) -> dict[str, Any]:
    return {
        "name": active.name,
        "description": active.description,
        "version": active.version,
        "digest": active.digest,
        "origin": readable(active.origin),
        "session_id": session,
        "tool_names": list(active.tool_names),
        "activated_at": active.at,
    }


def _draw(row: dict[str, Any]) -> None:
    then = visible(row["version"])
    print(f"{row['name']}  {then}  {visible(row['session_id'])}  {one_line(row['description'], 80)}")
    if row["tool_names"]:
        print(f"  tools: {', '.join(row['tool_names'])}")
    if "settle" in row:
        now = row["now"]
        said = f"version {visible(now['version'])}, {now['digest'][:19]}…" if now else "nothing that can be used"
        print(f"  active is {row['digest'][:19]}…, and there is {said}\n  settle it: {visible(row['settle'])}")
