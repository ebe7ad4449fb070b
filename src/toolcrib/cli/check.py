"""`toolcrib check`: every fault of a tool, with its place and what puts it right."""

import asyncio
import os
import shlex
from difflib import get_close_matches

from ..core.errors import ConfigError, Refused
from ..core.jsontext import dump_ascii
from ..core.source import Problem
from ..policy.trust import PROJECT_DIR
from ..runtime.build import build
from ..runtime.compat import foreign_directories
from ..runtime.runtime import Crib
from ._examine import Checked, Examiner
from ._failure import UsageError
from ._loop import run
from ._manifest import examine_manifest, is_vouched, manifest_at
from ._parser import verb_parser
from ._program import NO_EXECUTE_BIT, Finding
from ._text import visible

EXAMPLE = """
  toolcrib check                      all tools, and the configuration
  toolcrib check hello                one tool
  toolcrib check ./my_tool            a program, or a folder with a tool.yaml, that is not installed yet
"""
_OF_THE_CRIB = ("TOOL_NAME_CONFLICT", "SANDBOX_UNAVAILABLE", "PATH_OUTSIDE_WORKSPACE")
"""Problems that no look at the program alone can find."""


def main(argv: list[str]) -> int:
    parser = verb_parser(
        "check", "Start tools afresh to be described, and report every fault with its place and fix.", EXAMPLE
    )
    parser.add_argument(
        "targets", nargs="*", metavar="PATH|NAME", help="programs or tools (default: all that are here)"
    )
    parser.add_argument(
        "--verbs",
        action="store_true",
        help="also start it with a word it cannot know (a program that takes every word for `run` then runs)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(argv)
    try:
        checked = run(_check(options.targets, verbs=options.verbs, profile=options.profile))
    except ConfigError as exc:
        fault = Finding(exc.code, str(exc), "put that line right, and check again")
        checked = [Checked(exc.path, None, (fault,))]
    faults = sum(each.faults for each in checked)
    if options.json:
        warnings = sum(len(each.findings) for each in checked) - faults
        found = [each.to_dict() for each in checked]
        print(dump_ascii({"faults": faults, "warnings": warnings, "checked": found}).decode())
    else:
        _draw(checked, faults)
    return 1 if faults else 0


async def _check(targets: list[str], *, verbs: bool, profile: str | None) -> list[Checked]:
    crib = build(workspace=os.getcwd(), asker="check", profile=profile)
    examiner = Examiner(crib, verbs=verbs)
    try:
        await crib.start()
        # Each path once, whatever it was called; all are known to be trusted before the first one is started.
        named = [path for target in targets for path in _paths(crib, target)]
        paths = list(dict.fromkeys(named)) if targets else _all(crib)
        withheld = {each.origin: each for each in crib.problems() if each.code == "PATH_OUTSIDE_WORKSPACE"}
        looked_at = [path for path in paths if path not in withheld]
        manifests = [path for path in looked_at if manifest_at(path)]
        programs = [path for path in looked_at if path not in manifests]
        checked = await asyncio.gather(*(examiner.examine(path, pinned=_pinned(crib, path)) for path in programs))
        checked += [await examine_manifest(path, crib) for path in manifests]
        checked = [*(each if each.faults else _with_problems(each, crib) for each in checked)]
        checked += [Checked(path, None, (_of(withheld[path]),)) for path in paths if path in withheld]
        _forget_if_stale(crib, checked)
        return checked if targets else [*_configuration(crib), *checked, *_forgotten(crib)]
    finally:
        await crib.close()


def _paths(crib: Crib, target: str) -> list[str]:
    """The program that a name or a path means, or all of a tools directory."""
    if "/" in target or target in (".", ".."):
        candidates = [os.path.abspath(target)]
    else:  # a name is a tool's name, never that of a file where one happens to stand
        candidates = [os.path.join(each, target) for each in reversed(crib.tool_directories())]
        if (tool := crib.find(target)) is not None:
            candidates.insert(0, tool.origin)
    path = next((each for each in candidates if os.path.lexists(each)), None)
    if path is None:
        names = crib.registry.names()
        bare = [name.removeprefix(crib.config.prefix) for name in names]
        nearest = get_close_matches(target, [*names, *bare], n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else "see: toolcrib list"
        if crib.find(target) is not None:
            message = f"{target} is no program of its own: it was read, and is on offer; see: toolcrib show {target}"
            raise UsageError(message)
        if "/" not in target and os.path.isfile(target):
            hint = f"if you mean the file here, type: toolcrib check ./{target}"
        raise UsageError(f"there is no program and no tool {target}; {hint}", code="TOOL_NOT_FOUND")
    path = manifest_at(path) or path
    if os.path.isdir(path) and os.path.realpath(path) not in map(os.path.realpath, crib.tool_directories()):
        # What lies in any other directory is not meant to be started with a word it may not know.
        raise UsageError(f"{path} is no tools directory; name the programs themselves: toolcrib check {path}/NAME")
    if project := _untrusted(crib, path):
        message = f"{path} was not started; look at it, then type: toolcrib trust {project}"
        raise Refused(message, code="WORKSPACE_UNTRUSTED")
    inside = [path]
    if os.path.isdir(path):
        inside = [manifest_at(each) or each for each in _inside(path) if os.path.isfile(each) or manifest_at(each)]
    return [each for each in inside if _untrusted(crib, each) is None]


def _untrusted(crib: Crib, path: str) -> str | None:
    """The project that a program belongs to, when that project is not trusted, or not with the program as it is."""
    outside = any(each.origin == path and each.code == "PATH_OUTSIDE_WORKSPACE" for each in crib.problems())
    for project, relative in _owners(crib, path):
        if manifest_at(path):
            vouched = crib.trust.trusts(project) and is_vouched(crib, project, relative)
        else:
            vouched = outside or not _is_program(path) or crib.trust.vouches_now(project, relative)
        if not crib.trust.trusts(project) or not vouched:
            return project
    return None


def _pinned(crib: Crib, path: str) -> str | None:
    """The digest that alone may be started; None for what is no project's."""
    owners = _owners(crib, path)
    if not owners:
        return None
    records = [(crib.trust.record(project), relative) for project, relative in owners]
    digests = {(record and record.program(relative) or {}).get("digest", "") for record, relative in records}
    return digests.pop() if len(digests) == 1 else ""


def _owners(crib: Crib, path: str) -> list[tuple[str, str]]:
    """The projects that a program belongs to, and where in each: by its own path, and by that of the file it is."""
    projects = []
    for place in (path, os.path.realpath(path)):
        parts = place.split("/")
        at = [index for index, part in enumerate(parts) if part == PROJECT_DIR]
        inner = [index for index in at if not _is_home(crib, "/".join(parts[: index + 1]))]
        projects += [("/".join(parts[:index]) or "/", "/".join(parts[index:])) for index in inner]
        local = os.path.normpath(os.path.join(crib.workspace, crib.config.local_dir))
        own = [local, *(each.path for each in foreign_directories(crib.workspace, os.environ) if each.in_project)]
        inside = [directory for directory in own if place.startswith(directory + "/")]
        projects += [(crib.workspace, os.path.relpath(place, crib.workspace)) for _ in inside[:1]]
    return list(dict.fromkeys(projects))


def _is_home(crib: Crib, directory: str) -> bool:
    return os.path.realpath(directory) == os.path.realpath(crib.home.path)


def _all(crib: Crib) -> list[str]:
    """Every program and folder of every tools directory, but those of an untrusted project."""
    found = [manifest_at(path) or path for path in _files(crib) if _is_program(path) or manifest_at(path)]
    return [path for path in found if _untrusted(crib, path) is None]


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and bool(os.stat(path).st_mode & 0o111)


def _files(crib: Crib) -> list[str]:
    return [path for directory in dict.fromkeys(crib.tool_directories()) for path in _inside(directory)]


def _inside(directory: str) -> list[str]:
    """What lies in a tools directory; nothing when there is none."""
    names = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    return [os.path.join(directory, name) for name in names if not name.startswith(".") and not name.endswith("~")]


def _forgotten(crib: Crib) -> list[Checked]:
    """Files that begin as a program does and cannot run. They are not seen as tools, so they get a warning."""
    found = []
    for path in _files(crib):
        if os.path.isfile(path) and not os.stat(path).st_mode & 0o111 and _untrusted(crib, path) is None:
            with open(path, "rb") as file:
                if file.read(2) == b"#!":
                    fault = Finding("EXECUTION_ERROR", NO_EXECUTE_BIT, f"chmod +x {shlex.quote(path)}", warning=True)
                    found.append(Checked(path, None, (fault,)))
    return found


def _with_problems(checked: Checked, crib: Crib) -> Checked:
    """With what only a look at all the tools together shows."""
    mine = [
        each for each in crib.problems()
        if each.code in _OF_THE_CRIB and (each.origin == checked.origin or checked.name in each.holds)
    ]  # fmt: skip
    return Checked(checked.origin, checked.name, (*checked.findings, *map(_of, mine)))


def _of(problem: Problem) -> Finding:
    fixes = {
        "TOOL_NAME_CONFLICT": "rename one of them, or remove it",
        "SANDBOX_UNAVAILABLE": "take that out of the configuration, if you want it to run without",
        "PATH_OUTSIDE_WORKSPACE": "put the program itself into the project",
        "WORKSPACE_UNTRUSTED": "look at them, then type: toolcrib trust",
        "CONFIG_INVALID": "take it out; a project may only tighten what the user says",
    }
    warning = problem.code in ("WORKSPACE_UNTRUSTED", "CONFIG_INVALID")
    return Finding(problem.code, problem.message, fixes.get(problem.code, "put that right"), warning=warning)


def _configuration(crib: Crib) -> list[Checked]:
    """The configuration, which could be read: what it says in vain."""
    by_origin: dict[str, list[Finding]] = {crib.home.file("config.yaml"): []}
    for problem in crib.problems():
        if problem.code in ("WORKSPACE_UNTRUSTED", "CONFIG_INVALID"):
            by_origin.setdefault(problem.origin, []).append(_of(problem))
    known = tuple(map(crib.config.offer.own_name, crib.tools()))
    for name in dict.fromkeys((*crib.config.approval_tools, *crib.config.tools)):
        if name not in known and crib.registry.held(crib.config.offer.name_for(name)) is None:
            nearest = get_close_matches(name, known, n=1)
            fix = f"write {nearest[0]}" if nearest else "see the names that are there: toolcrib list"
            message = f"it names {name}, and no tool here is called that"
            by_origin[crib.home.file("config.yaml")].append(Finding("CONFIG_INVALID", message, fix, warning=True))
    return [Checked(origin, None, tuple(findings)) for origin, findings in by_origin.items()]


def _forget_if_stale(crib: Crib, checked: list[Checked]) -> None:
    """What programs said is kept, failures too. Where one answers otherwise now, `list` must ask again."""
    failed = {each.origin for each in crib.problems()} - {tool.origin for tool in crib.tools()}
    offered = {tool.origin for tool in crib.tools()}
    stale = [
        each for each in checked
        if (each.name is not None and each.origin in failed and not each.faults)
        or (each.name is None and each.origin in offered)
    ]  # fmt: skip
    cache = crib.home.file("cache")
    for name in os.listdir(cache) if stale and os.path.isdir(cache) else ():
        if name.startswith(("probes-", "list-")):
            os.unlink(os.path.join(cache, name))


def _draw(checked: list[Checked], faults: int) -> None:
    for each in checked:
        origin = visible(each.origin)
        if not each.findings:
            print(f"ok       {origin}" + (f"  {each.name}" if each.name else ""))
        for finding in each.findings:
            kind = "warning" if finding.warning else "FAULT"
            at = f" {visible(finding.pointer)}" if finding.pointer else ""
            print(f"{kind:<7}  {origin}{at}: {visible(finding.message)}\n         fix: {visible(finding.fix)}")
    warnings = sum(len(each.findings) for each in checked) - faults
    print(f"{len(checked)} checked, {faults} fault(s), {warnings} warning(s)")
