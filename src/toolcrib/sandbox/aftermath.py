"""What a program left in protected places is put aside: moved to where nothing runs or believes it, never deleted.

A place that exists can be held; one that does not exist yet cannot, so what came to be there is looked for when the
program has ended. Where nothing can be held, what was there is kept and put back. Whoever else works in the workspace
at that moment may have made the change: so what is there instead is moved, and told.
"""

import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from . import originals
from ._beneath import holding, is_below
from .cage import BUBBLEWRAP, UNCONFINED, Cage
from .finding import INSTALLED, OF_COMMANDS, REPOSITORY, Place, find, whereabouts
from .originals import Entries, Stamp
from .repository import is_plain

_MOST = 64
"""Are put aside after one program, the nearest first."""
_MOST_BYTES = 8 << 20
"""Of what is kept of one workspace."""
_MOST_KNOWN = 8

Identity = tuple[int, int, int, str]

_GONE: Identity = (0, 0, 0, "")


class PutAside(NamedTuple):
    """Something protected that a program made, or changed."""

    path: str
    """Where it was, relative to the workspace."""
    moved_to: str
    """Where it is now. Empty: there is nothing of it, or it is left as it is."""
    why: str
    """What is protected there."""
    back: bool = False
    """It was there before, and is again as it was."""


class Was(NamedTuple):
    """A place before a program began."""

    place: Place
    identity: Identity
    entries: Entries | None = None
    """All that was there, where a program could change it."""
    stamps: dict[str, Stamp] | None = None
    """Where that was too much to keep."""


class Seen(NamedTuple):
    """What was there before a program began."""

    workspace: str
    writable: tuple[str, ...]
    held: bool
    """What was there could not be changed; if it is another one now, somebody moved it away."""
    places: Mapping[str, Was] = MappingProxyType({})
    installs: bool = False
    """What installations make, the program may change."""


class _Begun:
    """What was there before the first of several programs that run at once, where nothing is held.

    Each is compared with that: what one of them changes must not be taken by the next for what was there.
    """

    def __init__(self, places: dict[str, Was]) -> None:
        self.places, self.running = places, 0
        self.writable: set[str] = set()
        """What was granted to one of them by name is not undone for another."""


class Aftermath:
    """Looks before and after the programs of a runtime."""

    def __init__(self, into: Callable[[], str], tell: Callable[[str, Sequence[PutAside]], None]) -> None:
        """`into` makes the directory for what is put aside; `tell` is told the mark of the program, and what it was."""
        self._into, self._tell = into, tell
        self._begun: dict[str, _Begun] = {}
        self._turn = threading.Lock()

    def before(self, cage: Cage | None) -> Seen | None:
        """What is there now; None when there is nothing to look after. Whoever asks calls `after` once, or `forget`."""
        if cage is None or cage.tier in UNCONFINED or not cage.workspace or not cage.workspace_writable:
            return None
        seen = Seen(cage.workspace, cage.writable, cage.tier == BUBBLEWRAP, installs=cage.installs)
        if seen.held:
            return seen._replace(places=_places(cage.workspace, held=True))
        with self._turn:
            begun = self._begun.get(cage.workspace)
            if begun is None:
                begun = self._begun[cage.workspace] = _Begun(_places(cage.workspace, held=False))
            begun.running += 1
            begun.writable.update(cage.writable)
        return seen._replace(places=begun.places)

    def after(self, seen: Seen | None, mark: str) -> None:
        if seen is None:
            return
        if seen.held:
            done = put_aside(seen, self._into)
        else:
            with self._turn:
                writable = tuple(self._begun[seen.workspace].writable)
                try:
                    done = put_aside(seen._replace(writable=writable), self._into)
                finally:
                    self._over(seen.workspace)
        if done:
            self._tell(mark, done)

    def forget(self, seen: Seen | None) -> None:
        """Nothing was started after all."""
        if seen is not None and not seen.held:
            with self._turn:
                self._over(seen.workspace)

    def _over(self, workspace: str) -> None:
        begun = self._begun[workspace]
        begun.running -= 1
        if not begun.running:
            del self._begun[workspace]


def before(workspace: str, *, writable: Sequence[str] = (), held: bool = False, installs: bool = False) -> Seen:
    """What is protected and exists. What is `writable` was granted by name and is nobody's concern."""
    return Seen(workspace, tuple(writable), held, _places(workspace, held=held), installs)


_known: dict[str, dict[str, Entries]] = {}
"""What was read last of each place in a workspace, so that it need not be read again."""


def _places(workspace: str, *, held: bool) -> dict[str, Was]:
    if held:
        return {each.path: Was(each, _identity(workspace, each)) for each in find(workspace)}
    known = _known.pop(workspace, {})
    read: dict[str, Entries] = {}
    places: dict[str, Was] = {}
    room = _MOST_BYTES
    for place in find(workspace):
        was = Was(place, _identity(workspace, place))
        if place.kind == REPOSITORY:  # of which only parts are protected, and found as places themselves
            places[place.path] = was._replace(entries={})
            continue
        entries = None
        if place.kind != INSTALLED and room > 0:
            last = known.get(place.path, {})
            entries = last if originals.unchanged(workspace, last) else originals.kept(workspace, place.path, last)
        if entries is not None:
            room -= sum(len(entry.content or b"") for entry in entries.values())
            read[place.path] = entries
        stamps = originals.stamps(workspace, place.path) if entries is None else None
        places[place.path] = was._replace(entries=entries, stamps=stamps)
    while len(_known) >= _MOST_KNOWN:
        _known.pop(next(iter(_known)))
    _known[workspace] = read
    return places


