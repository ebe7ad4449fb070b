"""Linux's openat2: the kernel itself refuses to leave the directory, also while somebody swaps links."""

import ctypes
import errno
import os

_SYS_OPENAT2 = 437  # the same on every architecture
_RESOLVE_NO_MAGICLINKS, _RESOLVE_BENEATH = 0x02, 0x08
_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(root: int, path: str, flags: int, mode: int) -> int | None:
    """A descriptor for `path` below `root`; None where the kernel has no openat2."""
    how = _How(flags, mode if flags & os.O_CREAT else 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    for _ in range(64):  # EAGAIN: a rename raced with the lookup
        fd: int = _libc.syscall(_SYS_OPENAT2, root, _c_path(path), ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code == errno.ENOSYS:
            return None
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), path)


def _c_path(path: str) -> bytes:
    if "\0" in path:
        raise ValueError("a path cannot hold a NUL")
    return os.fsencode(path)
