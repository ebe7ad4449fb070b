"""`toolcrib list --outdated`: what was said of a tool, and is of another version of it than the one on offer now."""

import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..core.jsontext import dump_ascii
from ..core.tool import Tool
from ..policy.grants import RO, RW, Granted
from ..policy.project_files import project_files
from ..policy.remember import project_key
from ..runtime.project import trust_roots
from ..runtime.runtime import Crib
from ..store.state import Approval, State
from ._approvals import SCOPES, grants_file, in_words
from ._loop import run
from ._survey import crib_here, look_once
from ._text import visible
from .list import misused

_SHORT = len("sha256:") + 12


class Version(NamedTuple):
    """Of a tool. Where only its content is known, or there is none, the rest is None."""

    version: str | None
    digest: str | None


class Outdated(NamedTuple):
    """One thing that names a version which is not the one on offer."""

    name: str
    kind: str
    """`approval`, `grant` or `trust`."""
    id: str | None
    about: str
    """What it is, in words."""
    then: Version
    now: Version
    since: float
    settle: str
    """What to type."""

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "then": self.then._asdict(), "now": self.now._asdict()}


def outdated(wanted: set[str], profile: str | None = None) -> int:
    """The verb's answer; `wanted` are the flags beside `--outdated`. Raises: `ToolcribError`."""
    if wanted - {"--json"}:
        words = " and ".join(sorted(wanted - {"--json"}))
        raise misused(f"--outdated does not go with {words}")
    crib = crib_here(profile)
    run(look_once(crib))
    found = sorted(find(crib), key=lambda each: (each.name, each.kind, each.since))
    if wanted:
        print(dump_ascii({"outdated": [each.to_dict() for each in found]}).decode())
        return 0
    for each in found:
        _draw(each)
    sys.stdout.flush()
    if not found:
        print("nothing is outdated: all that was approved, granted or trusted is for what is here now", file=sys.stderr)
    return 0


def find(crib: Crib) -> Iterator[Outdated]:
    """Raises: `ConfigError`, when what was said cannot be read."""
    tools = {tool.id: tool for tool in crib.tools()}
    yield from _approvals(State(crib.home).approvals(), tools, project_key(crib.workspace))
    yield from _grants(grants_file(crib.home).all(), tools)
    yield from _trust(crib)


def _approvals(rows: Iterable[Approval], tools: dict[str, Tool], here: str) -> Iterator[Outdated]:
    """One that was given anew, for the same thing in the same place, is settled."""
    rows = [row for row in rows if row.tool in tools and (row.scope != "project" or row.key == here)]
    settled = [(row.tool, row.scope, row.key, row.pattern) for row in rows if row.digest == tools[row.tool].digest]
    for row in rows:
        tool = tools[row.tool]
        if row.digest == tool.digest or (row.tool, row.scope, row.key, row.pattern) in settled:
            continue
        about = f"allowed {SCOPES.get(row.scope, row.scope)}: {row.shown}"
        settle = f"toolcrib call {tool.name}" if row.scope == "terminal" else f"toolcrib policy revoke {row.id}"
        then = Version(row.version, row.digest)
        yield Outdated(tool.name, "approval", row.id, about, then, _version(tool), row.created, settle)


def _grants(rows: Iterable[Granted], tools: dict[str, Tool]) -> Iterator[Outdated]:
    for row in rows:
        tool = tools.get(row.tool)
        if tool is not None and row.digest and row.digest != tool.digest:
            what = f"files {row.kind}" if row.kind in (RO, RW) else row.kind
            settle = f"toolcrib grant {tool.name} {what} {shlex.quote(row.value)}"
            then, about = Version(row.version, row.digest), in_words(row.kind, [row.value])
            yield Outdated(tool.name, "grant", row.id, about, then, _version(tool), row.at, settle)


def _trust(crib: Crib) -> Iterator[Outdated]:
    """The project's files that are not as they were trusted. What such a file says of itself is not asked for."""
    record = crib.trust.record(crib.workspace)
    if record is None:
        return
    roots = trust_roots(crib.workspace, crib.config.local_dir, os.environ)
    changes = crib.trust.changed(crib.workspace, roots)
    found = {entry.path: entry.digest for entry in project_files(crib.workspace, roots)}
    for path in (*changes.changed, *changes.removed):
        then, now = Version(None, record.files[path]["digest"]), Version(None, found.get(path))
        settle = f"toolcrib trust {shlex.quote(crib.workspace)}"
        yield Outdated(_held(crib, path), "trust", None, f"trusted {path}", then, now, record.at, settle)


def _held(crib: Crib, path: str) -> str:
    """The name of the tool that a file of the project is, or is part of; else the file's own."""
    whole = os.path.join(crib.workspace, path)
    for problem in crib.registry.problems():
        folder = os.path.join(os.path.dirname(problem.origin), "")
        part = os.path.basename(problem.origin) == "tool.yaml" and whole.startswith(folder)
        if problem.holds and (problem.origin == whole or part):
            return problem.holds[0]
    return path


def _version(tool: Tool) -> Version:
    return Version(tool.version, tool.digest)


def _draw(each: Outdated) -> None:
    then, now = each.then, each.now
    named = f"  {then.version or 'unknown'} -> {now.version or 'unknown'}" if then.version or now.version else ""
    print(visible(each.name + named))
    print(f"  {visible(each.about)}{f' ({each.id})' if each.id else ''}, since {_day(each.since)}")
    print(f"  for {_short(then.digest)}, and it is {_short(now.digest)}")
    print(f"  settle it: {visible(each.settle)}")


def _short(digest: str | None) -> str:
    return "gone" if not digest else digest if len(digest) <= _SHORT else f"{digest[:_SHORT]}…"


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
