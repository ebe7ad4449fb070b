"""Confinement by bubblewrap: a program in namespaces of its own, where nothing exists but what it may reach.

There it finds the system, its workspace with the protected places read-only, a private /tmp and home, and no network
but a loopback of its own. Landlock's gaps are closed here: what is not there can neither be looked at nor changed.
Needs /usr/bin/bwrap and a kernel that lets this user make namespaces; `canary` finds out by trying.
"""

import errno
import os
import re
import stat
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing

from ..core.errors import ToolError
from . import seccomp, system
from ._settings import Settings
from .cage import Cage
from .contained import Contained
from .poller import Poller
from .shield import FIXED, HIDDEN_DIRECTORY, HIDDEN_FILE, shields
from .spawn import Start, not_started, start

WORKER = "TOOLCRIB_WORKER"
"""The variable that holds the mark of a worker."""
PROGRAM = "/usr/bin/bwrap"
"""By this path alone: what else is called so may be anybody's, and a system may trust only this one."""

_ALWAYS = (
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
    "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox",
    "--clearenv",
)  # fmt: skip
_AFTER = ("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/")
"""To root in any namespace the kernel's own settings in /proc/sys are as writable as to root outside: one of them names
a program that the kernel runs. And no process inside need write to the memory of another."""
_TEMPORARY_BYTES = 512 << 20
"""Of /tmp and of the home, each; it is memory, taken as it is used."""
_SHARED_BYTES = 64 << 20
_HIDDEN_BYTES = 1 << 20
_SECOND = "/var/tmp"
"""The same as /tmp, unless something that is shown lies there."""
_LEFT_OUT = ("/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage")
"""Hardly a program looks there, and each of these costs every start something."""
_PLACED = ("--ro-bind-fd",)
"""What no link leads to. Whatever one leads to is a link inside as well, and shows only what is shown anyway."""
_OF_A_RUNTIME = re.compile(r"(.*/toolcrib-[^/]+)(?:/|$)")
_MOST_KEPT = 64
_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC)

Mounts = dict[str, tuple[str, ...]]
"""By path inside: how it comes to be there."""

_prepared: dict[tuple[object, ...], Mounts] = {}
_settings: dict[str, Settings] = {}
_turn = threading.Lock()


def start_contained(cage: Cage, about: Start, poller: Poller, *, tmp: str) -> Contained:
    """Start a program that finds what its cage says and `tmp`, and nothing else.

    That it could not be confined, or its program not be found, shows when it has ended: see `Contained.failure`.

    Raises:
        ToolError: it could not be started; nothing happened. `SANDBOX_UNAVAILABLE`: not confined as it must be.
    """
    pid, told = begin(cage, about, tmp=tmp)
    return Contained(pid, poller, status=told, program=about.argv[0], cwd=about.cwd)


def begin(cage: Cage, about: Start, *, tmp: str) -> tuple[int, int]:
    """The same, for who waits by himself: the pid of bubblewrap, and where it says what became of the program."""
    argv, cwd, env, streams, kept = about
    if cage.hosts:
        cage, argv = _by_way_of_the_proxy(cage, argv)
    with closing(_Handed()) as handed:
        try:
            _packed(argv)
            mounts = _mounts(cage, tmp, env.get("HOME", ""), handed)
            words = [*_ALWAYS, *(() if cage.network else ("--unshare-net",)), *_flat(mounts)]
            if WORKER in env:  # what one run left in memory, the next would find
                kept_clean = [path for path, how in mounts.items() if "--tmpfs" in how and path != "/dev/shm"]
                words += [word for path in kept_clean for word in ("--remount-ro", path)]
            words += (*_AFTER, "--chdir", cwd if cwd == cage.workspace else os.path.realpath(cwd))
            for name, value in env.items():
                words += ("--setenv", name, value)
            arguments = handed.file(_packed(words))
            calls = handed.file(seccomp.program(network=cage.network, contained=True))
            told, telling = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            handed.take(telling)
        except (OSError, ValueError, LookupError) as exc:
            raise _not_confined(argv[0], exc) from None
        program = argv[0] if "/" in argv[0] else f"./{argv[0]}"
        command = (
            PROGRAM, "--args", str(arguments), "--seccomp", str(calls), "--json-status-fd", str(telling),
            "--", program, *argv[1:],
        )  # fmt: skip
        try:
            pid = start(Start(command, "/", _outside(env), streams, kept=(*handed.descriptors, *kept)))
        except ToolError as exc:
            os.close(told)
            raise exc if os.path.exists(PROGRAM) else _not_confined(argv[0], FileNotFoundError(PROGRAM)) from None
        except BaseException:
            os.close(told)
            raise
    return pid, told


