"""`find_references`: all places where a symbol is used."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core.jsontext import JSON
from ._code import LIMIT, PATH, SYMBOL, code_tool

if TYPE_CHECKING:
    from ..codeindex.query import Code


async def _ask(code: "Code", args: Mapping[str, JSON]) -> JSON:
    return await code.find_references(
        args["symbol"],
        args.get("path", "."),
        limit=args.get("limit", 100),
        include_text=args.get("include_text", False),
        precise=args.get("precise", False),
    )


find_references = code_tool(
    "find_references",
    "Find all uses of a symbol, with file, line, column and the text of the line: first in the file that defines it, "
    "then in those that import it, then in others. Comments and strings do not count unless asked for. `precise` lets "
    "jedi tell uses of this symbol from others of the same name in Python.",
    {
        "symbol": SYMBOL,
        "path": PATH,
        "limit": {**LIMIT, "default": 100},
        "include_text": {"type": "boolean", "default": False, "description": "Also in comments and strings."},
        "precise": {"type": "boolean", "default": False, "description": "Ask jedi, which takes up to some seconds."},
    },
    _ask,
    required=("symbol",),
)
