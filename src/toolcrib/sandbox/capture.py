"""One output stream, bounded while it is read: head and tail in memory, the whole in a file."""

import fcntl
import os
from collections import deque
from contextlib import suppress

from ..core.limits import ARTIFACT_BYTES, VIEW_BYTES
from ..core.process import Artifacts, Captured, Filter

CHUNK = 256 * 1024
_PIPE_BYTES, _WIDE_BYTES = 64 * 1024, 1024 * 1024
"""What a pipe holds at first, and what one may hold."""
_ATTEMPTS = 100
_READS_PER_TURN = 16
"""So that one loud program does not keep the event loop from the others."""


class Capture:
    """Reads a pipe. Memory stays within `keep` plus one chunk, however much comes.

    With a filter, all that is kept, counted and written to a file is what the filter let through.
    """

    def __init__(
        self, fd: int, *, name: str, keep: int, artifacts: Artifacts | None, filter: Filter | None = None
    ) -> None:
        self.fd = fd
        self.open = True
        self._wide = False
        self._filter = filter
        self._name, self._artifacts = name, artifacts
        self._head_room = keep
        self._head: list[bytes] = []
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._keep_tail = keep // 2
        self._spill_from = min(keep, VIEW_BYTES)
        self._total = 0
        self._artifact: tuple[str, str] | None = None
        self._spill_fd: int | None = None
        self._spilled = 0
        self._over = False

    def read(self) -> bool:
        """Take what is there. False at the end of the stream, which is then to be closed."""
        for _ in range(_READS_PER_TURN):
            try:
                chunk = os.read(self.fd, CHUNK)
            except BlockingIOError:
                return True
            except OSError:
                chunk = b""
            if not chunk:
                return False
            if len(chunk) >= _PIPE_BYTES and not self._wide:
                self._widen()
            self._take(chunk if self._filter is None else self._filter.feed(chunk))
        return True

    def close(self) -> None:
        if self.open:
            self.open = False
            os.close(self.fd)

    def result(self) -> Captured:
        """What came, once no more will be read."""
        if self._filter is not None:
            held, self._filter = self._filter.end(), None
            self._take(held)
        self._over = True
        if self._spill_fd is not None:
            os.close(self._spill_fd)
            self._spill_fd = None
        return self.so_far()

    def so_far(self) -> Captured:
        """What came up to now."""
        # On a full disk there may be a file, but nothing in it: that is no artifact.
        artifact = (*self._artifact, self._spilled) if self._artifact and self._spilled else None
        head = b"".join(self._head)
        # Over the limit, half the room is for the head, half for the tail.
        tail = b"".join(self._tail)[-self._keep_tail :] if self._keep_tail else b""
        return Captured(head[: len(head) - len(tail)], tail, self._total, artifact)

    def _widen(self) -> None:
        """A program that fills the pipe would stand still until we come again, and we may have a thousand others."""
        self._wide = True
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # the system gives each user so much, and no more
                fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, _WIDE_BYTES)

    def _take(self, chunk: bytes) -> None:
        if self._over:  # the filter has said its last word, and what comes now would not go through it
            return
        self._total += len(chunk)
        if self._spill_fd is not None:
            self._spill(self._spill_fd, chunk)
        fits, rest = chunk[: self._head_room], chunk[self._head_room :]
        if fits:
            self._head.append(fits)
            self._head_room -= len(fits)
        # From the length on that a model is shown, the whole is kept: what is cut later must not be lost.
        if self._total > self._spill_from and self._artifact is None and self._artifacts is not None:
            self._begin_spill(rest)
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
            while self._tail and self._tail_bytes - len(self._tail[0]) >= self._keep_tail:
                self._tail_bytes -= len(self._tail.popleft())

    def _begin_spill(self, rest: bytes) -> None:
        assert self._artifacts is not None
        for attempt in range(1, _ATTEMPTS):  # a call that is tried again keeps its id
            try:
                name = self._name if attempt == 1 else f"{self._name}.{attempt}"
                ident, path, fd = self._artifacts.create(name)
            except FileExistsError:
                continue
            except OSError:  # a full disk costs the artifact, not the call
                break
            self._artifact, self._spill_fd = (ident, path), fd
            self._spill(fd, b"".join(self._head) + rest)
            return
        self._artifacts = None

    def _spill(self, fd: int, chunk: bytes) -> None:
        chunk = chunk[: ARTIFACT_BYTES - self._spilled]
        try:
            while chunk:
                written = os.write(fd, chunk)
                self._spilled += written
                chunk = chunk[written:]
        except OSError:
            os.close(fd)
            self._spill_fd = None
