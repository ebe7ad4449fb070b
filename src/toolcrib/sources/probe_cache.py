"""What programs said of themselves, kept by the identity of their files, failures too."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..core.errors import InvalidJson
from ..core.jsontext import dump, parse
from ..core.source import Problem
from .probe import Description

_VERSION = 1


class Identity(NamedTuple):
    """One state of one file. Another state is another identity."""

    path: str
    inode: int
    mtime_ns: int
    ctime_ns: int
    size: int


Answer = Description | Problem


class ProbeCache:
    """One file for each tools directory. Losing it costs time, nothing else."""

    def __init__(self, read: Callable[[str], bytes | None], write: Callable[[str, bytes], None]) -> None:
        self._read, self._write = read, write

    def known(self, directory: str) -> dict[Identity, Answer]:
        raw = self._read(directory)
        if raw is None:
            return {}
        try:
            value = parse(raw)
            if value["version"] != _VERSION:
                return {}
            return {Identity(*state): _answer(answer) for state, answer in value["answers"]}
        except (InvalidJson, KeyError, TypeError, ValueError):  # damaged: ask the programs again
            return {}

    def keep(self, directory: str, answers: Mapping[Identity, Answer]) -> None:
        rows = [[list(identity), _row(answer)] for identity, answer in answers.items()]
        try:
            self._write(directory, dump({"version": _VERSION, "answers": rows}))
        except OSError:  # a full or read-only home: slower next time, but right
            pass


def _row(answer: Answer) -> list[Any]:
    if isinstance(answer, Problem):
        return [answer.origin, answer.code, answer.message]
    return list(answer)


def _answer(row: list[Any]) -> Answer:
    return Problem(*row) if len(row) == 3 else Description(*row)
