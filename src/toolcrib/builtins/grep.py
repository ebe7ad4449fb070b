"""`grep`: the lines of files that a regular expression fits."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..core.context import Context
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._tool import DIRECTORY, builtin

MOST = 100
"""Lines, or files, that are shown when nothing else is said."""


TERMS: dict[str, JSON] = {
    "pattern": {"type": "string", "minLength": 1, "maxLength": 10_000, "description": r"Such as class \w+View"},
    "ignore_case": {"type": "boolean", "default": False},
    "context": {
        "type": "integer",
        "minimum": 0,
        "maximum": 20,
        "default": 0,
        "description": "Lines to show before and after each hit.",
    },
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": 5000,
        "default": MOST,
        "description": "How many lines, or files, to give at most.",
    },
}
"""In a schema: what is sought, and how much of it is shown."""


class GrepBackend(NamedTuple):
    """Looks by itself, or lets a program of ours look, which reads and does nothing else.

    It takes a place for processes in either case: which it will be is known only when it has begun, and a thousand
    searches at once must not start a thousand programs.
    """

    pin: str
    variables: tuple[str, ...] = ()
    """Names that a program would be given of the host's environment. What looks for us needs none of them."""

    @property
    def starts_process(self) -> bool:
        return True

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        from ._searching import search  # late: with all that it needs, it is larger than most tools

        return await search(args, ctx)

    def digest(self) -> str:
        return self.pin


def _touches(args: Mapping[str, JSON]) -> Sequence[Subject]:
    return [Subject("read", (args.get("path", "."),))]


grep = builtin(
    "grep",
    "Search the contents of files for a regular expression, line by line (ripgrep's syntax; look-around and "
    "backreferences work, too, but slowly). Gives the files and the lines with their numbers, files that define what "
    "was found first, then those with most hits, and says how many lines were left out. Binary and hidden files are "
    "passed over, and those that .gitignore and the like name.",
    {
        "type": "object",
        "properties": {
            "pattern": TERMS["pattern"],
            "path": {**DIRECTORY, "description": "A directory or a file; left out, the workspace."},
            "glob": {
                "type": "string",
                "minLength": 1,
                "maxLength": 4096,
                "description": "Only such files: *.py at any depth, src/**/*.{ts,tsx} from path; !*.md: all but those.",
            },
            "ignore_case": TERMS["ignore_case"],
            "literal": {"type": "boolean", "default": False, "description": "The pattern is text, not an expression."},
            "context": TERMS["context"],
            "limit": TERMS["limit"],
            "output": {
                "enum": ["content", "files", "count"],
                "default": "content",
                "description": "The lines, only the files, or how many lines in each.",
            },
            "binary": {
                "type": "boolean",
                "default": False,
                "description": "Also binary files, which are named and not shown.",
            },
            "hidden": {"type": "boolean", "default": False, "description": "Also what begins with a dot."},
            "ignored": {"type": "boolean", "default": False, "description": "Also what .gitignore and the like name."},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    GrepBackend,
    capabilities=Capabilities(idempotent=True),
    hooks=Hooks(touches=_touches),
)
