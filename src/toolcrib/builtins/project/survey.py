"""A look through a project: which files there are, and what stands in some of them. Bounded in every direction."""

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from posixpath import basename, normpath
from typing import Any, NamedTuple

from ...codeindex.walk import walk
from ...core.jsontext import JSON
from ...core.workspace import Folder

MOST_ENTRIES = 30_000
LONGEST = 256 * 1024
"""Of one file."""
MOST_BYTES = 8 * 1024 * 1024
"""Of all files together."""
_MOST_NOTES = 20
_LONGEST_WORDS = 160
_NOT_ITS_OWN = frozenset(
    (
        "node_modules",
        "bower_components",
        "vendor",
        "third_party",
        ".venv",
        "venv",
        "env",
        ".tox",
        ".nox",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".idea",
        ".gradle",
        ".next",
        ".nuxt",
        ".terraform",
        ".cache",
        "dist",
        "build",
        "target",
        "out",
        "obj",
        "coverage",
        "site-packages",
        "Pods",
        "DerivedData",
        ".eggs",
    )
)
"""Directories of what others wrote, or of what was made from the rest, where no ignore file says so."""
_ASIDE = frozenset(
    (
        "test",
        "tests",
        "testdata",
        "test_data",
        "spec",
        "fixtures",
        "__fixtures__",
        "example",
        "examples",
        "sample",
        "samples",
        "demo",
        "demos",
        "bench",
        "benchmark",
        "benchmarks",
        "doc",
        "docs",
        "templates",
    )
)
_ENTER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC


