"""`get_imports_exports`: what a file takes from where, and what it offers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core.jsontext import JSON
from ._code import FILE, code_tool

if TYPE_CHECKING:
    from ..codeindex.query import Code


async def _ask(code: "Code", args: Mapping[str, JSON]) -> JSON:
    return await code.get_imports_exports(args["file"])


get_imports_exports = code_tool(
    "get_imports_exports",
    "List the imports of a source file, each with its line and the files of the workspace that it leads to (or "
    "external), and what the file exports.",
    {"file": FILE},
    _ask,
    required=("file",),
)
