"""What stands in protected places, kept while a program could change it, and put back when it did.

Landlock can hold nothing within a workspace that may be written to. So files are kept in memory before a program
starts, within bounds, and compared when it has ended. Nothing is read, and nothing written, through a link.
"""

import errno
import itertools
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ._beneath import LOOK, holding, is_below, reading_in

MOST_ENTRIES = 400
"""Of one place. Of a larger one it is only noticed that it changed."""
MOST_BYTES = 1 << 20
"""The same, in its files together."""
_UNSETTLED_NS = 50_000_000
"""What changed so short a time ago may change again without its stamp telling."""

Stamp = tuple[int, int, int, int, int]


class Entry(NamedTuple):
    """A file, a link or a directory, as it was."""

    mode: int
    owner: tuple[int, int]
    stamp: Stamp
    settled: bool
    content: bytes | None = None
    """Of a file; the target of a link."""


Entries = Mapping[str, Entry]
"""By path, relative to the workspace; what holds something before what is in it."""


class PutBack(NamedTuple):
    """What was done to make a place what it was."""

    whole: bool
    """It is what it was."""
    moved_to: str
    """Where something is now that was there instead."""
    kept_in: tuple[str, ...] = ()
    """Files with what there was no room for at its place."""
    missing: bool = False
    """Some of it is not there at all."""


def stamps(workspace: str, path: str) -> dict[str, Stamp]:
    """By which a change shows, of all that is at a place; of very much, of a part of it."""
    return {each: _stamp(seen) for each, seen in _all(workspace, path).items()}


def unchanged(workspace: str, entries: Entries) -> bool:
    """Whether all of it is as it was, as far as stamps can tell; a glance at each tells, also that no name is new."""
    try:
        for path, entry in entries.items():
            if not entry.settled or entry.stamp != _stamp(os.lstat(f"{workspace}/{path}")):
                return False
    except OSError:
        return False
    return bool(entries)


def kept(workspace: str, path: str, known: Entries) -> Entries | None:
    """All that is at a place; None when that is too much, or not ours to read. `known` is not read again."""
    entries: dict[str, Entry] = {}
    room = MOST_BYTES
    for each, seen in _all(workspace, path).items():
        entry = known.get(each)
        if entry is None or not entry.settled or entry.stamp != _stamp(seen):
            try:
                entry = _entry(workspace, each, seen, room)
            except OSError:
                return None
        room -= len(entry.content or b"")
        entries[each] = entry
        if room < 0 or len(entries) > MOST_ENTRIES:
            return None
    return entries


def put_back(
    workspace: str, path: str, was: Entries, *, aside: Callable[[str], str], keep: Callable[[str, bytes], str]
) -> PutBack | None:
    """Make a place what it was; None when it is.

    `aside` moves what is at a path away, and says where to. `keep` writes down elsewhere what a path held, and says
    where: what was there is in memory alone until it is written somewhere.
    """
    if unchanged(workspace, was):
        return None
    changed, moved = False, ""
    made: list[str] = []
    kept_in: list[str] = []
    if len(_all(workspace, path)) > MOST_ENTRIES:
        changed, moved = True, aside(path)
    for each, then in was.items():
        seen = _look(f"{workspace}/{each}")
        if seen is not None and _is_same(workspace, each, then, seen):
            continue
        if not os.path.isdir(os.path.dirname(f"{workspace}/{each}")):  # it went with what held it
            continue
        changed = True
        try:
            if seen is not None and _mended(workspace, each, then, seen):
                continue
            if seen is not None:
                moved = aside(each) or moved
            _make(workspace, each, then)
            made.append(each)
        except OSError:
            kept_in += _written_down(was, each, keep)
    _close(workspace, made, was)
    gone: list[str] = []
    for each in _all(workspace, path):
        if each not in was and not any(is_below(each, above) for above in gone):
            changed, moved = True, aside(each) or moved
            gone.append(each)
    if not changed:
        return None
    if _is_whole(workspace, path, was):
        return PutBack(True, moved)
    return PutBack(False, moved, tuple(kept_in), bool(missing(workspace, was)))


def make_good(workspace: str, owed: Entries) -> Entries:
    """Make what there was no room for, if nobody else did. What there still is no room for."""
    left: dict[str, Entry] = {}
    made: list[str] = []
    for path, then in owed.items():
        if _look(f"{workspace}/{path}") is not None:
            continue
        try:
            _make(workspace, path, then)
            made.append(path)
        except OSError as exc:
            if exc.errno in (errno.ENOSPC, errno.EDQUOT) or any(is_below(path, above) for above in left):
                left[path] = then
    _close(workspace, made, owed)
    return left


def missing(workspace: str, was: Entries) -> Entries:
    """Those of them where nothing is."""
    return {path: then for path, then in was.items() if _look(f"{workspace}/{path}") is None}


def _close(workspace: str, made: Sequence[str], was: Entries) -> None:
    """Give directories the rights they had, once all that is in them is written: it may be that nobody writes there."""
    for path in reversed(made):
        if stat.S_ISDIR(was[path].mode) and (seen := _look(f"{workspace}/{path}")) is not None:
            with suppress(OSError):  # somebody may take it away again
                _give_rights(workspace, path, was[path], seen)


def _written_down(was: Entries, path: str, keep: Callable[[str, bytes], str]) -> list[str]:
    """All that was at a path, or below it: without its directory nothing of that can be put back."""
    lost = (each for each in was if is_below(each, path) and stat.S_ISREG(was[each].mode))
    return [place for each in lost if (place := keep(each, was[each].content or b""))]


