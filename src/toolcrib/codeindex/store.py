"""What is known of a source tree, kept between runs: losing it costs time, nothing else.

Two files: a large one, written seldom and named after its content's identity, and a small one with what changed since,
which names the large one. Each is written whole under another name and then renamed. What does not have the right sum,
version, workspace and lengths is as good as nothing.
"""

import marshal
import os
import sys
import time
import zlib
from array import array
from contextlib import suppress
from typing import Any

from .. import __version__
from .segment import FACTS, NAMES, STAMP, WORDS, Segment
from .snapshot import Snapshot, Watched

_FORMAT = f"toolcrib code index 1 of {__version__} by {sys.implementation.cache_tag}\n".encode()
_SUM, _LENGTH = 4, 8
_PRIVATE_DIR, _PRIVATE_FILE = 0o700, 0o600
_MOST_WORKSPACES = 32
_YOUNG_SECONDS = 60.0
_HEX = frozenset("0123456789abcdef")
_SMALL, _LARGE = "recent", "tree-"
_TEXTS = (NAMES, WORDS, FACTS)
_PARTS = 1 + len(_TEXTS)


class Store:
    """The directory of one workspace in the cache."""

    def __init__(self, cache: str, real: str) -> None:
        """`real` is where the workspace lies."""
        self._real = real
        raw = os.fsencode(real)
        self._name = f"{zlib.crc32(raw):08x}{zlib.adler32(raw):08x}"  # two of a name are told apart by what they hold
        self._cache, self._folder = cache, os.path.join(cache, self._name)

    def load(self) -> Snapshot | None:
        """What was kept last; None where nothing good is."""
        try:
            (real, identity, dead, folders, rules, stamps, left, whole, table), texts = self._read(_SMALL)
            if real != self._real:
                return None
            small = Segment.restored(table, texts)
            large = Segment.restored(*self._read(_LARGE + identity))
            watched = Watched(
                folders.split("\0") if folders else [],
                rules.split("\0") if rules else [],
                array("q", stamps),
                left,
                whole,
            )
            if len(watched.stamps) != STAMP * (len(watched.folders) + len(watched.rules)):
                return None
        except (OSError, ValueError, TypeError, EOFError, IndexError, AttributeError):
            return None
        return Snapshot(large, frozenset(dead), small, watched, identity=identity)

    def keep(self, snapshot: Snapshot) -> str:
        """Write it. Gives the identity of the large file, empty where there is none: a full or read-only disk."""
        try:
            _make_private(self._folder)
            identity = snapshot.identity
            if not identity:
                identity = os.urandom(8).hex()
                self._write(_LARGE + identity, snapshot.large.table(), snapshot.large)
            watched = snapshot.watched
            about = (
                self._real,
                identity,
                sorted(snapshot.dead),
                "\0".join(watched.folders),
                "\0".join(watched.rules),
                watched.stamps.tobytes(),
                watched.left,
                watched.whole,
                snapshot.small.table(),
            )
            self._write(_SMALL, about, snapshot.small)
        except OSError:
            return ""
        if not snapshot.identity:
            with suppress(OSError):  # others tidy up at the same time
                self._tidy(_LARGE + identity)
        return identity

    def _read(self, name: str) -> tuple[Any, list[bytes]]:
        with open(os.path.join(self._folder, name), "rb", buffering=0) as file:
            head = file.read(len(_FORMAT) + _SUM + _LENGTH * _PARTS)
            if not head.startswith(_FORMAT):
                raise ValueError("of another version")
            total, lengths = head[len(_FORMAT) :][:_SUM], head[len(_FORMAT) + _SUM :]
            sizes = [int.from_bytes(lengths[at : at + _LENGTH]) for at in range(0, len(lengths), _LENGTH)]
            if len(head) + sum(sizes) != os.fstat(file.fileno()).st_size:
                raise ValueError("cut off")
            parts = [file.read(size) for size in sizes]
        if _sum(lengths, parts) != total:
            raise ValueError("damaged")
        return marshal.loads(parts[0]), parts[1:]

    def _write(self, name: str, about: Any, segment: Segment) -> None:
        parts = [marshal.dumps(about), *(segment.whole(which) for which in _TEXTS)]
        lengths = b"".join(len(part).to_bytes(_LENGTH) for part in parts)
        target = os.path.join(self._folder, name)
        draft = f"{target}.{os.getpid()}.{os.urandom(4).hex()}"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE_FILE)
        try:
            with open(fd, "wb") as file:
                file.writelines([_FORMAT, _sum(lengths, parts), lengths, *parts])
            os.rename(draft, target)
        except BaseException:
            os.unlink(draft)
            raise

    def _tidy(self, kept: str) -> None:
        """Take away what no longer counts: large files, drafts of killed processes, workspaces long not looked at.

        What is young may be another process's, on its way to count.
        """
        old = time.time() - _YOUNG_SECONDS
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name not in (kept, _SMALL) and entry.stat(follow_symlinks=False).st_mtime < old:
                    os.unlink(entry.path)
        with os.scandir(self._cache) as entries:
            others = [entry for entry in entries if _HEX.issuperset(entry.name) and entry.name != self._name]
            aged = sorted((entry.stat(follow_symlinks=False).st_mtime, entry.path) for entry in others)
        for _, folder in aged[: -_MOST_WORKSPACES + 1]:
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
            os.rmdir(folder)


def _sum(lengths: bytes, parts: list[bytes]) -> bytes:
    total = zlib.crc32(lengths)
    for part in parts:
        total = zlib.crc32(part, total)
    return total.to_bytes(_SUM)


def _make_private(folder: str) -> None:
    """A directory and those above it that are missing, for nobody else to look into."""
    try:
        os.mkdir(folder, _PRIVATE_DIR)
    except FileExistsError:
        pass
    except FileNotFoundError:
        _make_private(os.path.dirname(folder))
        os.mkdir(folder, _PRIVATE_DIR)
