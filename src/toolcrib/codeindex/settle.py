"""Bringing what is known of a source tree up to date, at the price of a look at the state of each file and directory.

Directories are listed again only when their own state says that something in them came or went.
"""

import time
from typing import NamedTuple

from .reading import LARGEST
from .segment import STAMP, Row, Segment
from .snapshot import Snapshot, Watched
from .stamps import GONE, TOO_MANY, differing, stamps_of
from .store import Store

MOST_BYTES = 1024**3
"""Of source that is read at one time; what is beyond is left out."""


class Work(NamedTuple):
    """What is to be done before the tree is known again."""

    paths: list[str]
    """To be read."""
    sizes: list[int]
    rows: list[Row]
    """Of files that are not even to be read."""
    gone: set[str]
    watched: Watched
    now: int
    """When the first look was taken."""
    words: bool
    """Whether their words are wanted, too."""


class SourceTree:
    """One workspace. For one caller at a time: `look`, read what it says, `take`."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._snapshot: Snapshot | None = None

    def look(self, root: int, *, words: bool = True) -> Work:
        """See what changed below a directory that is open, and which files lack their words, where these are wanted."""
        now = time.time_ns()
        known = self._snapshot
        if known is None:
            known = (self._store.load() if self._store else None) or Snapshot(Segment.of(()))
            self._snapshot = known
        watched = known.watched
        gone, come = set[str](), list[str]()
        states = stamps_of(root, [*watched.folders, *watched.rules])
        if not watched.folders or not watched.whole or states != watched.stamps:
            from .listing import look_again  # late: most of the time, no file came or went

            gone, come, watched = look_again(root, known, states, now)
        return _compared(root, known, Work([], [], [], gone, watched, now, words), come)

    def take(self, work: Work, rows: list[Row]) -> Snapshot:
        """Know what was read. Files that were to be read and were not are gone."""
        known = self._snapshot
        assert known is not None  # somebody has looked
        gone = work.gone.union(work.paths).difference([row[0] for row in rows])
        rows = [*rows, *work.rows]
        if rows or gone or work.watched != known.watched:
            known = known.changed(rows, gone, work.watched)
            if self._store:
                known.identity = self._store.keep(known)
            self._snapshot = known
        return known


def _compared(root: int, known: Snapshot, work: Work, come: list[str]) -> Work:
    """The work, with the files to be read: those that came, that changed, or whose words are wanted and not known."""
    paths = known.every + come
    states = stamps_of(root, paths)
    numbers = set(differing(states[: len(known.stamps)], known.stamps)).union(range(len(known.every), len(paths)))
    if work.words and known.wordless:
        numbers.update(number for number, path in enumerate(known.every) if path in known.wordless)
    left = MOST_BYTES
    for number in sorted(numbers):
        path = paths[number]
        size, changed, touched, inode = states[number * STAMP : number * STAMP + STAMP]
        cost = min(size, LARGEST)
        if inode == GONE[-1] or path in work.gone:
            work.gone.add(path)
        elif cost > left:
            work.rows.append((path, (size, changed, touched, inode), "", TOO_MANY, b"", b"", b""))
        else:
            left -= cost
            work.paths.append(path)
            work.sizes.append(cost)
    return work
