"""Two file descriptors and an event loop: lines come in, lines go out, and neither side can hold up the loop.

No descriptor is made non-blocking: that flag belongs to whoever else has the same terminal or pipe open, and would
stay on it after us. Instead, nothing is read or written before the kernel said that it will not block.
"""

import asyncio
import os
import select
import stat
from collections import deque
from collections.abc import Callable, Iterator

READ_BYTES = 64 * 1024


class Lines:
    """Cuts what comes in into lines, however it was cut before."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """The lines that `chunk` ends. None stands for one beyond the limit, of which nothing is kept."""
        *ends, rest = chunk.split(b"\n")
        for piece in ends:
            if self._grow(piece):
                yield None
            if self._size <= self._limit:
                yield b"".join(self._parts)
            self._parts, self._size = [], 0
        if self._grow(rest):
            yield None

    def rest(self) -> bytes:
        """What came after the last line end."""
        return b"".join(self._parts)

    def _grow(self, piece: bytes) -> bool:
        """Whether this is the piece that makes the line too long."""
        was_short = self._size <= self._limit
        self._size += len(piece)
        if self._size <= self._limit:
            self._parts.append(piece)
            return False
        self._parts = []
        return was_short


class Inlet:
    """Reads a descriptor while it has something to say, until its end; a file, which epoll refuses, as well."""

    def __init__(self, fd: int, *, on_chunk: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._fd, self._on_chunk, self._on_end = fd, on_chunk, on_end
        self._loop = asyncio.get_running_loop()
        self._reading = False
        self.is_file = stat.S_ISREG(os.fstat(fd).st_mode)
        self._polled = not self.is_file

    def resume(self) -> None:
        if self._reading:
            return
        self._reading = True
        if self._polled:
            try:
                self._loop.add_reader(self._fd, self._read)
                return
            except OSError:
                self._polled = False  # /dev/null and its like: never blocks, cannot be waited for
        self._loop.call_soon(self._read)

    def pause(self) -> None:
        if self._reading and self._polled:
            self._loop.remove_reader(self._fd)
        self._reading = False

    def _read(self) -> None:
        if not self._reading:
            return
        try:
            chunk = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""  # a terminal or a socket that is gone has ended, too
        if not chunk:
            self.pause()
            self._on_end()
            return
        self._on_chunk(chunk)
        if self._reading and not self._polled:
            self._loop.call_soon(self._read)


class Outbox:
    """Writes to a descriptor as fast as its reader reads. What the reader leaves waits here, counted."""

    def __init__(self, fd: int, *, on_less: Callable[[], None], on_gone: Callable[[], None]) -> None:
        self._fd, self._on_less, self._on_gone = fd, on_less, on_gone
        self._loop = asyncio.get_running_loop()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self._waiting: deque[memoryview] = deque()
        self._armed = False
        self._gone = False
        self._empty = asyncio.Event()
        self._empty.set()
        self.size = 0
        """Bytes that wait."""

    def write(self, data: bytes) -> None:
        if self._gone:
            return
        self._waiting.append(memoryview(data))
        self.size += len(data)
        if not self._armed:
            self._push()

    async def flush(self) -> None:
        """Wait until everything is written, or nobody reads any more."""
        await self._empty.wait()

    def close(self) -> None:
        self._drop()

    def _push(self) -> None:
        try:
            # A pipe that polls as writable takes this many bytes without blocking; no flag is needed.
            while self._waiting and self._poll.poll(0):
                self._advance(os.write(self._fd, self._waiting[0][: select.PIPE_BUF]))
        except BlockingIOError:
            pass
        except OSError:
            self._drop()
            self._on_gone()
            return
        self._arm(bool(self._waiting))

    def _advance(self, count: int) -> None:
        self.size -= count
        if count < len(self._waiting[0]):
            self._waiting[0] = self._waiting[0][count:]
        else:
            self._waiting.popleft()

    def _arm(self, wanted: bool) -> None:
        if wanted and not self._armed:
            self._empty.clear()
            self._loop.add_writer(self._fd, self._write_more)
        elif self._armed and not wanted:
            self._empty.set()
            self._loop.remove_writer(self._fd)
        self._armed = wanted

    def _write_more(self) -> None:
        self._push()
        self._on_less()

    def _drop(self) -> None:
        self._arm(False)
        self._gone = True
        self._waiting.clear()
        self.size = 0
