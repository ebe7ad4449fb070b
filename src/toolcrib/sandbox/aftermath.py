"""What a program left in protected places is put aside: moved to where nothing runs or believes it, never deleted.

A place that exists can be held; one that does not exist yet cannot, so what came to be there is looked for when the
program has ended. Where nothing can be held, what was there is kept and put back. Whoever else works in the workspace
at that moment may have made the change: so what is there instead is moved, and told.
"""

import math
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from . import aside, originals
from ._beneath import holding, is_below
from .beforehand import GONE, Identity, Seen, Was, before, identity
from .cage import BUBBLEWRAP, UNCONFINED, Cage
from .finding import TakesLong, find, whereabouts
from .found import INSTALLED, OF_COMMANDS, POINTED, REPOSITORY, STEPS, UNSEEN, Place
from .git_directory import is_settings
from .repository import adds_nothing, are_plain_steps, is_plain

_MANY = 64
"""So many new ones are moved one by one; more, with all that lies beside them."""


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
    stays: bool = False
    """It could not be moved, and is where it was."""
    more: int = 0
    """So many others of the same directory were moved to the same place."""
    kept_in: tuple[str, ...] = ()
    """Where what was there before is, if there was no room for it at its place."""
    missing: bool = False
    """Something of what was there before is not there now."""


class _Begun:
    """What was there before the first of several programs that run at once, where nothing is held.

    Each is compared with that: what one of them changes must not be taken by the next for what was there.
    """

    def __init__(self, seen: Seen) -> None:
        self.seen, self.running = seen, 0
        self.writable: set[str] = set()
        """What was granted to one of them by name is not undone for another."""


class Aftermath:
    """Looks before and after the programs of a runtime."""

    def __init__(self, into: Callable[[], str], tell: Callable[[str, Sequence[PutAside]], None]) -> None:
        """`into` makes the directory for what is put aside; `tell` is told the mark of the program, and what it was."""
        self._into, self._tell = into, tell
        self._begun: dict[str, _Begun] = {}
        self._owed: dict[str, originals.Entries] = {}
        """By workspace: what there was no room for at its place. It is made again when there is."""
        self._turn = threading.Lock()

    def before(self, cage: Cage | None, *, until: float = math.inf) -> Seen | None:
        """What is there now; None when there is nothing to look after. Whoever asks calls `after` once, or `forget`.

        Raises:
            TakesLong: that is not known by then, in monotonic seconds.
        """
        if cage is None or cage.tier in UNCONFINED or not cage.workspace or not cage.workspace_writable:
            return None
        looks = partial(before, cage.workspace, writable=cage.writable, installs=cage.installs, until=until)
        if cage.tier == BUBBLEWRAP:
            return looks(held=True)
        with self._alone(until):
            if owed := self._owed.pop(cage.workspace, None):
                self._owed[cage.workspace] = originals.make_good(cage.workspace, owed)
            begun = self._begun.get(cage.workspace)
            if begun is None:
                begun = self._begun[cage.workspace] = _Begun(looks())
            begun.running += 1
            begun.writable.update(cage.writable)
            return begun.seen._replace(writable=cage.writable, installs=cage.installs)

    def after(
        self, seen: Seen | None, mark: str, done: list[PutAside] | None = None, *, until: float = math.inf
    ) -> None:
        """Put aside what a program left, and back what it changed.

        Raises:
            TakesLong: not all of it was done by then. What was is in `done`; whoever is told this comes again with it.
        """
        if seen is None:
            return
        done = [] if done is None else done
        if seen.held:
            put_aside(seen, self._into, done, until=until)
        else:
            with self._alone(until):
                writable = tuple(self._begun[seen.workspace].writable)
                over = True
                try:
                    put_aside(seen._replace(writable=writable), self._into, done, until=until)
                    for each in done:
                        if each.missing:
                            self._owe(seen, each.path)
                except TakesLong:
                    over = False
                    raise
                finally:
                    if over:
                        self._over(seen.workspace)
        if done:
            self._tell(mark, done)

    def forget(self, seen: Seen | None) -> None:
        """Nothing was started after all."""
        if seen is not None and not seen.held:
            with self._turn:
                self._over(seen.workspace)

    @contextmanager
    def _alone(self, until: float) -> Iterator[None]:
        """While nobody else compares. Who has no time does not wait for that."""
        if not self._turn.acquire(blocking=until == math.inf):
            raise TakesLong
        try:
            yield
        finally:
            self._turn.release()

    def _owe(self, seen: Seen, path: str) -> None:
        lost = originals.missing(seen.workspace, seen.places[path].entries or {})
        self._owed[seen.workspace] = {**self._owed.get(seen.workspace, {}), **lost}

    def _over(self, workspace: str) -> None:
        begun = self._begun[workspace]
        begun.running -= 1
        if not begun.running:
            del self._begun[workspace]