def _by_way_of_the_proxy(cage: Cage, argv: Sequence[str]) -> tuple[Cage, tuple[str, ...]]:
    """There is no network inside; what stands in for it relays to the proxy's socket."""
    from .bridge import READS, through  # late: few programs are held to hosts

    if not cage.proxy:
        raise _not_confined(argv[0], OSError("there is no proxy that would hold it to its hosts"))
    readable = tuple(dict.fromkeys((*cage.readable, *READS)))
    return cage._replace(readable=readable, network=False), through(list(argv), cage.proxy)


def canary() -> str:
    """Whether this really holds here, for this user, by trying: "" when it does, else why not and what to do."""
    from .bubblewrap_canary import tried  # late: it is tried once, and remembered

    return tried()


class _Handed:
    """Descriptors that bubblewrap is given, and that are closed here once it has them."""

    def __init__(self) -> None:
        self.descriptors: list[int] = []

    def take(self, fd: int) -> int:
        self.descriptors.append(fd)
        return fd

    def close(self) -> None:
        for fd in self.descriptors:
            os.close(fd)

    def file(self, data: bytes) -> int:
        fd = self.take(os.memfd_create("toolcrib"))
        if os.pwrite(fd, data, 0) != len(data):  # which leaves it to be read from its beginning
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return fd

    def place(self, path: str, option: str) -> tuple[str, ...]:
        """A mount of what is there now: bubblewrap makes sure that it is that which it mounts, whoever swaps links.

        Raises:
            OSError: it is not there, or it is not where it seems to be.
        """
        fd = self.take(os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC))
        if os.readlink(f"/proc/self/fd/{fd}") != path or stat.S_ISLNK(os.fstat(fd).st_mode):
            raise OSError(errno.ELOOP, "something else is there than when it was granted", path)
        return option, str(fd), path


def _mounts(cage: Cage, tmp: str, home: str, handed: _Handed) -> Mounts:
    """All that there is, from what never changes to what this one start is given."""
    mounts = dict(_system(cage, tmp, home))
    for path in [path for path, how in mounts.items() if how is _PLACED]:
        try:
            mounts[path] = handed.place(path, "--ro-bind-fd")
        except OSError as exc:
            if exc.errno in _SHORT:
                raise
            del mounts[path]  # it went away, or a tool put a link into its way
    if cage.workspace:
        option = "--bind-fd" if cage.workspace_writable else "--ro-bind-fd"
        mounts[cage.workspace] = handed.place(cage.workspace, option)
    for path, how in shields(cage):
        try:
            mounts[path] = _shielded(path, how, handed)
        except FileNotFoundError:  # it went away this moment
            pass
    for path in cage.writable:
        try:
            mounts[path] = handed.place(path, "--bind-fd")
        except FileNotFoundError:  # granted, and not made yet
            pass
    # Not by way of `place`: a link may lead to where all temporary files are, and from there on it is ours alone.
    mounts[tmp] = "--bind-fd", str(handed.take(os.open(tmp, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC))), tmp
    return mounts


def _shielded(path: str, how: str, handed: _Handed) -> tuple[str, ...]:
    if how == HIDDEN_DIRECTORY:
        return _memory(path, _HIDDEN_BYTES)
    if how == HIDDEN_FILE:
        return "--ro-bind-data", str(handed.file(b"")), path
    return handed.place(path, "--bind-fd" if how == FIXED else "--ro-bind-fd")


