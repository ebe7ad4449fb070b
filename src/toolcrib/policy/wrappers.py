"""Programs that run other programs, as tables: which can be taken off exactly, and which are only seen through."""

import os
import re
from typing import NamedTuple


class Wrapper(NamedTuple):
    """How a harmless wrapper is read: the words that may stand before the program. Words are joined by NUL."""

    options: re.Pattern[str]
    operands: re.Pattern[str]


def _wrapper(options: str = "(?!)", operands: str = "") -> Wrapper:
    return Wrapper(re.compile(rf"(?:(?:{options})\0)*(?:--\0)?"), re.compile(operands))


_words = str.split
_NUMBER = r"-?\d{1,6}"
_SIZE = r"(?:[0L]|\d{1,9}[KMG]?)"
_SECONDS = r"\d{1,9}(?:\.\d{1,9})?[smhd]?"

EXACT = {
    "time": _wrapper("-p"),
    "nice": _wrapper(rf"-n\0{_NUMBER}|-n{_NUMBER}|-\d{{1,2}}|--adjustment={_NUMBER}"),
    "nohup": _wrapper(),
    "timeout": _wrapper(
        rf"--foreground|--preserve-status|-v|--verbose|-k\0{_SECONDS}|--kill-after={_SECONDS}"
        r"|-s\0[A-Z0-9]{1,9}|--signal=[A-Z0-9]{1,9}",
        rf"{_SECONDS}\0",
    ),
    "stdbuf": _wrapper(rf"-[ioe]\0?{_SIZE}|--(?:input|output|error)={_SIZE}"),
    "ionice": _wrapper(r"-c\0?[0-3]|-n\0?[0-7]|-t"),
    "setsid": _wrapper("-w|--wait"),
    "chrt": _wrapper("-[biofr]|--(?:batch|idle|other)", r"\d{1,2}\0"),
    "taskset": _wrapper(operands=r"(?:-c\0[0-9,-]{1,64}|(?:0x)?[0-9a-fA-F]{1,16})\0"),
    "command": _wrapper(),
    "env": _wrapper(),
}
"""Wrappers that change how a program runs and not which. Anything else before the program is a doubt."""

OPERANDS_BEFORE = {"timeout": 1, "chrt": 1, "taskset": 1, "runuser": 1, "gosu": 1, "chroot": 1, "flock": 1, "ssh": 1}
OPERANDS_BEFORE |= {"su": 1, "coproc": 1, "faketime": 1, "rustup": 1, "direnv": 1, "docker": 1, "podman": 1}
OPERANDS_BEFORE |= {"kubectl": 1}
"""How many operands of its own a wrapper may have before the command; none, if it is not here."""

DOUBTFUL = frozenset(
    _words(
        """sudo doas pkexec run0 runuser gosu su-exec setpriv chroot unshare nsenter bwrap firejail proot fakeroot xargs
        parallel watch flock strace ltrace valgrind script unbuffer busybox toybox entr caffeinate systemd-run
        dbus-run-session xvfb-run dotenv su eval exec builtin coproc ld.so hyperfine torsocks proxychains proxychains4
        faketime start-stop-daemon at batch trap catchsegv setarch linux32 linux64 i386 x86_64 prlimit choom numactl
        cgexec schedtool eatmydata chpst softlimit envdir setlock rlwrap socat tsocks aoss padsp sshpass expect
        screen
        tmux dtach setuidgid nocache ts tini dumb-init catatonit sem ssh-agent gpg-agent dbus-launch"""
    )
)
"""Programs that run a command they are given, in ways that are not taken apart: seen through, never pre-approved."""

RUNNERS = {
    "docker": "run exec",
    "podman": "run exec",
    "kubectl": "exec run debug",
    "npm": "exec x",
    "pnpm": "exec dlx",
    "yarn": "exec dlx",
    "npx": "",
    "bunx": "",
    "uvx": "",
    "pipx": "run",
    "uv": "run",
    "poetry": "run",
    "pipenv": "run",
    "hatch": "run",
    "pdm": "run",
    "rye": "run",
    "bundle": "exec",
    "conda": "run",
    "mamba": "run",
    "rustup": "run",
    "direnv": "exec",
    "perf": "record stat trace",
    "ssh": "",
}
"""Programs with sub-commands that run another program; what they may do themselves is said in the table of programs."""

SHELL_WORDS = frozenset(("then", "do", "else", "elif", "if", "while", "until", "!", "{", "time"))
"""Words of the shell that a command may follow; a parser that lost its way takes them for programs."""

FINDERS = frozenset(("find", "gfind", "fd", "fdfind"))
EXECUTES = frozenset(("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"))
PLAIN_SHELLS = frozenset(("sh", "bash", "dash"))
TEXT_SHELLS = PLAIN_SHELLS | frozenset(("zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "busybox"))
RUNS_TEXT = frozenset(
    _words("eval ssh su script watch parallel trap flock entr hyperfine runuser at batch screen tmux socat")
)
"""Programs that hand their words to a shell."""

WRAPPERS = frozenset(EXACT) | DOUBTFUL | frozenset(name for name, words in RUNNERS.items() if not words)

_LOADER = re.compile(r"ld(?:-linux[A-Za-z0-9_-]*|-musl-[a-z0-9_]+)?\.so(?:\.\d+)?")


def base_name(program: str) -> str:
    """The program's name without its path; the dynamic loader, which runs any file, has one name for all."""
    base = os.path.basename(program)
    return "ld.so" if _LOADER.fullmatch(base) else base
