"""The names in a directory of a workspace, also of one that was locked, and of one that is very full."""

import itertools
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ._beneath import FOLDER, descend

MOST_NAMES = 100_000
"""Listing them takes a third of a second. In a fuller directory some are tried, as they are usually written."""
_TO_LIST = 0o500
_turn = threading.Lock()
"""Two who unlock one directory would each take the other's rights for those that it had."""


class Names(NamedTuple):
    """What a directory holds."""

    kinds: dict[str, int]
    """The kind of file each is."""
    whole: bool
    """There are no others."""


def names_in(workspace: str, path: str, likely: Iterable[str]) -> Names:
    """What the directory at a path without links holds; `likely` are the names to try where it cannot be listed whole.

    Raises:
        OSError: it is gone.
    """
    directory = f"{workspace}/{path}" if path else workspace
    kinds: dict[str, int] = {}
    crowded = False
    try:
        kinds, crowded = _listed(directory)
        if not crowded:
            return Names(kinds, whole=True)
    except PermissionError:
        try:
            with _unlocked(workspace, path) as opened:
                kinds, crowded = _listed(opened)
                if not crowded:
                    return Names(kinds, whole=True)
        except OSError:  # not ours: then it can still be gone through
            pass
    for name in likely:
        try:
            kinds[name] = stat.S_IFMT(os.lstat(f"{directory}/{name}").st_mode)
        except OSError:
            pass
    return Names(kinds, whole=not crowded)


def is_closed(now: os.stat_result) -> bool:
    """Whether what lies in a directory of ours is kept from us, who could open it at any time."""
    return not now.st_mode & stat.S_IXUSR and now.st_uid == os.geteuid() != 0


def _listed(directory: str) -> tuple[dict[str, int], bool]:
    with os.scandir(directory) as entries:
        kinds = {entry.name: _kind(entry) for entry in itertools.islice(entries, MOST_NAMES)}
        return kinds, next(entries, None) is not None


def _kind(entry: "os.DirEntry[str]") -> int:
    if entry.is_symlink():
        return stat.S_IFLNK
    return stat.S_IFDIR if entry.is_dir(follow_symlinks=False) else stat.S_IFREG


@contextmanager
def _unlocked(workspace: str, path: str) -> Iterator[str]:
    """A name for a directory of ours while it can be listed: a program that locks one hides nothing in it.

    Raises:
        OSError: it is not ours.
    """
    top = os.open(workspace, FOLDER | os.O_NOFOLLOW)
    try:
        directory = descend(top, path.split("/") if path else ())
    finally:
        os.close(top)
    try:
        opened = f"/proc/self/fd/{directory}"
        with _turn:
            mode = stat.S_IMODE(os.fstat(directory).st_mode)
            os.chmod(opened, mode | _TO_LIST)
            try:
                yield opened
            finally:
                os.chmod(opened, mode)
    finally:
        os.close(directory)
