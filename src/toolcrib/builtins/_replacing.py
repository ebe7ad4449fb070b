"""Exact replacement in a text; and, where the wanted text is not there, what comes closest to it."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from heapq import nlargest
from typing import NamedTuple

_CLOSEST = 3
_WORTH_SHOWING = 0.6
_MOST_LINES = 50_000
_MOST_COMPARED = 24
_LONGEST_COMPARED = 8_000
_MOST_SHOWN = 12
_LINES_NAMED = 10
_WORD = re.compile(r"\w+")


class Miss(Exception):
    """The wanted text is not there, or there more than once; the words say what to do."""


class Edit(NamedTuple):
    """One replacement."""

    old: str
    new: str
    everywhere: bool = False


def replaced(content: str, edit: Edit) -> tuple[str, int]:
    """The text with one edit made, and how often. All that is not replaced stays as it is, line ends too.

    Raises:
        Miss: the old text is not there, or is there more than once.
    """
    if not edit.old:
        raise Miss("old_string is empty; give the text to replace, or use write_file for a whole file")
    if edit.old == edit.new:
        raise Miss("old_string and new_string are the same; nothing would change")
    if "\r" not in content:
        return _replaced_plainly(content, edit)
    # A model sees and sends one kind of line end; the file may have the other, or both.
    plain, new = edit.old.replace("\r\n", "\n"), edit.new.replace("\r\n", "\n")
    pattern = re.compile(r"\r?\n".join(map(re.escape, plain.split("\n"))))
    found = list(pattern.finditer(content))
    _check(len(found), edit, content, (each.start() for each in found))
    windows = content.count("\r\n") * 2 > content.count("\n")
    parts: list[str] = []
    at = 0
    for each in found:
        ends = "\r\n" if "\r\n" in each[0] or ("\n" not in each[0] and windows) else "\n"
        parts += (content[at : each.start()], new.replace("\n", ends))
        at = each.end()
    return "".join((*parts, content[at:])), len(found)


def _replaced_plainly(content: str, edit: Edit) -> tuple[str, int]:
    old, new = edit.old.replace("\r\n", "\n"), edit.new.replace("\r\n", "\n")
    count = content.count(old)
    _check(count, edit, content, _places(content, old))
    return content.replace(old, new), count


def _places(content: str, old: str) -> Iterator[int]:
    at = content.find(old)
    while at >= 0:
        yield at
        at = content.find(old, at + len(old))


def _check(count: int, edit: Edit, content: str, places: Iterator[int]) -> None:
    if count > 1 and not edit.everywhere:
        lines = [str(content.count("\n", 0, at) + 1) for at, _ in zip(places, range(_LINES_NAMED), strict=False)]
        more = f" and {count - _LINES_NAMED} more" if count > _LINES_NAMED else ""
        raise Miss(
            f"old_string is there {count} times, at lines {', '.join(lines)}{more}; "
            "add lines around it until it is there once, or set replace_all"
        )
    if not count:
        raise Miss(f"old_string is not there{_closest(content, edit.old)}")


def _closest(content: str, old: str) -> str:
    """What is nearly the wanted text, and how it differs: in white space first, which is the commonest fault."""
    lines = content.replace("\r\n", "\n").split("\n")[:_MOST_LINES]
    wanted = old.replace("\r\n", "\n").strip("\n").split("\n")
    same = [at for at in _windows(lines, wanted) if _squeezed(lines[at : at + len(wanted)]) == _squeezed(wanted)]
    if same:
        shown = (_whitespace(lines[at : at + len(wanted)], wanted, at) for at in same[:_CLOSEST])
        return "; only its white space differs:\n" + "\n".join(shown)
    size = len(wanted)
    scored = nlargest(_CLOSEST, ((_likeness(lines[at : at + size], wanted), -at) for at in _likely(lines, wanted)))
    near = [(score, -at) for score, at in scored if score >= _WORTH_SHOWING]
    if not near:
        return ", and nothing in the file is like it; read the file again"
    shown = (_contrast(lines[at : at + len(wanted)], wanted, at) for _, at in near)
    return "; the closest in the file:\n" + "\n".join(shown)


def _windows(lines: list[str], wanted: list[str]) -> Iterator[int]:
    """Where a passage could begin that differs in white space alone."""
    first = "".join(wanted[0].split())
    return (at for at in range(len(lines) - len(wanted) + 1) if "".join(lines[at].split()) == first)


def _squeezed(lines: list[str]) -> list[str]:
    return ["".join(line.split()) for line in lines]


def _likely(lines: list[str], wanted: list[str]) -> list[int]:
    """Where passages begin that share the most words with what is wanted. Cheap: most of a file is nothing like it."""
    words = [set(_WORD.findall(line)) for line in wanted]
    sought = max(range(len(wanted)), key=lambda at: len(words[at]))  # the line that says the most
    if not words[sought]:
        return []

    def shared(at: int) -> float:
        here = set(_WORD.findall(lines[at][:_LONGEST_COMPARED]))
        return len(here & words[sought]) / (len(here | words[sought]) or 1)

    best = nlargest(_MOST_COMPARED, ((shared(at), -at) for at in range(len(lines))))
    starts = (max(0, min(-at - sought, len(lines) - len(wanted))) for score, at in best if score > 0)
    return list(dict.fromkeys(starts))


def _likeness(here: list[str], wanted: list[str]) -> float:
    left, right = ("\n".join(each)[:_LONGEST_COMPARED] for each in (here, wanted))
    return SequenceMatcher(None, left, right, autojunk=False).ratio() if len(left) < 2000 else _by_lines(here, wanted)


def _by_lines(here: list[str], wanted: list[str]) -> float:
    """For long passages, where comparing letter by letter would take too long."""
    return SequenceMatcher(None, _squeezed(here), _squeezed(wanted)).ratio()


def _whitespace(here: list[str], wanted: list[str], at: int) -> str:
    differing = [(number, *pair) for number, pair in enumerate(zip(here, wanted, strict=True)) if pair[0] != pair[1]]
    shown = [
        line
        for number, there, given in differing[:_MOST_SHOWN]
        for line in (f"  line {at + number + 1} is {_visible(there)}", f"  you gave {_visible(given)}")
    ]
    more = [f"  and {len(differing) - _MOST_SHOWN} more lines"] if len(differing) > _MOST_SHOWN else []
    return "\n".join((_named(here, at), *shown, *more))


def _contrast(here: list[str], wanted: list[str], at: int) -> str:
    shown: list[str] = []
    for tag, low, high, left, right in SequenceMatcher(None, here, wanted, autojunk=False).get_opcodes():
        if tag != "equal":
            shown += [f"  line {at + number + 1} is {_visible(here[number])}" for number in range(low, high)]
            shown += [f"  you gave {_visible(wanted[number])}" for number in range(left, right)]
    more = [f"  and {len(shown) - 2 * _MOST_SHOWN} more lines"] if len(shown) > 2 * _MOST_SHOWN else []
    return "\n".join((_named(here, at), *shown[: 2 * _MOST_SHOWN], *more))


def _named(here: list[str], at: int) -> str:
    return f"lines {at + 1} to {at + len(here)}:" if len(here) > 1 else f"line {at + 1}:"


def _visible(line: str) -> str:
    """With white space that can be told apart, at both ends and between words."""
    return repr(_shortened(line))


def _shortened(line: str) -> str:
    return line if len(line) <= 200 else f"{line[:200]}… ({len(line)} characters)"
