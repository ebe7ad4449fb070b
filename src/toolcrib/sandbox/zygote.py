"""A Python interpreter that has done its imports and waits: each run is a fork of it, and so begins where it stands.

This file is a program of its own. It is started by the interpreter that a tool's first line names, which need not be
ours and need not have this package: it imports nothing but the standard library, and nothing of it is imported by us
but the records it speaks in.

    zygote.py SCRIPT                 what the script imports is imported; the script's own files run anew in each fork
    zygote.py --module PLACE NAME WORD…    `NAME.prepare(WORD…)`, found in a place, is called here, and
                                           `NAME.run(words)` in each fork
    zygote.py --alone …              the same, where nothing lives but it: what a run leaves is ended with the run

It is spoken to over the socket that is its standard input, in records of one size. With `run` come descriptors: a file
that holds the request, then the fork's standard input, output and error, and a fourth where there is one.
"""

from __future__ import annotations

import array
import ast
import atexit
import gc
import importlib
import importlib.util
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import threading
import types

TYPE_CHECKING = False
if TYPE_CHECKING:  # the interpreter that runs this may know no `typing` of ours
    from collections.abc import Callable, Iterator

    Run = Callable[[list[str]], None]

RECORD = struct.Struct("=cqq")
"""What, about which run, and a number."""
RUN, SIGNAL, COLLECT = b"R", b"S", b"C"
"""Asked of it: begin a run; send its group a signal; end what is left of it, and forget it."""
READY, UNFIT, BEGUN, ENDED, CLEARED = b"Y", b"U", b"B", b"E", b"D"
"""Told by it: forks can be made, or why they cannot; a run's pid; its exit status, 128+N for death by signal N; and,
where it lives alone, that nothing is left of a run."""
ALONE = "--alone"
MANY_THREADS, CANNOT_MARK, FAILED = 1, 2, 3
MARK = "TOOLCRIB_CALL_ID"
MARK_ROOM = 96
"""Bytes kept free in the environment that the system shows of a process, for the mark of a fork."""
MOST_DESCRIPTORS = 5
VENDOR = "vendor"
"""Where a tool keeps packages of its own: those are libraries, too."""
_MOST_SCANNED = 200


def main(words: list[str]) -> None:
    peer = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "rb") as null:
        os.dup2(null.fileno(), 0)
    alone = words[0] == ALONE
    words = words[1:] if alone else words
    try:
        run = _module(*words[1:]) if words[0] == "--module" else _script(words[0])
    except BaseException:  # whatever it is, it happens again where it can be reported: in a process of its own
        peer.sendall(RECORD.pack(UNFIT, 0, FAILED))
        return
    place = _place_of_the_mark()
    if place is None or _has_threads():
        peer.sendall(RECORD.pack(UNFIT, 0, CANNOT_MARK if place is None else MANY_THREADS))
        return
    sys.stdout.flush()  # what imports printed is nobody's answer
    sys.stderr.flush()
    gc.collect()
    gc.freeze()  # so that a collection in a fork does not touch, and so copy, what all of them share
    peer.sendall(RECORD.pack(READY, 0, 0))
    _Forks(peer, place, alone).serve(run)


# What a fork finds ready


def _script(path: str) -> Run:
    """Import what a script imports, but nothing that lies beside it: a tool's own files are part of each run."""
    folder = os.path.dirname(os.path.abspath(path))
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[0] = folder
    sys.argv = [path]
    with open(path, "rb") as file:
        text = file.read()
    code = compile(text, path, "exec", dont_inherit=True)
    before = list(sys.path)
    sys.path.insert(0, os.path.join(folder, VENDOR))
    for name in _imports(text, folder):
        try:
            importlib.import_module(name)
        except BaseException:  # it is imported again in the fork, which says what is wrong
            pass
    sys.path[:] = before

    def run(words: list[str]) -> None:
        sys.argv = words
        main_module = types.ModuleType("__main__")
        main_module.__dict__.update(__file__=words[0], __builtins__=__builtins__, __spec__=None)
        sys.modules["__main__"] = main_module
        exec(code, main_module.__dict__)

    return run


