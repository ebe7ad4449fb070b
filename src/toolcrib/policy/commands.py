"""Patterns of commands, as people write them in rules, and what they match.

A pattern is the first words of a command: `git status` is every command that begins with these two words, and more may
follow. After a last `$` nothing may: `git status $` is this command alone. A word may be one of several
(`status|log|diff`), `*` is any one word that is no option, and a last `...` only says aloud that more may follow.
Quotes make a word literal. Options at the end of a pattern (`pytest -q`, `git push --force`) are no matter of place: a
rule that loosens lets them pass wherever they stand, and a rule that tightens matches only commands that have all of
them. `--*` lets every option pass but those known to run, write or load something.

A rule that loosens uses `covers` and matches what it surely means: exact words, and no word that is not known to be
harmless. A rule that tightens uses `touches` and matches what might be meant, see `tightening.py`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from .argv import seen_through, unwrap
from .programs import hazards, is_interpreter, known_as, usage
from .shell import Script
from .tightening import has_option, leads, may_lead, program_key

Alternatives = tuple[str, ...]
"""What one word of a pattern may be; none at all stands for any one word that is no option."""

_TOKEN = re.compile(r"""(?s)'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<bare>[^'"\s]+)|(?P<blank>\s+)""")
_PLAIN = re.compile(r"[^\s'\"\\$`;&<>()|*?\[\]{}]+")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_OPTION = re.compile(r"--?[A-Za-z0-9][A-Za-z0-9_-]*")
_ANY_OPTION = "--*"
_MEANINGFUL = frozenset(("...", "*", "$", _ANY_OPTION))


@dataclass(frozen=True, slots=True)
class Pattern:
    """Which commands a rule speaks of. The words are as they are written, with quotes where they need some."""

    words: tuple[str, ...]
    rest: bool = True
    """Whether more words may follow."""
    options: frozenset[str] = frozenset()
    """Options that may, or for a rule that tightens must, be there; `*` is any that is not known to do harm."""
    keys: frozenset[str] = field(init=False, repr=False, compare=False)
    """Its programs, as `touches` compares them."""
    _required: frozenset[str] = field(init=False, repr=False, compare=False)
    _operands: tuple[Alternatives, ...] = field(init=False, repr=False, compare=False)
    """What `touches` looks for, made once: it is asked a thousand times for each call."""

    def __post_init__(self) -> None:
        later = self.words[1:]
        among = {_alternatives(word)[0] for word in later if _is_option(word)}
        operands = (_alternatives(word) for word in later if word != "--" and not _is_option(word))
        object.__setattr__(self, "keys", frozenset(map(program_key, self.programs)))
        object.__setattr__(self, "_required", self.options - {"*"} | among)
        object.__setattr__(self, "_operands", tuple(operands))

    @property
    def programs(self) -> Alternatives:
        """The names of the programs it is about."""
        return _alternatives(self.words[0])

    @classmethod
    def parse(cls, text: str) -> "Pattern":
        """
        Raises:
            ValueError: with what is wrong and how to write it.
        """
        if found := _CONTROL.search(text):
            raise ValueError(f"a command pattern cannot hold the character U+{ord(found.group()):04X}")
        tokens = list(_tokens(text))
        exact = bool(tokens) and tokens[-1] == "$"
        if tokens and tokens[-1] in ("$", "..."):
            tokens.pop()
        if not tokens:
            raise ValueError('a command pattern names at least a program, like "git status"')
        words = [_checked(token) for token in tokens]
        _check_program(words[0])
        if exact:
            return cls(tuple(words), rest=False)
        last = max(at for at, word in enumerate(words) if at == 0 or not _is_option(word))
        options = ("*" if word == _ANY_OPTION else _alternatives(word)[0] for word in words[last + 1 :])
        return cls(tuple(words[: last + 1]), options=frozenset(options))

    def allowing(self, options: frozenset[str]) -> "Pattern":
        """The same with more options.

        Raises:
            ValueError: it is a pattern of one exact command.
        """
        if not self.rest:
            raise ValueError(f"`{self}` is one exact command, and no option can be added to it")
        return replace(self, options=self.options | options)

    def covers(self, argv: Sequence[str]) -> bool:
        """Whether this is surely one of the commands that are meant. For rules that loosen."""
        if len(argv) < len(self.words) or not (self.rest or len(argv) == len(self.words)):
            return False
        for word, given in zip(self.words, argv, strict=False):  # of a thousand rules most end here
            if not _is(word, given):
                return False
        if not self.rest:
            return True
        return not _hazards(tuple(argv), self.options, len(self.words))

    def touches(self, argv: Sequence[str | None]) -> bool:
        """Whether this might be one of the commands that are meant. For rules that tighten."""
        if not argv or argv[0] is None:
            return True
        if program_key(argv[0]) not in self.keys or not may_lead(argv, self._operands):
            return False
        if self._required and not all(has_option(argv, option) for option in self._required):
            return False
        if len(argv) >= len(self.words) and all(map(_might_be, self.words[1:], argv[1:])):
            return True
        return leads(argv, self._operands)

    def __str__(self) -> str:
        options = (_ANY_OPTION if option == "*" else _quoted(option) for option in sorted(self.options))
        return " ".join([*self.words, *options, *([] if self.rest else ["$"])])


