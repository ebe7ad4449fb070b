"""Wildcards as regular expressions that take time in proportion to the text, whatever the pattern.

Between two stars stands a part of a fixed length. The first place where it fits is as good as any later one, so it is
taken and never given back (an atomic group): nothing is tried twice.
"""

import re
from collections.abc import Sequence

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t-\\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_END = r"(?=/|\Z)"


def segment(text: str) -> str | None:
    """What one name must be like, from one slash to the next; None for a pattern that fits nothing.

    `*` `?` `[…]` `[!…]` and a backslash before what is meant as it is, as git reads them.
    """
    parts: list[str] = [""]
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            if parts[-1] or len(parts) == 1:
                parts.append("")
        elif char == "?":
            parts[-1] += "[^/]"
        elif char == "[":
            held = _class(text, at)
            if held is None:
                return None
            at = held[1]
            parts[-1] += held[0]
        elif char == "\\":
            if at == len(text):
                return None
            parts[-1] += re.escape(text[at])
            at += 1
        else:
            parts[-1] += re.escape(char)
    if len(parts) == 1:
        return parts[0]
    middle = "".join(f"(?>[^/]*?{part})" for part in parts[1:-1])
    return parts[0] + middle + (f"(?>[^/]*?{parts[-1]}{_END})" if parts[-1] else "[^/]*+")


def is_plain(text: str) -> bool:
    """Whether it means just what it says."""
    return not any(char in text for char in "*?[\\")


def segments(parts: Sequence[str]) -> str | None:
    """What a path must be like, given a pattern for each of its names; `**` stands for any number of names.

    Fits from the start of the path up to a slash or its end, as far as the last pattern goes. A `**` at the end wants
    at least one name.
    """
    runs: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            if runs[-1] or len(runs) == 1:
                runs.append([])
            continue
        made = segment(part)
        if made is None:
            return None
        runs[-1].append(made)
    joined = ["/".join(run) for run in runs]
    if len(runs) == 1:
        return joined[0] + _END
    first = f"{joined[0]}/" if joined[0] else ""
    middle = "".join(f"(?>(?:[^/]++/)*?{run}/)" for run in joined[1:-1])
    return first + middle + (rf"(?>(?:[^/]++/)*?{joined[-1]}(?=/?\Z))" if joined[-1] else "[^/]++(?:/[^/]++)*+")


def _class(text: str, at: int) -> tuple[str, int] | None:
    """The characters between brackets, of which the first is at `at`, and where the pattern goes on."""
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    items: list[str] = []
    first = True
    while True:
        char = text[at : at + 1]
        if not char:
            return None
        if char == "]" and not first:
            break
        first = False
        if char == "[" and text[at + 1 : at + 2] == ":" and (end := text.find("]", at + 2)) > 0:
            if text[end - 1] != ":" or end - 1 < at + 2:
                items.append("\\[")  # not a named class after all
                at += 1
                continue
            named = _POSIX.get(text[at + 2 : end - 1])
            if named is None:
                return None
            items.append(named)
            at = end + 1
            continue
        low, at = _char(text, at)
        if not low:
            return None
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in ("]", ""):
            high, at = _char(text, at + 1)
            if not high:
                return None
            if low <= high:
                items.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            items.append(re.escape(low))
    held = "".join(items)
    if negated:
        return f"[^/{held}]", at + 1
    return (f"(?!/)[{held}]" if held else "(?!)"), at + 1


def _char(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] == "\\":
        at += 1
    return text[at : at + 1], at + 1
