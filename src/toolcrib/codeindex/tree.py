"""The files of a view by name and by folder, and the manifests that lie between them: what finding modules needs."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property

from .view import View

Reads = Callable[[str], bytes | None]
"""Gives a small file of the workspace that is no source (`go.mod`, `tsconfig.json`), or None where there is none."""


def nothing(path: str) -> bytes | None:
    """For whoever has no manifests at hand."""
    return None


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def joined(folder: str, relative: str) -> str | None:
    """A path below the workspace, without `.` and `..`; None where it leads out of it."""
    parts: list[str] = []
    for part in f"{folder}/{relative}".split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


class Tree:
    """One view, arranged. Made anew for every question, so all that costs is made late."""

    def __init__(self, view: View, read: Reads = nothing) -> None:
        self.view = view
        self.paths = frozenset(view.paths())
        self._read = read
        self._manifests: dict[str, str | None] = {}
        self.parsed: dict[tuple[str, str], object] = {}
        """What was made of manifests, by kind and path."""

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        named: defaultdict[str, list[str]] = defaultdict(list)
        for path in self.view.paths():
            named[path.rpartition("/")[2]].append(path)
        return named

    @cached_property
    def folders(self) -> dict[str, list[str]]:
        """The files that lie directly in each folder."""
        held: defaultdict[str, list[str]] = defaultdict(list)
        for path in self.view.paths():
            held[folder_of(path)].append(path)
        return dict(held)

    @cached_property
    def _folders_by_name(self) -> dict[str, list[str]]:
        named: defaultdict[str, list[str]] = defaultdict(list)
        seen: set[str] = set()
        for folder in self.folders:
            while folder and folder not in seen:  # also those that hold folders only
                seen.add(folder)
                named[folder.rpartition("/")[2]].append(folder)
                folder = folder_of(folder)
        return named

    @cached_property
    def namespaces(self) -> dict[str, list[str]]:
        """The files that say what they are part of (C#, PHP, C++), by what they say."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for path in self.view.paths():
            if self.view.language(path) in ("csharp", "php", "cpp"):
                for each in self.view.definitions(path):
                    if each.kind == "namespace":
                        name = f"{each.scope}.{each.name}" if each.scope else each.name
                        found[name.replace("\\", ".").replace("::", ".")].append(path)
        return dict(found)

    def ending(self, tail: str) -> list[str]:
        """The paths that are `tail`, or end with it after a slash."""
        name = tail.rpartition("/")[2]
        return [path for path in self._by_name.get(name, ()) if path == tail or path.endswith("/" + tail)]

    def folders_ending(self, tail: str) -> list[str]:
        name = tail.rpartition("/")[2]
        return [each for each in self._folders_by_name.get(name, ()) if each == tail or each.endswith("/" + tail)]

    def text(self, path: str) -> str | None:
        """A manifest, read once."""
        if path not in self._manifests:
            data = self._read(path)
            self._manifests[path] = None if data is None else data.decode("utf-8", "replace")
        return self._manifests[path]

    def manifest(self, folder: str, name: str) -> tuple[str, str] | None:
        """The nearest file of that name in a folder or above: its folder and its text."""
        while True:
            text = self.text(f"{folder}/{name}" if folder else name)
            if text is not None:
                return folder, text
            if not folder:
                return None
            folder = folder_of(folder)


def nearest(candidates: Iterable[str], path: str) -> str | None:
    """The one that shares most folders with `path`; of several the shortest, then the first by name."""
    here = path.split("/")

    def order(candidate: str) -> tuple[int, int, str]:
        shared = 0
        for mine, other in zip(here, candidate.split("/"), strict=False):
            if mine != other:
                break
            shared += 1
        return -shared, candidate.count("/"), candidate

    return min(candidates, key=order, default=None)
