"""Tools that were there, or would be, and cannot be offered: a call of one is told why."""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from ..backends.folder import MANIFEST
from ..core.source import Loaded, Problem
from ..core.tool import NAME, Tool


class Broken:
    """Gives a problem the names of the tool that it stands for, where no tool has them.

    It remembers by which name a file was last offered: a program says its own, and one that is broken says nothing.
    """

    def __init__(self, directories: Collection[str], full_name: Callable[[str], str]) -> None:
        """`full_name` is what a program is offered as, by the name it has itself."""
        self._directories, self._full_name = directories, full_name
        self._before: Sequence[Loaded] = ()
        self._names: dict[str, str] = {}

    def answering(self, found: Sequence[Loaded], taken: Iterable[Tool]) -> Sequence[Loaded]:
        """The same, with names for the problems that have none. `taken` are tools from elsewhere."""
        before, self._before = self._before, found
        wrong = {problem.origin for each in found for problem in each.problems if not problem.holds}
        if not wrong:
            return found
        self._names = {origin: name for origin, name in self._names.items() if origin in wrong}
        self._names |= {tool.origin: tool.name for each in before for tool in each.tools if tool.origin in wrong}
        offered = {_fold(tool.name) for tool in (*taken, *(tool for each in found for tool in each.tools))}
        return [
            replace(each, problems=tuple(self._named(problem, offered) for problem in each.problems)) for each in found
        ]

    def _named(self, problem: Problem, offered: Collection[str]) -> Problem:
        if problem.holds:
            return problem
        known = (self._names.get(problem.origin, ""), self._by_place(problem.origin))
        free = [name for name in dict.fromkeys(known) if NAME.fullmatch(name) and _fold(name) not in offered]
        return replace(problem, holds=tuple(free)) if free else problem

    def _by_place(self, origin: str) -> str:
        """What a program or a folder in a directory of tools is called when it says nothing else."""
        place = os.path.dirname(origin) if os.path.basename(origin) == MANIFEST else origin
        directory, name = os.path.split(place)
        return self._full_name(name) if directory in self._directories else ""


def _fold(name: str) -> str:
    """As a registry compares names."""
    return name.replace("-", "_")
