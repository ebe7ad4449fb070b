"""Landlock and seccomp as the kernel offers them, to one thread: what restricts itself, and what it starts."""

import ctypes
import errno
import functools
import os
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress

from ._syscalls import machine, numbers

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK, _REFER, _TRUNCATE, _IOCTL_DEV = 1 << 6, 1 << 11, 1 << 13, 1 << 14, 1 << 15
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEV
"""Rights that a file can have; the others are those of directories."""
READING = READ_FILE | READ_DIR | EXECUTE
DEVICE = READ_FILE | WRITE_FILE

SCOPING = 6
"""The first version that keeps signals inside."""
_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every machine
_VERSION, _PATH_BENEATH = 1, 1
_TCP, _SCOPED = 0b11, 0b11  # bind and connect; abstract sockets and signals
_OPENAT2, _NO_LINKS = 437, 0x04
_NO_NEW_PRIVILEGES, _SET_FILTER, _SPEC_ALLOW = 38, 1, 1 << 2
_CAPABILITIES = 0x20080522
_KEPT_OF_ROOT = sum(1 << bit for bit in (0, 1, 3, 4, 5, 6, 7, 10))
"""chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service: what root does with files of its own."""

_libc = ctypes.CDLL(None, use_errno=True)
with suppress(OSError):  # another C library
    ctypes.CDLL("libgcc_s.so.1")  # a thread needs it to end while the interpreter does, and may not be able to read it
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


@functools.cache
def version() -> int:
    """Which Landlock this kernel offers.

    Raises:
        OSError: none. ENOSYS: there is none, or it is hidden; EOPNOTSUPP: it is not turned on.
    """
    return _checked(_syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION)), "landlock_create_ruleset")


def keeps_signals() -> bool:
    """Whether what is restricted can reach no process outside. Raises: `OSError`, as above."""
    return version() >= SCOPING


def everything(abi: int) -> int:
    """All rights on files that this Landlock knows, and we do."""
    return (
        (1 << 13) - 1 | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0) | (_IOCTL_DEV if abi >= 5 else 0)
    )


def writing(abi: int) -> int:
    return everything(abi) & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV)


def make_ruleset(rules: Iterable[tuple[str, int, bool]], *, network: bool) -> int:
    """A descriptor for what may be reached: each a path, the rights there, and whether links on its way are followed.

    What is not there is left out.

    Raises:
        OSError: the kernel will not, or there are no descriptors left.
    """
    abi = version()
    handled = everything(abi)
    about = struct.pack("=QQQ", handled, 0 if network else _TCP, _SCOPED)
    size = 24 if abi >= SCOPING else 16 if abi >= 4 else 8
    ruleset = _checked(_syscall(_CREATE, about, ctypes.c_size_t(size), ctypes.c_uint(0)), "landlock_create_ruleset")
    try:
        for path, rights, links in rules:
            _allow(ruleset, path, rights & handled, links=links)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _allow(ruleset: int, path: str, rights: int, *, links: bool) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC) if links else open_without_links(path)
    except OSError as exc:
        if exc.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            raise
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, place)
        done = _syscall(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0))
        _checked(done, f"landlock_add_rule for {path}")
    finally:
        os.close(place)


def open_without_links(path: str) -> int:
    """A handle on what has this path, which leads through no link: one may have been put there since it was chosen.

    Raises:
        OSError: ELOOP, when it does.
    """
    how = struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC, 0, _NO_LINKS)
    where = ctypes.c_char_p(os.fsencode(path))
    done: int = _syscall(_OPENAT2, ctypes.c_int(-100), where, how, ctypes.c_size_t(len(how)))
    if done >= 0:
        return done
    code = ctypes.get_errno()
    if code not in (errno.ENOSYS, errno.EPERM):
        raise OSError(code, os.strerror(code), path)
    if os.path.realpath(path) != os.path.normpath(path):  # a container that knows no openat2: as near as one can get
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)


def restrict_this_thread(ruleset: int, calls: bytes) -> None:
    """From here on this thread, and whatever it starts, has what the ruleset and the filter leave. No way back.

    Raises:
        OSError: it is not restricted, or not wholly; the thread must end without doing anything.
    """
    _give_up_capabilities()
    one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, one, none, none, none), "no_new_privs")
    _checked(_syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0)), "landlock_restrict_self")
    number = ctypes.c_long(numbers(machine())["seccomp"])
    program = ctypes.byref(_Program(len(calls) // 8, calls))
    done = _syscall(number, ctypes.c_uint(_SET_FILTER), ctypes.c_uint(_SPEC_ALLOW), program)
    if done < 0 and ctypes.get_errno() == errno.EINVAL:  # a kernel that does not know the flag
        done = _syscall(number, ctypes.c_uint(_SET_FILTER), ctypes.c_uint(0), program)
    _checked(done, "seccomp")


def _give_up_capabilities() -> None:
    """Root has many doors besides files. Those without capabilities have nothing to give up."""
    about = struct.pack("=Ii", _CAPABILITIES, 0)
    held = ctypes.create_string_buffer(24)
    _checked(_libc.capget(about, held), "capget")
    effective, permitted, _, *high = struct.unpack("=6I", held.raw)
    if permitted & ~_KEPT_OF_ROOT or any(high):
        kept = struct.pack("=6I", effective & _KEPT_OF_ROOT, permitted & _KEPT_OF_ROOT, 0, 0, 0, 0)
        _checked(_libc.capset(about, kept), "capset")


def _checked(done: int, what: str) -> int:
    if done < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return done
