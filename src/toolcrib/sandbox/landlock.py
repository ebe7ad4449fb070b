"""Confinement by Landlock and seccomp: no privilege, no namespace, nothing to install; any Linux that has Landlock.

A thread restricts itself and starts the program. Restrictions are a thread's own, so that the rest of this process
keeps its rights, and they are inherited, so that the program and all it starts can never shed them.

What Landlock cannot do: hold back what changes a file without opening it, and take something away below what it grants;
the protected places of a workspace are kept and put back instead (`aftermath`). Bubblewrap can do both.
"""

import errno
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial

from ..core.errors import ToolError
from . import _landlock, seccomp, system
from ._restricted import Restricted, Starters
from .cage import Bounds, Cage
from .child import Child
from .installations import homes
from .poller import Poller
from .scratch import remove_tree
from .spawn import Start, start
from .sweep import TRUSTED_RANGE_SECONDS, candidates, have_died, newest_pid

_SYSTEM_SECONDS = 1.0
"""How long it may take until what was replaced is the new one to programs: a settings file of the system, or a
directory that a tool may read. Such are replaced rarely, and each look costs every start something."""
_MOST_DIRECTORIES = 1000

Identity = tuple[int, int] | None
_starters = Starters()
_system: tuple[float, tuple[Identity, ...]] = (0.0, ())
_directories: dict[str, tuple[float, Identity]] = {}


def start_restricted(cage: Cage, about: Start, *, tmp: str, held: bool = False) -> int:
    """Start a program that can reach what its cage says and `tmp`, which is also its home. Returns its pid.

    Raises:
        ToolError: it could not be started; nothing happened. `SANDBOX_UNAVAILABLE`: not restricted as it must be.
    """
    about = about._replace(env={**homes(about.env.get("HOME", "")), **about.env, "HOME": tmp})

    def begin() -> int:
        try:
            return start(about)
        except ToolError as exc:
            if exc.code != ToolError.code or not os.access(about.argv[0], os.X_OK):
                raise
            raise ToolError(f"{exc}; or it lies where its sandbox does not let it read", before_effect=True) from None

    # Rules hold what a path leads to, not the path: where that is something else than it was, they are made again.
    paths = (tmp, cage.workspace, *cage.writable)
    # A temporary directory goes by another name in each call, and is the same one.
    place = os.path.dirname(tmp)
    found = (_system_identities(), *map(_identity, paths), *map(_identity_to_read, cage.readable))
    key = (place, cage._replace(bounds=Bounds()), *found)
    return _starters.start(key, lambda: _prepared(cage, tmp), begin, held=held)


class Ruled(Child):
    """A program that is restricted, and was started `held`. What it leaves is ended with it, also what hides."""

    def __init__(self, pid: int, poller: Poller) -> None:
        super().__init__(pid, poller)
        self._began = time.monotonic()
        self.whole = _landlock.keeps_signals()

    def collect(self) -> int:
        code = super().collect()
        seconds = time.monotonic() - self._began
        alone = newest_pid() == self.pid and seconds < TRUSTED_RANGE_SECONDS
        left = _starters.over(self.pid, alone=alone, born=partial(candidates, self.pid, seconds))
        self.whole = self.whole and left is not None and have_died(left)
        return code


def release(root: str) -> None:
    """Forget what was prepared for programs whose temporary directory is below this one."""
    _starters.end(lambda key: f"{key[0]}/".startswith(f"{root}/"))


def canary() -> str:
    """Whether this really holds here, for this user, by trying: "" when it does, else why not and what to do."""
    try:
        _landlock.version()
        _calls(Cage(), 0)
        place = os.path.realpath(tempfile.mkdtemp(prefix="toolcrib-canary-"))
    except (OSError, AttributeError, ToolError) as exc:
        return _why_not(exc)
    try:
        return _tried(place)
    except (OSError, ToolError) as exc:
        return _why_not(exc)
    finally:
        remove_tree(place)


# What may be reached


def _prepared(cage: Cage, tmp: str) -> Restricted:
    """A thread that has what the cage says, and no more."""
    try:
        ruleset = _landlock.make_ruleset(_rules(cage, tmp), network=cage.network)
        try:
            return Restricted(ruleset, partial(_calls, cage))
        finally:
            os.close(ruleset)
    except OSError as exc:
        raise _unavailable(exc) from None


def _rules(cage: Cage, tmp: str) -> Iterator[tuple[str, int, bool]]:
    """Path, rights, and whether a link on the way to it may be followed: only where no tool can have put one."""
    writing = _landlock.writing(_landlock.version())
    yield tmp, writing, False
    if cage.workspace:
        yield cage.workspace, writing if cage.workspace_writable else _landlock.READING, False
    for path in cage.writable:
        yield path, writing, False
    for path in cage.readable:
        yield path, _landlock.READING, False
    for path in (*system.readable_paths(), *system.proc_files()):
        yield path, _landlock.READING, True
    for path in system.devices():
        yield path, _landlock.DEVICE, True


