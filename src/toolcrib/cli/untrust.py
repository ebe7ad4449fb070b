"""`toolcrib untrust`: a project's tools are no longer offered."""

import os
import sys

from ..core.jsontext import dump_ascii
from ..store.home import Home
from ._failure import in_vain
from ._parser import verb_parser
from ._text import readable, visible
from .trust import trust_file

EXAMPLE = """
  toolcrib untrust                this project
  toolcrib untrust ~/src/app      another one, also when it is gone
"""


def main(argv: list[str]) -> int:
    parser = verb_parser("untrust", "Take back what `toolcrib trust` gave.", EXAMPLE)
    parser.add_argument("path", nargs="?", default=".", metavar="PATH", help="the project (default: this directory)")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    options = parser.parse_args(argv)
    project = os.path.realpath(options.path)
    with in_vain("nothing was changed"):
        was_trusted = trust_file(Home()).remove(project)
    if options.json:
        print(dump_ascii({"project": readable(project), "was_trusted": was_trusted, "trusted": False}).decode())
    else:
        print(f"{visible(project)} {'is no longer trusted' if was_trusted else 'was not trusted'}", file=sys.stderr)
    return 0
