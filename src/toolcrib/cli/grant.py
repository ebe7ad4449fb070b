"""`toolcrib grant`: let one tool have more than the others, for as long as the tool does not change."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from ..core.errors import Refused
from ..core.jsontext import dump_ascii
from ..core.tool import Tool
from ..policy.grants import ENV, KINDS, NETWORK, RO, RW, VARIABLE, Granted
from ..runtime.build import build
from ..runtime.demand import kind_of
from ..runtime.gate import granted_to
from ..runtime.rights import ANYWHERE
from ..runtime.runtime import Crib
from ..sandbox.grantable import too_wide
from ..sources.wish import host
from ._approvals import grants_file, in_words
from ._failure import UsageError
from ._loop import run
from ._parser import verb_parser
from ._survey import absent, look_once
from ._text import visible
from .approve import by_a_tool

EXAMPLE = """
  toolcrib grant deploy env DEPLOY_REGION             it sees this variable from now on
  toolcrib grant deploy network                       it may use the network
  toolcrib grant deploy network api.example.com       it may reach this host, where that can be held (bubblewrap)
  toolcrib grant deploy files ro ~/data               it may read this, though it lies outside the workspace
  toolcrib grant deploy files rw ~/data/out           and write that
  toolcrib grant deploy network --remove              and no longer

A tool that changes loses what it was granted. See what was: toolcrib policy approvals
"""
WHAT = ("env", "network", "files")
_EXAMPLES = {"env": "env LANG", "files": "files ro ~/data"}


def main(argv: list[str]) -> int:
    parser = verb_parser("grant", "Let one tool have more than the others.", EXAMPLE)
    parser.add_argument("name", metavar="NAME", help="the tool, with or without the prefix")
    parser.add_argument("what", metavar="WHAT", help="env: variables; network: all of it, or hosts; files: ro or rw")
    parser.add_argument("values", nargs="*", metavar="VALUE", help="variables, hosts, or ro|rw and paths")
    parser.add_argument("--remove", action="store_true", help="take it back")
    parser.add_argument("--json", action="store_true", help="print what the tool has now as JSON")
    options = parser.parse_args(argv)
    kinds, values = _meant(parser, options.what, options.values, remove=options.remove)
    if not options.remove and (refusal := by_a_tool()):
        raise Refused(refusal, code="APPROVAL_DENIED")
    crib = build(workspace=os.getcwd(), asker="grant", profile=options.profile)
    run(look_once(crib))
    return _grant(crib, options.name, kinds, values, remove=options.remove, as_json=options.json)


def _meant(
    parser: ArgumentParser, what: str, values: Sequence[str], *, remove: bool
) -> tuple[tuple[str, ...], list[str]]:
    """The kinds of grants that are spoken of, and the values, checked."""
    kinds: tuple[str, ...] = (what,)
    found = list(values)
    if what == "env":
        for name in values:
            if not VARIABLE.fullmatch(name) or name.startswith("TOOLCRIB_"):
                parser.error(f"{ascii(name)} is not the name of a variable that can be granted")
    elif what == "network":
        try:
            found = [each if each == ANYWHERE else host(each) for each in values] or ([] if remove else [ANYWHERE])
        except ValueError as exc:
            parser.error(str(exc))
    elif what == "files":
        access, *paths = values or ("",)
        if access not in (RO, RW) and not (remove and not access):
            parser.error(f"to read, or to write? For example: toolcrib grant NAME {_EXAMPLES['files']}")
        kinds = (access,) if access else (RO, RW)
        found = [os.path.realpath(os.path.expanduser(each)) for each in paths]
    else:
        parser.error(f"there is no {ascii(what)} to grant; known are {', '.join(WHAT)}")
    if not found and not remove:
        parser.error(f"what of it? For example: toolcrib grant NAME {_EXAMPLES[what]}")
    return kinds, found


def _grant(crib: Crib, name: str, kinds: tuple[str, ...], values: list[str], *, remove: bool, as_json: bool) -> int:
    tool = crib.find(name)
    if tool is None:
        raise absent(crib, name)
    if not remove and (fault := _fault(crib, tool, kinds, values)):
        raise UsageError(fault)
    grants, (ident, digest) = grants_file(crib.home), granted_to(tool)
    older = [each for each in grants.all() if each.tool == ident and each.digest != digest]
    if remove:
        said = f"taken back: {grants.remove(tool=ident, kinds=kinds, values=values or None)}"
    else:
        grants.add(ident, digest, values, kind=kinds[0], version=tool.version)
        until = "" if tool.source == "builtin" else ", until it changes"
        said = f"{tool.name} ({tool.digest[:19]}…) {in_words(kinds[0], values)} from now on{until}"
    held = [each for each in grants.all() if (each.tool, each.digest) == (ident, digest)]
    if as_json:
        now = {kind: [each.value for each in held if each.kind == kind] for kind in KINDS}
        files = {access: now[access] for access in (RO, RW)}
        report = {"tool": tool.name, "digest": tool.digest, "env": now[ENV], "network": now[NETWORK], "files": files}
        print(dump_ascii(report).decode())
    if not remove:
        _notes(crib, tool, kinds[0], values, older, held)
    print(visible(said), file=sys.stderr)
    return 0


def _fault(crib: Crib, tool: Tool, kinds: tuple[str, ...], values: Sequence[str]) -> str:
    """Why this cannot be granted, or nothing."""
    if kinds[0] == ENV:
        return ""
    if not kind_of(tool):
        return f"{tool.name} starts no program of its own that is confined, so there is nothing to grant"
    if kinds[0] == NETWORK:
        return ""
    grounds = crib.confinement.grounds
    for path in values:
        if why := too_wide(path, home=grounds.home, own=grounds.own):
            return f"{path} cannot be granted: {why}"
        if not os.path.exists(path):
            return f"{path} is not there; make it first, then grant it"
    return ""


def _notes(
    crib: Crib, tool: Tool, kind: str, values: Sequence[str], older: Sequence[Granted], held: Sequence[Granted]
) -> None:
    if older:
        lost = ", ".join(sorted({each.value for each in older} - {each.value for each in held}))
        print(
            visible(f"{tool.name} changed since; what it was granted before is gone{f': {lost}' if lost else ''}"),
            file=sys.stderr,
        )
    if kind == ENV:
        for variable in values:
            if variable not in os.environ:
                print(f"note: {variable} is not set here; the tool sees it where it is", file=sys.stderr)
        return
    try:
        print(visible(f"its confinement is now {crib.confinement.given(tool)}"), file=sys.stderr)
    except Refused as exc:
        print(visible(f"note: {exc}"), file=sys.stderr)
