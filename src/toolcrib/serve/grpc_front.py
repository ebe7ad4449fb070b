"""Who stands before the gRPC server where others can knock: looks whose each connection is, and how it begins.

The gRPC library accepts connections by itself. It does not say whose they are, and does not tell of those that spoke
something else, as a browser does. So it listens on a private socket, and this listens where callers come: another
user, and whoever does not begin as a gRPC client does, gets not one byte, and is told of. For all others it passes on
bytes and understands none. It runs on a thread of its own, because a busy event loop must not slow them down twice.
"""

import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
TLS_HANDSHAKE = b"\x16\x03"
CHUNK = 64 * 1024
MOST = 512
"""Connections at a time."""
FIRST_WORD_SECONDS = 10.0
Told = Callable[[str, str], None]
"""Is told why somebody was turned away, and who it was."""
_EPOLL = hasattr(select, "epoll")
_IN, _OUT = select.POLLIN, select.POLLOUT
_NOTHING = memoryview(b"")


class _End:
    """One end of a connection that is passed on: what it says goes to the other end."""

    __slots__ = ("ended", "fd", "left", "mask", "other", "recv", "send", "socket")

    def __init__(self, end: socket.socket) -> None:
        self.socket, self.fd, self.recv, self.send = end, end.fileno(), end.recv, end.send
        self.other = self
        self.left = _NOTHING
        """What is still to be sent to this end."""
        self.mask = 0
        self.ended = False
        """It has said all it will say."""


class _Newcomer:
    """A caller who has not said enough yet."""

    __slots__ = ("caller", "peer", "said", "since")

    def __init__(self, caller: socket.socket, peer: str) -> None:
        self.caller, self.peer, self.said, self.since = caller, peer, b"", time.monotonic()


