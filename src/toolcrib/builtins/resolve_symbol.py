"""`resolve_symbol`: from a use of a symbol to its definition."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core.jsontext import JSON
from ._code import FILE, SYMBOL, code_tool

if TYPE_CHECKING:
    from ..codeindex.query import Code


async def _ask(code: "Code", args: Mapping[str, JSON]) -> JSON:
    return await code.resolve_symbol(
        args["symbol"],
        args["file"],
        line=args.get("line", 0),
        column=args.get("column"),
        precise=args.get("precise", True),
    )


resolve_symbol = code_tool(
    "resolve_symbol",
    "Find the definition that a symbol means where it is used in a file, through imports and re-exports. For Python "
    "exact (by jedi) where possible; the answer says how sure it is.",
    {
        "symbol": SYMBOL,
        "file": {**FILE, "description": "The file that uses the symbol."},
        "line": {"type": "integer", "minimum": 1, "maximum": 10_000_000, "description": "Of the use; the first is 1."},
        "column": {"type": "integer", "minimum": 0, "maximum": 1_048_576, "description": "In bytes, from 0."},
        "precise": {"type": "boolean", "default": True, "description": "Ask jedi, which takes up to some seconds."},
    },
    _ask,
    required=("symbol", "file"),
)
