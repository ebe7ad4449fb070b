"""The record of every call: JSON lines, each sealed with its own digest and that of the line before.

One chain for all processes, kept in order by a lock. A record that was acknowledged has been handed to the kernel and
survives the death of its writer. Any byte that is changed later breaks the chain; records cut off at the very end leave
no trace, which only a copy of the last digest elsewhere can show.
"""

import calendar
import errno
import math
import os
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from ..core.errors import InvalidJson, ToolError
from ..core.events import Event, Finished, Logged, Started
from ..core.jsontext import dump_ascii, parse
from ..core.source import Problem
from . import _reserve
from ._end import end_of
from ._lock import Lock

FIRST = "0" * 64
_MAX_NAMES = 64
_MAX_TEXT = 200
_REPLACED_TRIES = 3
_LAST_MONTH = float(calendar.timegm((9999, 12, 1, 0, 0, 0)))
"""Files are in the order of their names for as long as years have four digits; a clock may be set further ahead."""


class Audit:
    """Appends to the newest file of a directory. Fails closed: what cannot be recorded does not run."""

    def __init__(self, directory: Callable[[], str], conceal: Callable[[Any], Any] | None = None) -> None:
        self._directory, self._conceal = directory, conceal
        self._file = -1
        self._lock = Lock()
        self._path = self._reserve = ""
        self._until = 0.0
        """When the month, and with it the file, ends."""
        self._size = -1
        self._head = FIRST
        self._number = 0
        self._is_doubtful = True
        """Whether all must be opened, and the reserve be there, before anything runs."""
        self._owner = 0
        """The process that opened the files: one that forked off must open its own, or the lock would be shared."""
        self._look_again = 0.0

    def ready(self) -> None:
        try:
            if self._file < 0 or self._is_doubtful or (time.monotonic() > self._look_again and self._is_gone()):
                self._open()
                _reserve.hold(self._reserve)
                self._is_doubtful = False
        except OSError as exc:
            raise self._refusal(exc) from None

    def notice(self, event: Event) -> None:
        if not isinstance(event, Logged):
            try:
                self._append(_record(event), is_owed=_has_run(event))
            except OSError as exc:
                raise self._refusal(exc) from None

    def skipped(self, problem: Problem) -> None:
        """A tool that is not on offer, and why. That list is shown also where it cannot be recorded."""
        try:
            self._append({"n": 0, "time": 0.0, "event": "skipped", **problem.to_dict()})
        except OSError:
            pass

    def refused(self, door: str, why: str, peer: str, times: int = 1) -> None:
        """Somebody whom a door turned away, before there was a call; also where that cannot be recorded."""
        try:
            self._append(
                {"n": 0, "time": 0.0, "event": "refused", "door": door, "why": why, "peer": peer, "times": times}
            )
        except OSError:
            pass

    def close(self) -> None:
        self._close_file()
        self._lock.close()

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _refusal(self, exc: OSError) -> ToolError:
        self._is_doubtful = True
        where = os.path.dirname(self._path) or "the home directory"
        message = (
            f"the audit log cannot be written ({exc}), and nothing runs unrecorded; make room or rights in {where}"
        )
        return ToolError(message, code="RESOURCE_EXHAUSTED")

    def _is_gone(self) -> bool:
        """Whether somebody removed or replaced the file, so that what is written to it would be lost."""
        self._look_again = time.monotonic() + 1
        try:
            return not os.path.samestat(os.stat(self._path), os.fstat(self._file))
        except FileNotFoundError:
            return True

    def _open(self) -> None:
        directory = self._directory()
        if self._owner != os.getpid():
            self._file, self._lock = -1, Lock()
            self._owner = os.getpid()
        if not self._lock.is_open:
            self._lock.open(os.path.join(directory, ".lock"))
        self._path = os.path.join(directory, "")
        self._reserve = os.path.join(directory, _reserve.NAME)
        now = min(time.time(), _LAST_MONTH)
        month = max([*(name[:7] for name in log_files(directory)), time.strftime("%Y-%m", time.gmtime(now))])
        self._close_file()
        self._path = os.path.join(directory, f"{month}.jsonl")
        self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._until = _end_of_month(now)
        self._size = -1
        self._is_doubtful = True

    def _append(self, record: dict[str, Any], *, is_owed: bool = False) -> None:
        """Only what is owed, because it has happened already, is also written where nothing but the reserve is left."""
        if self._conceal is not None:  # a name may hold a secret that somebody was told
            record = self._conceal(record)
        if self._file < 0 or self._owner != os.getpid():
            self._open()
        self._take_lock()
        try:
            now = record["time"] = time.time()
            if now >= self._until:  # asked under the lock: nobody else can still be writing the old month's file
                self._open()
            if not is_owed:  # also the room that is left of a piece of it is for others
                _reserve.hold(self._reserve)
            size = os.lseek(self._file, 0, os.SEEK_END)
            if size != self._size:  # another process wrote, or this is the first time
                size = self._catch_up(size, is_owed=is_owed)
            self._write(size, record, is_owed=is_owed)
        finally:
            self._lock.release()

    def _take_lock(self) -> None:
        """The one of the directory that is there now. Where that was replaced, the old lock keeps nobody out, and what
        is written to the old file is lost."""
        for _ in range(_REPLACED_TRIES):
            if self._lock.take():
                return
            self.close()
            self._open()
        raise OSError(errno.ESTALE, "the directory is replaced again and again", os.path.dirname(self._path))

    def _write(self, size: int, record: dict[str, Any], *, is_owed: bool) -> None:
        number = record["n"] = self._number + 1
        record["previous"] = self._head
        body = dump_ascii(record)
        head = sha256(body).hexdigest()
        line = b'%b,"digest":"%b"}\n' % (body[:-1], head.encode())
        while True:
            try:
                self._put(size, line)
                break
            except OSError as exc:
                if exc.errno not in _reserve.NO_ROOM or not is_owed:
                    raise
                self._is_doubtful = True  # no further call runs
                if not _reserve.give_up_piece(self._reserve):
                    raise
        self._size, self._head, self._number = size + len(line), head, number

    def _put(self, size: int, line: bytes) -> None:
        """All of it, or nothing."""
        if os.write(self._file, line) != len(line):
            os.ftruncate(self._file, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)

    def _catch_up(self, size: int, *, is_owed: bool) -> int:
        """Find the chain's head at the end of the file; a torn last line is cut off, and that is recorded."""
        end = end_of(self._file, size)
        torn = size - end.size
        if torn:
            size = end.size
            os.ftruncate(self._file, size)
        if end.last:
            self._number, self._head = _seal_of(end.last)
        else:
            torn += self._catch_up_before()
        if torn:
            recovered = {"n": 0, "time": time.time(), "event": "recovered", "lost_bytes": torn}
            self._write(size, recovered, is_owed=is_owed)
            size = self._size
        return size

    def _catch_up_before(self) -> int:
        """The same at the end of the newest file before this one. Returns how many bytes were cut off there."""
        directory, own = os.path.split(self._path)
        torn = 0
        for name in reversed(log_files(directory)):
            if name >= own:
                continue
            path = os.path.join(directory, name)
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                end = end_of(file.fileno(), size)
            if end.size < size:
                torn += size - end.size
                os.truncate(path, end.size)
            if end.last:
                self._number, self._head = _seal_of(end.last)
                return torn
        self._number, self._head = 0, FIRST
        return torn


