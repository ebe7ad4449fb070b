"""Confinement by Seatbelt, on macOS: a profile that denies everything but what a cage grants.

The profile is text of ours and never holds a path: every path is a parameter, handed to `sandbox-exec` beside it.
This file is tested by what it makes; it was never run on a Mac, and `canary` is what decides there.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence

from ..core.errors import ToolError
from .cage import SEATBELT, Cage
from .protected import PATTERNS
from .scratch import remove_tree
from .spawn import Start, start

PROGRAM = "/usr/bin/sandbox-exec"
_SYSTEM = (
    "/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Frameworks", "/Library/Developer", "/opt",
    "/Applications/Xcode.app", "/private/etc/ssl", "/private/etc/localtime", "/private/etc/passwd",
    "/private/etc/hosts", "/private/etc/resolv.conf", "/private/etc/protocols", "/private/etc/services",
    "/private/etc/shells", "/private/var/db/timezone", "/private/var/db/dyld", "/private/var/select",
)  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")

_ALWAYS = """(version 1)
(deny default)
(allow process-fork)
(allow process-exec*)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata (literal "/"))
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.logger"))
(allow ipc-posix-sem)
(allow pseudo-tty)
"""
_NETWORK = """(allow network-outbound (remote ip))
(allow network-inbound (local ip))
(allow network-bind (local ip))
(allow system-socket)
(allow mach-lookup
  (global-name "com.apple.trustd.agent")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.mDNSResponder"))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
"""


def profiled(cage: Cage, argv: Sequence[str], *, tmp: str) -> tuple[str, ...]:
    """The same command, held to its cage and to `tmp`.

    Raises:
        ToolError: `SANDBOX_UNAVAILABLE`: it cannot be held to single hosts here.
    """
    if cage.hosts:
        message = "Seatbelt cannot hold a program to single hosts; give it the network, or none: network: on | off"
        raise ToolError(message, code="SANDBOX_UNAVAILABLE", before_effect=True)
    profile, parameters = _profile(cage, tmp)
    words = [word for name, path in parameters.items() for word in ("-D", f"{name}={path}")]
    return (PROGRAM, "-p", profile, *words, *argv)


def canary() -> str:
    """Whether this really holds here, for this user, by trying: "" when it does, else why not and what to do."""
    if not os.access(PROGRAM, os.X_OK):
        return f"{PROGRAM} is not there: Seatbelt is a part of macOS"
    place = os.path.realpath(tempfile.mkdtemp(prefix="toolcrib-canary-"))
    try:
        return _tried(place)
    except (OSError, ToolError) as exc:
        return f"Seatbelt could not be tried: {exc}; set `sandbox: process` to go without"
    finally:
        remove_tree(place)


def _profile(cage: Cage, tmp: str) -> tuple[str, dict[str, str]]:
    """The text, and what its parameters stand for. Of two rules that both fit, the later one counts."""
    parameters: dict[str, str] = {}

    def given(path: str) -> str:
        name = f"PATH_{len(parameters)}"
        parameters[name] = path
        return f'(param "{name}")'

    def rule(what: str, kind: str, paths: Sequence[str]) -> str:
        return f"({what} {' '.join(f'({kind} {given(path)})' for path in paths)})\n" if paths else ""

    workspace = [cage.workspace] if cage.workspace else []
    changed = [*(workspace if cage.workspace_writable else []), *cage.writable, tmp]
    text = _ALWAYS
    text += rule("allow file-read* file-write-data file-ioctl", "literal", _DEVICES)
    text += rule("allow file-read* file-map-executable", "subpath", (*_SYSTEM, *workspace, *cage.readable))
    text += rule("allow file-read* file-write* file-map-executable", "subpath", changed)
    if cage.workspace and cage.workspace_writable:
        text += "".join(_protection(given(cage.workspace)))
        text += rule("allow file-write*", "subpath", (*cage.writable, tmp))
    text += "(deny file-write-setugid)\n"
    return text + (_NETWORK if cage.network else ""), parameters


def _protection(workspace: str) -> Iterator[str]:
    """Rules for protected names wherever they are in the workspace, also for what is not there yet."""
    names = [_folded(pattern) for pattern in PATTERNS if pattern != ".git"]
    for end in (*(f"{name}(/|$)" for name in names), f"{_folded('.git')}$", f"{_folded('.git')}/({_IN_GIT})(/|$)"):
        yield f'(deny file-write* (regex (string-append "^" (regex-quote {workspace}) "/(.*/)?{end}")))\n'


_IN_GIT = "config|config[.]worktree|hooks|info|commondir|gitdir|modules|worktrees|remotes|branches"


def _folded(pattern: str) -> str:
    """As a regular expression that asks for no letter case. Every other character stands in brackets for itself."""
    made = ""
    for letter in pattern:
        if letter == "*":
            made += "[^/]*"
        elif letter == "/":
            made += "/"
        else:
            made += f"[{letter.lower()}{letter.upper()}]" if letter.isalpha() else f"[{letter}]"
    return made


def _tried(place: str) -> str:
    for name in ("workspace", "tmp", "outside"):
        os.mkdir(f"{place}/{name}", 0o700)
    with open(f"{place}/outside/secret", "w", encoding="ascii") as file:
        file.write("secret\n")
    text = 'read -r x < "$1/secret" && echo read; (: > "$1/written"); : > inside && echo wrote'
    cage = Cage(SEATBELT, workspace=f"{place}/workspace")
    argv = profiled(cage, ("/bin/sh", "-c", text, "sh", f"{place}/outside"), tmp=f"{place}/tmp")
    with open(f"{place}/said", "w+b") as said, open(os.devnull, "rb") as null:
        env = {"PATH": "/usr/bin:/bin", "TMPDIR": f"{place}/tmp"}
        pid = start(Start(argv, cage.workspace, env, streams=(null.fileno(), said.fileno(), said.fileno())))
        os.waitpid(pid, 0)
        said.seek(0)
        lines = said.read().decode("utf-8", "replace").splitlines()
    if "read" in lines or os.path.exists(f"{place}/outside/written"):
        return "Seatbelt runs here but does not hold; set `sandbox: process` to go without"
    return "" if "wrote" in lines else f"Seatbelt does not come up: {' '.join(lines)[:200]}; set `sandbox: process`"
