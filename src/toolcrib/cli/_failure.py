"""How a verb says that it came to nothing: a line for a person, with `--json` the one document, and an exit status."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..core.call import Result, explain
from ..core.errors import REFUSALS, ToolcribError
from ..core.jsontext import dump_ascii
from . import code_of
from ._text import visible

_EXITS = {
    "TOOL_NOT_FOUND": 4,
    "SESSION_NOT_FOUND": 4,
    "TIMEOUT": 124,
    "VALIDATION_ERROR": 2,
    "TOOL_NAME_INVALID": 2,
    "INPUT_TOO_LARGE": 2,
    "CONFIG_INVALID": 2,
}
_OF_VERBS = {"FILE_NOT_FOUND": 4, "ENGINE_NOT_AVAILABLE": 2}
"""Where it is not a tool that failed with it."""


class UsageError(ToolcribError):
    """What was typed is not right; the message says what is."""

    code = "VALIDATION_ERROR"


def exit_status(code: str) -> int:
    return 3 if code in REFUSALS else _EXITS.get(code, 1)


@contextmanager
def in_vain(what: str) -> Iterator[None]:
    """Say of what the machine refuses what that means here: "nothing was trusted: …"."""
    try:
        yield
    except OSError as exc:
        raise ToolcribError(f"{what}: {exc}", code=code_of(exc)) from None


def report(failure: ToolcribError, verb: str, *, as_json: bool) -> int:
    """Say why the verb came to nothing, and return its exit status."""
    if as_json:
        with suppress(OSError):  # where it cannot be printed, the line for a person is all that can be said
            print(dump_ascii(Result(error=explain(failure)).to_dict()).decode(), flush=True)
    about = f"toolcrib {verb}:" if isinstance(failure, UsageError) else failure.code
    print(f"{about} {visible(str(failure))}", file=sys.stderr)
    return _OF_VERBS.get(failure.code) or exit_status(failure.code)