def _is_whole(workspace: str, path: str, was: Entries) -> bool:
    for each, then in was.items():
        seen = _look(f"{workspace}/{each}")
        if seen is None and not os.path.isdir(os.path.dirname(f"{workspace}/{each}")):
            continue
        if seen is None or not _is_same(workspace, each, then, seen):
            return False
    return all(each in was for each in _all(workspace, path))


def _all(workspace: str, path: str) -> dict[str, os.stat_result]:
    found: dict[str, os.stat_result] = {}
    queue = [path]
    for each in queue:
        if len(found) > MOST_ENTRIES:
            break
        if (seen := _look(f"{workspace}/{each}")) is None:
            continue
        found[each] = seen
        if stat.S_ISDIR(seen.st_mode):
            queue += [f"{each}/{name}" for name in _names(f"{workspace}/{each}")]
    return found


def _names(directory: str) -> list[str]:
    """What lies in a directory; of a million names, no more than it takes to see that they are too many."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in itertools.islice(entries, MOST_ENTRIES + 1))
    except OSError:
        return []


def _look(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _stamp(seen: os.stat_result) -> Stamp:
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def _entry(workspace: str, path: str, seen: os.stat_result, room: int) -> Entry:
    content = None
    if stat.S_ISLNK(seen.st_mode) or stat.S_ISREG(seen.st_mode):
        content = _content(workspace, path, seen, room)
    settled = time.time_ns() - max(seen.st_mtime_ns, seen.st_ctime_ns) > _UNSETTLED_NS
    return Entry(seen.st_mode, (seen.st_uid, seen.st_gid), _stamp(seen), settled, content)


def _content(workspace: str, path: str, seen: os.stat_result, room: int) -> bytes:
    """Raises: `OSError`, also when another thing is there than was seen."""
    with holding(workspace, path) as (folder, name):
        if stat.S_ISLNK(seen.st_mode):
            return os.fsencode(os.readlink(name, dir_fd=folder))
        with open(name, "rb", opener=reading_in(folder)) as file:
            now = os.fstat(file.fileno())
            if (now.st_dev, now.st_ino) != (seen.st_dev, seen.st_ino):
                raise OSError(f"{path} was replaced")
            return file.read(room + 1)


def _is_same(workspace: str, path: str, then: Entry, seen: os.stat_result) -> bool:
    if (then.mode, then.owner) != (seen.st_mode, (seen.st_uid, seen.st_gid)):
        return False
    return _holds_the_same(workspace, path, then, seen)


def _holds_the_same(workspace: str, path: str, then: Entry, seen: os.stat_result) -> bool:
    if stat.S_IFMT(then.mode) != stat.S_IFMT(seen.st_mode):
        return False
    if stat.S_ISDIR(seen.st_mode) or (then.settled and then.stamp == _stamp(seen)):
        return True
    if then.content is None:  # a pipe, a socket: nothing is in it
        return then.stamp[:2] == _stamp(seen)[:2]
    try:
        return _content(workspace, path, seen, len(then.content)) == then.content
    except OSError:
        return False


def _mended(workspace: str, path: str, then: Entry, seen: os.stat_result) -> bool:
    """Where only rights or the owner differ, those are set again."""
    if stat.S_ISLNK(seen.st_mode) or then.stamp[:2] != _stamp(seen)[:2]:
        return False
    if stat.S_ISREG(seen.st_mode) and seen.st_nlink > 1:  # it may be another file as well
        return False
    if not _give_rights(workspace, path, then, seen):
        return False
    return (fresh := _look(f"{workspace}/{path}")) is not None and _is_same(workspace, path, then, fresh)


def _give_rights(workspace: str, path: str, then: Entry, seen: os.stat_result) -> bool:
    """Those that it had, if it still is what was seen."""
    with holding(workspace, path) as (folder, name):
        fd = os.open(name, LOOK | os.O_NOFOLLOW, dir_fd=folder)
        try:
            now = os.fstat(fd)
            if (now.st_dev, now.st_ino, now.st_mode) != (seen.st_dev, seen.st_ino, seen.st_mode):
                return False
            rights = f"/proc/self/fd/{fd}"
            os.chmod(rights, stat.S_IMODE(then.mode))  # first: it may be what kept it from being read
            if then.owner != (now.st_uid, now.st_gid):
                os.chown(rights, *then.owner)
                os.chmod(rights, stat.S_IMODE(then.mode))
        finally:
            os.close(fd)
    return True


def _make(workspace: str, path: str, then: Entry) -> None:
    """Raises: `OSError`, also when something is there."""
    with holding(workspace, path) as (folder, name):
        if stat.S_ISDIR(then.mode):
            os.mkdir(name, stat.S_IMODE(then.mode) | 0o700, dir_fd=folder)
        elif stat.S_ISLNK(then.mode):
            os.symlink(then.content or b"", os.fsencode(name), dir_fd=folder)
            now = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if then.owner != (now.st_uid, now.st_gid):
                os.chown(name, *then.owner, dir_fd=folder, follow_symlinks=False)
        elif stat.S_ISREG(then.mode):
            fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
            try:
                _fill(fd, then)
            except OSError:  # half of it would look as if it were all
                os.unlink(name, dir_fd=folder)
                raise


def _fill(fd: int, then: Entry) -> None:
    with open(fd, "wb") as file:
        file.write(then.content or b"")
        file.flush()
        seen = os.fstat(fd)
        if then.owner != (seen.st_uid, seen.st_gid):
            os.fchown(fd, *then.owner)
        os.fchmod(fd, stat.S_IMODE(then.mode))
        os.utime(fd, ns=(then.stamp[3], then.stamp[3]))
