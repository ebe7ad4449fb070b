"""The examples in a manifest: calls with what comes of them, by which a tool is tried."""

import os
from typing import Any, NamedTuple

from ..backends.folder import MANIFEST, content_of
from ..core.errors import ToolcribError
from ..core.jsontext import JSON
from ..core.tool import Tool
from ..store import yamltext


class Example(NamedTuple):
    """One call, and how it ends."""

    name: str
    input: dict[str, JSON]
    exit: int = 0
    output: str | None = None
    """All of its standard output, but for a line end at its end; None when that does not matter."""

    def fits(self, exit: int, output: str) -> bool:
        return exit == self.exit and (self.output is None or _ended(output) == _ended(self.output))


def examples_of(tool: Tool) -> list[Example]:
    """What the manifest of a tool has as examples; nothing for a tool that has no manifest.

    Raises:
        ToolcribError: the folder is another one than that which is on offer.
    """
    if os.path.basename(tool.origin) != MANIFEST:
        return []
    content = content_of(os.path.dirname(tool.origin))
    if content.digest != tool.digest:
        message = f"{tool.origin} changed since it was listed; list the tools again"
        raise ToolcribError(message, code="TOOL_PIN_MISMATCH")
    value = yamltext.parse(content.manifest, tool.origin).value
    found: list[dict[str, Any]] = value.get("examples", [])  # its form was checked when it was listed
    return [
        Example(each.get("name", f"example {at}"), each.get("input", {}), each.get("exit", 0), each.get("output"))
        for at, each in enumerate(found, 1)
    ]


def _ended(text: str) -> str:
    return text.removesuffix("\n")