def _system(cage: Cage, tmp: str, home: str) -> Mounts:
    """What is the same for every start in this cage. Parents come before what lies in them: see `_flat`."""
    etc, whole = _etc(tmp)
    key = (cage, home, etc, _is_in(tmp, [_SECOND]))
    mounts = _prepared.get(key)
    if mounts is None:
        own = [path for path in (cage.workspace, *cage.writable) if path]
        mounts = {"/proc": ("--proc", "/proc"), "/dev": ("--dev", "/dev")}
        for path in system.readable_paths():
            if path in _LEFT_OUT or (etc and path.startswith("/etc/") and path not in whole):
                continue
            link = os.path.islink(path) and not path.startswith("/etc/")
            mounts[path] = ("--symlink", os.readlink(path), path) if link else ("--ro-bind-try", path, path)
        if etc:
            mounts["/etc"] = ("--ro-bind", etc, "/etc")
        for path in cage.readable:
            if not _is_in(path, [*own, *(each for each in mounts if mounts[each][0] != "--symlink")]):
                real = os.path.realpath(path)
                mounts[path] = _PLACED if real == path else ("--symlink", real, path)
        if cage.proxy:
            mounts[cage.proxy] = ("--bind", cage.proxy, cage.proxy)
        mounts |= {path: _memory(path, _TEMPORARY_BYTES) for path in _private(home, [*own, *mounts])}
        mounts |= {"/dev/shm": _memory("/dev/shm", _SHARED_BYTES), "/run": ("--dir", "/run")}
        shown = any(_is_in(path, [_SECOND]) for path in (tmp, *mounts, *own))
        mounts[_SECOND] = _memory(_SECOND, _TEMPORARY_BYTES) if shown else ("--symlink", "/tmp", _SECOND)
        while len(_prepared) >= _MOST_KEPT:
            _prepared.pop(next(iter(_prepared)))
        mounts = _prepared[key] = dict(sorted(mounts.items()))  # so that sorting them again, with others, is quick
    return mounts


def _etc(tmp: str) -> tuple[str, tuple[str, ...]]:
    """A directory that holds copies of the system's settings, and which of them are mounted instead.

    It lies where the temporary directories of the runtime lie, beside those that programs are let into, and goes with
    them. Without such a place there is none.
    """
    below = _OF_A_RUNTIME.match(tmp)
    if below is None:
        return "", ()
    with _turn:
        settings = _settings.get(below[1])
        if settings is None:
            while len(_settings) >= _MOST_KEPT:
                _settings.pop(next(iter(_settings)))
            paths = (path for path in system.readable_paths() if path.startswith("/etc/"))
            settings = _settings[below[1]] = Settings(paths, below[1])
        return settings.current()


def _private(home: str, taken: Sequence[str]) -> list[str]:
    """Where there is something empty to write to: the home only where nothing of it is shown anyway."""
    places = ["/tmp"]
    if home.startswith("/") and home != "/" and os.path.normpath(home) == home and not _is_in(home, taken):
        places.append(home)
    return [path for path in places if path not in taken]


def _memory(path: str, size: int) -> tuple[str, ...]:
    return "--perms", "0700", "--size", str(size), "--tmpfs", path


def _is_in(path: str, directories: Sequence[str]) -> bool:
    return any(path == each or path.startswith(each.rstrip("/") + "/") for each in directories)


def _flat(mounts: Mounts) -> list[str]:
    """As bubblewrap wants it: what holds something comes first."""
    return [word for path in sorted(mounts) for word in mounts[path]]


def _packed(words: Sequence[str]) -> bytes:
    """As a file of arguments. One that held a NUL would be two, of which the second could be any option.

    Raises:
        ValueError: one does.
    """
    packed = "\0".join((*words, ""))
    if packed.count("\0") != len(words):
        raise ValueError("embedded null byte")
    return os.fsencode(packed)


def _outside(env: Mapping[str, str]) -> dict[str, str]:
    """For bubblewrap itself: a mark by which its runtime's watcher finds it, and which is no call's."""
    mark = env.get(WORKER) or env.get("TOOLCRIB_CALL_ID", "")
    return {"TOOLCRIB_CALL_ID": f"{mark.split(',')[0]}.cage"}


def _not_confined(program: str, exc: OSError | ValueError | LookupError) -> ToolError:
    if isinstance(exc, ValueError):
        return not_started(program, exc)
    if isinstance(exc, OSError) and exc.errno in _SHORT:
        message = f"{program} was not started: {exc}; try again when less is running"
        return ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True)
    message = f"bubblewrap cannot confine {program}, and nothing ran: {exc}; `toolcrib doctor` says what holds here"
    return ToolError(message, code="SANDBOX_UNAVAILABLE", before_effect=True)
