"""Output that was too long to keep in memory, whole, in files with a handle."""

import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass

from .home import PRIVATE_FILE, Home

MAX_AGE_SECONDS = 14 * 24 * 3600.0
MAX_TOTAL_BYTES = 2 * 1024**3
_ID = re.compile(r"[A-Za-z0-9_.-]{1,100}")


@dataclass(frozen=True, slots=True)
class Artifact:
    id: str
    path: str
    bytes: int
    at: float


class ArtifactFiles:
    """Files in the `artifacts` directory of the home. They hold a tool's output raw."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._pruned = False

    def create(self, name: str) -> tuple[str, str, int]:
        if not self._pruned:  # once in a runtime's life is often enough
            self._pruned = True
            for artifact in self.due():
                with suppress(FileNotFoundError):  # another runtime was quicker
                    os.unlink(artifact.path)
        path = os.path.join(self._home.directory("artifacts"), name)
        return name, path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)

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

    def due(self, *, max_age: float = MAX_AGE_SECONDS, max_total: int = MAX_TOTAL_BYTES) -> list[Artifact]:
        """What is too old to be kept, and the oldest of what is too much."""
        kept, found, now = 0, [], time.time()
        for artifact in self.all():
            kept += artifact.bytes
            if now - artifact.at > max_age or kept > max_total:
                found.append(artifact)
        return found
