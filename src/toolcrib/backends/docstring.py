"""What a docstring says: the words for the model, and those about each parameter (Google, NumPy and Sphinx style)."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_PARAMETERS = frozenset(
    ("args", "arguments", "parameters", "params", "other parameters", "keyword args", "keyword arguments")
)
_OTHERS = frozenset(("returns", "return", "yields", "yield", "raises", "raise", "attributes", "warns"))
_FIELD = re.compile(r":(\w+)(?: ([^:]*))?:\s*(.*)")
_GOOGLE = re.compile(r"\*{0,2}(\w+)(?:\s*\([^)]*\))?\s*:\s*(.*)")
_NUMPY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")


class Description(NamedTuple):
    text: str = ""
    """Everything before the first section on parameters, results or errors."""
    parameters: dict[str, str] = {}


def described(docstring: str | None) -> Description:
    """Of a docstring as `inspect.getdoc` gives it. What is not understood is part of the words before it."""
    lines = (docstring or "").split("\n")
    found: dict[str, str] = {}
    first = len(lines)
    for at, line in enumerate(lines):
        if (field := _FIELD.match(line)) and field[1] in ("param", "parameter", "arg", "argument", "key", "keyword"):
            first = min(first, at)
            if field[2]:
                found[field[2].split()[-1].lstrip("*")] = _joined([field[3], *_deeper(lines[at + 1 :], 0)])
        elif field and field[1] in ("type", "rtype", "return", "returns", "raises", "raise", "yields"):
            first = min(first, at)
        elif (title := _title(lines, at)) is not None:
            first = min(first, at)
            if title[0] in _PARAMETERS:
                found |= dict(title[1])
    return Description("\n".join(lines[:first]).strip(), {name: text for name, text in found.items() if text})


def _title(lines: Sequence[str], at: int) -> tuple[str, list[tuple[str, str]]] | None:
    """The section that begins at a line, with what it says of each name; None when none begins there."""
    line = lines[at]
    following = lines[at + 1] if at + 1 < len(lines) else ""
    word = line.removesuffix(":").lower()
    if word not in _PARAMETERS and word not in _OTHERS:
        return None
    if line.endswith(":") and following.startswith((" ", "\t")):
        return word, list(_google(lines[at + 1 :]))
    if len(following) >= 3 and set(following) == {"-"}:
        return word, list(_numpy(lines[at + 2 :]))
    return None


def _google(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    body = list(_deeper(lines, 0))
    inner = min((_indent(line) for line in body if line.strip()), default=0)
    for at, line in enumerate(body):
        if _indent(line) == inner and (entry := _GOOGLE.match(line.strip())):
            yield entry[1], _joined([entry[2], *_deeper(body[at + 1 :], inner)])


def _numpy(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for at, line in enumerate(lines):
        underlined = at + 1 < len(lines) and len(lines[at + 1]) >= 3 and set(lines[at + 1]) == {"-"}
        if underlined or (line and not line[0].isspace() and not _NUMPY.fullmatch(line)):
            return
        if line and not line[0].isspace() and (entry := _NUMPY.fullmatch(line)):
            text = _joined(list(_deeper(lines[at + 1 :], 0)))
            yield from ((name.strip().lstrip("*"), text) for name in entry[1].split(","))


def _deeper(lines: Sequence[str], indent: int) -> Iterator[str]:
    """The lines that follow and stand further in; empty ones among them as well."""
    for line in lines:
        if line.strip() and _indent(line) <= indent:
            return
        yield line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())
