"""The attempts that `toolcrib doctor --self-test` makes: harmless ones, a few of each kind."""

import socket
import sys
from functools import partial

from . import _landlock
from .cage import LANDLOCK
from .canaries import Case
from .canary import (
    Alike,
    Ground,
    Told,
    Unchanged,
    absent,
    agent,
    alike,
    bystander,
    environment,
    file,
    key,
    listener,
    memory,
    own_program,
    secret,
    size,
    traced,
)


def _in_home(ground: Ground, name: str, *, path: str) -> Told:
    return secret(ground, name, place=f"{ground.home}/{path}")


def _kept_in_home(ground: Ground, name: str, *, path: str) -> Unchanged:
    return file(ground, name, place=f"{ground.home}/{path}")


def _elsewhere(ground: Ground, name: str) -> Told:
    return secret(ground, name, place=f"{ground.far}/{name}/secret")


def _protected(ground: Ground, name: str, *, path: str) -> Alike:
    return alike(ground, name, place=f"{ground.workspace}/{path}")


def _not_yet(ground: Ground, name: str, *, path: str) -> Unchanged:
    return absent(ground, name, place=f"{ground.workspace}/{path}")


def _signals() -> tuple[str, ...]:
    """Who does not hold them, on this kernel."""
    try:
        return () if sys.platform != "linux" or _landlock.keeps_signals() else (LANDLOCK,)
    except OSError:  # there is no Landlock
        return ()


_T1 = (LANDLOCK,)
_SIGNALS = _signals()

CASES: tuple[Case, ...] = (
    Case("read", "read a file outside", "read", secret),
    Case("read-elsewhere", "read another program's temporary file", "read", _elsewhere),
    Case("read-relative", "read it by ../", "read_relative", secret),
    Case("read-link", "read it through a link in the workspace", "read_through_link", secret),
    Case("read-root", "read it by /proc/self/root", "read_through_root", secret),
    Case("read-directory", "read it by a handle on its directory", "read_through_directory", secret),
    Case("ssh-key", "read a key in the home", "read", partial(_in_home, path=".ssh/id_ed25519")),
    Case("write", "change a file outside", "write", file),
    Case("write-link", "change it through a link", "write_through_link", file),
    Case("shell-start", "change what the shell runs at its start", "write", partial(_kept_in_home, path=".bashrc")),
    Case("create", "make a file outside", "create", absent),
    Case("truncate", "cut a file outside", "truncate", file),
    Case("unlink", "remove a file outside", "unlink", file),
    Case("rename-in", "move a file in from outside", "rename_in", file),
    Case("rename-out", "move a file out", "rename_out", absent),
    Case("link", "link a file in from outside, change it", "link_in_and_write", file),
    Case("git-config", "change .git/config", "put", partial(_protected, path=".git/config")),
    Case("new-envrc", "make an .envrc", "put", partial(_not_yet, path=".envrc")),
    Case("stat", "learn how long a file outside is", "stat", size, gap_of=_T1),
    Case("chmod", "change the rights of a file outside", "chmod", file, gap_of=_T1),
    Case("chown", "change its owner", "chown", file, gap_of=_T1),
    Case("utime", "change its times", "utime", file, gap_of=_T1),
    Case("xattr", "change its extended attributes", "setxattr", file, gap_of=_T1),
    Case("tcp", "connect to a server of this machine", "tcp", listener),
    Case("udp", "send it a datagram", "udp", partial(listener, kind=socket.SOCK_DGRAM)),
    Case("unix", "connect to an agent that holds keys", "unix", agent),
    Case("abstract", "connect to one whose socket has no file", "unix", partial(agent, abstract=True)),
    Case("kill", "end another program", "terminate", bystander, gap_of=_SIGNALS),
    Case("stop", "stop another program", "stop", bystander, gap_of=_SIGNALS),
    Case("ptrace", "take hold of another program", "trace", traced),
    Case("renice", "lower another program's priority", "renice", bystander),
    Case("limit", "take files away from another program", "limit", bystander),
    Case("environ", "read another program's environment", "read", environment),
    Case("memory", "read another program's memory", "read_memory", memory),
    Case("key", "put a key into the user's ring", "add_key", key),
    Case("setuid", "let a file run with its owner's rights", "setuid_bit", own_program),
)
