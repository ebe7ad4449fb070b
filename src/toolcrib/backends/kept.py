"""What comes from elsewhere, bounded while it comes: head and tail in memory, the whole in an artifact."""

import os
from collections import deque

from ..core.limits import ARTIFACT_BYTES, VIEW_BYTES
from ..core.process import Artifacts, Captured

_ATTEMPTS = 100


class Kept:
    """Takes bytes as they come. Memory stays within `keep` and a half, however many those are."""

    def __init__(self, *, keep: int, name: str, artifacts: Artifacts | None, all_to_file: bool = False) -> None:
        """With `all_to_file`, the artifact holds also what is short."""
        self.total = 0
        self._keep, self._name, self._artifacts = keep, name, artifacts
        self._spill_from = -1 if all_to_file else min(keep, VIEW_BYTES)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._artifact: tuple[str, str] | None = None
        self._fd = -1
        self._spilled = 0

    @property
    def full(self) -> bool:
        """Nothing more of what comes would be kept anywhere."""
        return self.total >= ARTIFACT_BYTES

    def feed(self, chunk: bytes) -> None:
        self.total += len(chunk)
        if self._fd >= 0:
            self._spill(chunk)
        room = self._keep - len(self._head)
        self._head += chunk[:room]
        rest = chunk[room:]
        if self.total > self._spill_from and self._artifact is None and self._artifacts is not None:
            self._begin(rest)
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
            while self._tail and self._tail_bytes - len(self._tail[0]) >= self._keep // 2:
                self._tail_bytes -= len(self._tail.popleft())

    def to_file(self) -> None:
        """Put what came into the artifact, however short it is."""
        if self._artifact is None and self._artifacts is not None:
            self._begin(b"".join(self._tail))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def captured(self) -> Captured:
        """What came up to now."""
        artifact = (*self._artifact, self._spilled) if self._artifact and self._spilled else None
        head = bytes(self._head)
        if self.total == len(head):
            return Captured(head, b"", self.total, artifact)
        half = self._keep // 2
        tail = b"".join(self._tail)[-half:] if half else b""
        return Captured(head[: len(head) - len(tail)], tail, self.total, artifact)

    def _begin(self, rest: bytes) -> None:
        assert self._artifacts is not None
        for attempt in range(1, _ATTEMPTS):  # a call that is tried again keeps its id
            try:
                name = self._name if attempt == 1 else f"{self._name}.{attempt}"
                ident, path, self._fd = self._artifacts.create(name)
            except FileExistsError:
                continue
            except OSError:  # a full disk costs the artifact, not the call
                break
            self._artifact = (ident, path)
            self._spill(bytes(self._head) + rest)
            return
        self._artifacts = None

    def _spill(self, chunk: bytes) -> None:
        chunk = chunk[: ARTIFACT_BYTES - self._spilled]
        try:
            while chunk:
                written = os.write(self._fd, chunk)
                self._spilled += written
                chunk = chunk[written:]
        except OSError:
            self.close()