class Front:
    """Owns a listening socket, and passes what comes there on to the socket at the path `inner`."""

    def __init__(
        self,
        listener: socket.socket,
        inner: str,
        *,
        secure: bool,
        told: Told,
        most: int = MOST,
        patience: float = FIRST_WORD_SECONDS,
    ) -> None:
        """`secure`: callers begin with TLS. `told` is called on the front's own thread."""
        self._patience = patience
        self._listener, self._inner, self._told, self._most = listener, inner, told, most
        self._expected = TLS_HANDSHAKE if secure else PREFACE
        self._poll = select.epoll() if _EPOLL else select.poll()
        self._newcomers: dict[int, _Newcomer] = {}
        self._ends: dict[int, _End] = {}
        self._waker, self._wake = socket.socketpair()
        self._accepting = self._running = True
        self._thread = threading.Thread(target=self._run, name="toolcrib-grpc-front", daemon=True)

    def start(self) -> None:
        self._listener.setblocking(False)
        self._poll.register(self._listener.fileno(), _IN)
        self._poll.register(self._waker.fileno(), _IN)
        self._thread.start()

    def stop_accepting(self) -> None:
        """From now on nobody new gets in; who is in, stays."""
        self._accepting = False
        self._wake.send(b"x")

    def close(self) -> None:
        """End all connections."""
        self._accepting = self._running = False
        self._wake.send(b"x")
        self._thread.join()
        self._waker.close()
        self._wake.close()

    def _run(self) -> None:
        poll, ends, second = self._poll.poll, self._ends, 1 if _EPOLL else 1000
        try:
            while self._running:
                for fd, mask in poll(second if self._newcomers else None):
                    end = ends.get(fd)
                    if end is not None:
                        self._pass_on(end, mask)
                    elif fd in self._newcomers:
                        self._hear(self._newcomers[fd])
                    elif fd == self._waker.fileno():
                        self._obey()
                    elif fd == self._listener.fileno():
                        self._accept()
                if self._newcomers:
                    self._lose_patience()
        finally:
            self._listener.close()
            for newcomer in list(self._newcomers.values()):
                self._forget(newcomer).close()
            for end in list(ends.values()):
                self._part(end)
            if isinstance(self._poll, select.epoll if _EPOLL else ()):
                self._poll.close()

    def _obey(self) -> None:
        self._waker.recv(64)
        if not self._accepting and self._listener.fileno() >= 0:
            self._poll.unregister(self._listener.fileno())
            self._listener.close()

    def _accept(self) -> None:
        try:
            caller, address = self._listener.accept()
        except OSError:  # gone already; or no descriptor is left, and those who are in come first
            time.sleep(0.01)
            return
        caller.setblocking(False)
        user, peer = _who(caller, address)
        if user not in (None, os.geteuid()):
            self._refuse(caller, "another user", peer)
        elif len(self._newcomers) + len(self._ends) // 2 >= self._most:
            self._refuse(caller, "too many connections", peer)
        else:
            self._newcomers[caller.fileno()] = _Newcomer(caller, peer)
            self._poll.register(caller.fileno(), _IN)

    def _refuse(self, caller: socket.socket, why: str, peer: str) -> None:
        self._told(why, peer)
        caller.close()

    def _hear(self, newcomer: _Newcomer) -> None:
        try:
            chunk = newcomer.caller.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._forget(newcomer).close()
            return
        newcomer.said += chunk
        start = newcomer.said[: len(self._expected)]
        if not self._expected.startswith(start):
            self._refuse(self._forget(newcomer), "it did not speak gRPC (a browser?)", newcomer.peer)
        elif len(start) == len(self._expected):
            self._let_in(self._forget(newcomer), newcomer.said)

    def _let_in(self, caller: socket.socket, said: bytes) -> None:
        try:
            inner = socket.socket(socket.AF_UNIX)
        except OSError:  # no descriptor is left; who is in comes first
            caller.close()
            return
        try:
            inner.connect(self._inner)
        except OSError:
            inner.close()
            caller.close()
            return
        inner.setblocking(False)
        here, there = _End(caller), _End(inner)
        here.other, there.other = there, here
        there.left = memoryview(said)
        for end in (here, there):
            self._ends[end.fd] = end
        self._pass_on(there, _OUT)

    def _pass_on(self, end: _End, mask: int) -> None:
        """Take what an end says and give it to the other; or give it what is left over for it."""
        other = end.other
        try:
            if end.left and mask & ~_IN and _all_sent(end, end.left):
                end.left = _NOTHING
            if end.mask & _IN and mask & ~_OUT:  # it spoke, or hung up: then what it said last comes first
                chunk = end.recv(CHUNK)
                if chunk and _all_sent(other, chunk) and mask == _IN == end.mask:
                    return  # nearly always: nothing is left over, and nothing else changes
                if not chunk:
                    end.ended = True
                    other.socket.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            return
        except OSError:
            end.ended = other.ended = True
        if end.ended and other.ended:
            self._part(end)
        else:
            self._watch(end)
            self._watch(other)

    def _watch(self, end: _End) -> None:
        """Wait for what can be done next: read where the other end took all, write where something is left over."""
        mask = (0 if end.ended or end.other.left else _IN) | (_OUT if end.left else 0)
        if mask == end.mask:
            return
        if not mask:
            self._poll.unregister(end.fd)
        elif end.mask:
            self._poll.modify(end.fd, mask)
        else:
            self._poll.register(end.fd, mask)
        end.mask = mask

    def _part(self, end: _End) -> None:
        for each in (end, end.other):
            if self._ends.pop(each.fd, None) is None:
                continue
            if each.mask:
                self._poll.unregister(each.fd)
            each.socket.close()

    def _forget(self, newcomer: _Newcomer) -> socket.socket:
        fd = newcomer.caller.fileno()
        del self._newcomers[fd]
        self._poll.unregister(fd)
        return newcomer.caller

    def _lose_patience(self) -> None:
        """Whoever says nothing gets no place."""
        late = time.monotonic() - self._patience
        for newcomer in [each for each in self._newcomers.values() if each.since < late]:
            self._refuse(self._forget(newcomer), "it said nothing", newcomer.peer)


def _who(caller: socket.socket, address: object) -> tuple[int | None, str]:
    """Whose connection it is, where the kernel says so, and words for it."""
    if caller.family != socket.AF_UNIX:
        return None, str(address[0] if isinstance(address, tuple) else address)
    if not hasattr(socket, "SO_PEERCRED"):  # elsewhere than on Linux; there the directory keeps others out
        return None, "unix"
    pid, user, _ = struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return user, f"uid {user}, pid {pid}"


def _all_sent(end: _End, data: bytes | memoryview) -> bool:
    """Send what an end takes now; the rest waits in it."""
    try:
        sent = end.send(data)
    except BlockingIOError:
        sent = 0
    if sent == len(data):
        return True
    end.left = memoryview(data)[sent:]
    return False
