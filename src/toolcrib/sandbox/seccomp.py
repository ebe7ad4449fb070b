"""Calls to the kernel that no confined program may make, as a filter that the kernel runs.

Whatever holds a program to its files does not hold it from the network, from other processes, or from doors into the
kernel that ordinary programs do not use. What is refused answers with an error, as a kernel without it would, so that
a program can do without. A call made as for another kind of machine ends the program: nothing could be said about it.
"""

import errno
import functools
import struct
from typing import NamedTuple

from ._syscalls import ARCHITECTURES, machine, numbers

_LOAD, _RETURN, _AND = 0x20, 0x06, 0x54  # ld [k]; ret k; and k
_EQUAL, _AT_LEAST, _ANY_BIT = 0x15, 0x35, 0x45  # jeq, jge, jset
_KILL, _ALLOW, _ERROR = 0x80000000, 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE = 0, 4
_X32 = 0x40000000

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_SOCK_TYPE, _SOCK_STREAM, _SOCK_RAW, _SOCK_SEQPACKET, _SOCK_PACKET = 0xF, 1, 3, 5, 10
_NAMESPACES, _AS_SIBLING = 0x7E020000, 0x8000
"""The flags of `clone` that make a namespace, and the one that makes a child of ours, which we would not collect."""
_OWNER_BITS = 0o6000
"""A program with one of these runs as its owner, whoever starts it."""
_TRUNCATES = 0o1000
_HOW, _TO_WRITE, _TO_READ_AND_WRITE = 3, 1, 2
_CREATES = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE: without them the mode is whatever happened to be there
_FILE_TYPE, _CHARACTER_DEVICE, _BLOCK_DEVICE = 0o170000, 0o020000, 0o060000
_TIOCSTI, _TIOCLINUX, _FIOSETOWN, _SIOCSPGRP = 0x5412, 0x541C, 0x8901, 0x8902
_F_SETOWN, _F_SETOWN_EX = 8, 15
_SIGNALS = {
    "kill": 0, "tkill": 0, "tgkill": 1, "rt_sigqueueinfo": 0, "rt_tgsigqueueinfo": 1, "pidfd_open": 0,
}  # fmt: skip
"""By which argument each says whom it is about."""
_ALL_OF_A_USER = {"setpriority": 2, "ioprio_set": 3}
"""Whose priority is meant, where it is that of all processes of somebody."""
_SCHEDULES = ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")

_REFUSED = """
    ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd
    io_uring_setup io_uring_enter io_uring_register bpf userfaultfd perf_event_open fanotify_init
    keyctl add_key request_key
    mount umount2 move_mount fsopen fsmount fspick fsconfig open_tree open_tree_attr mount_setattr pivot_root chroot
    unshare setns name_to_handle_at open_by_handle_at lookup_dcookie
    kexec_load kexec_file_load init_module finit_module delete_module
    reboot swapon swapoff acct quotactl quotactl_fd syslog nfsservctl uselib vhangup
    settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname iopl ioperm
""".split()  # noqa: SIM905
_SHARED = "shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink".split()  # noqa: SIM905
"""Memory and queues that all programs of a user share, where they have no namespace of their own for them."""
_MISSING = ("clone3", "openat2")
"""What they are to do lies in memory, where a filter cannot look. The C library does the same by older calls."""
_UNRULED = ("file_getattr", "file_setattr", "listmount", "statmount")
"""Newer calls that tell of files and mounts outside, or change flags of files, and that Landlock is not asked about."""


class Op(NamedTuple):
    code: int
    k: int
    yes: int = 0
    no: int = 0


Block = tuple[Op, ...]
"""Instructions, the last of which returns."""


def program(*, network: bool, contained: bool, truncating: bool = True, starter: int = 0, arch: str = "") -> bytes:
    """The filter, as an array of `struct sock_filter`.

    Args:
        network: sockets of the internet may be made. Those of this machine (AF_UNIX) may not: behind them are the
            user's agents and daemons.
        contained: what runs has namespaces of its own for the network and for shared memory. With `network` off it
            may make sockets, which lead nowhere.
        truncating: files may be emptied without being opened to be written; not where Landlock is too old to hold it.
        starter: the thread of ours that starts the program and has its rights. A signal to it would be one to us.
        arch: for which machine; this one, unless named.

    Raises:
        LookupError: nothing is known of such a machine.
    """
    arch = arch or machine()
    if arch not in ARCHITECTURES:
        raise LookupError(f"no system call filter is known for {arch}")
    return _program(arch, network=network, contained=contained, truncating=truncating, starter=starter)


