"""What of a workspace a contained program may read and not change, and what it may not even see."""

import functools
import os
import stat
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from ._beneath import is_below
from .cage import BUBBLEWRAP, Cage
from .finding import find
from .found import LED, OF_COMMANDS, REPOSITORY, UNSEEN, claim
from .grantable import KEYS

MOST = 256
"""Each is a mount, and costs every start something. The nearest come first."""

READ_ONLY, FIXED, HIDDEN_DIRECTORY, HIDDEN_FILE = "read-only", "fixed", "hidden directory", "hidden file"
"""`FIXED` can be changed, but not moved or removed, nor anything put in its place."""


class Shield(NamedTuple):
    """A real path, and what becomes of it."""

    path: str
    how: str


def shields(cage: Cage) -> Iterator[Shield]:
    """For the workspace of this cage. What was granted by name is not among them."""
    if not cage.workspace:
        return
    hidden = list(_hidden(cage.workspace, _real(os.path.expanduser("~"))))
    yield from hidden
    if not cage.workspace_writable:
        return
    count = 0
    for place in sorted(find(cage.workspace), key=claim):
        if place.kind in (LED, UNSEEN) or (cage.installs and place.kind in OF_COMMANDS):
            continue
        path = f"{cage.workspace}/{place.path}"
        if os.path.islink(path) or not os.path.lexists(path):  # what a link leads to is a place itself
            continue
        if any(is_below(path, each) for each in cage.writable):
            continue
        if any(each.how in (HIDDEN_DIRECTORY, HIDDEN_FILE) and is_below(path, each.path) for each in hidden):
            continue
        count += 1
        if count > MOST:
            return
        yield Shield(path, FIXED if place.kind == REPOSITORY else READ_ONLY)


def standing(cage: Cage | None) -> Hashable:
    """What a program that stays running was shielded from: where that is not so any more, another must be started."""
    if cage is None or cage.tier != BUBBLEWRAP:
        return None
    return tuple((*shield, _number(shield.path)) for shield in shields(cage))


def _number(path: str) -> int:
    try:
        return os.lstat(path).st_ino
    except OSError:
        return 0


@functools.lru_cache(maxsize=8)
def _real(home: str) -> str:
    """Whose home this is does not change while we run, and this is asked at every start."""
    return os.path.realpath(home)


def _hidden(workspace: str, home: str) -> Iterator[Shield]:
    """Where people keep their keys, when the workspace is their home, or holds it."""
    if not is_below(home, workspace):
        return
    for names in KEYS:
        path = os.path.realpath(os.path.join(home, *names))
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            continue
        if path in (home, workspace) or not is_below(path, workspace):
            continue
        above = os.path.dirname(path)
        if above != home and is_below(above, home):  # else another call would find it under another name
            yield Shield(above, FIXED)
        yield Shield(path, HIDDEN_DIRECTORY if stat.S_ISDIR(mode) else HIDDEN_FILE)
