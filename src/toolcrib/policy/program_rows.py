"""The table `programs.txt`, read into rows on demand."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True, slots=True)
class Row:
    """What the table says of a program or a sub-command.

    `options` and `dangerous` say how many values each option takes; -1 is one that is joined to it, or none.
    """

    options: dict[str, int] = field(default_factory=dict)
    dangerous: dict[str, int] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    checks: tuple[str, ...] = ()
    operands: int | None = None
    below: dict[str, "Row"] = field(default_factory=dict)


@cache
def row_of(name: str) -> Row | None:
    """The row of a program, if the table has one."""
    lines = _blocks().get(name)
    if lines is None:
        return None
    words = lines[0].split()
    if len(words) == 2 and words[1].startswith("like="):
        return row_of(words[1].removeprefix("like="))
    return _row(lines, Row())


@cache
def _blocks() -> dict[str, tuple[str, ...]]:
    """The lines of the table, by program."""
    found: dict[str, list[str]] = {}
    shared: dict[str, str] = {}
    current: list[str] = []
    with open(os.path.join(os.path.dirname(__file__), "programs.txt"), encoding="utf-8") as file:
        table = file.read()
    for line in table.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("{"):
            name, _, words = line.partition(" = ")
            shared[name] = words
            continue
        for name, words in shared.items():
            line = line.replace(name, words)
        if not line.startswith(" "):
            current = found.setdefault(line.split()[0], [])
        current.append(line)
    return {name: tuple(lines) for name, lines in found.items()}


def _row(lines: Sequence[str], above: Row) -> Row:
    """A row and those below it. What the row above says of options holds here, too, unless this one says otherwise."""
    options, dangerous, flags = dict(above.options), dict(above.dangerous), set(above.flags & {"single", "tail"})
    checks, operands = list(above.checks), None
    for word in lines[0].split()[1:]:
        if word.startswith("code="):
            checks.append(word.removeprefix("code="))
        elif word.startswith("operands="):
            operands = int(word.removeprefix("operands="))
        elif word.startswith("!-"):
            name, takes = _takes(word[1:])
            dangerous[name] = takes
            options.pop(name, None)
        elif word.startswith("-"):
            name, takes = _takes(word)
            options[name] = takes
            dangerous.pop(name, None)
        else:
            flags.add(word)
    row = Row(options, dangerous, frozenset(flags), tuple(checks), operands)
    row.below.update({group[0].split()[0]: _row(group, row) for group in _groups(lines[1:])})
    return row


def _groups(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """Each line of the least indent, with the deeper ones after it."""
    starts = [at for at, line in enumerate(lines) if _indent(line) == _indent(lines[0])]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        yield lines[start:end]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _takes(word: str) -> tuple[str, int]:
    for ending, takes in (("==", 2), ("=", 1), ("?", -1)):
        if word.endswith(ending):
            return word.removesuffix(ending), takes
    return word, 0
