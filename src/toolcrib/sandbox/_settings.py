"""The settings of the system as a contained program finds them: one directory, copied from those that may be read.

Each file of /etc that is mounted by itself costs a start a third of a millisecond, and there are dozens of them.
"""

import os
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator

_MOST_ENTRIES = 40
"""Of a directory that is copied; a fuller one is mounted."""
_MOST_BYTES = 1 << 20
_MOST_DEPTH = 4
_SECONDS = 1.0
"""How long it may take until one that was changed is the new one to programs."""

Signature = tuple[tuple[int, int, int] | None, ...]


class Settings:
    """Copies of these paths, below one directory, made anew when one of them has changed."""

    def __init__(self, paths: Iterable[str], below: str, *, top: str = "/etc") -> None:
        self._paths, self._below, self._top = tuple(paths), below, top
        self._made: tuple[Signature, str, tuple[str, ...]] | None = None
        self._looked = float("-inf")

    def current(self) -> tuple[str, tuple[str, ...]]:
        """The directory, and which paths are empty in it because they are to be mounted.

        Raises:
            OSError: there is no room for it.
        """
        now = time.monotonic()
        if self._made is not None and now - self._looked < _SECONDS and os.path.isdir(self._made[1]):
            return self._made[1:]
        self._looked, seen = now, tuple(_identity(path) for path in self._paths)
        if self._made is None or self._made[0] != seen or not os.path.isdir(self._made[1]):
            os.makedirs(self._below, 0o755, exist_ok=True)
            place = tempfile.mkdtemp(prefix="settings-", dir=self._below)
            os.chmod(place, 0o755)
            self._made = seen, place, tuple(self._copied(place))
        return self._made[1:]

    def _copied(self, place: str) -> Iterator[str]:
        for path in self._paths:
            target = place + path.removeprefix(self._top)
            os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
            if not _copy(path, target, _MOST_DEPTH):
                yield path


def _identity(path: str) -> tuple[int, int, int] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_ino, seen.st_mtime_ns, seen.st_size


def _copy(source: str, target: str, depth: int) -> bool:
    """False for what is better mounted; then an empty one of its kind is at its place."""
    try:
        mode = os.lstat(source).st_mode
        if stat.S_ISLNK(mode) and os.path.realpath(source).startswith("/usr/"):
            os.symlink(os.readlink(source), target)
            return True
        if os.path.isdir(source):
            os.mkdir(target, 0o755)
            names = os.listdir(source)
            if len(names) > _MOST_ENTRIES or not depth:
                return False
            whole = all(_copy(f"{source}/{name}", f"{target}/{name}", depth - 1) for name in names)
            return whole or _emptied(target)
        return not stat.S_ISREG(os.stat(source).st_mode) or _copy_file(source, target)
    except PermissionError:  # not for everybody, and so for no tool
        return True
    except FileNotFoundError:  # a link that leads nowhere, or one that went away
        return True


def _copy_file(source: str, target: str) -> bool:
    with open(source, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
        public = os.fstat(file.fileno()).st_mode & stat.S_IROTH
    if not public:
        return True
    with open(target, "xb") as file:
        os.fchmod(file.fileno(), 0o444)
        if len(data) > _MOST_BYTES:
            return False
        file.write(data)
    return True


def _emptied(directory: str) -> bool:
    """What is mounted as a whole must not be half there: only the place to mount it at stays."""
    for name in os.listdir(directory):
        path = f"{directory}/{name}"
        if os.path.isdir(path) and not os.path.islink(path):
            _emptied(path)
            os.rmdir(path)
        else:
            os.unlink(path)
    return False
