"""What lies in a project that trust is about. Looked at from outside: nothing is run, followed out, or interpreted."""

import errno
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

PROJECT_DIR = ".toolcrib"
SKILL_DIRS = (".agents/skills", ".claude/skills")
"""Read where they are present and trusted."""
MOST_FILES = 20_000
MOST_BYTES = 256 * 1024**2
"""Of one file. A longer one is named and not read, and so never vouched for; nor is what comes after four such."""
_DEPTH = 16
_KINDS = {stat.S_IFLNK: "link", stat.S_IFDIR: "directory", stat.S_IFREG: "file"}
_CHUNK = 1 << 20
_RACY_NS = 50_000_000
"""A file that changed this very moment may change again without a new time stamp: such a state is not remembered."""
_ESCAPED = re.compile(rb"\\(\\|x[0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the project, and exactly what it is now."""

    path: str
    """Below the project, as `key` writes it."""
    kind: str
    """`program`, `file` or `link`; or `special`, `directory` (too deep), `too long`, `unreadable (…)`: never opened."""
    size: int
    digest: str
    """Of a program or a file, or of the file of the project that a link leads to; empty otherwise."""
    target: str = ""
    """Where a link points."""

    def to_dict(self) -> dict[str, str | int]:
        about: dict[str, str | int] = {"path": self.path, "kind": self.kind, "size": self.size, "digest": self.digest}
        return about | ({"target": self.target} if self.target else {})

    def to_record(self) -> dict[str, str]:
        """What a trust record keeps of it."""
        return {"digest": self.digest, "kind": self.kind} | ({"target": self.target} if self.target else {})


class Changes(NamedTuple):
    """How a project differs from what was trusted. Paths, sorted."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


Digest = Callable[[str, str], str]
"""(project, path below it) to a digest. Raises: `OSError`."""


def key(path: str) -> str:
    """A path as text that JSON can carry, two different ones never the same: what is not UTF-8 becomes `\\xNN`."""
    return path.replace("\\", "\\\\").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def unkey(text: str) -> str:
    """The path that `key` wrote so."""
    raw = _ESCAPED.sub(lambda found: bytes([int(found[1][1:], 16)]) if found[1] != b"\\" else b"\\", text.encode())
    return os.fsdecode(raw)


def project_files(
    project: str, more: Iterable[str] = (), *, only: Iterable[str] | None = None, digest: Digest | None = None
) -> list[Entry]:
    """Everything that trust in a project is about, by path; at most one more than `MOST_FILES`.

    `more` are other directories whose tools would be offered, as paths below the project; `only` looks at no others.
    """
    found: dict[str, Entry] = {}
    room = 4 * MOST_BYTES
    for root in dict.fromkeys((PROJECT_DIR, *SKILL_DIRS, *more) if only is None else only):
        if (link := _diverted(project, root)) is not None:
            if os.path.lexists(os.path.join(project, root)):
                found[key(root)] = Entry(key(root), "link", 0, "", link)
            continue
        for path in _walk(project, root, _DEPTH):
            if len(found) > MOST_FILES:
                return list(found.values())
            entry = found[key(path)] = _entry(project, path, digest or digest_below, min(room, MOST_BYTES))
            room -= entry.size if entry.digest else 0
    return list(found.values())


def compared(before: Mapping[str, Mapping[str, str]], now: Iterable[Entry]) -> Changes:
    """What is different: content, kind (a file that became a program), or where a link points."""
    here = {entry.path: entry.to_record() for entry in now}
    return Changes(
        tuple(sorted(here.keys() - before.keys())),
        tuple(sorted(before.keys() - here.keys())),
        tuple(sorted(path for path in here.keys() & before.keys() if here[path] != before[path])),
    )


def open_below(project: str, relative: str) -> int:
    """A descriptor of a regular file of the project, reached without following a single link.

    Raises:
        OSError: it is not there, it is not a regular file, or a link stands in the way.
    """
    parts = relative.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise OSError(errno.EINVAL, "not a path below the project", relative)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    at = os.open(project, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        try:
            fd = os.open(part, flags if last else flags | os.O_DIRECTORY, dir_fd=at)
        finally:
            os.close(at)
        at = fd
    if not stat.S_ISREG(os.fstat(at).st_mode):
        os.close(at)
        raise OSError(errno.EINVAL, "not a regular file", relative)
    return at


def digest_below(project: str, relative: str) -> str:
    """Of a regular file of the project. Raises: `OSError`, as `open_below` does."""
    with open(open_below(project, relative), "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def read_below(project: str, relative: str, most: int) -> tuple[bytes, str]:
    """The first bytes of a file, and the digest of all of it, from one opening. Raises: `OSError`."""
    hashed, kept = hashlib.sha256(), b""
    with open(open_below(project, relative), "rb") as file:
        while chunk := file.read(_CHUNK):
            hashed.update(chunk)
            kept += chunk[: max(0, most - len(kept))]
    return kept, "sha256:" + hashed.hexdigest()


class StatDigests:
    """Digests that are read again only when the file is another one, by its inode, times and size."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], tuple[tuple[int, ...], str]] = {}

    def __call__(self, project: str, relative: str) -> str:
        fd = open_below(project, relative)
        with open(fd, "rb") as file:
            seen = os.fstat(fd)
            identity = (seen.st_dev, seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size)
            held = self._held.get((project, relative))
            if held is not None and held[0] == identity:
                return held[1]
            found = "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
        if time.time_ns() - seen.st_ctime_ns > _RACY_NS:
            self._held[project, relative] = (identity, found)
        return found


def _diverted(project: str, root: str) -> str | None:
    """Where a link leads that stands above the last part of `root`. What lies behind it is not looked at."""
    parts = root.split("/")
    for depth in range(1, len(parts)):
        above = os.path.join(project, *parts[:depth])
        if os.path.islink(above):
            return key(os.readlink(above))
    return None


def _walk(project: str, path: str, depth: int) -> Iterator[str]:
    full = os.path.join(project, path)
    try:
        if not stat.S_ISDIR(os.lstat(full).st_mode) or depth == 0:
            yield path
            return
        names = sorted(os.listdir(full))
    except FileNotFoundError:
        return
    except OSError:  # listed as what it is
        yield path
        return
    for name in names:
        yield from _walk(project, f"{path}/{name}", depth - 1)


def _entry(project: str, path: str, digest: Digest, most: int) -> Entry:
    shown = key(path)
    try:
        seen = os.lstat(os.path.join(project, path))
        kind = _KINDS.get(stat.S_IFMT(seen.st_mode), "special")
        if kind == "link":
            return _link(project, path, digest)
        if kind != "file":
            return Entry(shown, kind, 0, "")
        if seen.st_size > most:
            return Entry(shown, "too long", seen.st_size, "")
        return Entry(shown, "program" if seen.st_mode & 0o111 else "file", seen.st_size, digest(project, path))
    except OSError as exc:
        return Entry(shown, f"unreadable ({exc.strerror})", 0, "")


def _link(project: str, path: str, digest: Digest) -> Entry:
    """A link with the file it leads to, when that is a file of the project."""
    target, root = key(os.readlink(os.path.join(project, path))), os.path.realpath(project)
    leads_to = os.path.relpath(os.path.realpath(os.path.join(project, path)), root)
    try:
        if os.stat(os.path.join(root, leads_to)).st_size > MOST_BYTES:
            return Entry(key(path), "link", 0, "", target)
        return Entry(key(path), "link", 0, digest(root, leads_to), target)
    except OSError:  # out of the project, to nowhere, or to what is no file
        return Entry(key(path), "link", 0, "", target)
