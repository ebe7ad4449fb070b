"""What lies in a project that would be trusted. Looked at from outside: nothing is run, followed or interpreted."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from ..policy.trust import PROJECT_DIR
from ..runtime.compat import foreign_directories
from ._text import readable

MOST_FILES = 20_000
_DEPTH = 16
_KINDS = {stat.S_IFLNK: "link", stat.S_IFDIR: "directory", stat.S_IFREG: "file"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the project, and exactly what it is now."""

    path: str
    """Below the project."""
    kind: str
    """`program`, `file`, `link`, or `special`, which is never opened."""
    size: int
    digest: str
    """Of a program or a file; empty otherwise."""
    target: str = ""
    """Where a link points."""

    def to_dict(self) -> dict[str, str | int]:
        about: dict[str, str | int] = {"path": self.path, "kind": self.kind, "size": self.size, "digest": self.digest}
        return about | ({"target": self.target} if self.target else {})


def entries(project: str) -> list[Entry]:
    """Everything that trust in the project is about, by path; at most one more than `MOST_FILES`."""
    roots = [os.path.join(project, PROJECT_DIR)]
    roots += [each.path for each in foreign_directories(project, os.environ) if each.in_project]
    found: list[Entry] = []
    for root in roots:
        for path in _walk(root, _DEPTH):
            if len(found) > MOST_FILES:
                return found
            found.append(_entry(path, readable(os.path.relpath(path, project))))
    return found


def _walk(path: str, depth: int) -> Iterator[str]:
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode) or depth == 0:
            yield path
            return
        names = sorted(os.listdir(path))
    except OSError:
        return
    for name in names:
        yield from _walk(os.path.join(path, name), depth - 1)


def _entry(path: str, shown: str) -> Entry:
    try:
        seen = os.lstat(path)
        kind = _KINDS.get(stat.S_IFMT(seen.st_mode), "special")
        if kind == "link":
            return Entry(shown, kind, 0, "", readable(os.readlink(path)))
        if kind != "file":
            return Entry(shown, kind, 0, "")
        return Entry(shown, "program" if seen.st_mode & 0o111 else "file", seen.st_size, _digest(path))
    except OSError as exc:
        return Entry(shown, f"unreadable ({exc.strerror})", 0, "")


def _digest(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