@lru_cache(1024)
def _hazards(argv: tuple[str, ...], named: frozenset[str], given: int) -> tuple[str, ...]:
    """Many rules are held against one command."""
    return hazards(argv, named, given=given)


def offered(argv: Sequence[str]) -> Pattern | None:
    """The pattern to offer when a person wants to be asked no more: program, sub-commands, and the options used here.

    None where that would be too much: code in operands, options that run or write, unknown programs, wrappers.
    """
    whole = unwrap(argv)
    if not argv or whole.doubts or whole.leaves != (tuple(argv),) or is_interpreter(known_as(argv[0])):
        return None
    use = usage(argv)
    if not use.known or use.narrow or not use.complete or any(each.kind != "option" for each in use.findings):
        return None
    options = frozenset(each.word for each in use.findings)
    if not all(map(_OPTION.fullmatch, options)):
        return None
    pattern = Pattern(tuple(map(_quoted, argv[: use.depth])), options=options)
    return pattern if pattern.covers(argv) else None


def exactly(argv: Sequence[str]) -> Pattern:
    """This very command and nothing else."""
    return Pattern(tuple(map(_quoted, argv)), rest=False)


def candidates(script: Script) -> tuple[tuple[str | None, ...], ...]:
    """Every command that a script might run, for `touches`."""
    found: dict[tuple[str | None, ...], None] = {}
    for words in (*script.parts, *script.mentioned):
        found.update(dict.fromkeys(seen_through(words)))
    return tuple(found)


def _tokens(text: str) -> Iterator[str]:
    """The words of a pattern, as they are written."""
    start = at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"a quote in the command pattern {text!r} does not end")
        if found["blank"]:
            if start < at:
                yield text[start:at]
            start = found.end()
        at = found.end()
    if start < at:
        yield text[start:at]


def _checked(token: str) -> str:
    """A word in its one canonical spelling."""
    if token in ("*", _ANY_OPTION):
        return token
    if any(found["bare"] is None for found in _TOKEN.finditer(token)):
        for found in _TOKEN.finditer(token):
            if found["bare"] is not None and not _PLAIN.fullmatch(found["bare"]):
                raise ValueError(f"{token!r} in a command pattern is half quoted; put the whole word into quotes")
        return _quoted(_alternatives(token)[0])
    several = token.split("|")
    if not all(map(_PLAIN.fullmatch, several)):
        raise ValueError(
            f"{token!r} in a command pattern is not a plain word: there are no globs, variables or operators here, "
            "only a|b for one of several and a word * of its own; put quotes around what is meant literally"
        )
    if len(several) > 1 and any(each.startswith("-") for each in several):
        raise ValueError(f"{token!r} in a command pattern: write options one after the other, not as alternatives")
    return token


def _check_program(word: str) -> None:
    names = _alternatives(word)
    if not names or any(not name or name.startswith("-") or _ASSIGNMENT.match(name) for name in names):
        raise ValueError(f"a command pattern begins with the name of a program, not with {word}")


@lru_cache(maxsize=1024)
def _alternatives(word: str) -> Alternatives:
    if word == "*":
        return ()
    pieces = list(_TOKEN.finditer(word))
    if all(piece["bare"] is not None for piece in pieces):
        return tuple(word.split("|"))
    return ("".join(map(_unquoted, pieces)),)


def _unquoted(piece: re.Match[str]) -> str:
    if piece["double"] is not None:
        return re.sub(r"\\(.)", r"\1", piece["double"], flags=re.DOTALL)
    return piece["bare"] or piece["single"] or ""


def _quoted(word: str) -> str:
    if _PLAIN.fullmatch(word) and word not in _MEANINGFUL:
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _is_option(word: str) -> bool:
    several = _alternatives(word)
    return len(several) == 1 and several[0].startswith("-") and several[0] not in ("-", "--")


def _might_be(word: str, given: str | None) -> bool:
    return given is None or _is(word, given)


def _is(word: str, given: str) -> bool:
    several = _alternatives(word)
    return given in several if several else bool(given) and not given.startswith("-")
