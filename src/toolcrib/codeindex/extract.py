"""What a source file defines, imports and exports, read from its syntax tree. Broken files give what is still clear."""

from __future__ import annotations

import re
import time
from functools import cache
from typing import NamedTuple

from tree_sitter import Language, Node, Parser, Point, Query, QueryCursor, Tree
from tree_sitter_language_pack import get_language

from .grammars import grammar_of
from .grammars.sheet import Found, Rule, Sheet, Taken

Extracted = tuple[str, tuple[Found, ...], tuple[Taken, ...], tuple[tuple[str, int], ...], frozenset[bytes]]
"""`Facts`, in plain tuples."""

PARSE_SECONDS = 2.0
"""A file of ordinary size takes some milliseconds; one that was made to be slow is given up after this."""
_PIECE = 4096
_SUSPECT = 16 * 1024
"""Bytes of a node whose children may be so many that it matters."""
_MAX_COST = 200_000_000
MAX_NODES = 200_000
"""Of one file; a file with more that matters is generated, and the rest of it is left out."""

_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*+")
_WORD_OF = {
    **dict.fromkeys(("javascript", "typescript", "tsx"), re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*+")),
    "ruby": re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*+[?!]?"),
}


class Reader(NamedTuple):
    """All that is made once per language and process."""

    tongue: Language
    query: Query
    rules: dict[str, Rule]


@cache
def reader(language: str) -> Reader:
    """The grammar of a language, and the rules to read its trees with.

    Raises:
        KeyError: no rules for such a language.
    """
    grammar = grammar_of(language)
    tongue = get_language(language)  # type: ignore[arg-type]  # a str that the table of grammars has just accepted
    return Reader(tongue, Query(tongue, grammar.query()), dict(grammar.rules))


def parsed(language: str, data: bytes) -> Tree | None:
    """The syntax tree of a file; None when it takes longer than any honest file does.

    The parser asks for the file piece by piece, and that is where the clock is looked at: repairing errors is quadratic
    at times. (Its own callback for that purpose crashes the interpreter.)
    """
    text = _valid(data)
    deadline = time.thread_time() + PARSE_SECONDS
    late = False

    def piece(offset: int, _: Point) -> bytes:
        nonlocal late
        late = late or time.thread_time() > deadline
        end = offset + _PIECE
        while end < len(text) and text[end] & 0xC0 == 0x80:  # a character in two pieces would be asked for again
            end -= 1
        return b"" if late else text[offset:end]

    tree = Parser(reader(language).tongue).parse(piece)  # one each: other threads parse as well
    return None if late else tree


def _valid(data: bytes) -> bytes:
    """The same number of bytes, but all of them UTF-8: what is not, at the end of a piece, crashes the parser."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape").encode("utf-8", "replace")
    return data


def extract(language: str, data: bytes) -> Extracted:
    """Facts of a file in the order of `Facts`, as plain tuples, so that they can travel and be kept.

    Raises:
        KeyError: no rules for such a language.
    """
    tree = parsed(language, data)
    sheet = noted(language, tree, data) if tree is not None else None
    if sheet is None:
        return language, (), (), (), words(language, data, ())
    definitions = sheet.settled()
    return (
        language,
        definitions,
        tuple(sorted(sheet.imports, key=lambda item: item[1])),
        tuple(sheet.exports),
        words(language, data, definitions),
    )


def noted(language: str, tree: Tree, data: bytes) -> Sheet | None:
    """The sheet of a file whose tree is at hand; None when looking through it would take too long."""
    _, query, rules = reader(language)
    if len(data) > _SUSPECT and _is_slow(tree.root_node):
        return None
    matches = QueryCursor(query).matches(tree.root_node)
    sheet = Sheet(data)
    seen: Node | None = None
    nodes = [captured["node"][0] for _, captured in matches]
    nodes.sort(key=_place)
    for node in nodes[:MAX_NODES]:
        if node == seen:
            continue
        seen = node
        sheet.reach(node.start_byte)
        rules[node.type](node, sheet)
    return sheet


def _is_slow(root: Node) -> bool:
    """Whether queries would take too long: at each sign they look for the next sibling that is more than a sign, so a
    hundred thousand brackets in a row cost their square. (The clock that they accept crashes the interpreter.)"""
    cost, waiting = 0, [root]
    while waiting:
        run = 0
        for child in waiting.pop().children:
            run = 0 if child.is_named else run + 1
            cost += run
            if child.end_byte - child.start_byte > _SUSPECT:
                waiting.append(child)
        if cost > _MAX_COST:
            return True
    return False


def _place(node: Node) -> tuple[int, int]:
    """The outer before the inner."""
    return node.start_byte, -node.end_byte


def words(language: str, data: bytes, definitions: tuple[Found, ...]) -> frozenset[bytes]:
    """Every identifier in a file, wherever it stands; what it defines is among them, also `operator+` or `empty?`."""
    pattern = _WORD_OF.get(language)
    if pattern is None:
        found = set(_WORD.findall(data))
    else:
        found = set(pattern.findall(data))
        found.update(
            word for odd in [word for word in found if b"$" in word or word[-1] in b"?!"] for word in _WORD.findall(odd)
        )
    found.update(item[0].encode("utf-8", "surrogateescape") for item in definitions)
    return frozenset(found)
