"""A regular expression that is to mean the same to ripgrep and to Python.

The dialect is ripgrep's. A pattern is read once and written twice: what both engines know is written so that they agree
(a line end never takes part, a brace that repeats nothing is a brace). What only one of
them knows goes to that one. How much work Python could have with it at worst is found out on the way, since Python goes
back and tries again where ripgrep does not.
"""

import re
from typing import NamedTuple

from ..core.errors import ToolError

_REPEAT = re.compile(r"\{(\d{1,4})?(,?)(\d{1,4})?\}")
_FLAGS = re.compile(r"\(\?i\)")
_PYTHON_ONLY = re.compile(r"\(\?(?:<?[=!]|>|\(|P=)")
_NAME = re.compile(r"\(\?P?<[A-Za-z_]\w*>", re.ASCII)
_MOST_WAYS = 256
_LONGEST_REPEAT = 100
_SPACE = " \\t\\r\\f\\v"
_WIDE_SPACE = "\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_LINE_END = "a line end, and lines are searched one by one"
_STRANGE = (
    "[^\\x00-\xb1\xb4-\xb8\xba\xbb\xbf-\u012f\u0132-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u203e\u2041-\u2053"
    "\u20a0-\u20bf\u2190-\u22ff\u2500-\u25ff\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3\U0001f300-\U0001f6ff]"
)
"""Outside the common alphabets: what is part of a word there, and what is upper case, depends on whom one asks."""
_DOTLESS = "[\u0130\u0131]"
_CONTROL = {"t": "\\t", "r": "\\r", "f": "\\f", "v": "\\v"}


class Pattern(NamedTuple):
    """What is to be found, for each engine."""

    ripgrep: str | None
    """None where ripgrep cannot do it."""
    ascii: str | None
    """For Python, on bytes that are all ASCII; None where only ripgrep can do it."""
    text: str | None
    """For Python, on text; None where only ripgrep can do it."""
    ignore_case: bool
    wide: bool
    """Whether characters beyond ASCII can take part in a hit."""
    doubtful: str
    """Characters that the engines may see differently, as a regular expression; empty when there are none."""
    degree: int
    """Python's work grows with this power of the length of a line."""
    ways: int
    """And with this factor. 0: there is no saying how much it could be."""
    needs: str = ""
    """Text without which nothing is found, where there is such."""


class _Beyond(Exception):
    """Not what both engines know."""

    def __init__(self, engine: str) -> None:
        self.engine = engine