def _module(place: str, name: str, *words: str) -> Run:
    if place not in sys.path:
        sys.path.append(place)
    module = importlib.import_module(name)
    module.prepare(*words)
    run: Run = module.run
    return run


def _imports(text: bytes, folder: str) -> dict[str, None]:
    """The names of foreign modules that a script imports at its top, itself or by way of what lies beside it."""
    found: dict[str, None] = {}
    seen: set[str] = set()
    texts = [text]
    while texts and len(seen) < _MOST_SCANNED:
        for name in _imported(texts.pop()):
            top = name.partition(".")[0]
            beside = [os.path.join(folder, top + ".py"), os.path.join(folder, top, "__init__.py")]
            own = [path for path in beside if os.path.exists(path)]
            if not own and not os.path.isdir(os.path.join(folder, top)):
                found[name] = None
            for path in own:
                if path not in seen:
                    seen.add(path)
                    with open(path, "rb") as file:
                        texts.append(file.read())
    return found


def _imported(text: bytes) -> Iterator[str]:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return
    for node in body:
        for each in node.body if isinstance(node, ast.Try) else (node,):
            if isinstance(each, ast.Import):
                yield from (alias.name for alias in each.names)
            elif isinstance(each, ast.ImportFrom) and not each.level and each.module:
                yield each.module


def _has_threads() -> bool:
    """A fork takes along one thread only, and the locks of all."""
    try:
        return len(os.listdir("/proc/self/task")) > 1
    except OSError:
        return threading.active_count() > 1


def _place_of_the_mark() -> int | None:
    """Where in memory the variable stands that says whose process this is; 0 where nobody looks, None if unknown."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        import ctypes

        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rsplit(b") ", 1)[1].split()
        start, end = int(fields[47]), int(fields[48])
        at = ctypes.string_at(start, end - start).index(MARK.encode() + b"=")
    except (ImportError, OSError, IndexError, ValueError):
        return None
    return start + at + len(MARK) + 1


# Forks


class _Forks:
    def __init__(self, peer: socket.socket, place: int, alone: bool) -> None:
        self.peer, self.place, self.alone = peer, place, alone
        self.pids: dict[int, int] = {}
        """By run, for as long as their end was not collected."""
        self.told: set[int] = set()
        self.dying: list[int] = []

    def serve(self, run: Run) -> None:
        """Until the other side is gone."""
        woken, waking = os.pipe()
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        poll = select.poll()
        poll.register(self.peer, select.POLLIN)
        poll.register(woken, select.POLLIN)
        descriptors = None
        try:
            while descriptors is None:
                ready = {fd for fd, _ in poll.poll()}
                if woken in ready:
                    os.read(woken, 4096)
                    self.tell_ends()
                if self.peer.fileno() in ready:
                    descriptors = self.take()
        except (OSError, EOFError):
            for pid in self.pids.values():
                _signal(pid, signal.SIGKILL)
            os._exit(0)
        signal.set_wakeup_fd(-1)  # from here on this is a fork
        os.close(woken)
        os.close(waking)
        taken = descriptors
        _finish(run, lambda: self.become(taken))

    def take(self) -> list[int] | None:
        """Do what is asked next. In a new fork: the descriptors that came for it."""
        data, descriptors = _receive(self.peer)
        if not data:
            raise EOFError
        what, about, number = RECORD.unpack(data)
        if what == SIGNAL:
            _signal(self.pids.get(about, 0), number)
        elif what == COLLECT and about in self.pids:
            pid = self.pids.pop(about)
            self.told.discard(about)
            _signal(pid, signal.SIGKILL)  # also what is left of its group, whose number is its own until now
            self.dying.append(pid)
            self.reap()
            if self.alone:
                self.clear()
                self.peer.sendall(RECORD.pack(CLEARED, about, 0))
        elif what == RUN:
            pid = os.fork()
            if not pid:
                return descriptors
            self.pids[about] = pid
            for fd in descriptors:
                os.close(fd)
            self.peer.sendall(RECORD.pack(BEGUN, about, pid))
        return None

    def clear(self) -> None:
        """End all that lives here but the first process and this one. Only ever done in a namespace of its own."""
        own = {"1", str(os.getpid())}
        while any(name.isdigit() and name not in own for name in os.listdir("/proc")):
            try:
                os.kill(-1, signal.SIGKILL)
            except OSError:
                pass
            self.reap()
            os.sched_yield()

    def become(self, descriptors: list[int]) -> list[str]:
        """What a process is that was started to run these words, as far as it can be told apart. Returns the words."""
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.peer.close()  # its number, the fourth, is free now
        with open(descriptors[0], "rb") as file:
            request = json.loads(file.read())
        for target, fd in enumerate(descriptors[1:]):
            os.dup2(fd, target, inheritable=target <= 2)
        for fd in descriptors[1:]:
            if fd >= len(descriptors) - 1:
                os.close(fd)
        os.environ.clear()
        os.environ.update(request["env"])
        if self.place:
            _mark(self.place, request["env"].get(MARK, ""))
        os.chdir(request["cwd"])
        if request["memory"]:
            resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
        if "tempfile" in sys.modules:
            setattr(sys.modules["tempfile"], "tempdir", None)  # noqa: B010 (it was found out for another environment)
        words: list[str] = request["argv"]
        return words

    def tell_ends(self) -> None:
        """What ended is kept until it is collected, so that its pid, and its group's, stays its own."""
        for about, pid in self.pids.items():
            if about in self.told:
                continue
            end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if end is not None:
                status = end.si_status if end.si_code == os.CLD_EXITED else 128 + end.si_status
                self.told.add(about)
                self.peer.sendall(RECORD.pack(ENDED, about, status))
        self.reap()

    def reap(self) -> None:
        self.dying = [pid for pid in self.dying if os.waitpid(pid, os.WNOHANG)[0] == 0]


