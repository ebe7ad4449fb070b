"""A query as it is declared: fixed text, with places for values that are bound and never become a part of the text."""

import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from ..core.errors import ToolError
from ..core.jsontext import JSON
from .declared import Unfit

LONGEST = 64 * 1024
"""Of a statement, in characters."""

_TOKEN = re.compile(
    r"""
      (?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<quoted>
          [eE]'(?:[^'\\]|''|\\.)*(?:'|\Z)           # PostgreSQL: a backslash takes the meaning from a quote
        | '(?:[^']|'')*(?:'|\Z) | "(?:[^"]|"")*(?:"|\Z) | `[^`]*(?:`|\Z)
        | \$(?P<tag>[A-Za-z_\u0080-\U0010ffff]\w*)?\$.*?(?:\$(?(tag)(?P=tag))\$|\Z) )
    | (?P<cast> :: | := )
    | (?P<place> (?:\$\{(?P<given>[^}]{0,160})\} | (?<![\w\]]):(?P<colon>[A-Za-z_]\w*)) )
    | (?P<word> [A-Za-z_\u0080-\U0010ffff][\w$]* )
    | (?P<other> [0-9][\w.]* | \s+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_WHOLE = re.compile(r"\s*\$\{(?P<name>[A-Za-z_][\w.-]*)\}\s*;?\s*")
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,127}")

READING = frozenset(["SELECT", "WITH", "VALUES", "TABLE"])
WRITING = READING | frozenset(
    "INSERT UPDATE DELETE REPLACE MERGE CREATE ALTER DROP TRUNCATE COMMENT REINDEX ANALYZE".split()  # noqa: SIM905
)


class Statement(NamedTuple):
    """What is sent, and which arguments are bound to it."""

    text: str
    """With numbered places for values; empty where an argument brings the text."""
    names: tuple[str, ...] = ()
    """The arguments that are bound, in the order of their numbers."""
    by: str = ""
    """The argument that brings the whole statement."""
    defaults: Mapping[str, JSON] = MappingProxyType({})
    """Of arguments that are not given."""

    def of(self, args: Mapping[str, JSON]) -> str:
        """The text to run. Raises: `ToolError`, where the caller brings it and brings none."""
        if not self.by:
            return self.text
        text = self.given(args).get(self.by)
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST or "\0" in text:
            message = f"{self.by} has to be one SQL statement of at most {LONGEST} characters, without a NUL"
            raise ToolError(message, code="VALIDATION_ERROR", before_effect=True)
        return text

    def values(self, args: Mapping[str, JSON]) -> list[JSON]:
        """What is bound. An argument that was not given, and has no default, is NULL."""
        given = self.given(args)
        return [given.get(name) for name in self.names]

    def given(self, args: Mapping[str, JSON]) -> dict[str, JSON]:
        return {**self.defaults, **args}


def statement(query: str, known: Collection[str], *, mark: str) -> Statement:
    """A query with `:name` or `${name}` where values go; `${name}` alone lets an argument bring the statement.

    `mark` stands before the number of a place: `?` for SQLite, `$` for PostgreSQL.

    Raises:
        Unfit: a place is in quotes, where it would be text, or is of no argument.
    """
    if len(query) > LONGEST or "\0" in query:
        raise Unfit("/query", f"a query has at most {LONGEST} characters, and no NUL")
    if whole := _WHOLE.fullmatch(query):
        return Statement("", by=_known(whole["name"], known))
    text, names = [], []
    for token in _TOKEN.finditer(query):
        if token["place"] is None:
            if token["quoted"] and "${" in token[0]:
                raise Unfit("/query", _in_quotes(token[0]))
            text.append(token[0])
            continue
        name = _known(token["colon"] or token["given"], known)
        names += [] if name in names else [name]
        text.append(f"{mark}{names.index(name) + 1}")
    return Statement("".join(text), tuple(names))


def words(text: str) -> Iterator[str]:
    """The bare and the quoted words of a statement, in capital letters; comments and texts are left out."""
    for token in _TOKEN.finditer(text):
        if token["word"]:
            yield token[0].upper()
        elif token["quoted"] and token[0][0] == '"':
            yield token[0].strip('"').upper()


def is_nested(text: str) -> bool:
    """Whether a comment holds another, which servers read differently."""
    return any(token["comment"] and "/*" in token[0][2:] for token in _TOKEN.finditer(text))


def first_word(text: str) -> str:
    """What kind of statement it is: `SELECT`, `INSERT`, …; nothing for what begins otherwise."""
    for token in _TOKEN.finditer(text):
        if token["word"]:
            return token[0].upper()
        if not token["comment"] and token[0].strip(" \t\r\n("):
            return ""
    return ""


def _known(name: str, known: Collection[str]) -> str:
    if name.startswith("env:"):
        raise Unfit("/query", f"${{{name}}} is a secret, which has no place in a query; it goes into `database`")
    if name not in known or not _NAME.fullmatch(name):
        there = f"there are {', '.join(sorted(known))}" if known else "there are none"
        raise Unfit(
            "/query", f"{name!r} is not among the parameters; {there}; a colon of SQL's own needs a space after it"
        )
    return name


def _in_quotes(text: str) -> str:
    return (
        f"{text[:60]} has a placeholder inside quotes, where it would be text; values are bound, not inserted: "
        "write ${name} without quotes, or '%' || ${name} || '%' for a part of a text"
    )
