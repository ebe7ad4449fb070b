"""The record of every call: JSON lines, each sealed with its own digest and that of the line before.

One chain for all processes, kept in order by a lock. A record that was acknowledged has been handed to the kernel and
survives the death of its writer. Any byte that is changed later breaks the chain; records cut off at the very end leave
no trace, which only a copy of the last digest elsewhere can show.
"""

import calendar
import errno
import fcntl
import hashlib
import os
import time
from collections.abc import Callable
from typing import Any

from ..core.call import Call
from ..core.errors import InvalidJson, ToolError
from ..core.events import Event, Finished, Started
from ..core.jsontext import canonical, dump_ascii, parse
from ..core.source import Problem
from ..core.tool import Tool

FIRST = "0" * 64
_BALLAST = 64 * 1024
_TAIL = 256 * 1024
_MAX_NAMES = 64
_MAX_TEXT = 200


class Audit:
    """Appends to the newest file of a directory. Fails closed: what cannot be recorded does not run."""

    def __init__(self, directory: Callable[[], str]) -> None:
        self._directory = directory
        self._file = self._lock = -1
        self._month = ""
        self._path = ""
        self._until = 0.0
        """When the month, and with it the file, ends."""
        self._size = -1
        self._head = FIRST
        self._number = 0
        self._broken: str | None = None

    def ready(self) -> None:
        if self._file < 0 or self._broken:
            self._guarded(self._open)

    def notice(self, event: Event) -> None:
        if type(event) is Finished:
            self._guarded(lambda: self._append(_finished(event)))
        elif type(event) is Started:
            verdict = event.verdict.decision.wire
            self._guarded(
                lambda: self._append({"event": "start", **_about(event.call, event.tool), "approval": verdict})
            )

    def skipped(self, problem: Problem) -> None:
        """A tool that is not on offer, and why."""
        self._guarded(lambda: self._append({"event": "skipped", **problem.to_dict()}))

    def close(self) -> None:
        for fd in (self._file, self._lock):
            if fd >= 0:
                os.close(fd)
        self._file = self._lock = -1

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError as exc:
            self._broken = str(exc)
            message = f"the audit log cannot be written ({exc}), and nothing runs unrecorded; make room or rights in {self._where()}"
            raise ToolError(message, code="RESOURCE_EXHAUSTED") from None

    def _where(self) -> str:
        return os.path.dirname(self._path) or "the home directory"

    def _open(self) -> None:
        directory = self._directory()
        if self._lock < 0:
            self._lock = os.open(os.path.join(directory, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._path = os.path.join(directory, "")
        ballast = os.path.join(directory, ".ballast")
        if not os.path.exists(ballast) or os.path.getsize(ballast) < _BALLAST:
            fd = os.open(ballast, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, os.urandom(_BALLAST))
            finally:
                os.close(fd)
        now = time.time()
        month = max([*(name[:7] for name in log_files(directory)), time.strftime("%Y-%m", time.gmtime(now))])
        if self._file >= 0:
            os.close(self._file)
        self._path = os.path.join(directory, f"{month}.jsonl")
        self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._until = _end_of_month(now)
        self._size = -1
        self._broken = None

    def _append(self, record: dict[str, Any]) -> None:
        now = time.time()
        if self._file < 0 or now >= self._until:
            self._open()
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            size = os.fstat(self._file).st_size
            if size != self._size:  # another process wrote, or this is the first time
                size = self._catch_up(size)
            self._write(size, {"n": self._number + 1, "time": round(now, 6), **record})
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _write(self, size: int, record: dict[str, Any]) -> None:
        line, head = sealed(record, self._head)
        try:
            written = os.write(self._file, line)
        except OSError as exc:
            if exc.errno != errno.ENOSPC:
                raise
            written = 0
        if written != len(line):  # the disk is full: this record still fits where the ballast lay, no further call runs
            os.ftruncate(self._file, size)
            self._broken = "no space left"
            ballast = os.path.join(os.path.dirname(self._path), ".ballast")
            if os.path.exists(ballast):
                os.unlink(ballast)
            if os.write(self._file, line) != len(line):
                os.ftruncate(self._file, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
        self._size = size + len(line)
        self._head = head
        self._number += 1

    def _catch_up(self, size: int) -> int:
        """Find the chain's head at the end of the file; a torn last line is cut off, and that is recorded."""
        tail = os.pread(self._file, _TAIL, max(0, size - _TAIL))
        whole, torn = tail[: tail.rfind(b"\n") + 1], len(tail) - tail.rfind(b"\n") - 1
        if whole:
            self._number, self._head = _seal_of(whole)
        else:
            self._number, self._head = self._before()
        if torn:
            size -= torn
            os.ftruncate(self._file, size)
            self._write(
                size, {"n": self._number + 1, "time": round(time.time(), 6), "event": "recovered", "lost_bytes": torn}
            )
            size = self._size
        return size

    def _before(self) -> tuple[int, str]:
        """The end of the newest file before this one."""
        directory = os.path.dirname(self._path)
        for name in reversed(log_files(directory)):
            if name < os.path.basename(self._path):
                with open(os.path.join(directory, name), "rb") as file:
                    data = file.read()
                if data:
                    return _seal_of(data[: data.rfind(b"\n") + 1])
        return 0, FIRST


def sealed(record: dict[str, Any], previous: str) -> tuple[bytes, str]:
    """A record as its line, and the digest that the next one names."""
    body = dump_ascii({**record, "previous": previous})
    head = hashlib.sha256(body).hexdigest()
    return b'%b,"digest":"%b"}\n' % (body[:-1], head.encode()), head


def log_files(directory: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(directory) if name.endswith(".jsonl"))
    except FileNotFoundError:
        return []


def _seal_of(lines: bytes) -> tuple[int, str]:
    last = lines.rstrip(b"\n").rsplit(b"\n", 1)[-1]
    try:
        record = parse(last)
        return int(record["n"]), str(record["digest"])
    except (InvalidJson, KeyError, TypeError, ValueError):
        return 0, hashlib.sha256(last).hexdigest()  # somebody was here; `audit verify` says so


def _finished(event: Finished) -> dict[str, Any]:
    error, metadata = event.result.error, event.result.metadata
    record = {
        "event": "call",
        **_about(event.call, event.tool),
        "approval": metadata["approval"],
        "code": error.code if error else None,
        "ms": metadata["execution_time_ms"],
    }
    for name in ("approved_by", "exit_code"):
        if name in metadata:
            record[name] = metadata[name]
    return record


def _about(call: Call, tool: Tool | None) -> dict[str, Any]:
    """Which call, of what, with which arguments: their names, and one digest of them all, never their values."""
    args = call.args
    if type(args) is dict:
        try:
            digest = hashlib.sha256(canonical(args)).hexdigest()
        except InvalidJson:
            digest = None
        names = list(args) if len(args) < _MAX_NAMES else list(args)[:_MAX_NAMES]
        for index, name in enumerate(names):
            if len(name) > _MAX_TEXT:
                names[index] = name[:_MAX_TEXT]
    else:
        digest, names = None, []
    return {
        "call": call.id,
        "session": call.session,
        "asker": call.asker,
        "tool": call.name[:_MAX_TEXT],
        "version": tool.version if tool else None,
        "tool_digest": tool.digest if tool else None,
        "args": names,
        "args_digest": digest,
    }


def _end_of_month(now: float) -> float:
    year, month = time.gmtime(now)[:2]
    return float(calendar.timegm((year + month // 12, month % 12 + 1, 1, 0, 0, 0)))
