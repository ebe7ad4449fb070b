"""`toolcrib trust`: a person looks at a project's tools, and says that they may be used."""

import asyncio
import os
import sys

from ..core.errors import ConfigError, InvalidJson
from ..core.jsontext import dump_ascii
from ..policy.trust import Trust
from ..store.home import Home
from ._approver import asks, at_terminal
from ._parser import verb_parser
from ._project import MOST_FILES, Entry, entries
from ._text import readable, visible

MOST_SHOWN = 200
EXAMPLE = """
  toolcrib trust                  look at this project's tools, and decide
  toolcrib trust ~/src/app --yes  without being asked
"""


def main(argv: list[str]) -> int:
    parser = verb_parser(
        "trust", "Show what a project brings, and offer it from now on. Nothing of it runs before.", EXAMPLE
    )
    parser.add_argument("path", nargs="?", default=".", metavar="PATH", help="the project (default: this directory)")
    parser.add_argument("--yes", action="store_true", help="trust it without asking")
    parser.add_argument("--json", action="store_true", help="print what was trusted as JSON")
    options = parser.parse_args(argv)
    project = os.path.realpath(options.path)
    if not os.path.isdir(project):
        print(f"toolcrib trust: {visible(options.path)} is not a directory", file=sys.stderr)
        return 2
    try:
        return _trust(project, yes=options.yes, as_json=options.json)
    except ConfigError as exc:
        print(f"{exc.code} {visible(str(exc))}", file=sys.stderr)
        return 2
    except InvalidJson:
        print(
            f"toolcrib trust: {visible(readable(project))} is not UTF-8; nothing was trusted. Rename it",
            file=sys.stderr,
        )
        return 1
    except OSError as exc:
        print(f"toolcrib trust: {visible(str(exc))}; nothing was trusted", file=sys.stderr)
        return 1


def _trust(project: str, *, yes: bool, as_json: bool) -> int:
    trust = trust_file(Home())
    found = entries(project)
    show(project, found)
    if len(found) > MOST_FILES:
        refusal = f"more than {MOST_FILES} files are more than a person can look at; nothing was trusted"
    elif yes:
        refusal = ""
    elif not at_terminal():
        refusal = "there is no terminal to ask at; look at these files, and add --yes to trust them"
    elif not asyncio.run(asks("Trust them? They will run with your rights. [y/N] ")):
        refusal = "nothing was trusted"
    elif entries(project) != found:
        refusal = "the files changed while you were looking; nothing was trusted. Type it again"
    else:
        refusal = ""
    if not refusal:
        trust.add(project)
    if as_json:
        files = [entry.to_dict() for entry in found]
        print(dump_ascii({"project": readable(project), "trusted": not refusal, "files": files}).decode())
    print(refusal or f"{visible(project)} is trusted. See: toolcrib list", file=sys.stderr)
    return 3 if refusal else 0


def trust_file(home: Home) -> Trust:
    return Trust(home.file("trust.json"), lambda data: home.replace(data, "trust.json"))


def show(project: str, found: list[Entry]) -> None:
    """For a person to look at, on stderr."""
    say = sys.stderr.write
    say(f"{visible(project)} brings " + ("these:\n" if found else "no tools and no configuration yet.\n"))
    for entry in found[:MOST_SHOWN]:
        about = f"-> {visible(entry.target)}" if entry.target else f"{entry.size} bytes  {entry.digest[:19]}"
        say(f"  {entry.kind:<8} {visible(entry.path)}  {about}\n")
    if len(found) > MOST_SHOWN:
        say(f"  … and {len(found) - MOST_SHOWN} more; --json names them all\n")
