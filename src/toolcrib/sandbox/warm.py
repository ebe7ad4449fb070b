"""Workers: Python interpreters with their imports done, which run a command in a fork of themselves.

One worker serves one program of one interpreter in one environment. It is started with the first call that could use
it, and ended when nobody used it for a while. What it runs is a process of its own in every respect that matters: its
session, its environment, its mark, its limits, its end. Nothing of a run is there in the next.
"""

import array
import asyncio
import errno
import json
import os
import select
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from ..core.errors import ToolError
from ..core.process import Captured, Command
from . import zygote
from .cage import BUBBLEWRAP, LANDLOCK, UNCONFINED, Cage
from .child import UNKNOWN, Launched
from .launch import launch
from .poller import Poller
from .program import CHANNEL, Launch, as_child, cage_of
from .shield import standing
from .spawn import Start
from .sweep import end_marked
from .zygote import RECORD

IDLE_SECONDS = 300.0
MOST_WORKERS = 16
_COLLECT_SECONDS = 1.0
_SHORT_OF_SOMETHING = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.ETOOMANYREFS)
"""Of our own: then one command cannot be handed over, and the worker goes on with those that it has."""
_READ = 4096
_OF_INTERPRETERS = ("PATH", "HOME", "USER", "LANG", "LANGUAGE", "TZ", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SSL_CERT_FILE")
_OF_INTERPRETERS_BEGIN = ("PYTHON", "LC_", "TOOLCRIB_CALLERS")
"""Variables that say something to an interpreter and to what is imported. The others a fork gets, and no worker."""


class Key(NamedTuple):
    """What makes a worker the right one."""

    interpreter: tuple[str, ...]
    ready: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    cage: Cage | None
    tmp: str
    """Where the temporary directories of all its runs lie."""
    shields: Hashable
    """What of the workspace it cannot change, where that is settled when it is started."""


class Workers:
    """The workers of one runtime."""

    def __init__(self, runtime_id: str, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._id, self._idle_seconds = runtime_id, idle_seconds
        self._count = 0
        self._workers: dict[tuple[asyncio.AbstractEventLoop, Key], Worker] = {}
        self._unfit: set[Key] = set()

    async def launcher(self, command: Command, poller: Poller, tmp: str) -> Launch | None:
        """What starts this command in a worker; None when none can. Its temporary directory will lie in `tmp`."""
        key = _key(command, tmp)
        if key is None or key in self._unfit:
            return None
        worker = self._workers.get((poller.loop, key))
        if worker is None or worker.gone:
            try:
                worker = self._new(key, poller)
            except (ToolError, OSError):  # no process or descriptor left for it: perhaps there is for the command
                return None
        if not worker.fit:
            await asyncio.shield(worker.settled)
            if not worker.fit:
                self._unfit.add(key)  # it would be so again, and each time cost a start
                return None
        if worker.alone and worker.runs:
            return None
        return partial(_launch, worker, as_child(poller))

    def forget(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the workers of a loop."""
        for at in [at for at in self._workers if at[0] is loop]:
            self._workers.pop(at).close()

    def close(self) -> None:
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def _new(self, key: Key, poller: Poller) -> "Worker":
        idle = sorted((at for at, each in self._workers.items() if each.idle), key=lambda at: self._workers[at].used)
        for at in idle[: max(0, len(self._workers) - MOST_WORKERS + 1)]:
            self._workers.pop(at).close()
        self._count += 1
        worker = self._workers[poller.loop, key] = Worker(key, f"{self._id}-w{self._count}", poller)
        poller.loop.call_later(self._idle_seconds, self._look_after, (poller.loop, key), worker)
        return worker

    def _look_after(self, at: tuple[asyncio.AbstractEventLoop, Key], worker: "Worker") -> None:
        """End a worker that nobody used for a while, else look again when that could be."""
        if self._workers.get(at) is not worker:
            return
        rest = worker.used + self._idle_seconds - time.monotonic() if worker.idle else self._idle_seconds
        if rest > 0 and not worker.gone:
            at[0].call_later(rest, self._look_after, at, worker)
        else:
            self._workers.pop(at).close()


class Worker:
    """One interpreter that waits."""

    def __init__(self, key: Key, mark: str, poller: Poller) -> None:
        self._mark, self._poller = mark, poller
        self.settled: asyncio.Future[None] = poller.loop.create_future()
        """Done once it is known whether this can run anything."""
        self.fit = self.gone = False
        self.runs: dict[int, Borrowed] = {}
        self.used = time.monotonic()
        self._count = 0
        self._unread = b""
        ours, theirs, said, saying = _streams()
        room = {zygote.MARK: " " * zygote.MARK_ROOM, "TOOLCRIB_WORKER": mark}
        self.alone = key.cage is not None and key.cage.tier == BUBBLEWRAP
        """It runs one at a time, and nothing else lives where it does: what a run leaves is then certain."""
        argv = (*key.interpreter, zygote.__file__, *([zygote.ALONE] if self.alone else []), *key.ready)
        cage = key.cage and key.cage._replace(readable=(*key.cage.readable, os.path.realpath(zygote.__file__)))
        try:
            if key.cage is not None:
                os.makedirs(key.tmp, 0o700, exist_ok=True)
            streams = (theirs.fileno(), saying, saying)
            about = Start(argv, "/", dict(key.env) | room, streams)
            self._process = launch(cage, about, poller, tmp=key.tmp)
        except BaseException:
            ours.close()
            os.close(said)
            raise
        finally:
            theirs.close()
            os.close(saying)
        ours.setblocking(False)
        os.set_blocking(said, False)
        self._socket, self._said = ours, said
        try:
            poller.on_readable(ours.fileno(), self.read)
            poller.on_readable(said, self._ignore)
        except BaseException:
            self.close()
            raise

    @property
    def idle(self) -> bool:
        return not self.runs and self.settled.done()

    def launch(self, command: Command, env: Mapping[str, str], stdin: int, stdout: int, stderr: int) -> Launched:
        """Raises: `ToolError`, when it cannot be asked; then nothing was begun."""
        self._count += 1
        self.used = time.monotonic()
        run = self.runs[self._count] = Borrowed(self, self._count)
        handed = [stdin, stdout, stderr, *([command.channel] if command.channel >= 0 else [])]
        variables = {**env, CHANNEL: "3"} if command.channel >= 0 else env
        if self.alone:
            variables = {**variables, "HOME": env["TMPDIR"]}  # a home for all its runs would hold what each left
        request = {"argv": command.argv, "env": variables, "cwd": command.cwd, "memory": command.limits.memory_bytes}
        try:
            with _file_with(json.dumps(request, default=dict).encode()) as request_file:
                descriptors = array.array("i", [request_file, *handed])
                ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
                self._socket.sendmsg([RECORD.pack(zygote.RUN, self._count, 0)], ancillary)
        except OSError as exc:
            del self.runs[self._count]
            if exc.errno not in _SHORT_OF_SOMETHING:
                self.close()
            message = f"the worker could not be asked: {exc}; try again"
            raise ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True) from None
        return run

    def tell(self, what: bytes, about: int, number: int = 0) -> None:
        record = RECORD.pack(what, about, number)
        try:
            try:
                self._socket.send(record)
            except BlockingIOError:  # much was asked of it at once; it has a moment to take that in
                poll = select.poll()
                poll.register(self._socket, select.POLLOUT)
                poll.poll(_COLLECT_SECONDS * 1000)
                self._socket.send(record)
        except OSError:  # it is gone, and what it ran with it
            self.close()

    def read(self) -> None:
        """Take in what it says."""
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        data = self._unread + data
        whole = len(data) - len(data) % RECORD.size
        self._unread = data[whole:]
        for what, about, number in RECORD.iter_unpack(data[:whole]):
            run = self.runs.get(about)
            if what == zygote.READY:
                self.fit, self.used = True, time.monotonic()  # whoever waits for it is about to use it
                self._settle()
            elif what == zygote.UNFIT:
                self.close()
            elif run is not None and what == zygote.BEGUN:
                run.pid = 0 if self.alone else number  # a number of its own namespace is nobody's here
            elif run is not None and what == zygote.CLEARED:
                run.cleared = True
            elif run is not None and what == zygote.ENDED:
                run.end(number)

    def wait(self, seconds: float) -> None:
        """Block until it says something more."""
        poll = select.poll()
        if not self.gone:
            poll.register(self._socket, select.POLLIN)
            poll.poll(seconds * 1000)
            self.read()

    def _settle(self) -> None:
        if not self.settled.done() and not self._poller.loop.is_closed():
            self.settled.set_result(None)

    def _ignore(self) -> None:
        """What an import prints is nobody's answer. It is read so that nothing waits for it to be."""
        try:
            while os.read(self._said, 65536):
                pass
        except BlockingIOError:
            return
        except OSError:
            pass
        self._poller.forget(self._said)

    def close(self) -> None:
        """Nothing is left of it after this, nor of what it ran."""
        if self.gone:
            return
        self.gone, self.fit = True, False
        self._poller.forget(self._socket.fileno())
        self._poller.forget(self._said)
        self._socket.close()
        os.close(self._said)
        self._process.signal(9)
        self._process.collect()
        if not self._process.whole:
            end_marked(self._mark)
        for run in list(self.runs.values()):
            run.end(UNKNOWN)
        self._settle()


class Borrowed:
    """A run in a worker."""

    borrowed = True

    def __init__(self, worker: Worker, number: int) -> None:
        self._worker, self._number = worker, number
        self.whole = worker.alone
        self.cleared = False
        self.pid = 0
        self._status: int | None = None
        self._callback: Callable[[], None] | None = None

    def on_exit(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        if self._status is not None:
            callback()

    def end(self, status: int) -> None:
        self._status = status
        if self._callback is not None:
            self._callback()

    def signal(self, number: int) -> None:
        """By way of the worker, which alone knows whether there still is such a process."""
        if self._status is None:  # what is left of its group when it has exited is ended when it is collected
            self._worker.tell(zygote.SIGNAL, self._number, number)

    def collect(self) -> int:
        until = time.monotonic() + _COLLECT_SECONDS
        while self._status is None and time.monotonic() < until:
            self._worker.wait(0.05)
        self._worker.tell(zygote.COLLECT, self._number)
        while self.whole and not (self.cleared or self._worker.gone):
            if time.monotonic() > until + _COLLECT_SECONDS:
                self._worker.close()  # what does not end in it ends with it
                break
            self._worker.wait(0.05)
        self._worker.runs.pop(self._number, None)
        return UNKNOWN if self._status is None else self._status

    def failure(self, code: int, errors: Captured) -> None:
        return None

    def close(self) -> None:
        self._callback = None


def _launch(
    worker: Worker,
    otherwise: Launch,
    command: Command,
    env: Mapping[str, str],
    stdin: int,
    stdout: int,
    stderr: int,
) -> Launched:
    try:
        return worker.launch(command, env, stdin, stdout, stderr)
    except ToolError:  # nothing was begun
        return otherwise(command, env, stdin, stdout, stderr)


def _key(command: Command, tmp: str) -> Key | None:
    """The worker that would do; None when there is no such interpreter, or none is ever fit.

    Landlock shows a worker nothing of `/proc`, so it could not mark its forks; and one that has yet to say so is let
    into the temporary directories of all its runs, while it imports what anybody wrote.
    """
    cage = cage_of(command)
    if command.warm is None or (cage is not None and cage.tier == LANDLOCK):
        return None
    interpreter, ready = command.warm
    program = shutil.which(interpreter[0], path=command.env.get("PATH", os.defpath))
    if program is None:
        return None
    names = (name for name in command.env if name in _OF_INTERPRETERS or name.startswith(_OF_INTERPRETERS_BEGIN))
    env = tuple((name, command.env[name]) for name in sorted(names))
    cage = _in_force(cage)
    return Key((os.path.abspath(program), *interpreter[1:]), ready, env, cage, tmp, standing(cage))


def _in_force(cage: Cage | None) -> Cage | None:
    """What of a cage is held: without a tier that could hold the rest, its bounds. Workers differ in that alone."""
    if cage is None or cage.tier not in UNCONFINED:
        return cage
    return Cage(bounds=cage.bounds) if any(cage.bounds) else None


def _streams() -> tuple[socket.socket, socket.socket, int, int]:
    """Both ends of a conversation, and both of a pipe. Raises: `OSError`, and none is left open."""
    ours, theirs = socket.socketpair()
    try:
        return ours, theirs, *os.pipe()
    except BaseException:
        ours.close()
        theirs.close()
        raise


@contextmanager
def _file_with(data: bytes) -> Iterator[int]:
    """The descriptor of a file without a name, to be read from its start."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("toolcrib")
    else:
        fd, path = tempfile.mkstemp()
        os.unlink(path)
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)
