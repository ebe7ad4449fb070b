"""`get_symbol_info`: all there is to say about one symbol."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core.jsontext import JSON
from ._code import FILE, SYMBOL, code_tool

if TYPE_CHECKING:
    from ..codeindex.query import Code


async def _ask(code: "Code", args: Mapping[str, JSON]) -> JSON:
    return await code.get_symbol_info(args["symbol"], args.get("file", ""))


get_symbol_info = code_tool(
    "get_symbol_info",
    "Describe a symbol: kind, file, first and last line, signature, documentation, members of a class, how many files "
    "use it and which most, and other definitions of the same name. `file` says whose, where there are several.",
    {"symbol": SYMBOL, "file": {**FILE, "description": "A file that defines or imports the symbol."}},
    _ask,
    required=("symbol",),
)