def _identity(path: str) -> Identity:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_dev, seen.st_ino


def _identity_to_read(path: str) -> Identity:
    known = _directories.get(path)
    if known is not None and time.monotonic() - known[0] < _SYSTEM_SECONDS:
        return known[1]
    found = _identity(path)
    if os.path.isdir(path):
        if len(_directories) >= _MOST_DIRECTORIES:
            _directories.clear()
        _directories[path] = time.monotonic(), found
    return found


def _system_identities() -> tuple[Identity, ...]:
    """Of the system's own places; they are many and change rarely."""
    global _system
    now = time.monotonic()
    if not _system[1] or now - _system[0] > _SYSTEM_SECONDS:
        _system = now, tuple(map(_identity, system.readable_paths()))
    return _system[1]


def _calls(cage: Cage, starter: int) -> bytes:
    try:
        truncating = _landlock.version() >= 3
        return seccomp.program(network=cage.network, contained=False, truncating=truncating, starter=starter)
    except (OSError, LookupError) as exc:
        raise _unavailable(exc) from None


# Whether it works


def _tried(place: str) -> str:
    inside, outside = f"{place}/inside", f"{place}/outside"
    for directory in (inside, outside):
        os.mkdir(directory, 0o700)
        with open(f"{directory}/file", "w", encoding="ascii") as file:
            file.write("as it was")
    escapes = _escapes(outside)
    ruleset = _landlock.make_ruleset([(inside, _landlock.writing(_landlock.version()), False)], network=False)
    try:
        thread = Restricted(ruleset, partial(_calls, Cage()))
    finally:
        os.close(ruleset)
    try:
        done, refused = thread.do(lambda: (_done(escapes), _refused(inside)))
    finally:
        thread.end()
    if done:
        return f"it was tried and does not hold here: {', '.join(done)}; use bubblewrap, or a newer kernel"
    return refused and f"it was tried and refuses what it should allow: {refused}; use bubblewrap"


def _escapes(outside: str) -> dict[str, Callable[[], object]]:
    """What must not succeed, and does no harm where it does."""
    import socket  # late: only whoever asks whether this works needs it; and not in the thread, which cannot read it

    return {
        "a file outside was read": lambda: os.open(f"{outside}/file", os.O_RDONLY),
        "a file outside was opened to be written": lambda: os.open(f"{outside}/file", os.O_WRONLY),
        "a file outside was emptied": lambda: os.truncate(f"{outside}/file", 0),
        "a file outside was made": lambda: os.open(f"{outside}/new", os.O_WRONLY | os.O_CREAT),
        "a file outside was removed": lambda: os.unlink(f"{outside}/file"),
        "a directory outside was listed": lambda: os.listdir(outside),
        "a socket of the internet was made": lambda: socket.socket(socket.AF_INET).close(),
        "a socket of this machine was made": lambda: socket.socket(socket.AF_UNIX).close(),
    }


def _done(attempts: dict[str, Callable[[], object]]) -> list[str]:
    done = []
    for what, attempt in attempts.items():
        try:
            result = attempt()
        except OSError:
            continue
        done.append(what)
        if isinstance(result, int):
            os.close(result)
    return done


def _refused(inside: str) -> str:
    """What did not work and should."""
    try:
        with open(f"{inside}/new", "x", encoding="ascii") as file:
            file.write("new")
        os.rename(f"{inside}/new", f"{inside}/file")
        os.unlink(f"{inside}/file")
    except OSError as exc:
        return str(exc)
    return ""


def _why_not(exc: Exception) -> str:
    code = getattr(exc, "errno", None)
    if isinstance(exc, ToolError):
        return str(exc)
    if code == errno.EOPNOTSUPP:
        return "Landlock is in this kernel and not turned on; boot it with landlock among the names of lsm="
    if code == errno.ENOSYS:
        return (
            "there is no Landlock here: it needs Linux 5.13 or newer, and a container whose seccomp profile allows it"
        )
    if code == errno.EPERM:
        return "Landlock is forbidden here; run the container with a seccomp profile that allows landlock_restrict_self"
    if isinstance(exc, AttributeError):
        return "Landlock is a part of Linux, and this is another system"
    return f"Landlock was tried and failed: {exc}"


def _unavailable(exc: OSError | LookupError) -> ToolError:
    if getattr(exc, "errno", None) in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN):
        message = f"not started: {exc}; try again when less is running"
        return ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True)
    reason = str(exc) if isinstance(exc, LookupError) else _why_not(exc)
    message = f"not started, because it could not be confined: {reason}; or set sandbox to one that works here"
    return ToolError(message, code="SANDBOX_UNAVAILABLE", before_effect=True)
