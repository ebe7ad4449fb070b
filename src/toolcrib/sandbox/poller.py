"""Waiting for many descriptors of short life.

An event loop's own readers are made to stay: registering one costs as much as a pipe. So the loop watches a single
descriptor, an epoll of ours, and a program's pipes come and go in that. Where there is no epoll, the loop does it all.
"""

import asyncio
import select
from collections.abc import Callable

_HAS_EPOLL = hasattr(select, "epoll")


class Poller:
    """Calls back when a descriptor can be read (or written, or is at its end), until it is forgotten."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._callbacks: dict[int, Callable[[], None]] = {}
        if _HAS_EPOLL:
            self._epoll = select.epoll()
            loop.add_reader(self._epoll.fileno(), self._ready)

    def on_readable(self, fd: int, callback: Callable[[], None]) -> None:
        if _HAS_EPOLL:
            self._epoll.register(fd, select.EPOLLIN)
            self._callbacks[fd] = callback
        else:
            self.loop.add_reader(fd, callback)

    def on_writable(self, fd: int, callback: Callable[[], None]) -> None:
        if _HAS_EPOLL:
            self._epoll.register(fd, select.EPOLLOUT)
            self._callbacks[fd] = callback
        else:
            self.loop.add_writer(fd, callback)

    def forget(self, fd: int) -> None:
        """Before it is closed; one that is not watched is ignored."""
        if not _HAS_EPOLL:
            self.loop.remove_reader(fd)
            self.loop.remove_writer(fd)
        elif self._callbacks.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def close(self) -> None:
        if _HAS_EPOLL and not self._epoll.closed:
            if not self.loop.is_closed():
                self.loop.remove_reader(self._epoll.fileno())
            self._epoll.close()

    def _ready(self) -> None:
        for fd, _ in self._epoll.poll(0):
            callback = self._callbacks.get(fd)
            if callback is not None:  # not forgotten by a callback before it
                callback()