def log_files(directory: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(directory) if name.endswith(".jsonl"))
    except FileNotFoundError:
        return []


def _seal_of(last: bytes) -> tuple[int, str]:
    try:
        record = parse(last)
        return int(record["n"]), str(record["digest"])
    except (InvalidJson, KeyError, TypeError, ValueError):
        return 0, sha256(last).hexdigest()  # somebody was here; `audit verify` says so


def _has_run(event: Started | Finished) -> bool:
    return isinstance(event, Finished) and bool(event.result.metadata["attempts"])


def _record(event: Started | Finished) -> dict[str, Any]:
    """Which call, of what, with which arguments: their names, and one digest of them all, never their values."""
    call, tool, payload = event.call, event.tool, event.payload
    record: dict[str, Any] = {
        "n": 0,
        "time": 0.0,
        "event": "start",
        "call": call.id,
        "session": call.session,
        "asker": call.asker,
        "tool": call.name if len(call.name) <= _MAX_TEXT else call.name[:_MAX_TEXT],
        "version": tool.version if tool else None,
        "tool_digest": tool.digest if tool else None,
        "args": _names(call.args, payload),
        "args_digest": sha256(payload).hexdigest() if payload is not None else None,
    }
    if tool and tool.source == "builtin" and tool.origin != f"builtin:{tool.name}":
        record["means"] = tool.origin.removeprefix("builtin:")  # under another system's name, one of ours
    if tool and tool.came_with:
        record["skill"] = dict(zip(("name", "version", "digest"), tool.came_with, strict=True))
    if isinstance(event, Started):
        record["approval"] = event.approval
        return record
    result = event.result
    record["event"] = "call"
    record["approval"] = result.metadata["approval"]
    record["code"] = result.error.code if result.error else None
    record["ms"] = result.metadata["execution_time_ms"]
    for name in ("approved_by", "exit_code", "custom_tool"):
        if name in result.metadata:
            record[name] = result.metadata[name]
    return record


def _names(args: object, payload: bytes | None) -> list[str]:
    if type(args) is not dict or payload is None:
        return []
    if len(payload) <= _MAX_TEXT:
        return list(args)
    return [str(name)[:_MAX_TEXT] for name in list(args)[:_MAX_NAMES]]


def _end_of_month(now: float) -> float:
    if now >= _LAST_MONTH:
        return math.inf
    year, month = time.gmtime(now)[:2]
    return float(calendar.timegm((year + month // 12, month % 12 + 1, 1, 0, 0, 0)))