@functools.lru_cache(maxsize=16)
def _program(arch: str, *, network: bool, contained: bool, truncating: bool, starter: int) -> bytes:
    known = numbers(arch)
    chosen = _chosen(network=network, contained=contained, truncating=truncating)
    if starter:
        chosen |= _unheard(starter)
    blocks = {known[name]: block for name, block in chosen.items() if name in known}
    ops = [Op(_LOAD, _ARCHITECTURE), Op(_EQUAL, ARCHITECTURES[arch], 1, 0), Op(_RETURN, _KILL), Op(_LOAD, _NUMBER)]
    if arch == "x86_64":  # the same calls once more, under other numbers
        ops += [Op(_AT_LEAST, _X32, 0, 1), _error(errno.ENOSYS)]
    ops += _tree(_ranges(blocks))
    return b"".join(struct.pack("<HBBI", op.code, op.yes, op.no, op.k) for op in ops)


def _chosen(*, network: bool, contained: bool, truncating: bool) -> dict[str, Block]:
    refuse: Block = (_error(errno.EPERM),)
    chosen = dict.fromkeys(_REFUSED, refuse)
    chosen |= dict.fromkeys(_MISSING, (_error(errno.ENOSYS),))
    if not contained:
        chosen |= dict.fromkeys(_SHARED, (_error(errno.EACCES),))
        chosen |= dict.fromkeys(_UNRULED, (_error(errno.ENOSYS),))
        chosen |= dict.fromkeys(_SCHEDULES, _of_itself(0))
        chosen |= {
            name: (_low(0), Op(_EQUAL, everybody, 3, 0), *_of_itself(1)) for name, everybody in _ALL_OF_A_USER.items()
        }
    if not truncating:
        chosen["truncate"] = refuse
    chosen["socket"] = _sockets(network=network, own_network=contained and not network)
    chosen["socketpair"] = _pairs(own_network=contained)
    chosen["clone"] = _unless_any_bit(0, _NAMESPACES if contained else _NAMESPACES | _AS_SIBLING)
    chosen["ioctl"] = _unless_one_of(1, _TIOCSTI, _TIOCLINUX)
    chosen["personality"] = (
        _low(0), Op(_EQUAL, 0, 2, 0), Op(_EQUAL, 0xFFFFFFFF, 1, 0), _error(errno.EPERM), Op(_RETURN, _ALLOW),
    )  # fmt: skip
    chosen["prlimit64"] = _of_itself(0)
    for name, mode in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2), ("creat", 1)):
        chosen[name] = _unless_any_bit(mode, _OWNER_BITS)
    for name, flags in (("open", 1), ("openat", 2)):
        chosen[name] = (
            *(() if truncating else _unless_emptied(flags)),
            _low(flags), Op(_ANY_BIT, _CREATES, 1, 0), Op(_RETURN, _ALLOW), *_unless_any_bit(flags + 1, _OWNER_BITS),
        )  # fmt: skip
    for name, mode in (("mknod", 1), ("mknodat", 2)):
        chosen[name] = (
            _low(mode), Op(_ANY_BIT, _OWNER_BITS, 3, 0), Op(_AND, _FILE_TYPE), Op(_EQUAL, _CHARACTER_DEVICE, 1, 0),
            Op(_EQUAL, _BLOCK_DEVICE, 0, 1), _error(errno.EPERM), Op(_RETURN, _ALLOW),
        )  # fmt: skip
    return chosen


def _sockets(*, network: bool, own_network: bool) -> Block:
    refuse, allow = _error(errno.EACCES), Op(_RETURN, _ALLOW)
    if not network and not own_network:
        internet = _error(errno.ENETUNREACH)
        return (_low(0), Op(_EQUAL, _INET, 2, 0), Op(_EQUAL, _INET6, 1, 0), refuse, internet)
    local: Block = (Op(_EQUAL, _UNIX, 0, 1), allow) if own_network else ()
    routes: Block = (Op(_EQUAL, _NETLINK, 0, 3), _low(2), Op(_EQUAL, 0, 0, 1), allow)  # how names are looked up
    plain: Block = (
        _low(1), Op(_AND, _SOCK_TYPE), Op(_EQUAL, _SOCK_RAW, 2, 0), Op(_EQUAL, _SOCK_PACKET, 1, 0), allow, refuse,
    )  # fmt: skip
    return (_low(0), *local, Op(_EQUAL, _INET, 6, 0), Op(_EQUAL, _INET6, 5, 0), *routes, refuse, *plain)


