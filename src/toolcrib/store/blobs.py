"""Programs and texts by what is in them: a copy of ours, that whoever changes the original does not change.

A program that was looked at, hashed and approved can be another one by the time it is started. So what is started is a
copy in the home, `cache/programs/<sha256>/<name>`, made while hashing and put in place only when the digest is right.
The name is kept, because scripts look at `$0`, and interpreters at the end of a name. A folder is copied whole, to
`cache/programs/<digest of the list of its files>/<name>/`.
"""

import errno
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader, RawIOBase
from typing import NamedTuple

from ..core.errors import Refused, ToolError
from ..core.jsontext import canonical, parse
from . import folder_copy
from .folder_copy import File
from .home import PRIVATE_DIR, Home
from .lock import alone_in

MAX_AGE_SECONDS = 30 * 24 * 3600.0
MAX_TOTAL_BYTES = 1024**3
_PLACE = ("cache", "programs")
_PROGRAM, _TEXT = 0o500, 0o400
_DRAFT = ".draft-"
_DRAFT_SECONDS = 3600.0
_CHUNK = 1 << 20
_HEX = re.compile(r"[0-9a-f]{64}")
_RACY_NS = 50_000_000
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""A file that changed this very moment may change again without a new time stamp: such a state is not remembered."""
_SHORT = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.EIO)

Identity = tuple[int, int, int, int, int, int]


class Blob(NamedTuple):
    """One kept file."""

    path: str
    bytes: int
    at: float


class Blobs:
    """Kept files by digest. Losing them costs time, and the view of what an earlier version looked like."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._known: dict[tuple[str, str], tuple[str, Identity]] = {}
        self._known_folders: dict[tuple[str, str], tuple[str, dict[str, Identity | None]]] = {}

    def verified(self, path: str, digest: str) -> str:
        """The path of a program's copy whose bytes hash to `digest`, whatever lies at `path` by now.

        Raises:
            Refused: there is no such copy yet, and the file has other bytes now.
            ToolError: no copy could be made; nothing is left of it.
        """
        known = self._known.get((path, digest))
        if known is not None and _identity(known[0]) == known[1]:
            return known[0]
        name = os.path.basename(path)
        with _room(path):
            copy = self._home.file(*_PLACE, _hex(digest, path), name)
            if not self._is_intact(copy, digest):
                self._copy(path, digest, copy)
            identity = _identity(copy)
        if identity is None or not _is_private(identity, _PROGRAM):
            raise ToolError(f"{copy} does not stay as it was written; nothing ran", code="RESOURCE_EXHAUSTED")
        if time.time_ns() - identity[2] > _RACY_NS:
            self._known[path, digest] = (copy, identity)
        return copy

    def verified_text(self, data: bytes, name: str) -> str:
        """The path of a file of ours with this name and these very bytes, for what stands in no file of its own.

        Raises:
            ToolError: it could not be written; nothing is left of it.
        """
        digest = digest_of(data)
        known = self._known.get((name, digest))
        if known is not None and _identity(known[0]) == known[1]:
            return known[0]
        with _room(name):
            copy = self._home.file(*_PLACE, _hex(digest, name), name)
            if not self._is_intact(copy, digest):
                with self._draft() as (draft, file):
                    _write(file, data)
                    self._place(draft, file, copy, _PROGRAM)
            identity = _identity(copy)
        if identity is None or not _is_private(identity, _PROGRAM):
            raise ToolError(f"{copy} does not stay as it was written; nothing ran", code="RESOURCE_EXHAUSTED")
        if time.time_ns() - identity[2] > _RACY_NS:
            self._known[name, digest] = (copy, identity)
        return copy

    def verified_folder(self, path: str, digest: str, listing: str) -> str:
        """The path of a folder's copy with exactly the files listed, whatever lies at `path` by now.

        The listing is JSON: `[[path, kind, digest or where a link leads], …]`, and `digest` is its own.

        Raises:
            Refused: `digest` is not that of the listing, or there is no such copy yet and a file has other bytes now.
            ToolError: no copy could be made; what is there of it does not run.
        """
        known = self._known_folders.get((path, digest))
        if known is not None and all(_identity(at) == seen for at, seen in known[1].items()):
            return known[0]
        files: list[File] = parse(listing) if digest_of(listing.encode()) == digest else []
        if not files or not all(folder_copy.is_inside(each[0]) for each in files):
            raise Refused(f"{path} has another digest than its files; list the tools again", code="TOOL_PIN_MISMATCH")
        with _room(path):
            place = self._home.directory(*_PLACE, _hex(digest, path))
            copy = os.path.join(place, os.path.basename(path))
            with alone_in(place, follow=False, stalled=self._home.stalled):
                if not self._is_whole(copy, files):
                    self._assemble(path, copy, files)
            paths = [*folder_copy.directories(copy, files), *(f"{copy}/{each[0]}" for each in files)]
            states = {at: _identity(at) for at in paths}
        if time.time_ns() - max(seen[2] for seen in states.values() if seen) > _RACY_NS:
            self._known_folders[path, digest] = (copy, states)
        return copy

    def content(self, digest: str, *, most: int = 8 * _CHUNK) -> bytes | None:
        """What has this digest; None when it is not kept, or longer than `most`."""
        for path in self._of(digest):
            try:
                with _opened(path) as file:
                    data = file.read(most + 1)
            except OSError:
                continue
            if len(data) <= most and digest_of(data) == digest:
                return data
        return None

    def folder(self, digest: str) -> tuple[str, Sequence[File]] | None:
        """The path of a kept folder whose list of files has this digest, and the list; None when it is not kept."""
        for path in self._of(digest):
            with suppress(OSError):
                files = sorted(folder_copy.found_in(path, digest_at=_digest_at))
                if files and digest_of(canonical(files)) == digest:
                    return path, files
        return None

    def keep(self, data: bytes, name: str) -> str:
        """Keep a text under its digest, which is the answer.

        Raises:
            OSError: the home is full or read-only.
        """
        digest = digest_of(data)
        if self.content(digest, most=len(data)) is None:
            with self._draft() as (draft, file):
                _write(file, data)
                self._place(draft, file, self._home.file(*_PLACE, digest.removeprefix("sha256:"), name), _TEXT)
        return digest

    def all(self) -> list[Blob]:
        """Newest first."""
        found = []
        for directory in self._directories():
            with suppress(OSError):
                for entry in os.scandir(directory):
                    seen = entry.stat(follow_symlinks=False)
                    found.append(Blob(entry.path, folder_copy.size_of(entry.path), seen.st_mtime))
        return sorted(found, key=lambda blob: blob.at, reverse=True)

    def due(self, *, max_age: float = MAX_AGE_SECONDS, max_total: int = MAX_TOTAL_BYTES) -> list[Blob]:
        """What is too old to be kept, the oldest of what is too much, and drafts that nobody finished."""
        kept, found, now = 0, [], time.time()
        for blob in self.all():
            kept += blob.bytes
            if now - blob.at > max_age or kept > max_total:
                found.append(blob)
        return found + [draft for draft in self._drafts() if now - draft.at > _DRAFT_SECONDS]

    def _assemble(self, path: str, copy: str, files: Sequence[File]) -> None:
        """Make a folder's copy whole. What is right in it stays where it is: it may be running."""
        folder_copy.open_up(copy, files)
        folder_copy.clear(copy, files)
        for name, kind, digest in files:
            mode = _PROGRAM if kind == "program" else _TEXT
            if kind != "link" and not self._is_intact(f"{copy}/{name}", digest, mode):
                self._copy(f"{path}/{name}", digest, f"{copy}/{name}", mode)
        folder_copy.link_up(copy, files)
        folder_copy.seal(copy, files)
        if not self._is_whole(copy, files):
            raise ToolError(f"{copy} does not stay as it was written; nothing ran", code="RESOURCE_EXHAUSTED")

    def _is_whole(self, copy: str, files: Sequence[File]) -> bool:
        """Whether a folder's copy has all these files with their very bytes, and nothing else."""
        return folder_copy.is_sealed(copy, files) and all(
            self._is_intact(f"{copy}/{name}", digest, _PROGRAM if kind == "program" else _TEXT)
            for name, kind, digest in files
            if kind != "link"
        )

    def _copy(self, path: str, digest: str, copy: str, mode: int = _PROGRAM) -> None:
        hashed = hashlib.sha256()
        with self._draft() as (draft, target):
            try:
                with _opened(path) as source:
                    while chunk := source.read(_CHUNK):
                        hashed.update(chunk)
                        with _room(path):
                            _write(target, chunk)
            except OSError as exc:
                if exc.errno in (errno.EMFILE, errno.ENFILE):
                    raise
                raise Refused(f"{path} cannot be read any more: {exc.strerror}", code="TOOL_PIN_MISMATCH") from None
            if "sha256:" + hashed.hexdigest() != digest:
                message = f"{path} changed since it was listed; list the tools again"
                raise Refused(message, code="TOOL_PIN_MISMATCH")
            self._place(draft, target, copy, mode)

    @contextmanager
    def _draft(self) -> Iterator[tuple[str, RawIOBase]]:
        """A new file beside the kept ones, gone afterwards unless it was put in place."""
        path = os.path.join(self._home.directory(*_PLACE), f"{_DRAFT}{os.getpid()}-{os.urandom(6).hex()}")
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(fd, "wb", buffering=0) as file:
                yield path, file
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)

    def _place(self, draft: str, file: RawIOBase, target: str, mode: int) -> None:
        directory = os.path.dirname(target)
        with suppress(FileExistsError):
            os.mkdir(directory, PRIVATE_DIR)
        if not _is_private_directory(directory):
            raise OSError(errno.EPERM, f"{directory} is not a directory that only you can write to; remove it")
        os.fchmod(file.fileno(), mode)
        file.close()  # what is open for writing cannot be started
        os.rename(draft, target)

    def _is_intact(self, copy: str, digest: str, mode: int = _PROGRAM) -> bool:
        """Whether it is a file of ours that nobody else can write, in such a directory, with these very bytes."""
        identity = _identity(copy)
        if identity is None or not _is_private(identity, mode) or not _is_private_directory(os.path.dirname(copy)):
            return False
        try:
            return _digest_at(copy) == digest
        except OSError:
            return False

    def _of(self, digest: str) -> list[str]:
        directory = self._home.file(*_PLACE, digest.removeprefix("sha256:"))
        try:
            return [os.path.join(directory, name) for name in sorted(os.listdir(directory))]
        except OSError:
            return []

    def _directories(self) -> list[str]:
        place = self._home.file(*_PLACE)
        try:
            return [os.path.join(place, name) for name in os.listdir(place) if _HEX.fullmatch(name)]
        except OSError:
            return []

    def _drafts(self) -> Iterator[Blob]:
        with suppress(OSError):
            for entry in os.scandir(self._home.file(*_PLACE)):
                if entry.name.startswith(_DRAFT):
                    seen = entry.stat(follow_symlinks=False)
                    yield Blob(entry.path, seen.st_size, seen.st_mtime)


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _digest_at(path: str) -> str:
    with _opened(path) as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def remove(path: str) -> bool:
    """Remove one kept file or folder, and its directory with the last of them. Says whether it was there."""
    try:
        folder_copy.remove_tree(path)
    except FileNotFoundError:  # another was quicker
        return False
    if _HEX.fullmatch(os.path.basename(os.path.dirname(path))):
        with suppress(OSError):
            os.rmdir(os.path.dirname(path))
    return True


def _opened(path: str) -> BufferedReader:
    """A regular file, for reading; a pipe or a device is not waited for."""
    file = open(path, "rb", opener=lambda path, _: os.open(path, _READ))  # noqa: SIM115  # the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file


def _identity(path: str) -> Identity | None:
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_mode, seen.st_uid


def _is_private(identity: Identity, mode: int) -> bool:
    return identity[4] == stat.S_IFREG | mode and identity[5] == os.geteuid()


def _is_private_directory(path: str) -> bool:
    mode = os.lstat(path).st_mode
    return stat.S_ISDIR(mode) and not mode & 0o022


def _write(file: RawIOBase, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def _hex(digest: str, path: str) -> str:
    found = digest.removeprefix("sha256:")
    if not _HEX.fullmatch(found):
        raise Refused(f"{path} has no digest that could be verified; can it be read?", code="TOOL_PIN_MISMATCH")
    return found


@contextmanager
def _room(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise _no_room(path, exc) from None


def _no_room(path: str, exc: OSError) -> ToolError:
    hint = "make room, or make the home writable: toolcrib doctor" if exc.errno in _SHORT else "see: toolcrib doctor"
    message = f"{path} was not started, because its copy could not be written: {exc}; {hint}"
    return ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True)
