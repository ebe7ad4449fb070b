"""`toolcrib build`: make a program of a tool's source, through the gate as every call."""

from ..core.jsontext import dump_ascii
from ._parser import verb_parser
from .call import main as call

EXAMPLE = """
  toolcrib build word_count              compile it, or run the `build` of its tool.yaml
  toolcrib build word_count --yes        without a terminal

It is the built-in tool build_custom_tool, and judged as such: what would run is shown before it does. Tools written in
Python, Bash or Node need no build, unless their source names dependencies.
"""


def main(argv: list[str]) -> int:
    parser = verb_parser("build", "Build one of your tools that has a tool.yaml.", EXAMPLE)
    parser.add_argument("name", metavar="NAME", help="the tool, with or without the prefix")
    parser.add_argument("--yes", action="store_true", help="answer yes, once, where you would be asked")
    parser.add_argument("--timeout", metavar="S", help="seconds (or 1500ms, 10m) instead of 300")
    parser.add_argument("--dry-run", action="store_true", help="say what would run")
    parser.add_argument("--json", action="store_true", help="print the whole result")
    options = parser.parse_args(argv)
    words = ["build_custom_tool", "--input", dump_ascii({"name": options.name}).decode()]
    words += ["--timeout", options.timeout] if options.timeout is not None else []
    words += ["--profile", options.profile] if options.profile is not None else []
    given = {"--yes": options.yes, "--dry-run": options.dry_run, "--json": options.json}
    return call([*words, *(flag for flag, wanted in given.items() if wanted)])
