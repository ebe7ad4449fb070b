"""Reading the record back, and proving that nobody changed it."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..core.errors import InvalidJson
from ..core.jsontext import parse
from .audit import FIRST, log_files

_SEAL = b',"digest":"'


@dataclass(frozen=True, slots=True)
class Verification:
    records: int
    head: str
    """The digest of the last record. Kept elsewhere, it also shows when records are cut off at the end."""
    fault: str | None = None
    """The first thing that is wrong, with file and line."""


def verify(directory: str) -> Verification:
    """Walk the whole chain."""
    head, count = FIRST, 0
    for name in log_files(directory):
        with open(os.path.join(directory, name), "rb") as file:
            for number, line in enumerate(file, 1):
                fault = _fault(line, head, count + 1)
                if fault:
                    return Verification(count, head, f"{os.path.join(directory, name)}:{number}: {fault}")
                head, count = line[-67:-3].decode(), count + 1
    return Verification(count, head)


def _fault(line: bytes, head: str, number: int) -> str | None:
    body, seal, end = line[: -len(_SEAL) - 67], line[-len(_SEAL) - 67 : -67], line[-67:]
    if not line.endswith(b"\n"):
        return "the line is torn: its writer was stopped, or it was cut"
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
    """Every record that can be read, oldest first."""
    for name in log_files(directory):
        with open(os.path.join(directory, name), "rb") as file:
            for line in file:
                try:
                    yield parse(line)
                except InvalidJson:
                    yield {"event": "unreadable", "file": name}