def put_aside(seen: Seen, into: Callable[[], str]) -> list[PutAside]:
    """Move what is protected and was not there before; say also what was there and changed."""
    done: list[PutAside] = []
    places = {place.path: place for place in find(seen.workspace)}
    if not seen.held:
        places = {**places, **{path: was.place for path, was in seen.places.items()}}
    fresh: list[str] = []
    for place in places.values():
        if any(is_below(f"{seen.workspace}/{place.path}", each) for each in seen.writable):
            continue
        if any(place.path.startswith(each.path + "/") for each in done if each.moved_to and not each.back):
            continue
        if seen.installs and place.kind in OF_COMMANDS:
            continue
        was = seen.places.get(place.path)
        if was is None and place.kind == REPOSITORY and is_plain(seen.workspace, place.path):
            fresh.append(place.path)
        if any(is_below(place.path, each) for each in fresh):
            continue
        if was is not None and not seen.held:
            told = _put_back(seen, was, into)
        elif was is not None and not _is_another(seen, place, was.identity):
            told = None
        elif place.kind != INSTALLED and len(done) < _MOST and (moved := _moved(seen.workspace, place.path, into)):
            told = PutAside(place.path, moved, place.why)
        else:
            told = None
        if told is not None:
            done.append(told)
    return done


def _put_back(seen: Seen, was: Was, into: Callable[[], str]) -> PutAside | None:
    """Make a place again what it was, as far as that was kept."""
    workspace, place = seen.workspace, was.place
    if was.entries is None:
        if was.stamps == originals.stamps(workspace, place.path):
            return None
        return PutAside(place.path, "", place.why)
    if place.kind == REPOSITORY:
        return _repository_back(seen, was, into)
    done = originals.put_back(workspace, place.path, was.entries, lambda path: _moved(workspace, path, into))
    return None if done is None else PutAside(place.path, done.moved_to, place.why, back=done.whole)


def _is_another(seen: Seen, place: Place, was: Identity) -> bool:
    """Whether what is there now took the place of what was: a link could be replaced, and what was held be moved away.

    Where nothing is held, a file is often written by putting a new one in its place: that is a change.
    """
    now = _identity(seen.workspace, place)
    if was[2] == stat.S_IFLNK or now[2] == stat.S_IFLNK:
        return was[2:] != now[2:]
    return seen.held and was != now


def _identity(workspace: str, place: Place) -> Identity:
    path = f"{workspace}/{place.path}"
    try:
        now = os.lstat(path)
        target = os.readlink(path) if stat.S_ISLNK(now.st_mode) else ""
    except OSError:
        return _GONE
    return now.st_dev, now.st_ino, stat.S_IFMT(now.st_mode), target


def _repository_back(seen: Seen, was: Was, into: Callable[[], str]) -> PutAside | None:
    """The directory itself: what is in its place goes, and if it lies elsewhere in the workspace it comes back."""
    workspace, place = seen.workspace, was.place
    now = _identity(workspace, place)
    if now[:3] == was.identity[:3] or not os.path.isdir(os.path.dirname(f"{workspace}/{place.path}")):
        return None
    moved = "" if now == _GONE else _moved(workspace, place.path, into)
    back = _brought_back(workspace, whereabouts(workspace, *was.identity[:2]), place.path)
    return PutAside(place.path, moved, place.why, back=back)


def _brought_back(workspace: str, path: str, to: str) -> bool:
    if not path:
        return False
    try:
        with holding(workspace, path) as (here, name), holding(workspace, to) as (there, its_name):
            os.rename(name, its_name, src_dir_fd=here, dst_dir_fd=there)
    except OSError:
        return False
    return True


def _moved(workspace: str, path: str, into: Callable[[], str]) -> str:
    """Move it, following no link whoever may swap one in. Returns where it is now; nothing if it went away."""
    try:
        with holding(workspace, path) as (here, name), _unlocked(here):
            label = f"{name.lstrip('.')}-{os.urandom(6).hex()}"
            try:
                place = into()
                with holding(place, label) as (there, _):
                    os.rename(name, label, src_dir_fd=here, dst_dir_fd=there)
                return f"{place}/{label}"
            except OSError:  # another file system, a full one, a locked directory: then it is renamed where it is
                os.rename(name, f"put-aside-{label}", src_dir_fd=here, dst_dir_fd=here)
            return os.path.join(workspace, os.path.dirname(path), f"put-aside-{label}")
    except OSError:
        return ""


@contextmanager
def _unlocked(directory: int) -> Iterator[None]:
    """While something is taken out of a directory, also one in which a program forbade that."""
    mode = stat.S_IMODE(os.fstat(directory).st_mode)
    locked = mode & 0o300 != 0o300
    if locked:
        os.chmod(f"/proc/self/fd/{directory}", mode | 0o300)
    try:
        yield
    finally:
        if locked:
            os.chmod(f"/proc/self/fd/{directory}", mode)
