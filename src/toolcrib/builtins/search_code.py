"""`search_code`: symbols by their names, pieces of code by their shape."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core.jsontext import JSON
from ._code import LIMIT, PATH, code_tool

if TYPE_CHECKING:
    from ..codeindex.query import Code


async def _ask(code: "Code", args: Mapping[str, JSON]) -> JSON:
    return await code.search(
        args["query"],
        args.get("path", "."),
        pattern=args.get("pattern", False),
        kind=args.get("kind", ""),
        language=args.get("language", ""),
        limit=args.get("limit", 50),
    )


search_code = code_tool(
    "search_code",
    "Find where symbols are defined (functions, classes, methods, constants…) by name: exact, prefix, humps (gSI finds "
    "getSymbolInfo), part, or similar. A query with $NAME placeholders is a structural pattern, matched against the "
    "syntax of the code: `assertEqual($A, None)`; $$$ARGS stands for several. For plain text use grep.",
    {
        "query": {"type": "string", "minLength": 1, "maxLength": 4000, "description": "A name or a pattern."},
        "path": PATH,
        "pattern": {"type": "boolean", "default": False, "description": "The query is a pattern, even without $NAME."},
        "kind": {"type": "string", "description": "Only symbols of this kind: class, function, method, constant…"},
        "language": {"type": "string", "description": "Only files of this language: python, typescript, rust…"},
        "limit": {**LIMIT, "default": 50},
    },
    _ask,
    required=("query",),
)
