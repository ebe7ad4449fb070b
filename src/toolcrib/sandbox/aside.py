"""Moving what a program left out of the way, to where nothing runs or believes it. Nothing is deleted."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ._beneath import FOLDER, holding

_LABEL_BYTES = 200
"""Of a name, in the one under which the thing lies afterwards: with what is added, no file system refuses that."""


class Together(NamedTuple):
    """What became of many things of one directory."""

    moved_to: str
    """The directory where they are now; empty when none was moved."""
    left: list[str]
    """The names of those that are still where they were."""


def moved(workspace: str, path: str, into: Callable[[], str]) -> str:
    """Move it, following no link whoever may swap one in. Returns where it is now; nothing if it is gone, or stays."""
    try:
        with holding(workspace, path) as (here, name), _unlocked(here):
            label = _label(name, os.urandom(6).hex())
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


def moved_together(workspace: str, above: str, names: Sequence[str], into: Callable[[], str]) -> Together:
    """Move many things of one directory into a new one, in one go: each of them costs a rename, and no more."""
    left: list[str] = []
    try:
        with holding(workspace, os.path.join(above, names[0])) as (here, _), _unlocked(here):
            place, label = into(), _label(os.path.basename(above) or "many", os.urandom(6).hex())
            with holding(place, label) as (there, _):
                os.mkdir(label, 0o700, dir_fd=there)
                folder = os.open(label, FOLDER | os.O_NOFOLLOW, dir_fd=there)
            try:
                for number, name in enumerate(names):
                    try:
                        os.rename(name, _label(name, str(number)), src_dir_fd=here, dst_dir_fd=folder)
                    except OSError:
                        left.append(name)
                if len(left) == len(names):
                    os.rmdir(f"{place}/{label}")
                    return Together("", left)
            finally:
                os.close(folder)
    except OSError:
        return Together("", list(names))
    return Together(f"{place}/{label}", left)


def is_there(workspace: str, path: str) -> bool:
    """Whether something lies at a path, to which no link leads."""
    try:
        with holding(workspace, path) as (here, name):
            os.stat(name, dir_fd=here, follow_symlinks=False)
    except PermissionError:  # it cannot be seen in a locked directory, and it was there
        return True
    except OSError:
        return False
    return True


def kept(path: str, content: bytes, into: Callable[[], str]) -> str:
    """Write down what lay at a path where there is no room for it. Returns where; nothing if there is none either."""
    try:
        place, label = into(), _label(os.path.basename(path), os.urandom(6).hex())
        with holding(place, label) as (there, _):
            fd = os.open(label, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=there)
            try:
                with open(fd, "wb") as file:
                    file.write(content)
            except OSError:  # half of it would look as if it were all
                os.unlink(label, dir_fd=there)
                raise
    except OSError:
        return ""
    return f"{place}/{label}"


def _label(name: str, end: str) -> str:
    """A name that no program looks for, and that tells what it was."""
    return f"{os.fsdecode(os.fsencode(name.lstrip('.'))[:_LABEL_BYTES])}-{end}"


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
