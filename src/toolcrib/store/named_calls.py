"""Calls that their caller gave a name, so that one of the same name is not run a second time: also after a crash.

One small file for each, made before the call runs and replaced when it is over. A file that was not replaced says that
a call was begun, and that nobody knows what became of it.
"""

import hashlib
import os
import shutil
from contextlib import suppress
from typing import NamedTuple

from .home import PRIVATE_FILE, Home

MOST, MOST_BYTES = 20_000, 64 * 1024 * 1024
"""How many names are kept, more than can be under way at a time; and how much of their answers."""
ANSWER_BYTES = 64 * 1024
_FOLDER = "calls"
_DRAFT = ".new"
_BEGUN, _ENDED, _LONG = b"begun", b"ended", b"long"
_HEAD_BYTES = 128
"""At most before the answer: how it stands, and the digest of what was asked for."""


class Earlier(NamedTuple):
    """What is kept of a call."""

    request: str
    """The digest of what was asked for; empty where the machine stopped before it was written."""
    is_over: bool
    answer: bytes | None
    """None where it is not over, or was too long to be kept."""


class NamedCalls:
    """The names of all calls of a home. Processes that share it see each other's."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def begin(self, session: str, name: str, request: str) -> Earlier | None:
        """Take a name for a call. Returns what is kept of one that has it already, and then nothing may run.

        Raises:
            OSError: it cannot be kept.
        """
        self._home.directory(_FOLDER, _key(session))
        path = self._path(session, name)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        except FileExistsError:
            return _read(path)
        try:
            _write(fd, _head(_BEGUN, request))
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(fd)
        return None

    def end(self, session: str, name: str, request: str, *, answer: bytes) -> None:
        """Keep how it ended. Where that fails, it stays begun."""
        path = self._path(session, name)
        draft = path + _DRAFT
        kept = _head(_ENDED, request) + answer if len(answer) <= ANSWER_BYTES else _head(_LONG, request)
        with suppress(OSError):
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
            try:
                _write(fd, kept)
            finally:
                os.close(fd)
            os.rename(draft, path)
            return
        with suppress(OSError):  # half of an answer is none
            os.unlink(draft)

    def forget(self, session: str, name: str) -> None:
        """Nothing ran, so the name is free again."""
        with suppress(OSError):
            os.unlink(self._path(session, name))

    def forget_session(self, session: str) -> None:
        shutil.rmtree(self._home.file(_FOLDER, _key(session)), ignore_errors=True)

    def prune(self) -> None:
        """Remove the oldest of what is too much. Ages are compared with each other, never with the clock.

        Of too many bytes the answers go, and the names stay taken; what was begun loses its name only after all that
        is over has lost its own.
        """
        found: list[tuple[int, int, str]] = []
        for folder, _, names in os.walk(self._home.file(_FOLDER)):
            for name in names:
                path = os.path.join(folder, name)
                with suppress(OSError):
                    seen = os.lstat(path)
                    found.append((seen.st_mtime_ns, seen.st_size, path))
        found.sort(reverse=True)
        total = 0
        for _, size, path in found:
            total += size
            if total > MOST_BYTES and size > _HEAD_BYTES and not path.endswith(_DRAFT):
                with suppress(OSError):
                    _drop_answer(path)
        _unlink_oldest([path for _, _, path in reversed(found)], count=len(found) - MOST)

    def _path(self, session: str, name: str) -> str:
        return self._home.file(_FOLDER, _key(session), _key(name))


def _head(state: bytes, request: str) -> bytes:
    return b"%b %b\n" % (state, request.encode())


def _read(path: str) -> Earlier:
    with open(path, "rb") as file:
        data = file.read(ANSWER_BYTES + _HEAD_BYTES)
        is_whole = os.fstat(file.fileno()).st_size == len(data)  # its answer may be dropped while it is read
    head, _, answer = data.partition(b"\n")
    state, _, request = head.partition(b" ")
    has_answer = state == _ENDED and bool(answer) and is_whole
    return Earlier(request.decode("ascii", "replace"), state in (_ENDED, _LONG), answer if has_answer else None)


def _drop_answer(path: str) -> None:
    """Of a call that is over. In place, because that needs no room; a call that ends now comes by rename, and is
    another file."""
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        seen, head = os.fstat(fd), os.pread(fd, _HEAD_BYTES, 0)
        if head.startswith(_ENDED + b" ") and b"\n" in head:
            os.ftruncate(fd, head.index(b"\n") + 1)
            os.utime(fd, ns=(seen.st_atime_ns, seen.st_mtime_ns))  # it is as old as before
    finally:
        os.close(fd)


def _unlink_oldest(oldest_first: list[str], *, count: int) -> None:
    """So many, of those that are over; of those that are not, only when there are no others left."""
    not_over = []
    for path in oldest_first:
        if count <= 0:
            return
        with suppress(OSError):
            if not _read(path).is_over:
                not_over.append(path)
                continue
            os.unlink(path)
            count -= 1
    for path in not_over[: max(count, 0)]:
        with suppress(OSError):
            os.unlink(path)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _key(text: str) -> str:
    """A name that any file system takes, whatever the caller wrote."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:40]
