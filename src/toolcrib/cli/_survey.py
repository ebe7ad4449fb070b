"""Looking at every tool for real, and keeping the answer for the next `list`."""

import asyncio
import marshal
import os
import shutil
import sys
from typing import Any

from ..core.errors import ConfigError
from ..core.jsontext import dump_ascii
from ..core.tool import Tool
from ..policy.trust import GOVERNING, PROJECT_DIR
from ..runtime.build import build
from ..runtime.compat import foreign_directories, hints
from ..runtime.runtime import Crib
from ..sources.manifest import UNMET, folders, inside, program_of
from ._text import visible
from .list import SNAPSHOT_VERSION, snapshot_path, stamp, surroundings


def survey() -> dict[str, Any] | None:
    """The answer of `list`, from the files themselves. None, with a word on stderr, when the configuration is wrong."""
    try:
        crib = build(workspace=os.getcwd(), asker="list")
    except ConfigError as exc:
        print(f"{exc.code} {visible(str(exc))}", file=sys.stderr)
        return None
    stamps = [(path, stamp(path)) for path in _depends_on(crib)]  # before reading, so that a change is never missed
    asyncio.run(look_once(crib))
    kept = {
        "version": SNAPSHOT_VERSION,
        "surroundings": surroundings(),
        "stamps": stamps,
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
    needed = {program_of(each) for tool in crib.tools() for each in getattr(tool.backend, "wishes", ((),) * 4)[3]}
    stamps += [(path, stamp(path)) for path in map(shutil.which, needed) if path]
    if any(problem.code == UNMET for problem in crib.problems()):
        return kept  # what is missing may come without any of these files changing
    if crib.config.toolsets.module or crib.config.toolsets.package:
        return kept  # what Python code offers depends on more than files that could be named here
    try:
        crib.home.replace(marshal.dumps(kept), "cache", os.path.basename(snapshot_path()))
    except OSError:  # a full or read-only home: slower next time, but right
        pass
    return kept


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


def _depends_on(crib: Crib) -> list[str]:
    """Every path whose change could change the answer; one that is not there yet counts as well."""
    project = os.path.join(crib.workspace, PROJECT_DIR)
    rules = [os.path.join(crib.workspace, each) for each in GOVERNING]
    paths = [*(crib.home.file(name) for name in ("config.yaml", "policy.yaml", "trust.json")), project, *rules]
    foreign = [each.path for each in foreign_directories(crib.workspace, os.environ, existing=False)]
    for directory in (*crib.tool_directories(), *foreign, rules[-1]):
        paths.append(directory)
        if os.path.isdir(directory):
            paths += [entry.path for entry in os.scandir(directory)]
            paths += [path for name in folders(directory) for path in inside(os.path.join(directory, name))]
    return list(dict.fromkeys(paths))
