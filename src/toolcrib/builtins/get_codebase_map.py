"""`get_codebase_map`: the most important files and symbols of a tree, within a budget of tokens."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core.jsontext import JSON
from ._code import PATH, code_tool

if TYPE_CHECKING:
    from ..codeindex.query import Code


async def _ask(code: "Code", args: Mapping[str, JSON]) -> JSON:
    return await code.generate_repo_map(args.get("path", "."), budget=args.get("budget", 1024))


get_codebase_map = code_tool(
    "get_codebase_map",
    "Give an overview of a code base: its most important files, each with its most important definitions and their "
    "line numbers, ranked by how much other code makes use of them, in at most `budget` tokens.",
    {
        "path": PATH,
        "budget": {
            "type": "integer",
            "minimum": 64,
            "maximum": 32768,
            "default": 1024,
            "description": "Most tokens to give.",
        },
    },
    _ask,
    required=(),
)