class _Seen(NamedTuple):
    """A part of a pattern, written for ripgrep, for ASCII and for text, and what trying it costs."""

    ripgrep: str
    ascii: str
    text: str
    degree: int = 0
    ways: int = 1
    fixed: bool = True
    """Always the same number of characters, in one way."""
    needs: str = ""
    """Text that is in all that it finds."""
    plain: bool = False
    """It is that text."""


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0
        self.wide = not pattern.isascii()
        self.words = False
        """Whether it matters what is part of a word."""
        self.mixed = False
        """Whether case matters in one part and not in another."""

    def whole(self) -> _Seen:
        seen = self.choice(0)
        if self.at < len(self.pattern):
            raise wrong(self.pattern, "a ) without its (")
        return seen

    def choice(self, depth: int) -> _Seen:
        if depth > 50:
            raise _Beyond("ripgrep")
        branches = [self.sequence(depth)]
        while self.pattern[self.at : self.at + 1] == "|":
            self.at += 1
            branches.append(self.sequence(depth))
        if len(branches) == 1:
            return branches[0]
        return _Seen(
            "|".join(each.ripgrep for each in branches),
            "|".join(each.ascii for each in branches),
            "|".join(each.text for each in branches),
            max(each.degree for each in branches),
            sum(each.ways for each in branches),
            fixed=False,
        )

    def sequence(self, depth: int) -> _Seen:
        parts: list[_Seen] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            parts.append(self.repeated(self.atom(depth)))
        return _joined(parts)

    def repeated(self, one: _Seen) -> _Seen:
        """A part with the quantifier after it, if there is one."""
        char = self.pattern[self.at : self.at + 1]
        braces = _REPEAT.match(self.pattern, self.at) if char == "{" else None
        if braces is not None and (braces[1] or braces[3]):
            low = int(braces[1] or 0)
            high = None if braces[2] and not braces[3] else int(braces[3] or braces[1])
            sign = f"{{{low},{'' if high is None else high}}}" if braces[2] else f"{{{low}}}"
            self.at = braces.end()
        elif char and char in "*+?":
            low, high = (1 if char == "+" else 0), (1 if char == "?" else None)
            sign = char
            self.at += 1
        else:
            return one
        if max(low, high or 0) > _LONGEST_REPEAT or one.ripgrep in ("^", "$", "\\b", "\\B"):
            raise _Beyond("ripgrep")
        if self.pattern[self.at : self.at + 1] == "?":
            sign += "?"
            self.at += 1
        if self.pattern[self.at : self.at + 1] in ("*", "+", "?") or _REPEAT.match(self.pattern, self.at):
            raise _Beyond("ripgrep")  # a repeated repetition, which Python takes for another thing
        degree, ways = one.degree, one.ways
        if high is None:
            degree, ways = degree + 1, ways * max(low, 1) if one.fixed else 0
        elif one.degree and high > 1:
            ways = 0
        else:
            ways = (ways + 1) ** high if not one.fixed else high - low + 1 + low * (high > low)
        return _Seen(
            one.ripgrep + sign, one.ascii + sign, one.text + sign, degree, min(ways, _MOST_WAYS + 1), high == low
        )

    def atom(self, depth: int) -> _Seen:
        char = self.pattern[self.at]
        if char == "(":
            return self.group(depth)
        if char == "[":
            return self.set()
        self.at += 1
        if char == "\\":
            return self.escape()
        if char == ".":
            self.wide = True
            return _Seen(".", ".", ".")
        if char in "^$":
            return _Seen(char, char, char)
        if char in "*+?":
            raise wrong(self.pattern, f"nothing before {char} that it could repeat")
        if char == "\n":
            raise wrong(self.pattern, _LINE_END)
        return _literal(char)

    def group(self, depth: int) -> _Seen:
        pattern = self.pattern
        if _PYTHON_ONLY.match(pattern, self.at):
            raise _Beyond("python")
        opened = self.at
        if pattern.startswith("(?:", opened):
            before, self.at = "(?:", opened + 3
        elif pattern.startswith("(?i:", opened):
            before, self.at = "(?i:", opened + 4
            self.wide = self.words = self.mixed = True
        elif (named := _NAME.match(pattern, opened)) is not None:
            before, self.at = "(?:", named.end()
        elif pattern.startswith("(?", opened):
            raise _Beyond("ripgrep")
        else:
            before, self.at = "(?:", opened + 1
        inner = self.choice(depth + 1)
        if self.at >= len(pattern):
            raise wrong(pattern, "a ( without its )")
        self.at += 1
        return inner._replace(
            ripgrep=f"{before}{inner.ripgrep})", ascii=f"{before}{inner.ascii})", text=f"{before}{inner.text})"
        )

    def escape(self) -> _Seen:
        """After a backslash, outside brackets."""
        char = self.pattern[self.at : self.at + 1]
        if not char:
            raise wrong(self.pattern, "a backslash at the end")
        self.at += 1
        if char in "dws":
            self.wide = True
            self.words |= char == "w"
            narrow = f"[{_SPACE}]" if char == "s" else f"\\{char}"
            return _Seen(f"\\{char}", narrow, f"[{_SPACE}{_WIDE_SPACE}]" if char == "s" else narrow)
        if char in "DWS":
            self.wide = True
            self.words |= char == "W"
            spaces = f"[^{_SPACE}\\n{_WIDE_SPACE}]"
            made = f"[^\\{char.lower()}\\n]"
            return _Seen(f"\\{char}", made, spaces if char == "S" else made)
        if char in "bB":
            if self.pattern[self.at : self.at + 1] == "{":
                raise _Beyond("ripgrep")
            self.wide = self.words = True
            return _Seen(f"\\{char}", f"\\{char}", f"\\{char}")
        if char == "n":
            raise wrong(self.pattern, _LINE_END)
        if char in _CONTROL:
            return _Seen(f"\\{char}", _CONTROL[char], _CONTROL[char])
        if char.isdigit() and char != "0":
            raise _Beyond("python")
        if char.isalnum() or char in "<>":
            raise _Beyond("ripgrep")
        return _literal(char)

    def set(self) -> _Seen:
        """Characters between brackets."""
        pattern, start = self.pattern, self.at
        self.at += 1
        negated = pattern[self.at : self.at + 1] == "^"
        self.at += negated
        ripgrep, narrow, text = [], [], []
        lines = ""
        first = True
        while True:
            char = pattern[self.at : self.at + 1]
            if not char:
                raise wrong(pattern, "a [ without its ]")
            if char == "]" and not first:
                break
            first = False
            if char == "[" or pattern[self.at : self.at + 2] in ("&&", "--", "~~"):
                raise _Beyond("ripgrep")
            kind = pattern[self.at + 1 : self.at + 2] if char == "\\" else ""
            if kind and kind in "dwsDWS":
                self.wide = True
                self.words |= kind in "wW"
                self.at += 2
                if pattern[self.at : self.at + 1] == "-" and pattern[self.at + 1 : self.at + 2] != "]":
                    raise _Beyond("ripgrep")
                if kind in "DWS":
                    lines = "(?!\\n)"
                ripgrep.append(f"\\{kind}")
                if kind == "S":
                    raise _Beyond("ripgrep")
                narrow.append(_SPACE if kind == "s" else f"\\{kind}")
                text.append(_SPACE + _WIDE_SPACE if kind == "s" else f"\\{kind}")
                continue
            low = self.member()
            high = ""
            if pattern[self.at : self.at + 1] == "-" and pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self.member()
                if high < low:
                    raise wrong(pattern, f"a range from {low!r} down to {high!r}")
            item = _in_set(low) + (f"-{_in_set(high)}" if high else "")
            ripgrep.append(item)
            text.append(item)
            self.wide |= (high or low) > "\x7f"
            if low <= "\x7f":
                narrow.append(item if (high or low) <= "\x7f" else f"{_in_set(low)}-\\x7f")
        self.at += 1
        if negated:
            self.wide = True
            made = (f"[^{''.join(ripgrep)}]", f"[^\\n{''.join(narrow)}]", f"[^\\n{''.join(text)}]")
        else:
            held = f"{lines}[{''.join(narrow)}]" if narrow else "(?!)"
            made = (f"[{''.join(ripgrep)}]", held, f"{lines}[{''.join(text)}]")
        if start + 1 == self.at:
            raise _Beyond("ripgrep")
        return _Seen(*made)

    def member(self) -> str:
        """One character between brackets."""
        char = self.pattern[self.at]
        self.at += 1
        if char == "\n":
            raise wrong(self.pattern, _LINE_END)
        if char != "\\":
            return char
        char = self.pattern[self.at : self.at + 1]
        if not char:
            raise wrong(self.pattern, "a backslash at the end")
        self.at += 1
        if char == "n":
            raise wrong(self.pattern, _LINE_END)
        if char in _CONTROL:
            return {"t": "\t", "r": "\r", "f": "\f", "v": "\v"}[char]
        if char.isalnum():
            raise _Beyond("ripgrep")
        return char


