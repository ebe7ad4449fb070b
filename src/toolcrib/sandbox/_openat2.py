"""Linux's openat2: the kernel itself refuses to leave the directory, also while somebody swaps links."""

import ctypes
import errno
import os
import struct

from ._beneath import FOLDER

_SYS_OPENAT2 = 437  # the same on every architecture
_RESOLVE_NO_MAGICLINKS, _RESOLVE_BENEATH = 0x02, 0x08
_HOW = struct.Struct("=QQQ")
"""Flags, mode, and how to resolve."""
_libc = ctypes.CDLL(None, use_errno=True)


def open_beneath(root: int, path: str, flags: int) -> int:
    """A descriptor for `path`, which exists, below `root`; links are followed as long as they stay below it.

    Raises:
        OSError: EXDEV when the path leads out, ELOOP for a magic link such as `/proc/self/root`.
    """
    raw = os.fsencode(path)
    how = _HOW.pack(flags, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    for _ in range(64):  # EAGAIN: a rename raced with the lookup
        fd: int = _libc.syscall(_SYS_OPENAT2, root, raw, how, _HOW.size)
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), path)


def _works() -> bool:
    """Old kernels do not have it; old container runtimes forbid what they do not know. And /proc may be missing."""
    root = os.open("/", FOLDER)
    try:
        os.close(open_beneath(root, ".", FOLDER))
        return os.readlink(f"/proc/self/fd/{root}") == "/"
    except OSError:
        return False
    finally:
        os.close(root)


AVAILABLE = _works()
