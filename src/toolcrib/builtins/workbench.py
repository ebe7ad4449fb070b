"""Where tools are made: the user's directory of tools, and what the tools that make tools are handed to work with."""

import os
import stat
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import NamedTuple

from ..backends.folder import MANIFEST
from ..core.errors import Refused, ToolError
from ..core.jsontext import JSON
from ..core.source import Problem
from ..core.tool import NAME, Tool
from . import _bench
from ._bench import fitted

__all__ = ["CUSTOM", "NAMED", "BenchBackend", "Craft", "Workbench", "crafted", "fitted"]

CUSTOM = ("manifest", "executable")
"""Sources whose tools people and agents make."""
NAMED: dict[str, JSON] = {
    "type": "string",
    "pattern": "^[A-Za-z0-9_-]{1,64}$",
    "description": "The tool's name: 1 to 64 of A-Z a-z 0-9 _ -",
}
"""What the name of a tool looks like in a schema."""


class Workbench(NamedTuple):
    """What a runtime knows, and a built-in tool alone does not."""

    directory: str = ""
    """Of the user's tools. It need not be there yet."""
    prefix: str = "custom_tool_"
    variables: tuple[str, ...] = ()
    """Of the environment, that a new tool will see."""
    sandbox: Callable[[], str] = str
    """The name of the one that a new tool will run in."""
    search_path: str = os.defpath
    """The PATH by which the programs that build a tool are found."""
    tools: Callable[[], Sequence[Tool]] = tuple
    problems: Callable[[], Sequence[Problem]] = tuple
    approval: Callable[[Tool], str] = lambda tool: "ask"
    """What holds for the calls of a tool in general."""
    longest: Callable[[Tool], float | None] = lambda tool: None
    """Seconds that the user's configuration gives a tool, where it says so by name."""

    def find(self, name: str) -> Tool | None:
        """A tool that people or agents made, by its whole name or without the prefix."""
        known = {tool.name: tool for tool in self.tools() if tool.source in CUSTOM}
        return known.get(name) or known.get(self.prefix + name)

    def folder(self, name: str) -> str:
        """The folder of a tool of the user's.

        Raises:
            ToolError: there is none that could be worked on, and why.
        """
        bare = name.removeprefix(self.prefix) or name
        place = os.path.join(self.directory, bare)
        if not NAME.fullmatch(bare):
            message = f"{ascii(name)} is not a tool name: use 1 to 64 of A-Z a-z 0-9 _ -"
            raise ToolError(message, code="TOOL_NAME_INVALID")
        if os.path.islink(place):
            message = f"{place} is a link; ask the user to work on it where it leads"
            raise Refused(message, code="PATH_PROTECTED")
        if _is_file(os.path.join(place, MANIFEST)):
            return place
        if os.path.lexists(place):
            what = f"a folder without a {MANIFEST}" if os.path.isdir(place) else "a program, and no folder"
            message = f"{place} is {what}; only a folder with a {MANIFEST} is worked on: ask the user to change it"
            raise Refused(message, code="PATH_PROTECTED")
        held = [problem.origin for problem in self.problems() if self.prefix + bare in problem.holds]
        tool = self.find(bare)
        if tool is not None or held:
            where = held[0] if tool is None else tool.origin
            message = f"{bare} is at {where}, and not among the user's own tools; ask the user to change it there"
            raise Refused(message, code="PATH_PROTECTED")
        nearest = get_close_matches(bare, self.names(), n=3)
        message = f"there is no tool {bare} in {self.directory}; call list_custom_tools to see what is there"
        raise ToolError(message, code="TOOL_NOT_FOUND", details={"nearest": nearest})

    def names(self) -> list[str]:
        """Of the folders that are tools, or would be if nothing were wrong with them."""
        try:
            with os.scandir(self.directory) as entries:
                found = sorted(entry.name for entry in entries if NAME.fullmatch(entry.name) and entry.is_dir())
        except OSError:
            return []
        return [name for name in found if _is_file(os.path.join(self.directory, name, MANIFEST))]


BenchBackend = _bench.BenchBackend[Workbench]
Craft = _bench.Craft[Workbench]
crafted = partial(_bench.crafted, bench=Workbench())
"""A built-in tool that waits for a workbench."""


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
