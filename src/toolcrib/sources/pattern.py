"""Texts that fit a regular expression, for tools to be tried with. Of the language of expressions, what schemas use.

Nobody relies on the texts: whoever takes one checks it against the schema.
"""

from collections.abc import Callable
from random import Random

_LONGEST = 100_000
"""Parts of one text. A repeat of a repeat of a repeat has no other end."""
_MOST = 4
"""Repeats beyond the least, where an expression leaves it open."""
_CLASSES = {
    "d": "0123456789",
    "w": "abcxyzABCXYZ0189_",
    "s": " ",
    "n": "\n",
    "t": "\t",
    "D": "ax-_",
    "W": "-. ",
    "S": "ax-0",
}
_ANY = "ax0-_ ."
_SPECIAL = "|()[]{}*+?.^$\\"

Maker = Callable[[], str]


class Unknown(Exception):
    """An expression with a part that is not known here."""


def matching(expression: str, random: Random) -> str:
    """A text that should fit the expression.

    Raises:
        Unknown: it has a part that is not known here.
    """
    reader = _Reader(expression, random)
    make = reader.choice()
    if reader.rest():
        raise Unknown(expression)
    return make()


class _Reader:
    """Reads an expression once, into a function that makes a text."""

    def __init__(self, expression: str, random: Random) -> None:
        self._text, self._at, self._random = expression, 0, random
        self._left = _LONGEST

    def rest(self) -> str:
        return self._text[self._at :]

    def choice(self) -> Maker:
        branches = [self._row()]
        while self._take("|"):
            branches.append(self._row())
        return lambda: self._random.choice(branches)()

    def _row(self) -> Maker:
        parts: list[Maker] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            if not self._take("^") and not self._take("$"):
                parts.append(self._repeated(self._atom()))
        return lambda: "".join(make() for make in parts)

    def _atom(self) -> Maker:
        if self._take("("):
            if self._take("?") and not self._take(":"):
                raise Unknown(self._text)
            inner = self.choice()
            self._expect(")")
            return inner
        if self._take("["):
            return self._one_of(self._set())
        if self._take("."):
            return self._one_of(_ANY)
        if self._take("\\"):
            return self._one_of(self._escaped())
        char = self._next()
        if char in _SPECIAL:
            raise Unknown(self._text)
        return lambda: char

    def _set(self) -> str:
        excluded = self._take("^")
        chars = ""
        while not self._take("]"):
            char = self._escaped() if self._take("\\") else self._next()
            if len(char) == 1 and self.rest().startswith("-") and not self.rest().startswith("-]"):
                self._expect("-")
                last = self._escaped() if self._take("\\") else self._next()
                char = "".join(map(chr, range(ord(char), min(ord(last[:1] or char), ord(char) + 256) + 1)))
            chars += char
        chars = "".join(char for char in map(chr, range(32, 127)) if char not in chars) if excluded else chars
        if not chars:
            raise Unknown(self._text)
        return chars

    def _escaped(self) -> str:
        char = self._next()
        if char in _CLASSES:
            return _CLASSES[char]
        if char.isalnum():
            raise Unknown(self._text)
        return char

    def _repeated(self, make: Maker) -> Maker:
        least, most = 1, 1
        if self._take("*"):
            least, most = 0, _MOST
        elif self._take("+"):
            least, most = 1, 1 + _MOST
        elif self._take("?"):
            least, most = 0, 1
        elif self._take("{"):
            bounds, found, after = self.rest().partition("}")
            first, comma, last = bounds.partition(",")
            if not found or not first.isdecimal() or not (last.isdecimal() or not last):
                raise Unknown(self._text)
            least = int(first)
            most = int(last) if last else least + _MOST if comma else least
            self._at = len(self._text) - len(after)
        self._take("?")  # as little as possible: the same texts fit
        most = max(least, min(most, least + 20))
        return make if (least, most) == (1, 1) else lambda: self._several(make, self._random.randint(least, most))

    def _several(self, make: Maker, count: int) -> str:
        self._left -= count
        if self._left < 0:
            raise Unknown(self._text)
        return "".join(make() for _ in range(count))

    def _one_of(self, chars: str) -> Maker:
        return lambda: self._random.choice(chars)

    def _take(self, char: str) -> bool:
        found = self.rest().startswith(char)
        self._at += found
        return found

    def _expect(self, char: str) -> None:
        if not self._take(char):
            raise Unknown(self._text)

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise Unknown(self._text)
        self._at += 1
        return self._text[self._at - 1]
