"""Importing Python code so that nothing it does on the way ends, doubles or garbles the program that asked for it."""

import hashlib
import io
import os
import stat
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

from ..core.call import settle
from ..core.errors import ToolcribError

MODULE_BYTES = 4 * 1024 * 1024
_SETTLED_NS = 1_000_000_000
_MESSAGE = 600
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Text(NamedTuple):
    """A module's file as it was read."""

    data: bytes
    digest: str
    stamp: tuple[int, ...]


class Imported(NamedTuple):
    """What came of running code: its value, or how it failed; and what it printed."""

    value: Any
    failure: BaseException | None
    said: str


def read(path: str) -> Text:
    """Raises: `ToolcribError`, for anything but a regular file that can be read. Nothing else is waited for."""
    try:
        with open(path, "rb", opener=lambda path, _: os.open(path, _READ)) as file:
            seen = os.fstat(file.fileno())
            if not stat.S_ISREG(seen.st_mode):
                raise ToolcribError("it is not a regular file", code="PATH_NOT_REGULAR")
            if seen.st_size > MODULE_BYTES:
                raise ToolcribError(f"it is longer than {MODULE_BYTES} bytes", code="INPUT_TOO_LARGE")
            data = file.read()
    except IsADirectoryError:
        raise ToolcribError("it is not a regular file but a directory", code="PATH_NOT_REGULAR") from None
    except (OSError, ValueError) as exc:
        words = getattr(exc, "strerror", None) or str(exc)
        raise ToolcribError(f"it cannot be read: {words}", code="CONFIG_INVALID") from None
    return Text(data, "sha256:" + hashlib.sha256(data).hexdigest(), _stamp(seen))


def unchanged(path: str, stamp: tuple[int, ...]) -> bool:
    """Whether a file is surely as it was. One that changed this moment may change again without a new time stamp."""
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return False
    return _stamp(seen) == stamp and time.time_ns() - seen.st_mtime_ns > _SETTLED_NS


def executed(text: Text, path: str, name: str) -> ModuleType:
    """A module made of a file's content, under a name that no import can mean by chance. May raise anything."""
    module = ModuleType(name)
    module.__file__, module.__spec__ = path, ModuleSpec(name, None, origin=path)
    sys.modules[name] = module  # dataclasses and pydantic look for the module of a class by its name
    exec(compile(text.data, path, "exec", dont_inherit=True), vars(module))
    return module


async def quietly(work: Callable[[], Any]) -> Imported:
    """Run code that was written by somebody else, to its end and without a pause.

    It may raise or exit. It has nothing to read on stdin, and does not write to our stdout, which may be a document.
    """
    said, stdin, process = io.StringIO(), sys.stdin, os.getpid()

    async def run() -> Any:
        try:
            return work()
        finally:
            if os.getpid() != process:
                os._exit(70)  # it forked, and this is the child: one of us is enough

    sys.stdin = io.StringIO()
    try:
        with redirect_stdout(said):
            value, failure = await settle(run())
    finally:
        sys.stdin = stdin
    return Imported(value, failure, said.getvalue())


def explained(failure: BaseException | None, path: str) -> str:
    """How code failed, with its line in a file where that is known."""
    if isinstance(failure, ToolcribError):
        return str(failure)[:_MESSAGE]
    line = failure.lineno if isinstance(failure, SyntaxError) and failure.filename == path else None
    if failure is not None and line is None:
        frames = traceback.extract_tb(failure.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == path), None)
    words = f"{type(failure).__name__}: {failure}".removesuffix(": ")
    return (f"line {line}: {words}" if line else words)[:_MESSAGE]


def _stamp(seen: os.stat_result) -> tuple[int, ...]:
    return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size
