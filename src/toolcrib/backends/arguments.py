"""Arguments as words of a command line: one `--name=value` each, exact to the character.

A word is never split, quoted or seen by a shell, so a value may hold anything but a NUL, which ends every word.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, dump

LONGEST_WORD = 128 * 1024
"""Of one word with the NUL that ends it: what Linux takes."""
_MOST_TOTAL = 1024 * 1024
"""Of all words together; the variables need room as well."""


def flags(args: Mapping[str, JSON], names: Sequence[str]) -> tuple[str, ...]:
    """The words for these arguments, in the order of `names`.

    Raises:
        ToolError: they cannot be said so; nothing happened.
    """
    wrong = faults(args, names)
    if wrong:
        raise ToolError("; ".join(wrong), code="VALIDATION_ERROR", before_effect=True)
    # The system takes bytes. Said so, they are those of UTF-8 whatever the locale is.
    return tuple(os.fsdecode(f"--{name}={spelled(args[name])}".encode()) for name in names if name in args)


def faults(args: Mapping[str, JSON], names: Sequence[str] | None) -> list[str]:
    """What of these arguments no command line can carry. Without `names`, somebody else looks at those."""
    found, total = [], 0
    for name, value in args.items():
        if names is not None and name not in names:
            found.append(f"{name!r} is not an argument of this tool; it has {', '.join(names) or 'none'}")
            continue
        try:
            text = spelled(value)
            size = len(name) + len(text.encode()) + len("--=\0")
        except (InvalidJson, UnicodeEncodeError) as exc:
            found.append(f"{name} cannot be written down: {exc}")
            continue
        total += size
        if "\0" in text:
            found.append(f"{name} holds a NUL, which ends a word of a command line; leave it out")
        elif size > LONGEST_WORD:
            message = f"{name} has {size} bytes, and a word of a command line at most {LONGEST_WORD}"
            found.append(f"{message}; put it into a file and give the file's path")
    if total > _MOST_TOTAL and not found:
        message = f"the arguments have {total} bytes together, and a command line takes at most {_MOST_TOTAL}"
        found.append(f"{message}; put the long ones into files")
    return found


@dataclass(frozen=True, slots=True)
class Carried:
    """A tool's own look at its arguments, before anybody is asked: whether a command line can carry them."""

    names: tuple[str, ...] | None
    """Those it knows; None where its schema knows no others."""

    def __call__(self, args: Mapping[str, JSON]) -> list[str]:
        return faults(args, self.names)


def spelled(value: JSON) -> str:
    """A value as text: a string as it is, everything else as JSON says it. Nothing is coerced.

    Raises:
        InvalidJson: JSON has no word for it.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidJson(f"{value} is not a number of JSON")
    return dump(value).decode()