class Evidence(NamedTuple):
    """Where a claim can be seen."""

    file: str
    line: int | None = None
    text: str = ""

    def to_dict(self) -> dict[str, JSON]:
        line: dict[str, JSON] = {} if self.line is None else {"line": self.line}
        return {"file": self.file, **line, **({"text": self.text} if self.text else {})}

    @property
    def place(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Claim(NamedTuple):
    """Something that is so, and why we think so."""

    topic: str
    name: str
    evidence: Evidence
    value: JSON = None


class Survey:
    """The files of a project. Names lead from its directory; what is shown to others leads from the workspace."""

    def __init__(
        self,
        folder: Folder,
        path: str = ".",
        *,
        stop: Callable[[], bool] = lambda: False,
        veil: Callable[[str], bool] | None = None,
    ) -> None:
        """`stop` says that nobody waits any more; `veil`, of what lies below, that it is not to be read."""
        self._fd, self._owner, self._stop, self._veil = folder.fd, os.fstat(folder.fd).st_uid, stop, veil
        self._below = "" if normpath(path) == "." else normpath(path) + "/"
        self.files: dict[str, int] = {}
        """Every regular file, and its size."""
        self.others: dict[str, str] = {}
        """What is neither a file nor a directory, and what it is."""
        self.folders: set[str] = set()
        self.notes: list[str] = []
        """What could not be looked at, and why."""
        self.cut = False
        self.bytes_read = 0
        self.kept: dict[tuple[str, str], Any] = {}
        """What readers made of files, by what they are called and the path."""
        self._texts: dict[str, str | None] = {}
        self._by_name: dict[str, list[str]] = {}
        self._look()

    def _look(self) -> None:
        through = walk(
            self._fd,
            hidden=True,
            prune=lambda path: basename(path) in _NOT_ITS_OWN,
            veil=self._veil,
            most=MOST_ENTRIES,
        )
        for here in through:
            if self._stop():
                break
            prefix = f"{here.path}/" if here.path else ""
            if here.path:
                self.folders.add(here.path)
            for entry in here.files:
                with suppress(OSError):  # it went away meanwhile
                    about = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(about.st_mode):
                        self.files[prefix + entry.name] = about.st_size
                    else:
                        self.others[prefix + entry.name] = _kind(about.st_mode)
        self.cut = through.cut
        if self.cut:
            self.note(f"there is more than the {MOST_ENTRIES} entries that were looked at")
        if through.skipped:
            self.note(f"{through.skipped} directories could not be read")
        for path in sorted({*self.files, *self.others}, key=lambda each: (each.count("/"), each)):
            self._by_name.setdefault(basename(path), []).append(path)

    def note(self, words: str) -> None:
        if words not in self.notes and len(self.notes) < _MOST_NOTES:
            self.notes.append(words)

    def shown(self, path: str) -> str:
        """A path from the workspace on, as it can be written anywhere."""
        return os.fsencode(self._below + path).decode("utf-8", "backslashreplace")

    def named(self, *names: str, most: int = 40) -> list[str]:
        """Paths of the files that are called so, the outermost first."""
        found = [path for name in names for path in self._by_name.get(name, ())]
        return sorted(found, key=lambda path: (path.count("/"), path))[:most]

    def outermost(self, *names: str) -> list[str]:
        """Those of the project's own directory."""
        return [name for name in names if name in self.files or name in self.others]

    def ending(self, *endings: str, most: int = 40) -> list[str]:
        """Paths of the files whose names end so, the outermost first."""
        found = [path for path in self.files if path.endswith(endings)]
        return sorted(found, key=lambda path: (path.count("/"), path))[:most]

    def text(self, path: str) -> str | None:
        """What stands in a file; None where it cannot be read as text, which is noted."""
        if path not in self._texts:
            data = self.data(path)
            if data is not None and b"\0" in data:
                self.note(f"{self.shown(path)} is not text")
                data = None
            self._texts[path] = None if data is None else data.decode("utf-8-sig", "replace")
        return self._texts[path]

    def data(self, path: str, most: int = LONGEST, *, whole: bool = True, quiet: bool = False) -> bytes | None:
        """The bytes of a file, or only its beginning if it need not be `whole`. No link is followed.

        What cannot be read is noted; unless it need not be there at all (`quiet`).
        """
        if self._stop() or self.bytes_read >= MOST_BYTES:
            self.note(f"more than {MOST_BYTES} bytes would have to be read; the rest was left out")
            return None
        fault = ""
        if self._veil is not None and self._veil(path):
            return None
        try:
            data = self._read(path, most + 1)
            fault = f"is {self.others.get(path, 'no regular file')}, and was not read" if data is None else ""
        except OSError as exc:
            data, fault = None, f"could not be read: {exc.strerror}"
        if data is not None:
            self.bytes_read += len(data)
            if len(data) > most and whole:
                fault = f"has more than {most} bytes, and was not read"
        if fault:
            if not quiet:
                self.note(f"{self.shown(path)} {fault}")
            return None
        return None if data is None else data[:most]

    def _read(self, path: str, most: int) -> bytes | None:
        *folders, name = path.split("/")
        at = os.dup(self._fd)
        try:
            for folder in folders:
                inner = os.open(folder, _ENTER, dir_fd=at)
                os.close(at)
                at = inner
            if path in self.others:
                return None
            file = open(name, "rb", opener=lambda name, _: os.open(name, _READ, dir_fd=at))  # noqa: SIM115  # just below
        finally:
            os.close(at)
        with file:
            about = os.fstat(file.fileno())
            foreign = about.st_nlink > 1 and about.st_uid not in (self._owner, os.geteuid() or self._owner)
            return None if foreign or not stat.S_ISREG(about.st_mode) else file.read(most)

    # Evidence

    def at(self, path: str, *words: str) -> Evidence:
        """A file; with words, the line in which the last of them stands, after the lines of those before it.

        A word that begins with a newline is what a line begins with.
        """
        text = self.text(path) if words else None
        if not text:
            return Evidence(self.shown(path))
        start = 0
        for word in words:
            found = text.find(word, start)
            if found < 0:
                return Evidence(self.shown(path))
            start = found + word.startswith("\n")
        line = text.count("\n", 0, start) + 1
        begin, end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
        said = text[begin : end if end >= 0 else len(text)].strip()
        return Evidence(self.shown(path), line, said[:_LONGEST_WORDS])

    def is_aside(self, evidence: Evidence) -> bool:
        """Whether it is about examples, tests and the like, and not about the project itself."""
        return not _ASIDE.isdisjoint(evidence.file.removeprefix(self._below).lower().split("/")[:-1])

    def line(self, path: str, number: int, text: str) -> Evidence:
        return Evidence(self.shown(path), number, text.strip()[:_LONGEST_WORDS])


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISLNK, "a link"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next((kind for is_one, kind in kinds if is_one(mode)), "a device")


def grouped(claims: Iterable[Claim], most: int = 12) -> dict[str, list[dict[str, JSON]]]:
    """By topic; what is claimed more than once stands there once, with where it was first seen, and how often."""
    topics: dict[str, dict[tuple[str, str], dict[str, JSON]]] = {}
    for claim in claims:
        known = topics.setdefault(claim.topic, {})
        key = (claim.name, str(claim.value))
        if key in known:
            known[key]["more"] = known[key].get("more", 0) + 1
        elif len(known) < most:
            value: dict[str, JSON] = {} if claim.value is None else {"value": claim.value}
            known[key] = {"name": claim.name, **value, "evidence": claim.evidence.to_dict()}
    return {topic: list(known.values()) for topic, known in topics.items()}
