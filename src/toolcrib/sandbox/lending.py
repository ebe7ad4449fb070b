"""Programs that stay running, lent to one call at a time."""

import asyncio
import resource
import time
from collections.abc import Callable, Hashable, Iterable
from types import TracebackType

from ..core.errors import ToolError
from ..core.limits import GRACE_SECONDS
from ..core.process import Command
from .cage import Cage
from .peer import Peer
from .poller import Poller
from .program import cage_of
from .scratch import Scratch, remove_behind, remove_tree

MOST_IDLE = 16
"""So many stay of all kinds, fewer where descriptors are few: each holds four."""
_FDS_RESERVED, _FDS_OF_IDLE = 48, 16
_LOOK_SECONDS = 0.001


class Shelf:
    """Those of one kind: started the same way, and as good one as another."""

    def __init__(self) -> None:
        self.idle: list[Peer] = []
        self.users = 0
        """Calls that have one of them."""


class Lending:
    """The programs of one event loop."""

    def __init__(
        self,
        poller: Poller,
        scratch: Callable[[Cage | None], Scratch],
        watch: Callable[[], None],
        *,
        idle_seconds: float,
    ) -> None:
        """`watch` is called before a program is started. One that nobody uses stays for `idle_seconds`."""
        self._poller, self._scratch, self._watch, self._idle_seconds = poller, scratch, watch, idle_seconds
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most_idle = max(1, min(MOST_IDLE, (soft - _FDS_RESERVED) // _FDS_OF_IDLE))
        self._shelves: dict[Hashable, Shelf] = {}
        self._directories: dict[Peer, tuple[Scratch, str]] = {}
        """Of all that run, the temporary directory of each, and whose that is."""
        self._idle: dict[Peer, tuple[Hashable, float]] = {}
        """Which kind, and since when; the one that rests longest comes first."""
        self._leaving: dict[Peer, asyncio.TimerHandle] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def lend(self, command: Command, key: Hashable, marks: Callable[[], str]) -> "Loan":
        started_as = (
            command.argv, command.cwd, tuple(command.env.items()), command.limits.memory_bytes, command.cage,
        )  # fmt: skip
        return Loan(self, command, (key, started_as), marks)

    def close(self) -> None:
        """End all of them: they have a moment to end by themselves when their input does, another when asked to."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for timer in self._leaving.values():
            timer.cancel()
        peers = list(self._directories)
        for peer in peers:
            peer.close_input()
        staying = _staying(peers)
        for peer in staying:
            peer.ask_to_end()
        _staying(staying)
        for peer in peers:
            self._finish(peer)

    # For a loan

    def shelf(self, key: Hashable) -> Shelf:
        shelf = self._shelves.get(key)
        if shelf is None:
            shelf = self._shelves[key] = Shelf()
        shelf.users += 1
        return shelf

    def leave(self, key: Hashable, shelf: Shelf) -> None:
        shelf.users -= 1
        if not shelf.users and not shelf.idle:
            self._shelves.pop(key, None)

    def take(self, shelf: Shelf, command: Command) -> Peer | None:
        """One that rests, and is as fit as it was."""
        while shelf.idle:
            peer = shelf.idle.pop()
            del self._idle[peer]
            if peer.begin(command):
                return peer
            self._finish(peer)
        return None

    def start(self, command: Command, mark: str) -> Peer:
        if self._closed:
            raise ToolError("nothing is started any more, and nothing ran", code="CANCELLED", before_effect=True)
        self._watch()
        scratch = self._scratch(cage_of(command))
        tmp = scratch.take()
        env = {**command.env, "TOOLCRIB_CALL_ID": mark, "TMPDIR": tmp}
        try:
            peer = Peer(command, env, self._poller, mark=mark, unfit=self._discard)
        except BaseException:  # nobody has seen it
            scratch.keep(tmp)
            raise
        self._directories[peer] = scratch, tmp
        return peer

    def put_back(self, peer: Peer, key: Hashable, shelf: Shelf) -> None:
        now = self._poller.loop.time()
        shelf.idle.append(peer)
        self._idle[peer] = (key, now)
        if len(self._idle) > self._most_idle:
            self._dismiss(next(iter(self._idle)))
        if self._timer is None:
            self._timer = self._poller.loop.call_later(self._idle_seconds, self._reap)

    async def end(self, peer: Peer) -> None:
        try:
            await peer.end()
        finally:
            self._finish(peer)

    # Those that nobody uses

    def _reap(self) -> None:
        """Let those go that rested long enough, and look again when the next one has."""
        now = self._poller.loop.time()
        self._timer = None
        for peer, (_, since) in list(self._idle.items()):
            remaining = since + self._idle_seconds - now
            if remaining > 0:
                self._timer = self._poller.loop.call_later(remaining, self._reap)
                return
            self._dismiss(peer)

    def _dismiss(self, peer: Peer) -> None:
        """Tell one that rests that it is not needed any more, by the end of its input."""
        self._unshelve(peer)
        peer.close_input()
        self._leaving[peer] = self._poller.loop.call_later(GRACE_SECONDS, self._press, peer)

    def _press(self, peer: Peer) -> None:
        peer.ask_to_end()
        self._leaving[peer] = self._poller.loop.call_later(GRACE_SECONDS, self._finish, peer)

    def _discard(self, peer: Peer) -> None:
        """One that was not spoken to has ended, or should not have said anything."""
        if peer in self._idle:
            self._unshelve(peer)
            self._finish(peer)
        elif peer in self._leaving and peer.is_gone():
            self._finish(peer)

    def _unshelve(self, peer: Peer) -> None:
        key, _ = self._idle.pop(peer)
        shelf = self._shelves[key]
        shelf.idle.remove(peer)
        if not shelf.users and not shelf.idle:
            del self._shelves[key]

    def _finish(self, peer: Peer) -> None:
        timer = self._leaving.pop(peer, None)
        if timer is not None:
            timer.cancel()
        peer.finish()
        if (taken := self._directories.pop(peer, None)) is None:
            return
        scratch, tmp = taken
        leftover = scratch.give_back(tmp)
        if leftover is not None and self._is_here():
            remove_behind(self._poller.loop, leftover)
        elif leftover is not None:
            remove_tree(leftover)

    def _is_here(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._poller.loop
        except RuntimeError:
            return False


class Loan:
    """One program for one call. One that the call left in the middle of something is ended."""

    __slots__ = ("_command", "_key", "_lending", "_marks", "_peer", "_shelf")

    def __init__(self, lending: Lending, command: Command, key: Hashable, marks: Callable[[], str]) -> None:
        self._lending, self._command, self._key, self._marks = lending, command, key, marks

    async def __aenter__(self) -> Peer:
        lending, command = self._lending, self._command
        shelf = self._shelf = lending.shelf(self._key)
        try:
            self._peer = lending.take(shelf, command) or lending.start(command, self._marks())
        except BaseException:
            lending.leave(self._key, shelf)
            raise
        return self._peer

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        lending, shelf, peer = self._lending, self._shelf, self._peer
        try:
            if kind is None and peer.rest():
                lending.put_back(peer, self._key, shelf)
            else:
                await lending.end(peer)
        finally:
            lending.leave(self._key, shelf)


def _staying(peers: Iterable[Peer]) -> list[Peer]:
    """Wait for them to be gone, for a moment. Those that are not."""
    until = time.monotonic() + GRACE_SECONDS
    left = [peer for peer in peers if not peer.is_gone()]
    while left and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
        left = [peer for peer in left if not peer.is_gone()]
    return left
