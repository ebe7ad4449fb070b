"""What a program left in protected places is put aside: moved to where nothing runs or believes it, never deleted.

A place that exists can be held; one that does not exist yet cannot, so what came to be there is looked for when the
program has ended. Whoever else works in the workspace at that moment may have made it: so it is moved, and told.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from ._beneath import is_below
from .cage import BUBBLEWRAP, UNCONFINED, Cage
from .finding import INSTALLED, LINK, REPOSITORY, Place, find

if TYPE_CHECKING:
    from .lending import Loan

_MOST = 64
"""Are put aside after one program, the nearest first."""
_MOST_FILES = 200
"""Are looked at in a protected directory, to see whether something in it changed."""
_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ELSEWHERE = (errno.EXDEV, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EROFS)
"""It cannot be moved there: another file system, or a directory that was locked. Then it is renamed where it is."""

Identity = tuple[int, int, int, str]
Traces = tuple[tuple[str, int, int, int], ...]

_GONE: Identity = (0, 0, 0, "")


class PutAside(NamedTuple):
    """Something protected that a program made, or changed."""

    path: str
    """Where it was, relative to the workspace."""
    moved_to: str
    """Where it is now. Empty: it was there before, and was changed; it is left as it is."""
    why: str
    """What is protected there."""


class Seen(NamedTuple):
    """What was there before a program began."""

    workspace: str
    writable: tuple[str, ...]
    held: bool
    """What was there could not be changed; if it is another one now, somebody moved it away."""
    places: dict[str, tuple[Identity, Traces]]


class Aftermath:
    """Looks before and after the programs of a runtime."""

    def __init__(self, into: Callable[[], str], tell: Callable[[str, Sequence[PutAside]], None]) -> None:
        """`into` makes the directory for what is put aside; `tell` is told the mark of the program, and what it was."""
        self._into, self._tell = into, tell

    def before(self, cage: Cage | None) -> Seen | None:
        """What is there now; None when there is nothing to look after."""
        if cage is None or cage.tier in UNCONFINED or not cage.workspace or not cage.workspace_writable:
            return None
        return before(cage.workspace, writable=cage.writable, held=cage.tier == BUBBLEWRAP)

    def after(self, seen: Seen | None, mark: str) -> None:
        if seen is not None and (done := put_aside(seen, self._into)):
            self._tell(mark, done)

    def around(self, loan: "Loan", cage: Cage | None, mark: str) -> "Loan":
        """A loan, looked after as a program is."""
        from .watched import Watched  # late: few tools stay running

        return Watched(loan, lambda: self.before(cage), lambda seen: self.after(seen, mark))


def before(workspace: str, *, writable: Sequence[str] = (), held: bool = False) -> Seen:
    """What is protected and exists. What is `writable` was granted by name and is nobody's concern."""
    places = find(workspace)
    seen = {place.path: (_identity(workspace, place), () if held else _traces(workspace, place)) for place in places}
    return Seen(workspace, tuple(writable), held, seen)


def put_aside(seen: Seen, into: Callable[[], str]) -> list[PutAside]:
    """Move what is protected and was not there before; say also what was there and changed."""
    done: list[PutAside] = []
    for place in find(seen.workspace):
        path = f"{seen.workspace}/{place.path}"
        if any(is_below(path, each) for each in seen.writable):
            continue
        if any(place.path.startswith(each.path + "/") for each in done if each.moved_to):
            continue
        was = seen.places.get(place.path)
        if was is not None and not _is_another(seen, place, was[0]):
            if not seen.held and was[1] != _traces(seen.workspace, place):
                done.append(PutAside(place.path, "", place.why))
        elif place.kind != INSTALLED and len(done) < _MOST and (moved := _moved(seen.workspace, place.path, into())):
            done.append(PutAside(place.path, moved, place.why))
    return done


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
        target = os.readlink(path) if place.kind == LINK else ""
    except OSError:
        return _GONE
    return now.st_dev, now.st_ino, stat.S_IFMT(now.st_mode), target


def _traces(workspace: str, place: Place) -> Traces:
    """By which a change shows: of what is in it as well, but not of a repository, where only parts are protected."""
    if place.kind in (REPOSITORY, LINK):
        return ()
    found: list[tuple[str, int, int, int]] = []
    queue = [f"{workspace}/{place.path}"]
    for path in queue:
        try:
            now = os.lstat(path)
            found.append((path, now.st_ino, now.st_size, now.st_mtime_ns))
            if stat.S_ISDIR(now.st_mode) and len(queue) < _MOST_FILES:
                queue += [f"{path}/{name}" for name in sorted(os.listdir(path))[: _MOST_FILES - len(queue)]]
        except OSError:
            pass
    return tuple(found)


def _moved(workspace: str, path: str, into: str) -> str:
    """Move it, following no link whoever may swap one in. Returns where it is now; nothing if it went away."""
    *above, name = path.split("/")
    opened: list[int] = []
    try:
        opened.append(os.open(workspace, _DIRECTORY))
        for each in above:
            opened.append(os.open(each, _DIRECTORY, dir_fd=opened[-1]))
        opened.append(os.open(into, _DIRECTORY))
        here, there = opened[-2:]
        label = f"{name.lstrip('.')}-{os.urandom(6).hex()}"
        with _unlocked(here):
            try:
                os.rename(name, label, src_dir_fd=here, dst_dir_fd=there)
                return f"{into}/{label}"
            except OSError as exc:
                if exc.errno not in _ELSEWHERE:
                    raise
            os.rename(name, f"put-aside-{label}", src_dir_fd=here, dst_dir_fd=here)
            return os.path.join(workspace, *above, f"put-aside-{label}")
    except OSError:
        return ""
    finally:
        for fd in opened:
            os.close(fd)


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