def put_aside(
    seen: Seen, into: Callable[[], str], done: list[PutAside] | None = None, *, until: float = math.inf
) -> list[PutAside]:
    """Put back what was there and changed; move what is protected and was not there before.

    Raises:
        TakesLong: there is more to do than can be done by then. What was done is in `done`, and is not done again.
    """
    workspace, done = seen.workspace, [] if done is None else done
    places = {place.path: place for place in find(workspace, until=until)}
    places |= {path: then.place for path, then in seen.places.items() if not then.held or then.place.kind == POINTED}
    new: list[Place] = []
    told_of = {each.path for each in done}
    settled = {each.path for each in done if each.moved_to and not each.back}
    """What lies in one of these has its fate."""
    for place in places.values():
        if time.monotonic() > until:
            raise TakesLong
        if place.path in told_of or (settled and _lies_in(place.path, settled)) or place.path in seen.beyond:
            continue
        if any(is_below(f"{workspace}/{place.path}", each) for each in seen.writable):
            continue
        if seen.installs and place.kind in OF_COMMANDS:
            continue
        was = seen.places.get(place.path)
        if was is None and place.kind == POINTED:  # by what is new, and goes itself
            continue
        if place.kind == UNSEEN:  # it cannot be said what in it is new
            done += [PutAside(place.path, "", place.why)] if was is None else []
        elif was is not None and was.held and is_settings(place) and adds_nothing(workspace, place.path, _text(was)):
            continue  # git itself, or the user by way of it: it writes a new file for each change
        elif was is not None and (not was.held or _lost_its_hold(workspace, was)):
            told = _put_back(seen, was, into)
            if told is not None:
                done.append(told)
                if told.moved_to and not told.back:
                    settled.add(place.path)
        elif was is None and _is_ordinary(workspace, place):
            settled.add(place.path)
        elif place.kind != INSTALLED and (was is None or _is_another(seen, place, was.identity)):
            new.append(place)
            settled.add(place.path)
    if len(new) > _MANY and until < math.inf:
        raise TakesLong
    done += _moved_together(workspace, new, into) if len(new) > _MANY else _moved(workspace, new, into)
    return done


def _is_ordinary(workspace: str, place: Place) -> bool:
    """Whether something new may stay: whoever made it, perhaps the user, made nothing that runs or leads elsewhere."""
    if place.kind == STEPS:
        return are_plain_steps(workspace, place.path)
    return place.kind == REPOSITORY and is_plain(workspace, place.path)


def _lies_in(path: str, directories: set[str]) -> bool:
    while (at := path.rfind("/")) > 0:
        path = path[:at]
        if path in directories:
            return True
    return False


def _moved(workspace: str, places: Sequence[Place], into: Callable[[], str]) -> list[PutAside]:
    done = []
    for place in places:
        to = aside.moved(workspace, place.path, into)
        if to or aside.is_there(workspace, place.path):
            done.append(PutAside(place.path, to, place.why, stays=not to))
    return done


def _moved_together(workspace: str, places: Sequence[Place], into: Callable[[], str]) -> list[PutAside]:
    """Of each directory to a place of their own; one by one where that does not work."""
    by_directory: dict[str, dict[str, Place]] = {}
    for place in places:
        above, _, name = place.path.rpartition("/")
        by_directory.setdefault(above, {})[name] = place
    done: list[PutAside] = []
    for above, beside in by_directory.items():
        moved_to, left = aside.moved_together(workspace, above, list(beside), into)
        if moved_to:
            first = next(place for name, place in beside.items() if name not in left)
            done.append(PutAside(first.path, moved_to, first.why, more=len(beside) - len(left) - 1))
        done += _moved(workspace, [beside[name] for name in left], into)
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
    done = originals.put_back(
        workspace,
        place.path,
        was.entries,
        aside=lambda path: aside.moved(workspace, path, into),
        keep=lambda path, content: aside.kept(path, content, into),
    )
    if done is None:
        return None
    return PutAside(place.path, done.moved_to, place.why, back=done.whole, kept_in=done.kept_in, missing=done.missing)


def _is_another(seen: Seen, place: Place, was: Identity) -> bool:
    """Whether what is there now took the place of what was: a link could be replaced, and what was held be moved away.

    Where nothing is held, a file is often written by putting a new one in its place: that is a change.
    """
    now = identity(seen.workspace, place.path)
    if was[2] == stat.S_IFLNK or now[2] == stat.S_IFLNK:
        return was[2:] != now[2:]
    return seen.held and was != now


def _lost_its_hold(workspace: str, was: Was) -> bool:
    """Whether a file that was held is another one now. Whoever puts a new file into its place, as editors and git do,
    takes away what held it, and then the program may have written as well.
    """
    if was.identity[2] != stat.S_IFREG or was.entries is None or originals.unchanged(workspace, was.entries):
        return False
    return is_settings(was.place) or identity(workspace, was.place.path) != was.identity


def _text(was: Was) -> bytes:
    kept = (was.entries or {}).get(was.place.path)
    return (kept and kept.content) or b""


def _repository_back(seen: Seen, was: Was, into: Callable[[], str]) -> PutAside | None:
    """The directory itself: what is in its place goes, and if it lies elsewhere in the workspace it comes back."""
    workspace, place = seen.workspace, was.place
    now = identity(workspace, place.path)
    if now[:3] == was.identity[:3] or not os.path.isdir(os.path.dirname(f"{workspace}/{place.path}")):
        return None
    moved = "" if now == GONE else aside.moved(workspace, place.path, into)
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
