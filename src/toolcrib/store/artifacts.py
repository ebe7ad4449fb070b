"""Output that was too long to keep in memory, whole, in files with a handle."""

import math
import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass

from .home import PRIVATE_FILE, Home

MAX_AGE_SECONDS = 14 * 24 * 3600.0
MAX_TOTAL_BYTES = 2 * 1024**3
_LOOK_EVERY, _MOST_NEW = 32, 4096
"""After so many new ones it is asked whether they are much; after so many, they are."""
_ID = re.compile(r"[A-Za-z0-9_.-]{1,100}")


@dataclass(frozen=True, slots=True)
class Artifact:
    id: str
    path: str
    bytes: int
    at: float


class ArtifactFiles:
    """Files in the `artifacts` directory of the home. They hold a tool's output raw."""

    def __init__(self, home: Home, *, max_total: int = MAX_TOTAL_BYTES) -> None:
        self._home, self._max_total = home, max_total
        self._new: list[str] | None = None
        """Made since all of them were looked at; None when that was never."""

    def create(self, name: str) -> tuple[str, str, int]:
        new = self._make_room()
        path = os.path.join(self._home.directory("artifacts"), name)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        new.append(path)
        return name, path, fd

    def _make_room(self) -> list[str]:
        """Remove what is too much: at first, and again when much is new, for a server may live for months.

        Nothing goes for its age here: a clock that is set ahead for a moment would make everything old.
        """
        new = self._new
        if new is None or (new and len(new) % _LOOK_EVERY == 0 and self._is_much(new)):
            new = self._new = []
            for artifact in self.due(max_age=math.inf):
                with suppress(FileNotFoundError):  # another runtime was quicker
                    os.unlink(artifact.path)
        return new

    def _is_much(self, paths: list[str]) -> bool:
        total = 0
        for path in paths:
            with suppress(FileNotFoundError):
                total += os.lstat(path).st_size
        return len(paths) >= _MOST_NEW or total > self._max_total // 8

    def find(self, ident: str) -> str | None:
        """The path of an artifact. An id is a name, never a path."""
        if not _ID.fullmatch(ident) or ident.startswith("."):
            return None
        path = self._home.file("artifacts", ident)
        return path if os.path.isfile(path) and not os.path.islink(path) else None

    def all(self) -> list[Artifact]:
        """Newest first."""
        directory, found = self._home.file("artifacts"), []
        try:
            names = os.listdir(directory)
        except FileNotFoundError:
            return []
        for name in names:
            path = os.path.join(directory, name)
            try:
                seen = os.lstat(path)
            except FileNotFoundError:  # removed a moment ago
                continue
            if stat.S_ISREG(seen.st_mode):
                found.append(Artifact(name, path, seen.st_size, seen.st_mtime))
        return sorted(found, key=lambda artifact: artifact.at, reverse=True)

    def due(self, *, max_age: float = MAX_AGE_SECONDS, max_total: int | None = None) -> list[Artifact]:
        """What is too old to be kept, and the oldest of what is too much."""
        most = self._max_total if max_total is None else max_total
        kept, found, now = 0, [], time.time()
        for artifact in self.all():
            kept += artifact.bytes
            if now - artifact.at > max_age or kept > most:
                found.append(artifact)
        return found
