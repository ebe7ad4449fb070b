"""The programs that search a large tree: ripgrep where there is one, and otherwise a worker of our own."""

import asyncio
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..backends.process import environment
from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import dump
from ..core.limits import Limits
from ..core.process import Captured, Command, Completed
from ._found import Found, parsed
from ._pattern import Pattern, wrong

MOST_IN_A_FILE = 1000
"""Hits that are looked for in one file; there may be more."""
_OUTPUT_BYTES = 8 * 1024 * 1024
_MEMORY_BYTES = 2 * 1024 * 1024 * 1024
"""Of address space: ripgrep holds a line in memory as a whole, however long it is."""
_LIMITED = f'ulimit -c 0 && ulimit -f {_OUTPUT_BYTES // 512} && ulimit -v "$1" && shift && exec "$@"'
_TO_SINK = ' >"/dev/fd/$TOOLCRIB_CHANNEL"'
_SHARE_OF_TIME = 0.8
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_WORKER = f"import sys; sys.path.insert(0, {_PACKAGE!r}); from toolcrib.codeindex.search_worker import main; main()"
_FLAGS = (
    "--no-config --color=never --no-messages --no-follow --no-mmap --no-ignore-parent --no-ignore-global "
    "--no-require-git --crlf --with-filename --heading --null --line-number --column --byte-offset "
    f"--max-columns=1000 --max-count={MOST_IN_A_FILE}"
).split()
_HISTORY = ("!.git", "!.hg", "!.svn", "!.jj", "!.bzr")


class Task(NamedTuple):
    """What is to be searched, and for what."""

    pattern: Pattern
    ignore: bool
    hidden: bool
    globs: tuple[str, ...]
    binary: bool = False
    """Whether binary files are searched, too. One that is asked for by its path always is."""
    above: Sequence[str] = ()
    fd: int = -1
    """Of a directory; or of a file, if so."""
    file: bool = False


class Outcome(NamedTuple):
    found: list[Found]
    engine: str
    stopped: str = ""
    """Why there may be more, or nothing."""


def ripgrep(ctx: Context) -> str | None:
    """Where ripgrep lies: beside our Python, or on the host's PATH, and never in the workspace, whose files run only
    when somebody approves of it.
    """
    workspace = os.path.realpath(ctx.cwd)
    places = [os.path.join(sys.prefix, "bin"), *ctx.host.environ.get("PATH", os.defpath).split(":")]
    for directory in places:
        path = os.path.join(directory, "rg")
        if os.path.isabs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
            real = os.path.realpath(path)
            if not real.startswith(workspace.rstrip("/") + "/") and not path.startswith(ctx.cwd.rstrip("/") + "/"):
                return path
    return None


async def search(task: Task, ctx: Context) -> Outcome:
    """Let a program look. Raises: `ToolError`."""
    program = ripgrep(ctx) if task.pattern.ripgrep is not None else None
    if program is None and task.pattern.text is None:
        message = "the pattern holds something that only ripgrep knows, and there is none; install toolcrib[search]"
        raise ToolError(message, code="ENGINE_NOT_AVAILABLE", before_effect=True)
    if program is not None:
        name, argv, stdin = "ripgrep", _ripgrep_words(program, task), "\n".join(task.above)
    else:
        name, argv, stdin = "python", (sys.executable, "-I", "-S", "-c", _WORKER), _worker_input(task)
    ran = await _run(argv, stdin.encode("utf-8", "surrogateescape"), task, ctx)
    if ran.done is None:
        return Outcome([], name, ran.stopped)
    stopped, well = ran.stopped, ran.done.code in ((0, 1) if name == "ripgrep" else (0,))
    if len(ran.output) >= _OUTPUT_BYTES:
        stopped, well = stopped or "there was too much to show", False
    elif not well and not stopped:
        stopped = _trouble(ran, task, name)
    return Outcome(parsed(ran.output, whole=well), name, stopped)


class _Ran(NamedTuple):
    """How a program ended, if that is known, what it had found by then, and whether its time was over."""

    done: Completed | None
    output: bytes
    stopped: str = ""


