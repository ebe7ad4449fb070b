"""Which project directories the user trusts, and with what in them. Before that, nothing of them is run or read."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..core.errors import ConfigError, InvalidJson
from ..core.jsontext import dump, parse
from ._alone import alone
from ._own_file import own_file
from .project_files import PROJECT_DIR, Changes, Entry, StatDigests, compared, key, project_files, read_below

__all__ = ["GOVERNING", "PROJECT_DIR", "Record", "Trust"]

_VERSION = 2
GOVERNING = (f"{PROJECT_DIR}/config.yaml", f"{PROJECT_DIR}/policy.yaml", f"{PROJECT_DIR}/profiles")
"""What rules over all of a project's tools. A project may only tighten, so leaving out a changed one would loosen."""
_MOST_BYTES = 8 * 1024**2
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Record(NamedTuple):
    """What the user looked at and said yes to."""

    at: float
    files: Mapping[str, Mapping[str, str]]
    """By path below the project: `digest`, `kind`, and for a link its `target`."""

    def vouches(self, relative: str, digest: str) -> bool:
        """Whether the user trusted this very content at this very place. A link has none of its own."""
        seen = self.files.get(key(relative))
        return bool(digest) and seen is not None and seen["digest"] == digest and "target" not in seen

    def program(self, relative: str) -> Mapping[str, str] | None:
        """What was trusted as a program at a place. A file that was none, and now is, was not trusted as one."""
        seen = self.files.get(key(relative))
        return seen if seen and seen["kind"] in ("program", "link") and seen["digest"] else None

    def governing(self) -> dict[str, str]:
        """Digests of the files that rule over the tools."""
        return {path: seen["digest"] for path, seen in self.files.items() if _governs(path)}


class Trust:
    """The user's word about projects, in `trust.json` of the home. A project has no vote on its own trust."""

    def __init__(self, path: str, write: Callable[[bytes], None]) -> None:
        self._path, self._write = path, write
        self._digests = StatDigests()
        self._stamp: tuple[int, ...] | None = None
        self._projects: dict[str, Any] = {}
        self._records: dict[str, Record] = {}

    def record(self, project: str) -> Record | None:
        """What was trusted; the same object while it stands.

        It counts for the very directory it was made for, not for another that came to its place.
        """
        at = os.path.realpath(project)
        known = self._read().get(at, _NOTHING)
        if known.get("identity") != _identity(at) or not _is_whole(known.get("files")):
            return None
        if at not in self._records:
            self._records[at] = Record(float(known.get("at", 0)), known["files"])
        return self._records[at]

    def trusts(self, project: str) -> bool:
        """Whether there is a record for this very directory. Each file in it must be vouched for besides."""
        return self.record(project) is not None

    def is_outdated(self, project: str) -> bool:
        """Whether it was trusted in a way that kept no digests, which says nothing of what is there now."""
        at = os.path.realpath(project)
        known = self._read().get(at, _NOTHING)
        return known.get("identity") == _identity(at) and "files" not in known

    def trusted_bytes(self, project: str, relative: str) -> bytes | None:
        """A file's content, if that very content was trusted: what is parsed is what was hashed.

        Raises:
            ConfigError: it is trusted, and too long to be read.
        """
        record = self.record(project)
        if record is None or key(relative) not in record.files:
            return None
        try:
            data, digest = read_below(project, relative, _MOST_BYTES + 1)
        except OSError:
            return None
        if not record.vouches(relative, digest):
            return None
        if len(data) > _MOST_BYTES:
            raise ConfigError(f"longer than {_MOST_BYTES} bytes", path=os.path.join(project, relative))
        return data

    def unsettled(self, project: str) -> tuple[str, ...]:
        """Which of the files that rule over a project's tools are not as they were trusted. Empty: all are."""
        record = self.record(project)
        before = {} if record is None else {path: seen for path, seen in record.files.items() if _governs(path)}
        now = project_files(project, only=GOVERNING, digest=self._digests)
        different = {path for paths in compared(before, now) for path in paths}
        # A link, a pipe or a file that cannot be read cannot be parsed as it was hashed, however it was recorded.
        return tuple(sorted(different | {entry.path for entry in now if entry.kind not in ("file", "program")}))

    def vouches_now(self, project: str, relative: str) -> bool:
        """Whether a program is at this moment what was trusted, and so are the rules over it."""
        record = self.record(project)
        seen = record and record.program(relative)
        now = project_files(project, only=(relative,), digest=self._digests)
        return bool(seen) and [entry.to_record() for entry in now] == [seen] and not self.unsettled(project)

    def changed(self, project: str, more: Iterable[str] = ()) -> Changes:
        """How a project differs now from what was trusted; unchanged files are not read again."""
        record = self.record(project)
        return compared(record.files if record else {}, project_files(project, more, digest=self._digests))

    def add(self, project: str, files: Sequence[Entry]) -> None:
        """Trust a project with these files in it, as they were looked at.

        Raises:
            OSError: it could not be written down.
        """
        at, seen = os.path.realpath(project), {entry.path: entry.to_record() for entry in files}
        with alone(self._path):
            self._save(self._read() | {at: {"identity": _identity(at), "at": time.time(), "files": seen}})

    def remove(self, project: str) -> bool:
        """Says whether it was trusted. Raises: `OSError`, where that could not be written down."""
        if not os.path.exists(self._path):
            return False
        with alone(self._path):
            records = dict(self._read())
            found = records.pop(os.path.realpath(project), None) is not None
            if found:
                self._save(records)
        return found

    def _read(self) -> dict[str, Any]:
        """The records, read again when the file is another one."""
        try:
            seen = os.stat(self._path)
            stamp = (seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size)
            if stamp != self._stamp:
                self._projects, self._records = self._parsed(own_file(self._path)), {}
                self._stamp = stamp
        except FileNotFoundError:
            self._stamp, self._projects, self._records = None, {}, {}
        except OSError as exc:
            raise ConfigError(f"{exc.strerror}; see that you may read it", path=self._path) from None
        return self._projects

    def _parsed(self, raw: bytes) -> dict[str, Any]:
        try:
            value = parse(raw, exact=False)
        except InvalidJson as exc:
            raise ConfigError(f"{exc}; remove the file and trust your projects anew", path=self._path) from None
        if not isinstance(value, dict) or not isinstance(value.get("projects"), dict):
            raise ConfigError("not a trust file; remove it and trust your projects anew", path=self._path)
        if value.get("version") not in (1, _VERSION):
            message = f"version {value.get('version')!r} is not known here; it was written by a newer toolcrib"
            raise ConfigError(message, path=self._path)
        return {at: known for at, known in value["projects"].items() if isinstance(known, dict)}

    def _save(self, records: dict[str, Any]) -> None:
        self._write(dump({"version": _VERSION, "projects": records}))
        self._stamp = None


def _is_whole(files: Any) -> bool:
    return isinstance(files, dict) and all(
        isinstance(seen, dict) and isinstance(seen.get("digest"), str) and isinstance(seen.get("kind"), str)
        for seen in files.values()
    )


def _governs(path: str) -> bool:
    return path in GOVERNING or path.startswith(f"{GOVERNING[-1]}/")


def _identity(project: str) -> list[int] | None:
    try:
        seen = os.stat(project)
    except OSError:
        return None
    return [seen.st_dev, seen.st_ino]