def understood(pattern: str, *, literal: bool = False, ignore_case: bool = False) -> Pattern:
    """A pattern for both engines, or for the one that knows it.

    Raises:
        ToolError: neither does.
    """
    if "\0" in pattern or any("\ud800" <= char <= "\udfff" for char in pattern):
        raise wrong(pattern, "a character that no text holds")
    if literal:
        if "\n" in pattern:
            raise wrong(pattern, _LINE_END)
        seen = [_literal(char) for char in pattern]
        read, words, wide, mixed = _joined(seen), False, not pattern.isascii(), False
    else:
        if flag := _FLAGS.match(pattern):
            pattern, ignore_case = pattern[flag.end() :], True
        reader = _Reader(pattern)
        try:
            read = reader.whole()
        except _Beyond as beyond:
            if beyond.engine == "ripgrep":
                return Pattern(pattern, None, None, ignore_case, True, "", 0, 0)
            return _python_only(pattern, ignore_case=ignore_case)
        words, wide, mixed = reader.words, reader.wide, reader.mixed
    ways = read.ways if read.ways <= _MOST_WAYS else 0
    doubtful = _STRANGE if words else ""
    if ignore_case:
        wide, doubtful = True, doubtful or (_DOTLESS if pattern.isascii() else "[^\\x00-\\x7f]")
    narrow = None if ignore_case and not pattern.isascii() else read.ascii
    needs = "" if mixed or narrow is None else read.needs
    return Pattern(read.ripgrep, narrow, read.text, ignore_case, wide, doubtful, read.degree, ways, needs)


def _joined(parts: list[_Seen]) -> _Seen:
    ways = 1
    for part in parts:
        ways = min(ways * part.ways, _MOST_WAYS + 1)
    runs = [""]
    for part in parts:
        if part.plain:
            runs[-1] += part.needs
        else:
            runs += [part.needs, ""]
    return _Seen(
        "".join(part.ripgrep for part in parts),
        "".join(part.ascii for part in parts),
        "".join(part.text for part in parts),
        sum(part.degree for part in parts),
        ways,
        all(part.fixed for part in parts),
        max(runs, key=len),
    )


def wrong(pattern: str, what: str) -> ToolError:
    message = f"the pattern has {what}; put a backslash before what is meant as it is, or set literal to true"
    return ToolError(message, code="VALIDATION_ERROR", details={"pattern": pattern}, before_effect=True)


def _python_only(pattern: str, *, ignore_case: bool) -> Pattern:
    try:
        re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as exc:
        raise wrong(pattern, f"a fault ({exc})") from None
    return Pattern(None, None, pattern, ignore_case, True, "", 0, 0)


def _literal(char: str) -> _Seen:
    if char < "\x80":
        return _Seen(_escaped(char), re.escape(char), re.escape(char), needs=char, plain=True)
    return _Seen(char, "(?!)", char, needs=char, plain=True)


def _escaped(char: str) -> str:
    return f"\\{char}" if char in r"\.+*?()|[]{}^$#&-~" else char


def _in_set(char: str) -> str:
    return f"\\{char}" if char in "\\]^-[&~#|" else char
