"""File access for tools, confined to their places: a path is checked by opening it, never by its spelling."""

import errno
import io
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any, BinaryIO, cast

from ..core.errors import Refused, ToolError
from ..core.workspace import Folder
from ._beneath import FOLDER, LOOK, reading_in
from ._deliver import alone_in, deliver, directories
from ._wording import not_regular, protected, readable_errors, shown_path
from .places import Found, Places
from .readings import Readings

_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # without O_NONBLOCK, a FIFO waits for its other end
_MOST_NEW_DIRECTORIES = 64
_GROWTH = 1024 * 1024  # what is read of a file that grows meanwhile, beyond the length that it had
_LONGEST_CHANGED = 64 * 1024 * 1024
_TRIES = 16

Make = Callable[[bytes | None], bytes]


class GuardedFiles:
    """The files in some places, and no others. What was read and written is noted in `report`.

    `judged` says where paths led when the call was judged: whatever leads elsewhere now is refused. `readings` are what
    sessions have seen, this one's included.
    """

    def __init__(
        self,
        places: Places | str | os.PathLike[str],
        report: dict[str, Any] | None = None,
        judged: Mapping[str, str] = MappingProxyType({}),
        session: str = "",
        *,
        readings: Readings | None = None,
    ) -> None:
        self.places = places if isinstance(places, Places) else Places(os.fspath(places))
        self.report = report if report is not None else {}
        self.judged = judged
        self._session = session
        self._readings = Readings(nameless=session) if readings is None else readings

    def read(self, path: str) -> bytes:
        with self._readable(path) as (found, seen):
            with open(found.fd, "rb", closefd=False) as file:
                data = file.read(seen.st_size + _GROWTH)
            self._readings.note(self._session, found.real, seen, data)
        self._note("bytes_read", path, len(data))
        return data

    @contextmanager
    def open(self, path: str, *, glance: bool = False) -> Iterator[BinaryIO]:
        """A regular file, to be read in parts. What counts as read is what came from the disk."""
        with self._readable(path) as (found, seen), _Counted(found.fd, "rb", closefd=False) as raw:
            if not glance:
                self._readings.note(self._session, found.real, seen)
            try:
                yield cast(BinaryIO, io.BufferedReader(raw))
            finally:
                self._note("bytes_read", path, raw.count)

    def write(self, path: str, data: bytes | str) -> None:
        """Replace a file's content whole, or make the file and the directories above it, or change nothing.

        The new content takes the old one's place under its name, so that another name of the same file (a hard link,
        perhaps from outside) keeps the old one.
        """
        with readable_errors(path, "EXECUTION_ERROR"):
            raw = data.encode() if isinstance(data, str) else data
        self._rewrite(path, lambda old: raw, blind=True)

    def change(self, path: str, make: Make) -> None:
        """As `write`, of what `make` makes of the present content, with no other call writing in between.

        Raises:
            Stale: the file is not what this session has read.
        """
        self._rewrite(path, make, blind=False)

    def exists(self, path: str) -> bool:
        try:
            return bool(self.stat(path))
        except ToolError as exc:
            if exc.code != "FILE_NOT_FOUND":
                raise
            return False

    def stat(self, path: str) -> os.stat_result:
        with self._opened(path, LOOK) as found:
            return os.fstat(found.fd)

    def list(self, path: str = ".") -> list[str]:
        with self._opened(path, _LIST) as found:
            return sorted(os.listdir(found.fd))

    @contextmanager
    def directory(self, path: str = ".") -> Iterator[Folder]:
        with self._opened(path, _LIST) as found:
            yield Folder(found.fd, found.real)

    def unlink(self, path: str) -> None:
        """Remove a file; of a link the link itself, never what it leads to."""
        with readable_errors(path, "EXECUTION_ERROR"):
            parent, name = os.path.split(path)
            if name in ("", ".", ".."):
                with self.places.open(path, LOOK):
                    raise not_regular(path)
            with self.places.open(parent or ".", FOLDER) as folder:
                about = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
                real = os.path.join(folder.real, name)
                self._check_writable(path, real, leads_to=self._target(path) if stat.S_ISLNK(about.st_mode) else real)
                if stat.S_ISDIR(about.st_mode):
                    raise not_regular(path)
                with alone_in(folder.fd):
                    if stat.S_ISREG(about.st_mode):
                        self._readings.check_unchanged(self._session, real, about, path=shown_path(path))
                    os.unlink(name, dir_fd=folder.fd)
        self._note("bytes_written", path, 0)

    def _rewrite(self, path: str, make: Make, *, blind: bool) -> None:
        with readable_errors(path, "EXECUTION_ERROR"):
            for _ in range(_TRIES):
                try:
                    written = self._replace(path, make, blind=blind)
                except FileNotFoundError:
                    try:
                        written = self._create(path, make)
                    except FileExistsError:
                        continue  # somebody made it this moment
                self._note("bytes_written", path, written)
                return
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def _replace(self, path: str, make: Make, *, blind: bool) -> int:
        with self.places.open(path, LOOK) as old:
            self._check_writable(path, old.real, leads_to=old.real)
            if not stat.S_ISREG(os.fstat(old.fd).st_mode):
                raise not_regular(path)
            parent, name = os.path.split(old.real)
            with self.places.open(parent, FOLDER) as folder, alone_in(folder.fd):
                if folder.real != parent:
                    raise OSError(errno.ESTALE, "it was moved while it was being written")
                if not os.access(name, os.W_OK, dir_fd=folder.fd):
                    raise PermissionError(errno.EACCES, "read-only")  # putting another in its place would be possible
                about = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
                data = make(None if blind else self._present(folder.fd, name, old, path))
                now = deliver(folder.fd, name, data, like=about)
            self._readings.note(self._session, old.real, now, data)
            return len(data)

    def _present(self, folder: int, name: str, old: Found, path: str) -> bytes:
        """What is in the file now, if this session knows it."""
        with open(name, "rb", opener=reading_in(folder)) as file:
            seen = os.fstat(file.fileno())
            _check_readable(seen, old.owner, path)
            if seen.st_size > _LONGEST_CHANGED:
                message = f"{shown_path(path)} has {seen.st_size} bytes, too many to change it; use run_command"
                raise ToolError(message, code="EXECUTION_ERROR", details={"path": shown_path(path)})
            data = file.read(_LONGEST_CHANGED)
        self._readings.check(self._session, old.real, seen, data, path=shown_path(path))
        return data

    def _create(self, path: str, make: Make) -> int:
        with self.places.nearest(path) as (folder, names):
            if path.endswith(("/", "/.")):
                raise not_regular(path)
            real = os.path.join(folder.real, *names)
            self._check_writable(path, real, leads_to=real)
            if _is_link(names[0], folder.fd):
                message = f"{shown_path(path)} goes through a link to nothing; write to the place that the link names"
                raise ToolError(message, code="FILE_NOT_FOUND", details={"path": shown_path(path)})
            if len(names) > _MOST_NEW_DIRECTORIES:
                message = f"{shown_path(path)} would take {len(names) - 1} new directories; use a shorter path"
                raise ToolError(message, code="EXECUTION_ERROR", details={"path": shown_path(path)})
            with alone_in(folder.fd), directories(folder.fd, names[:-1]) as inner:
                data = make(None)
                now = deliver(inner, names[-1], data)
            self._readings.note(self._session, real, now, data)
            return len(data)

    def _target(self, path: str) -> str:
        with suppress(OSError), self.places.open(path, LOOK) as found:
            return found.real
        return ""

    def _check_writable(self, path: str, real: str, *, leads_to: str) -> None:
        if real != self.judged.get(path, real):
            self._check_judged(path, leads_to)
        if not self.places.is_writable(real):
            raise protected(path, "the directory is configured for reading only")
        if why := self.places.why_protected(real):
            raise protected(path, why)

    def _check_judged(self, path: str, real: str) -> None:
        if real != self.judged.get(path, real):
            message = f"{shown_path(path)} leads elsewhere than when it was judged; call again to have it judged anew"
            raise Refused(message, code="APPROVAL_DENIED", details={"path": shown_path(path)})

    def _note(self, what: str, path: str, count: int) -> None:
        self.report[what] = self.report.get(what, 0) + count
        files = self.report.setdefault("files_accessed", [])
        if (shown := shown_path(path)) not in files:
            files.append(shown)

    @contextmanager
    def _readable(self, path: str) -> Iterator[tuple[Found, os.stat_result]]:
        with self._opened(path, _READ) as found:
            seen = os.fstat(found.fd)
            _check_readable(seen, found.owner, path)
            yield found, seen

    @contextmanager
    def _opened(self, path: str, flags: int) -> Iterator[Found]:
        with readable_errors(path, "READ_ERROR"), self.places.open(path, flags) as found:
            self._check_judged(path, found.real)
            yield found


class _Counted(io.FileIO):
    """Knows how much was read."""

    count = 0

    def readinto(self, buffer: Any) -> int | None:
        got = super().readinto(buffer)
        self.count += got or 0
        return got

    def readall(self) -> bytes:
        data = super().readall()
        self.count += len(data)
        return data


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _check_readable(about: os.stat_result, owner: int, path: str) -> None:
    """A regular file, and none that somebody else's file may be by another name.

    Hard links are ordinary in package stores and worktrees. One to a foreign file is suspicious: its owner is neither
    that of the root nor, unless we are root and could read everything, ourselves.
    """
    if not stat.S_ISREG(about.st_mode):
        raise not_regular(path)
    if about.st_nlink > 1 and about.st_uid not in (owner, os.geteuid() or owner):
        message = f"{shown_path(path)} is a second name of a file that belongs to somebody else; copy the file instead"
        raise ToolError(message, code="PATH_OUTSIDE_WORKSPACE", details={"path": shown_path(path)})