def _pairs(*, own_network: bool) -> Block:
    """One of datagrams can be led on to any socket of this machine; in a network of its own there is none."""
    refuse, allow = _error(errno.EACCES), Op(_RETURN, _ALLOW)
    if own_network:
        return (_low(0), Op(_EQUAL, _UNIX, 0, 1), allow, refuse)
    return (
        _low(0), Op(_EQUAL, _UNIX, 0, 4), _low(1), Op(_AND, _SOCK_TYPE), Op(_EQUAL, _SOCK_STREAM, 2, 0),
        Op(_EQUAL, _SOCK_SEQPACKET, 1, 0), refuse, allow,
    )  # fmt: skip


def _unheard(thread: int) -> dict[str, Block]:
    """What refuses each way to send a signal to one thread, or to have one sent."""
    refuse, allow = _error(errno.EPERM), Op(_RETURN, _ALLOW)
    blocks: dict[str, Block] = {
        name: (_low(about), Op(_EQUAL, thread, 0, 1), refuse, allow) for name, about in _SIGNALS.items()
    }
    blocks["fcntl"] = (
        _low(1), Op(_EQUAL, _F_SETOWN_EX, 3, 0), Op(_EQUAL, _F_SETOWN, 0, 3), _low(2), Op(_EQUAL, thread, 0, 1),
        refuse, allow,
    )  # fmt: skip
    blocks["ioctl"] = _unless_one_of(1, _TIOCSTI, _TIOCLINUX, _FIOSETOWN, _SIOCSPGRP)
    return blocks


def _unless_emptied(flags: int) -> Block:
    """Go on, unless a file is emptied by being opened for something else than writing, which no rule is asked about."""
    return (
        _low(flags), Op(_ANY_BIT, _TRUNCATES, 0, 4), Op(_AND, _HOW), Op(_EQUAL, _TO_WRITE, 2, 0),
        Op(_EQUAL, _TO_READ_AND_WRITE, 1, 0), _error(errno.EPERM),
    )  # fmt: skip


def _of_itself(argument: int) -> Block:
    """Allowed of the caller itself, whose number is then 0."""
    return (_low(argument), Op(_EQUAL, 0, 0, 1), Op(_RETURN, _ALLOW), _error(errno.EPERM))


def _unless_any_bit(argument: int, bits: int) -> Block:
    return (_low(argument), Op(_ANY_BIT, bits, 0, 1), _error(errno.EPERM), Op(_RETURN, _ALLOW))


def _unless_one_of(argument: int, *values: int) -> Block:
    refuse, allow = _error(errno.EPERM), Op(_RETURN, _ALLOW)
    tests = (Op(_EQUAL, value, len(values) - at, 0) for at, value in enumerate(values))
    return (_low(argument), *tests, allow, refuse)


def _low(argument: int) -> Op:
    """Load the low half of an argument; these calls look at no more of it. (Both machines are little-endian.)"""
    return Op(_LOAD, 16 + 8 * argument)


def _error(number: int) -> Op:
    return Op(_RETURN, _ERROR | number)


def _ranges(blocks: dict[int, Block]) -> list[tuple[int, Block]]:
    """What holds from which number on."""
    allow: Block = (Op(_RETURN, _ALLOW),)
    edges = sorted({0} | set(blocks) | {number + 1 for number in blocks})
    found: list[tuple[int, Block]] = []
    for edge in edges:
        block = blocks.get(edge, allow)
        if not found or found[-1][1] != block:
            found.append((edge, block))
    return found


def _tree(ranges: list[tuple[int, Block]]) -> Block:
    """Halve the numbers until one block is left: the kernel walks through this for each call it knows, at a start.

    A condition jumps over 255 instructions at most. A half that grew longer could not be written, and no filter made.
    """
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = _tree(ranges[:middle]), _tree(ranges[middle:])
    return (Op(_AT_LEAST, ranges[middle][0], len(below), 0), *below, *above)
