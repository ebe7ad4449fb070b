"""The source tree as it was at one moment: what is where, and who speaks of it."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from ..core.errors import ToolError
from ..core.workspace import Workspace
from .facts import Definition, Import
from .reading import LARGEST, LONGEST_WORD, Descent, as_utf8, contents, opened, words_of
from .segment import NAMES, WORDS, Segment, as_line
from .snapshot import Snapshot


class View:
    """Never changes; asked for anew by every query. Paths are relative to the workspace, with `/`.

    A path that is not in the tree has no definitions, no imports and no exports.
    """

    def __init__(self, snapshot: Snapshot, files: Workspace, *, settled_ms: float = 0.0, reread: int = 0) -> None:
        self._snapshot, self._files = snapshot, files
        self.settled_ms, self.reread = settled_ms, reread
        """How long it took to see what changed, and how many files had to be read for it."""

    @property
    def skipped(self) -> Mapping[str, int]:
        """How many files were left out, for each reason: `too large`, `minified`, `binary`,
        `unreadable`, `too many`."""
        return self._snapshot.skipped

    def without(self, hides: Callable[[str], bool]) -> "View":
        """The same tree, as if some of its files were not there."""
        known = self._snapshot
        gone = set(filter(hides, known.paths))
        left = known.changed([], gone, known.watched) if gone else known
        return View(left, self._files, settled_ms=self.settled_ms, reread=self.reread)

    def paths(self) -> Sequence[str]:
        """All files of a known language, sorted."""
        return self._snapshot.paths

    def language(self, path: str) -> str:
        place = self._snapshot.place(path)
        return place[0].languages[place[1]] if place else ""

    def definitions(self, path: str) -> Sequence[Definition]:
        return tuple([Definition(*each) for each in self._facts(path)[0]])

    def imports(self, path: str) -> Sequence[Import]:
        return tuple([Import(*each) for each in self._facts(path)[1]])

    def exports(self, path: str) -> Sequence[tuple[str, int]]:
        return tuple([(name, line) for name, line in self._facts(path)[2]])

    def defined(self, name: str) -> Sequence[tuple[str, Definition]]:
        """Everything of that name, anywhere, by path and line."""
        found = [
            (path, Definition(*each))
            for path, segment, number in self._holding(NAMES, [as_line(name)])
            for each in segment.facts(number)[0]
            if each[0] == name
        ]
        return sorted(found, key=lambda each: (each[0], each[1].line))

    def names(self) -> Collection[str]:
        """Of all definitions."""
        return self._names

    def mentioning(self, word: str) -> Sequence[str]:
        """The files in which that identifier stands, and perhaps some others; of something longer, all its words."""
        words = list(words_of(word[: LONGEST_WORD + 1].encode("utf-8", "replace")))
        if not words or len(word) > LONGEST_WORD:
            return self.paths() if word else ()
        return sorted({*self._snapshot.wordless, *(path for path, _, _ in self._holding(WORDS, words))})

    def words(self, path: str) -> list[bytes]:
        """All identifiers in a file, wherever they stand: `mentioning`, the other way round."""
        place = self._snapshot.place(path)
        return place[0].text(WORDS, place[1]).split() if place else []

    def read(self, path: str) -> bytes:
        """What is in a file now, up to the size that is indexed; as UTF-8 where it was written in UTF-16.

        This is no reading on behalf of a session, which would then be free to write to the file.

        Raises:
            ToolError: it cannot be read, or is none of the files that are indexed.
        """
        folder, _, name = path.rpartition("/")
        with self._files.directory(folder or ".") as place:
            try:
                with opened(name, place.fd, self._owner) as (fd, seen):
                    data = contents(fd, seen.st_size, LARGEST)
            except (OSError, ValueError) as exc:  # a name with a NUL byte is no OSError
                raise ToolError(
                    f"{path} cannot be read: {getattr(exc, 'strerror', None) or exc}", code="READ_ERROR"
                ) from None
        return as_utf8(data, self.language(path))

    def read_all(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Many files as `read` gives them, in a fraction of the time; those that cannot be read are left out.

        The files are looked for below the workspace's own directory, and no link is followed on the way.
        """
        with self._files.directory(".") as place, Descent(place.fd) as descent:
            owner = os.fstat(place.fd).st_uid
            for path in paths:
                folder, _, name = path.rpartition("/")
                try:
                    with opened(name, descent.folder(folder), owner) as (fd, seen):
                        data = contents(fd, seen.st_size, LARGEST)
                except (OSError, ValueError):  # a path with a NUL byte
                    continue
                yield path, as_utf8(data, self.language(path))

    @cached_property
    def _owner(self) -> int:
        with self._files.directory(".") as place:
            return os.fstat(place.fd).st_uid

    @cached_property
    def _names(self) -> frozenset[str]:
        found: set[bytes] = set()
        for segment, dead in self._snapshot.segments:
            if dead:
                found.update(*(segment.text(NAMES, n).split(b"\n") for n in range(len(segment)) if n not in dead))
            else:
                found.update(segment.whole(NAMES).split(b"\n"))
        found.discard(b"")
        return frozenset([each.decode("utf-8", "replace") for each in found])

    def _facts(self, path: str) -> tuple[Sequence[tuple], Sequence[tuple], Sequence[tuple]]:  # type: ignore[type-arg]  # plain, as marshal has them
        place = self._snapshot.place(path)
        return place[0].facts(place[1]) if place else ((), (), ())

    def _holding(self, which: int, wanted: list[bytes]) -> Iterator[tuple[str, Segment, int]]:
        """The live files that have all these lines in one of their texts."""
        for segment, dead in self._snapshot.segments:
            numbers = set(segment.holding(which, wanted[0])).difference(dead)
            for line in wanted[1:]:
                numbers &= set(segment.holding(which, line))
            for number in sorted(numbers):
                yield segment.paths[number], segment, number
