"""`toolcrib grant`: let one tool see a variable of the environment, for as long as the tool does not change."""

import asyncio
import os
import sys

from ..core.errors import REFUSALS, ConfigError
from ..core.jsontext import dump_ascii
from ..policy.grants import VARIABLE
from ..runtime.build import build
from ..runtime.runtime import Crib
from ._approvals import grants_file
from ._parser import verb_parser
from ._survey import look_once
from ._text import visible
from .approve import by_a_tool

EXAMPLE = """
  toolcrib grant deploy env DEPLOY_REGION             it sees this variable from now on
  toolcrib grant deploy env DEPLOY_REGION --remove    and no longer

A tool that changes loses what it was granted. See what was: toolcrib policy approvals
"""
LATER = ("network", "files")


def main(argv: list[str]) -> int:
    parser = verb_parser("grant", "Let one tool have more than the others.", EXAMPLE)
    parser.add_argument("name", metavar="NAME", help="the tool, with or without the prefix")
    parser.add_argument("kind", metavar="env", help="what: env, variables of the environment")
    parser.add_argument("variables", nargs="*", metavar="VARIABLE", help="their names")
    parser.add_argument("--remove", action="store_true", help="take it back")
    parser.add_argument("--json", action="store_true", help="print what the tool has now as JSON")
    options = parser.parse_args(argv)
    if options.kind in LATER:
        print(f"toolcrib grant: {options.kind} comes with the sandbox; this version can grant env", file=sys.stderr)
        return 2
    if options.kind != "env":
        parser.error(f"there is no {ascii(options.kind)} to grant; known is env")
    if not options.variables and not options.remove:
        parser.error("which variables? For example: toolcrib grant NAME env LANG")
    for name in options.variables:
        if not VARIABLE.fullmatch(name) or name.startswith("TOOLCRIB_"):
            parser.error(f"{ascii(name)} is not the name of a variable that can be granted")
    if not options.remove and (refusal := by_a_tool()):
        print(f"APPROVAL_DENIED {visible(refusal)}", file=sys.stderr)
        return 3
    try:
        crib = build(workspace=os.getcwd(), asker="grant", profile=options.profile)
        asyncio.run(look_once(crib))
        return _grant(crib, options.name, options.variables, remove=options.remove, as_json=options.json)
    except ConfigError as exc:
        print(f"{exc.code} {visible(str(exc))}", file=sys.stderr)
        return 2


def _grant(crib: Crib, name: str, variables: list[str], *, remove: bool, as_json: bool) -> int:
    tool = crib.find(name)
    if tool is None:
        problem = crib.registry.held(crib.full_name(name))
        shown = (
            f"{problem.code} {problem.message}"
            if problem
            else f"TOOL_NOT_FOUND Unknown tool: {name}; see: toolcrib list"
        )
        print(visible(shown), file=sys.stderr)
        return 3 if problem and problem.code in REFUSALS else 4
    grants = grants_file(crib.home)
    older = [each for each in grants.all() if each.tool == tool.id and each.digest != tool.digest]
    if remove:
        count = grants.remove(tool=tool.id, variables=variables or None)
        said = f"taken back: {count}"
    else:
        grants.add(tool.id, tool.digest, variables, version=tool.version)
        said = f"{tool.name} ({tool.digest[:19]}…) sees {', '.join(variables)} from now on, until it changes"
    now = grants.grants_for(tool.id, tool.digest)
    if as_json:
        print(dump_ascii({"tool": tool.name, "digest": tool.digest, "env": list(now)}).decode())
    if older and not remove:
        lost = ", ".join(sorted({each.variable for each in older} - set(now)))
        print(
            f"{tool.name} changed since; what it was granted before is gone{f': {lost}' if lost else ''}",
            file=sys.stderr,
        )
    for variable in variables if not remove else ():
        if variable not in os.environ:
            print(f"note: {variable} is not set here; the tool sees it where it is", file=sys.stderr)
    print(visible(said), file=sys.stderr)
    return 0
