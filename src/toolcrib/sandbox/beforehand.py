"""What is protected in a workspace and exists before a program begins: what it leaves is compared with that."""

import math
import os
import stat
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from . import originals
from .finding import TakesLong, find
from .found import INSTALLED, REPOSITORY, UNSEEN, Place, claim, is_spelled_out
from .originals import Entries, Stamp
from .shield import MOST

_MOST_BYTES = 8 << 20
"""Of what is kept of one workspace."""
_CROWD = 64
"""So many of one directory count as names that somebody chose; only what is known by its whole name counts further."""
_MOST_COMPARED = 4096
"""Of those that were there before. More are not made by hand, and what is new beside them is found all the same."""
_ALWAYS_COMPARED = _MOST_BYTES // originals.MOST_BYTES
_MOST_KNOWN = 8

Identity = tuple[int, int, int, str]

GONE: Identity = (0, 0, 0, "")


class Was(NamedTuple):
    """A place before a program began."""

    place: Place
    identity: Identity
    entries: Entries | None = None
    """All that was there, where a program could change it."""
    stamps: dict[str, Stamp] | None = None
    """Where that was too much to keep."""
    held: bool = False
    """The program could not change it: if another is there now, somebody else moved it away."""


class Seen(NamedTuple):
    """What was there before a program began."""

    workspace: str
    writable: tuple[str, ...]
    held: bool
    """The nearest of what was there could not be changed."""
    places: Mapping[str, Was] = MappingProxyType({})
    installs: bool = False
    """What installations make, the program may change."""
    beyond: frozenset[str] = frozenset()
    """The paths of what was there as well, and is not compared."""


def before(
    workspace: str,
    *,
    writable: Sequence[str] = (),
    held: bool = False,
    installs: bool = False,
    until: float = math.inf,
) -> Seen:
    """What is protected and exists. What is `writable` was granted by name and is nobody's concern.

    Raises:
        TakesLong: that is not known by then.
    """
    found = find(workspace, until=until)
    compared, beyond = found, frozenset[str]()
    if len(found) > _ALWAYS_COMPARED:
        compared = _first(found)
        if len(compared) < len(found):
            beyond = frozenset(place.path for place in found) - {place.path for place in compared}
    shielded = frozenset(place.path for place in sorted(found, key=claim)[:MOST]) if held else frozenset[str]()
    return Seen(workspace, tuple(writable), held, _originals(workspace, compared, shielded, until), installs, beyond)


def _first(found: Sequence[Place]) -> list[Place]:
    """Those that are compared, and first of all kept: the nearest; of those, what git runs, then what is known by name.

    A program can fill a directory with names that are protected for their ending, or in another spelling. They must
    not take the place of what is run.
    """
    if len(found) > _MOST_COMPARED:
        beside = Counter[str]()
        some = []
        for place in found:
            above, _, name = place.path.rpartition("/")
            beside[above] += 1
            if beside[above] <= _CROWD or is_spelled_out(name):
                some.append(place)
        found = some
    return sorted(found, key=claim)[:_MOST_COMPARED]


_known: dict[str, dict[str, Entries]] = {}
"""What was read last of each place in a workspace, so that it need not be read again."""


def _originals(workspace: str, found: Sequence[Place], shielded: frozenset[str], until: float) -> dict[str, Was]:
    known = _known.pop(workspace, {})
    read: dict[str, Entries] = {}
    places: dict[str, Was] = {}
    room = _MOST_BYTES
    for place in found:
        if time.monotonic() > until:
            _remember(workspace, known | read)
            raise TakesLong
        last = known.get(place.path, {})
        same = originals.unchanged(workspace, last)
        now = _identity_of(last[place.path]) if same else identity(workspace, place.path)
        held = place.path in shielded
        if place.kind == REPOSITORY:  # of which only parts are protected, and found as places themselves
            places[place.path] = Was(place, now, {}, held=held)
            continue
        if held and now[2] != stat.S_IFREG:  # what others change in it meanwhile is their own affair
            places[place.path] = Was(place, now, held=held)
            continue
        entries = None
        if place.kind not in (INSTALLED, UNSEEN) and room > 0:
            entries = last if same else originals.kept(workspace, place.path, last)
        if entries is not None:
            room -= sum(len(entry.content or b"") for entry in entries.values())
            read[place.path] = entries
        stamps = originals.stamps(workspace, place.path) if entries is None else None
        places[place.path] = Was(place, now, entries, stamps, held)
    _remember(workspace, read)
    return places


def _remember(workspace: str, read: dict[str, Entries]) -> None:
    while len(_known) >= _MOST_KNOWN:
        _known.pop(next(iter(_known)))
    _known[workspace] = read


def identity(workspace: str, path: str) -> Identity:
    """Of what is at a path; of a link, with where it leads."""
    path = f"{workspace}/{path}"
    try:
        now = os.lstat(path)
        target = os.readlink(path) if stat.S_ISLNK(now.st_mode) else ""
    except OSError:
        return GONE
    return now.st_dev, now.st_ino, stat.S_IFMT(now.st_mode), target


def _identity_of(entry: originals.Entry) -> Identity:
    """The same, of what is as it was when it was read."""
    device, inode, *_ = entry.stamp
    target = os.fsdecode(entry.content or b"") if stat.S_ISLNK(entry.mode) else ""
    return device, inode, stat.S_IFMT(entry.mode), target
