"""`build_dependency_graph`: which files need which, with the cycles among them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core.jsontext import JSON
from ._code import PATH, code_tool

if TYPE_CHECKING:
    from ..codeindex.query import Code


async def _ask(code: "Code", args: Mapping[str, JSON]) -> JSON:
    return await code.build_dependency_graph(
        args.get("path", "."), format=args.get("format", "json"), level=args.get("level", "")
    )


build_dependency_graph = code_tool(
    "build_dependency_graph",
    "Give the graph of imports below a directory: files or directories, who imports whom, import cycles, and the "
    "modules outside. As JSON, or as text for Graphviz (dot) or Mermaid.",
    {
        "path": PATH,
        "format": {"enum": ["json", "dot", "mermaid"], "default": "json"},
        "level": {
            "enum": ["file", "directory"],
            "description": "What a node is; left out, files, or directories where there are more than 200 files.",
        },
    },
    _ask,
    required=(),
)
