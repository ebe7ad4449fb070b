"""Bounds: on one call, on what a model is shown, and on how much runs at once."""

import asyncio
import re
from dataclasses import dataclass

INPUT_BYTES = 8 * 1024 * 1024
"""Longest arguments of one call, as JSON."""
VIEW_BYTES = 64 * 1024
"""Longest text that goes back to a model."""
ARTIFACT_BYTES = 64 * 1024 * 1024
"""Longest output that is kept whole; past that it is drained and counted."""
DRAIN_SECONDS = 0.2
"""How long a descendant may go on writing after its program has exited."""
GRACE_SECONDS = 0.5
"""Between asking a process to end and ending it."""

_DURATION = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h)?\s*")
_SIZE = re.compile(r"\s*([0-9]+)\s*(b|k|kb|kib|m|mb|mib|g|gb|gib)?\s*", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may use. Time spent waiting for an answer or for a place does not count."""

    seconds: float = 30.0
    output_bytes: int = 1024 * 1024
    """Of each stream, kept in memory; the whole goes to an artifact."""
    memory_bytes: int | None = None


def duration(value: object) -> float:
    """Seconds from `30s`, `1500ms`, `2m` or a number of seconds.

    Raises:
        ValueError: for anything else; zero and less are not durations.
    """
    seconds = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str) and (found := _DURATION.fullmatch(value)):
        seconds = float(found[1]) * _SECONDS[found[2] or "s"]
    if seconds is None or not 0 < seconds < float("inf"):
        raise ValueError(f"{value!r} is not a duration above zero; write 30s, 1500ms or a number of seconds")
    return seconds


def size(value: object) -> int:
    """Bytes from `512MiB`, `64k` or a number of bytes.

    Raises:
        ValueError: for anything else; zero and less are not sizes.
    """
    found = None
    if isinstance(value, int) and not isinstance(value, bool):
        found = value
    elif isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        found = int(match[1]) * 1024 ** " kmg".index((match[2] or " ").lower()[0].replace("b", " "))
    if found is None or found <= 0:
        raise ValueError(f"{value!r} is not a size above zero; write 1048576, 512k or 256MiB")
    return found


def view(text: str, limit: int = VIEW_BYTES) -> str:
    """Head and tail of a text that is too long to show, with what was left out in between."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    head, tail = raw[: limit // 2].decode("utf-8", "ignore"), raw[-(limit // 2) :].decode("utf-8", "ignore")
    left_out = len(raw) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[… {left_out} of {len(raw)} bytes left out …]\n{tail}"


class Places:
    """How many processes may run at once. Who comes later waits in line, first come first served."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = asyncio.Semaphore(count)

    async def __aenter__(self) -> None:
        await self._free.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._free.release()