def _receive(peer: socket.socket) -> tuple[bytes, list[int]]:
    """One record, and the descriptors that came with it."""
    data, descriptors = b"", array.array("i")
    while len(data) < RECORD.size:
        part, ancillary, _, _ = peer.recvmsg(RECORD.size - len(data), socket.CMSG_SPACE(MOST_DESCRIPTORS * 4))
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
        if not part:
            return b"", []
        data += part
    return data, list(descriptors)


def _signal(pid: int, number: int) -> None:
    for send in (os.killpg, os.kill):  # one that was forked this moment leads no group yet
        try:
            if pid:
                send(pid, number)
            return
        except OSError:
            pass


def _mark(place: int, mark: str) -> None:
    """Write a fork's mark to where the system looks for it."""
    import ctypes

    text = mark.encode()[: MARK_ROOM - 1]
    ctypes.memmove(place, text + b"\0" * (MARK_ROOM - len(text)), MARK_ROOM)


def _finish(run: Run, become: Callable[[], list[str]]) -> None:
    """Run to the end, and end as an interpreter does, but for taking itself apart."""
    status = 0
    try:
        run(become())
    except SystemExit as exc:
        status = _status(exc.code)
    except BaseException as exc:
        own = exc.__traceback__
        while own is not None and own.tb_frame.f_code.co_filename == __file__:
            own = own.tb_next
        sys.excepthook(type(exc), exc.with_traceback(own), own)
        status = 128 + signal.SIGINT if isinstance(exc, KeyboardInterrupt) else 1
    try:
        getattr(threading, "_shutdown", lambda: None)()
        atexit._run_exitfuncs()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                status = status or 120
        os._exit(status)


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


if __name__ == "__main__":
    main(sys.argv[1:])
