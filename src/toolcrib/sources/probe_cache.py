"""What programs said of themselves, kept with the state of their files, failures too."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..core.errors import InvalidJson
from ..core.jsontext import dump, parse

_VERSION = 5


class Folder(NamedTuple):
    """The state of a directory and of every file in it, in columns: thousands are compared at once."""

    stamp: list[int]
    """Of the directory itself: while it is the same, no file came, went or was renamed."""
    names: list[str]
    states: list[int]
    """Five numbers a file: mode, inode, mtime, ctime, size. Another state is another file."""

    def state(self, index: int) -> list[int]:
        return self.states[index * 5 : index * 5 + 5]


NO_FOLDER = Folder([], [], [])

Answer = Sequence[Any]
"""A `Description`, or (code, message) of a problem; from the cache, the same as a plain list."""


class ProbeCache:
    """One file for each tools directory. Losing it costs time, nothing else."""

    def __init__(self, read: Callable[[str], bytes | None], write: Callable[[str, bytes], None]) -> None:
        self._read, self._write = read, write

    def recall(self, directory: str) -> tuple[Folder, dict[str, Answer]]:
        raw = self._read(directory)
        if raw is not None:
            try:
                kept = parse(raw, exact=False)
                folder, answers = Folder(*kept["folder"]), kept["answers"]
                if (kept["version"], kept["directory"]) == (_VERSION, directory) and _whole(folder, answers):
                    return folder, answers
            except (InvalidJson, KeyError, TypeError, AttributeError):  # damaged: ask the programs again
                pass
        return NO_FOLDER, {}

    def keep(self, directory: str, folder: Folder, answers: dict[str, Answer]) -> None:
        kept = {
            "version": _VERSION,
            "directory": directory,
            "folder": list(folder),
            "answers": {name: list(answer) for name, answer in answers.items()},
        }
        try:
            self._write(directory, dump(kept))
        except (OSError, InvalidJson):  # a full or read-only home, a path that is not UTF-8: slower, but right
            pass


def _whole(folder: Folder, answers: dict[str, Answer]) -> bool:
    return len(folder.states) == 5 * len(folder.names) and {len(answer) for answer in answers.values()} <= {2, 10}


@contextmanager
def undisturbed() -> Iterator[None]:
    """Looking for garbage among thousands of lasting objects while they are made only costs time. No await in here."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
