"""`toolcrib trust`: a person looks at a project's tools, and says that they may be used."""

import os
import sys

from ..core.errors import InvalidJson, ToolcribError
from ..core.jsontext import dump_ascii
from ..policy.project_files import MOST_FILES, Entry, compared, project_files
from ..policy.trust import Trust
from ..runtime import config as configuration
from ..runtime.project import trust_roots
from ..store.blobs import Blobs
from ..store.home import Home
from ._approver import asks, at_terminal
from ._asking import asked_by, show_asked
from ._failure import UsageError, in_vain
from ._loop import run
from ._parser import verb_parser
from ._project import keep_texts, show_changes, show_files
from ._text import readable, visible

EXAMPLE = """
  toolcrib trust                  look at this project's tools, or at what changed in them, and decide
  toolcrib trust ~/src/app --yes  without being asked
"""
_NOTHING = "nothing was trusted"


def main(argv: list[str]) -> int:
    parser = verb_parser(
        "trust", "Show what a project brings, or what changed in it, and offer that from now on.", EXAMPLE
    )
    parser.add_argument("path", nargs="?", default=".", metavar="PATH", help="the project (default: this directory)")
    parser.add_argument("--yes", action="store_true", help="trust it without asking")
    parser.add_argument("--json", action="store_true", help="print what was trusted as JSON")
    options = parser.parse_args(argv)
    project = os.path.realpath(options.path)
    if not os.path.isdir(project):
        raise UsageError(f"{options.path} is not a directory")
    return _trust(project, yes=options.yes, as_json=options.json)


def _trust(project: str, *, yes: bool, as_json: bool) -> int:
    home = Home()
    trust, blobs = trust_file(home), Blobs(home)
    found = _look(project, home)
    record = trust.record(project)
    changes = compared(record.files if record else {}, found)
    if record is not None and not any(changes):
        refusal, outcome = "", f"nothing changed; {visible(project)} stays trusted"
    else:
        if record is None:
            show_files(project, found)
        else:
            old = {path: seen["digest"] for path, seen in record.files.items()}
            show_changes(project, changes, found, old, blobs)
        show_asked(asked_by(project, found))
        refusal = _refusal(project, found, home, yes=yes, anew=record is not None)
        outcome = f"{visible(project)} is trusted. See: toolcrib list"
        if not refusal:
            _add(trust, project, found, blobs)
    if as_json:
        files = [entry.to_dict() for entry in found]
        answer = {"project": readable(project), "trusted": not refusal, "files": files, **changes._asdict()}
        answer["asked"] = asked_by(project, found)
        print(dump_ascii(answer).decode())
    print(refusal or outcome, file=sys.stderr)
    return 3 if refusal else 0


def _refusal(project: str, found: list[Entry], home: Home, *, yes: bool, anew: bool) -> str:
    """Why it is not trusted; empty when it is."""
    nothing = "nothing more was trusted" if anew else _NOTHING
    if len(found) > MOST_FILES:
        return f"more than {MOST_FILES} files are more than a person can look at; {nothing}"
    if yes:
        return ""
    if not at_terminal():
        return "there is no terminal to ask at; look at these files, and add --yes to trust them"
    if not run(asks("Trust them? They will run. [y/N] ")):
        return nothing
    if _look(project, home) != found:
        return f"the files changed while you were looking; {nothing}. Type it again"
    return ""


def _add(trust: Trust, project: str, found: list[Entry], blobs: Blobs) -> None:
    try:
        with in_vain(_NOTHING):
            trust.add(project, found)
            keep_texts(project, found, blobs)
    except InvalidJson:
        raise ToolcribError(f"{readable(project)} is not UTF-8; {_NOTHING}. Rename it") from None


def _look(project: str, home: Home) -> list[Entry]:
    local_dir = configuration.read(home.file("config.yaml")).local_dir
    with in_vain(_NOTHING):
        return project_files(project, trust_roots(project, local_dir, os.environ))


def trust_file(home: Home) -> Trust:
    return Trust(home.file("trust.json"), lambda data: home.replace(data, "trust.json"))
