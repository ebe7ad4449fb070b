"""What is known of a source tree at one moment, however it came to be known."""

from array import array
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from .segment import NO_WORDS, STAMP, WORDS, Row, Segment
from .stamps import OTHER, TOO_MANY

_MOST_RECENT = 512
"""Files in the small segment; when there are more, the large one is made anew."""
_NOTHING = Segment.of(())


class Watched(NamedTuple):
    """What says which files there are: directories and ignore files. While they stay the same, no file came or went."""

    folders: list[str]
    rules: list[str]
    """The ignore files, and those that would be one if they were there."""
    stamps: "array[int]"
    """Of the folders, then of the rules."""
    left: int = 0
    """Files beyond the number that is looked at."""
    whole: bool = True
    """Whether all folders could be looked at; those that could not must be tried again."""


class Snapshot:
    """A large segment, those of its files that are out of date, and a small segment with what replaced them.

    So a change costs what changed, in memory and on disk, and not what there is.
    """

    def __init__(
        self,
        large: Segment,
        dead: frozenset[int] = frozenset(),
        small: Segment = _NOTHING,
        watched: Watched | None = None,
        *,
        identity: str = "",
    ) -> None:
        self.large, self.dead, self.small = large, dead, small
        self.watched = watched or Watched([], [], array("q"))
        self.identity = identity
        """Of the file that holds the large segment; empty where there is none."""

    @property
    def segments(self) -> tuple[tuple[Segment, frozenset[int]], ...]:
        """Each with the numbers of those that no longer count."""
        return (self.large, self.dead), (self.small, frozenset())

    def place(self, path: str) -> tuple[Segment, int] | None:
        """Where a file is found, whether it is left out or not."""
        return self._places.get(path)

    @cached_property
    def _places(self) -> dict[str, tuple[Segment, int]]:
        return {
            segment.paths[number]: (segment, number)
            for segment, dead in self.segments
            for number in range(len(segment))
            if number not in dead
        }

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """All files that count as source, sorted."""
        return tuple(
            sorted([path for path, (segment, number) in self._places.items() if not segment.reasons[number]])
        )  # fmt: skip

    @cached_property
    def skipped(self) -> dict[str, int]:
        counted = Counter(
            segment.reasons[number]
            for segment, dead in self.segments
            for number in range(len(segment))
            if number not in dead
        )
        if self.watched.left:
            counted[TOO_MANY] = self.watched.left
        return {reason: counted[reason] for reason in sorted(counted) if reason not in ("", OTHER)}

    @cached_property
    def every(self) -> list[str]:
        """All files that were looked at, those that are left out too."""
        return [path for segment, dead in self.segments for n, path in enumerate(segment.paths) if n not in dead]

    @cached_property
    def stamps(self) -> "array[int]":
        """Of `every`, in its order."""
        if not self.dead:
            return self.large.stamps + self.small.stamps
        found = array("q")
        at = 0
        for number in sorted(self.dead):
            found += self.large.stamps[at : number * STAMP]
            at = number * STAMP + STAMP
        return found + self.large.stamps[at:] + self.small.stamps

    @cached_property
    def wordless(self) -> frozenset[str]:
        """Files whose words are not known."""
        return frozenset(
            segment.paths[number]
            for segment, dead in self.segments
            if NO_WORDS in segment.whole(WORDS)
            for number in range(len(segment))
            if number not in dead and segment.text(WORDS, number) == NO_WORDS
        )

    def rows(self) -> Iterator[Row]:
        for segment, dead in self.segments:
            yield from (segment.row(number) for number in range(len(segment)) if number not in dead)

    def changed(self, rows: list[Row], gone: "set[str]", watched: Watched) -> "Snapshot":
        """The same with some files looked at again, and some gone."""
        fresh = {row[0]: row for row in rows}
        out = gone | fresh.keys()
        kept = [self.small.row(n) for n, path in enumerate(self.small.paths) if path not in out]
        if not len(self.large) or len(kept) + len(fresh) > _MOST_RECENT:
            every = {row[0]: row for row in self.rows() if row[0] not in out} | fresh
            return Snapshot(Segment.of([every[path] for path in sorted(every)]), watched=watched)
        dead = self.dead
        if out:
            dead = dead.union([n for n, path in enumerate(self.large.paths) if path in out])
        return Snapshot(
            self.large, dead, Segment.of([*kept, *fresh.values()]), watched, identity=self.identity
        )  # fmt: skip
