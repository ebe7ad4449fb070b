"""Reading the record back, and proving that nobody changed it."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..core.errors import InvalidJson
from ..core.jsontext import parse
from . import _lock
from .audit import FIRST, log_files
from .stats import Stats

_SEAL = b',"digest":"'
LOST = "OUTCOME_UNKNOWN"


@dataclass(frozen=True, slots=True)
class Verification:
    records: int
    head: str
    """The digest of the last record. Kept elsewhere, it also shows when records are cut off at the end."""
    fault: str | None = None
    """The first thing that is wrong, with file and line."""
    kept_at: int | None = None
    """The number of the record whose digest was kept elsewhere, where that record is still in the chain."""


def verify(directory: str, *, kept: str | None = None) -> Verification:
    """Walk the whole chain, and look for the record whose digest is `kept`.

    Raises:
        OSError: a file cannot be read.
    """
    head, count = FIRST, 0
    kept_at = 0 if kept == FIRST else None
    for path, line, number in _lines(directory):
        fault = _fault(line, head, count + 1)
        if fault:
            return Verification(count, head, f"{path}:{number}: {fault}", kept_at)
        head, count = line[-67:-3].decode(), count + 1
        if head == kept:
            kept_at = count
    return Verification(count, head, None, kept_at)


def _fault(line: bytes, head: str, number: int) -> str | None:
    body, seal, end = line[: -len(_SEAL) - 67], line[-len(_SEAL) - 67 : -67], line[-67:]
    if not line.endswith(b"\n"):
        return "the line is torn: its writer was stopped (then the next call cuts it off and says so), or it was cut"
    if seal != _SEAL or end[-3:] != b'"}\n' or hashlib.sha256(body + b"}").hexdigest().encode() != end[:64]:
        return "the record was changed"
    try:
        record = parse(line)
    except InvalidJson:
        return "not JSON"
    if record.get("previous") != head:
        return "a record before this one is missing or was changed"
    return None if record.get("n") == number else f"this is record {record.get('n')}, expected {number}"


def records(directory: str) -> Iterator[dict[str, Any]]:
    """Every record, oldest first. A line that is none is yielded as what it is: unreadable.

    Raises:
        OSError: a file cannot be read.
    """
    for path, line, number in _lines(directory):
        try:
            record = parse(line)
        except InvalidJson:
            record = None
        yield record if isinstance(record, dict) else {"event": "unreadable", "at": f"{path}:{number}"}


def fold(directory: str, *, living: frozenset[str] = frozenset(), session: str | None = None) -> Stats:
    """The counters of every call in the record; or of every one in a session.

    A call that was started, did not end, and whose runtime is not among the `living`, has an outcome nobody knows.
    """
    stats, started = Stats(), dict[str, str]()
    for record in records(directory):
        if session is not None and record.get("session") != session:
            continue
        if record.get("event") == "start":
            started[str(record.get("call"))] = str(record.get("tool"))
        elif record.get("event") == "call":
            started.pop(str(record.get("call")), None)
            code, took = record.get("code"), record.get("ms")
            took = took if isinstance(took, int | float) else 0.0
            stats.count(str(record.get("tool")), None if code is None else str(code), took)
    usual = stats.milliseconds / stats.total if stats.total else 0.0
    for call, tool in started.items():
        if runtime_of(call) not in living:
            stats.count(tool, LOST, usual)  # its time is not known either, so it leaves the average as it is
    return stats


def runtime_of(call: str) -> str:
    """The runtime that made a call: its id begins every call id."""
    return call.partition("-")[0]


def _lines(directory: str) -> Iterator[tuple[str, bytes, int]]:
    """Path, line and line number of all that was in the record when this began, and of nothing added since."""
    for path, size in _sizes(directory):
        with open(path, "rb") as file:
            left, number = size, 0
            while left > 0 and (line := file.readline(left)):
                left, number = left - len(line), number + 1
                yield path, line, number


def _sizes(directory: str) -> list[tuple[str, int]]:
    """The files and their sizes at one moment between two records."""
    path = os.path.join(directory, ".lock")
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        lock = -1
    try:
        if lock >= 0:
            _lock.wait_for(lock, fcntl.LOCK_SH, path, seconds=_lock.LOCK_SECONDS)
        paths = [os.path.join(directory, name) for name in log_files(directory)]
        return [(path, os.path.getsize(path)) for path in paths]
    finally:
        if lock >= 0:
            os.close(lock)
