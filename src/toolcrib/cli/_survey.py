"""Looking at every tool for real, and keeping the answer for the next `list`."""

import marshal
import os
import shutil
from difflib import get_close_matches
from typing import Any

from ..core.errors import ToolcribError
from ..core.jsontext import dump_ascii
from ..core.tool import Tool
from ..runtime.build import build
from ..runtime.compat import foreign_directories, hints
from ..runtime.depends import depends_on, within
from ..runtime.runtime import Crib
from ..sources.requirement import UNMET, program_of
from ..store.sessions import KeptSessions, SessionNotFound
from ._loop import run
from .list import SNAPSHOT_VERSION, snapshot_path, stamp, surroundings


def survey(profile: str | None = None, session: str | None = None) -> dict[str, Any]:
    """The answer of `list`, from the files themselves. What a session sees besides is not kept for the next time.

    Raises:
        ToolcribError: the configuration is wrong, or there is no such session.
    """
    crib = crib_here(profile, session)
    if session is not None and KeptSessions(crib.home).get(session) is None:
        raise SessionNotFound(session)
    if session is not None:
        run(look_once(crib))
        return answer(crib)
    foreign = [each.path for each in foreign_directories(crib.workspace, os.environ, existing=False)]
    paths = dict.fromkeys((*depends_on(crib), *within(foreign)))  # of other systems there is a hint
    stamps = [(path, stamp(path)) for path in paths]  # before reading, so that a change is never missed
    run(look_once(crib))
    kept = {
        "version": SNAPSHOT_VERSION,
        "surroundings": surroundings(profile),
        "stamps": stamps,
        **answer(crib),
    }
    needed = {program_of(each) for tool in crib.tools() for each in getattr(tool.backend, "wishes", ((),) * 4)[3]}
    stamps += [(path, stamp(path)) for path in map(shutil.which, needed) if path]
    if any(problem.code == UNMET for problem in crib.problems()):
        return kept  # what is missing may come without any of these files changing
    if crib.config.toolsets.files or crib.config.toolsets.package:
        return kept  # what Python code offers depends on more than files that could be named here
    try:
        crib.home.replace(marshal.dumps(kept), "cache", os.path.basename(snapshot_path(profile)))
    except OSError:  # a full or read-only home: slower next time, but right
        pass
    return kept


def crib_here(profile: str | None = None, session: str | None = None) -> Crib:
    """For looking only. Raises: `ConfigError`."""
    return build(workspace=os.getcwd(), asker="list", profile=profile, session=session)


def answer(crib: Crib) -> dict[str, Any]:
    """What `list` shows of a crib that has found its tools."""
    return {
        "rows": [(tool.name, crib.verdict(tool).decision.wire, tool.description) for tool in crib.tools()],
        "problems": [(problem.origin, problem.code, problem.message) for problem in crib.problems()],
        "hints": hints(crib.workspace, os.environ, crib.config.compat),
        "own": sum(tool.source != "builtin" for tool in crib.tools()),
        "tools_dir": (*crib.tool_directories(), "")[0],
        "json": dump_ascii(
            {
                "tools": [about(crib, tool) for tool in crib.tools()],
                "problems": [problem.to_dict() for problem in crib.problems()],
            }
        ).decode(),
    }


async def look_once(crib: Crib) -> None:
    """Let a crib find its tools, for looking only."""
    try:
        await crib.start()
    finally:
        await crib.close()


def about(crib: Crib, tool: Tool) -> dict[str, Any]:
    """What `list --json` and `show --json` say of a tool."""
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "source": tool.source,
        "origin": tool.origin,
        "version": tool.version,
        "approval": crib.verdict(tool).decision.wire,
        "digest": tool.digest,
    }


def absent(crib: Crib, name: str) -> ToolcribError:
    """What to raise for a name that no tool on offer has, with or without the prefix: why, or what may be meant."""
    if problem := crib.registry.held(crib.full_name(name)):
        return ToolcribError(problem.message, code=problem.code)
    called = {each.removeprefix(crib.config.prefix): each for each in crib.registry.names()}
    called |= {each: each for each in called.values()}
    nearest = list(dict.fromkeys(called[each] for each in get_close_matches(name, called, n=3)))
    hint = f"did you mean {', '.join(nearest)}?" if nearest else "see: toolcrib list"
    return ToolcribError(f"Unknown tool: {name}; {hint}", code="TOOL_NOT_FOUND", details={"nearest": nearest})
