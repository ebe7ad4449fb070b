"""The only place in the package that starts a process.

Python's vfork path (`_posixsubprocess.fork_exec`) is used as `subprocess` uses it, without the object around it: never
`preexec_fn` (it is slow and can deadlock), never asyncio's own subprocess (it waits for pipes that others hold).
"""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..core.errors import ToolError
from .cage import Bounds

fork_exec: Any
try:
    from _posixsubprocess import fork_exec
except ImportError:  # another Python
    fork_exec = None

Streams = tuple[int, int, int]
"""The descriptors of a program's standard input, output and error."""


class Start(NamedTuple):
    """A program that is to be started, and all that it has of ours."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    streams: Streams
    kept: tuple[int, ...] = ()
    """Descriptors besides those three, which it has by the same numbers."""


FAST = fork_exec is not None and (3, 11) <= sys.version_info < (3, 14)
_SHORT_OF_SOMETHING = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_BUSY_SECONDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032)
"""A program that was written a moment ago may still be open in a child that another thread is just starting."""

_SHELL_FLAGS = (("v", 1024), ("u", 1), ("f", 512), ("t", 1))
"""How a shell calls each of the `Bounds`, and in what units it counts."""
_PROCESSES = "{{ ulimit -u {0:d} || ulimit -p {0:d}; }} 2>/dev/null"
"""Shells do not agree on what this one is called."""


def start(about: Start) -> int:
    """Start a program in a session of its own, and return its pid. Of our descriptors it has those it is given alone.

    Raises:
        ToolError: it could not be started; nothing happened.
    """
    begin = _vfork if FAST else _popen
    for pause in (*_BUSY_SECONDS, None):
        try:
            return begin(about)
        except (OSError, ValueError) as exc:
            if pause is None or getattr(exc, "errno", None) != errno.ETXTBSY:
                raise not_started(about.argv[0], exc) from None
            time.sleep(pause)
    raise AssertionError("the last try returns or raises")


def with_bounds(argv: Sequence[str], bounds: Bounds) -> tuple[str, ...]:
    """The same command, held to its bounds by a launcher: a thread cannot limit its child alone.

    What is set in the shell's text are numbers of ours; no argument ever becomes part of it.
    """
    held = zip(_SHELL_FLAGS, bounds, strict=True)
    given = [(flag, max(1, int(bound) // unit)) for (flag, unit), bound in held if bound]
    limits = " && ".join(
        _PROCESSES.format(bound) if flag == "u" else f"ulimit -{flag} {bound:d}" for flag, bound in given
    )
    return ("/bin/sh", "-c", f'{limits} && exec "$@"', "sh", *argv)


def _vfork(about: Start) -> int:
    argv, cwd, env, streams, kept = about
    words = [os.fsencode(word) for word in argv]
    variables = [os.fsencode(f"{name}={value}") for name, value in env.items()]
    failed, failing = os.pipe()
    try:
        try:
            pid: int = fork_exec(
                words, words[:1], True, tuple(sorted((failing, *kept))), os.fsencode(cwd), variables,
                streams[0], -1, -1, streams[1], -1, streams[2], failed, failing,
                True, True, -1, None, None, None, -1, None, True,
            )  # fmt: skip
        finally:
            os.close(failing)
        report = os.read(failed, 4096)
    finally:
        os.close(failed)
    if report:  # `OSError:<errno in hex>:<where>`; the child is gone
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:  # the host program leaves that to the kernel
            pass
        _, code, where = report.split(b":", 2)
        number = int(code, 16)
        raise OSError(number, os.strerror(number), cwd if where.startswith(b"noexec") else argv[0])
    return pid


def _popen(about: Start) -> int:
    """For a Python whose fork_exec we do not know."""
    argv, cwd, env, (stdin, stdout, stderr), kept = about
    process = subprocess.Popen(
        argv, cwd=cwd, env=dict(env), stdin=stdin, stdout=stdout, stderr=stderr,
        start_new_session=True, close_fds=True, pass_fds=kept,
    )  # fmt: skip
    process.returncode = 0  # the pid is ours to wait for; left alone, the object would do it behind our back
    return process.pid


def not_started(program: str, exc: OSError | ValueError) -> ToolError:
    """Why a program did not start, said so that one knows what to do."""
    number = getattr(exc, "errno", None)
    if number in _SHORT_OF_SOMETHING:
        message = f"{program} was not started: {exc}; try again when less is running"
        return ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True)
    hints = {
        errno.ENOEXEC: "its first line must name an interpreter, such as #!/usr/bin/env python3",
        errno.ENOENT: "it, or the interpreter its first line names, is not there",
        errno.EACCES: "make it executable with chmod +x",
        errno.E2BIG: "an argument or a variable is too long",
    }
    hint = hints.get(number or 0)
    if getattr(exc, "filename", None) not in (None, program):
        hint = "it starts in that directory, which cannot be entered"
    return ToolError(f"{program} could not be started: {exc}" + (f"; {hint}" if hint else ""), before_effect=True)