async def _run(argv: tuple[str, ...], stdin: bytes, task: Task, ctx: Context) -> _Ran:
    ends: list[Completed] = []
    seconds, stopped = ctx.limits.seconds * _SHARE_OF_TIME, ""
    limits = Limits(ctx.limits.seconds, _OUTPUT_BYTES)
    env = environment(ctx, (), {"TOOLCRIB_CALL_ID": ctx.call_id})
    with _sink(task) as sink:
        words = ("/bin/sh", "-c", _LIMITED + (_TO_SINK if sink >= 0 else ""), "sh", str(_memory() // 1024), *argv)
        channel = task.fd if task.file else sink
        command = Command(words, _directory(task, ctx), ctx.call_id, env, stdin, limits, channel=channel)
        try:
            async with asyncio.timeout(seconds):
                await ctx.sandbox.exec(command, ended=ends.append)
        except TimeoutError:
            stopped = f"the search was ended after {seconds:g} s"
        output = b"" if sink < 0 else os.pread(sink, _OUTPUT_BYTES, 0)
    done = ends[0] if ends else None
    if done is not None:
        output += done.stdout.head + (b"" if done.stdout.omitted else done.stdout.tail)
    return _Ran(done, output, stopped)


@contextmanager
def _sink(task: Task) -> Iterator[int]:
    """A file in memory for the output, or -1 where there is no such thing or no way to it.

    ripgrep writes for each file by itself, and waking up each time to read a pipe would cost us more than the search.
    """
    possible = hasattr(os, "memfd_create") and os.path.isdir("/dev/fd") and not task.file
    sink = os.memfd_create("toolcrib-search") if possible else -1
    try:
        yield sink
    finally:
        if sink >= 0:
            os.close(sink)


def _memory() -> int:
    """No more than what we have ourselves: a limit can only be lowered."""
    ours = resource.getrlimit(resource.RLIMIT_AS)[1]
    return _MEMORY_BYTES if ours == resource.RLIM_INFINITY else min(ours, _MEMORY_BYTES)


def _directory(task: Task, ctx: Context) -> str:
    """The open directory by its descriptor, where the system has such names."""
    if task.file or not os.path.isdir("/proc/self/fd"):
        return ctx.cwd
    return f"/proc/{os.getpid()}/fd/{task.fd}"


def _ripgrep_words(program: str, task: Task) -> tuple[str, ...]:
    pattern = task.pattern
    words = [program, *_FLAGS]
    if pattern.ignore_case:
        words.append("--ignore-case")
    if task.binary:
        words.append("--binary")
    if not task.ignore:
        words.append("--no-ignore")
    elif task.above:
        words.append("--ignore-file=/dev/stdin")
    globs = [f"--glob={glob}" for glob in task.globs]
    if task.hidden:
        words.append("--hidden")
        globs += [f"--glob={glob}" for glob in _HISTORY if task.ignore]
    elif globs:
        globs.append("--glob=!.*")  # a glob that fits would bring hidden files to light
    where = f"/proc/self/fd/{task.fd}" if task.file else "./"
    return (*words, *globs, "-e", pattern.ripgrep or "", "--", where)


def _worker_input(task: Task) -> str:
    return dump(
        {
            "pattern": task.pattern.text,
            "ignore_case": task.pattern.ignore_case,
            "file": f"/proc/self/fd/{task.fd}" if task.file else "",
            "globs": list(task.globs),
            "ignore": task.ignore,
            "hidden": task.hidden,
            "above": list(task.above),
            "binary": task.binary or task.file,
            "most": MOST_IN_A_FILE,
        }
    ).decode()


def _trouble(ran: _Ran, task: Task, name: str) -> str:
    """Why a search did not come to its end. Raises: `ToolError`, when nothing was found before that."""
    done = ran.done or Completed(0, Captured(), Captured())
    said = done.stderr.text().strip()
    if "regex parse error" in said or "regex could not be compiled" in said or "compiled regex exceeds" in said:
        raise wrong(task.pattern.ripgrep or "", f"a fault: {said.splitlines()[-1].removeprefix('error: ')}")
    if ran.output:
        return f"{name} ended early (exit status {done.code})"
    message = f"{name} ended with exit status {done.code}: {said or 'it said nothing'}; try a narrower path"
    raise ToolError(message, code="SEARCH_ERROR")
