"""A script's arguments: a variable for each, all of them as JSON, and a file for what no variable can hold."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ..core.context import Context
from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, dump
from .arguments import LONGEST_WORD, spelled
from .declared import Unfit

MOST_TOTAL = 1024 * 1024
"""Bytes of all arguments in the environment together; a system takes about twice that, with the words."""
PREFIX, WHOLE, IN_FILE = "TOOL_ARG_", "TOOL_ARGS", "TOOL_ARGS_FILE"
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_POINTER_BYTES = 8


class Carried(NamedTuple):
    """Arguments as variables."""

    variables: dict[str, str]
    left_out: tuple[str, ...]
    """Names of arguments that no variable of their own can hold."""
    document: bytes
    """All arguments, as JSON."""

    @property
    def needs_file(self) -> bool:
        return bool(self.left_out) or WHOLE not in self.variables


def carry(args: Mapping[str, JSON]) -> Carried:
    """Arguments as variables, and what does not fit into any.

    Raises:
        ToolError: two of them would be one variable, or one cannot be written down; nothing happened.
    """
    document = _encoded(args)
    found: dict[str, str] = {}
    left_out: list[str] = []
    owner: dict[str, str] = {}
    for name, value in args.items():
        variable = variable_of(name)
        if variable in owner:
            raise _wrong(f"{owner[variable]!r} and {name!r} are both {variable}; give one of them")
        owner[variable] = name
        text = _bytes(name, value)
        if b"\0" in text or _size(variable, text) > LONGEST_WORD:
            left_out.append(name)
        else:
            found[variable] = os.fsdecode(text)  # the bytes of UTF-8, whatever the locale is
    if _size(WHOLE, document) <= LONGEST_WORD:
        found[WHOLE] = os.fsdecode(document)
    total = 0
    for variable in sorted(found, key=lambda each: (each == WHOLE, len(found[each]))):
        size = _size(variable, os.fsencode(found[variable]))
        if total + size > MOST_TOTAL:
            del found[variable]
            left_out += [owner[variable]] if variable in owner else []
        else:
            total += size
    return Carried(found, tuple(left_out), document)


def variable_of(name: str) -> str:
    """The variable that an argument is given in. Its prefix is fixed, so no argument names any other."""
    return PREFIX + "".join(char if char in _PLAIN else "_" for char in map(_upper, name))


@contextmanager
def variables_of(carried: Carried, ctx: Context) -> Iterator[dict[str, str]]:
    """The variables of a call, and the file that has what none of them can hold, for as long as the call lasts."""
    own = dict(carried.variables)
    if not carried.needs_file:
        yield own
        return
    # The directory of the runtime's temporary ones, which goes with it, also when it is killed.
    place = os.path.join(tempfile.gettempdir(), f"toolcrib-{ctx.host.id.partition('-')[0]}")
    path = os.path.join(place, f"args-{os.urandom(8).hex()}")
    try:
        with suppress(FileExistsError):
            os.mkdir(place, 0o700)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        message = f"the arguments could not be written to a file: {exc}; make room, or set TMPDIR to where there is"
        raise ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True) from None
    try:
        try:
            with open(fd, "wb") as file:
                file.write(carried.document)
        except OSError as exc:
            message = f"the arguments could not be written to a file: {exc}; make room"
            raise ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True) from None
        yield own | {IN_FILE: path}
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def check_distinct(parameters: Mapping[str, JSON]) -> None:
    """Raises: `Unfit`, when two arguments would be one variable."""
    known: dict[str, str] = {}
    for name in parameters.get("properties") or ():
        variable = variable_of(name)
        if variable in known:
            raise Unfit("", f"{known[variable]!r} and {name!r} would both be {variable}; rename one of them")
        known[variable] = name


def _encoded(args: Mapping[str, JSON]) -> bytes:
    try:
        return dump(args)
    except InvalidJson as exc:
        raise _wrong(f"the arguments cannot be written down: {exc}") from None


def _bytes(name: str, value: JSON) -> bytes:
    try:
        return spelled(value).encode()
    except (InvalidJson, UnicodeEncodeError) as exc:
        raise _wrong(f"{name} cannot be written down: {exc}") from None


def _upper(char: str) -> str:
    return char.upper() if char.isascii() else char


def _size(variable: str, value: bytes) -> int:
    return len(variable) + len(value) + len("=\0") + _POINTER_BYTES


def _wrong(message: str) -> ToolError:
    return ToolError(message, code="VALIDATION_ERROR", before_effect=True)
