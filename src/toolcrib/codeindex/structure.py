"""Code of a given shape: a piece of the language in which `$NAME` stands for any node and `$$$NAME` for any number."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from ast_grep_py import Pattern, SgNode, SgRoot

from .extract import parsed, reader

MAX_PATTERN = 2000
MAX_DEPTH = 60
"""How deep a pattern may be nested: what it costs is this times the size of the file."""
MAX_MATCHES = 2000
"""Of one file."""
MAX_TEXT = 500
MAX_BINDING = 200
_SMALL = 16 * 1024
"""A larger file is first parsed with a clock beside it, which the engine of this search does not have."""

_META = re.compile(r"\$\$\$([A-Z_][A-Z0-9_]*)?|\$([A-Z_][A-Z0-9_]*)")
_REASON = re.compile(r"\n\s*\d+: ((?:Multiple|No AST|Standalone)[^\n]*)")


class Match(NamedTuple):
    """A piece of code of the shape that was asked for."""

    line: int
    column: int
    """In bytes, as everywhere."""
    end_line: int
    text: str
    """Its first characters."""
    bindings: dict[str, str]
    """What the names of the pattern stand for, their first characters."""


def structural(language: str, data: bytes, pattern: str) -> list[Match]:
    """Every piece of a file that has the shape of `pattern`, in the order of the file; at most `MAX_MATCHES`.

    Raises:
        ValueError: the pattern means nothing in that language; the message says why.
        KeyError: no such language.
    """
    names = _names(language, pattern)
    if len(data) > _SMALL and parsed(language, data) is None:
        return []  # made to be slow
    text = data.decode("utf-8", "replace")
    with _words_for(language, pattern):
        found = SgRoot(text, language).root().find_all(pattern=_in_context(language, pattern))
    lines = text.split("\n")
    matches = [_match(node, names, text, lines) for node in found[:MAX_MATCHES]]
    return sorted(matches, key=lambda match: match[:2])


def _match(node: SgNode, names: tuple[tuple[str, bool], ...], text: str, lines: list[str]) -> Match:
    place = node.range()
    before = lines[place.start.line][: place.start.column]
    bindings = {name: _bound(node, name, text, many=many)[:MAX_BINDING] for name, many in names}
    column = len(before.encode("utf-8", "replace"))
    return Match(place.start.line + 1, column, place.end.line + 1, node.text()[:MAX_TEXT], bindings)


def _bound(node: SgNode, name: str, text: str, *, many: bool) -> str:
    if not many:
        one = node.get_match(name)
        return one.text() if one is not None else ""
    several = node.get_multiple_matches(name)
    return text[several[0].range().start.index : several[-1].range().end.index] if several else ""


@lru_cache(maxsize=64)
def _names(language: str, pattern: str) -> tuple[tuple[str, bool], ...]:
    """The names in a pattern and whether each stands for several nodes, after a look whether it is one at all."""
    reader(language)  # KeyError for a language that is not known
    if not pattern.strip():
        raise ValueError("the pattern is empty; write a piece of code, with $NAME for what may be anything")
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"the pattern has {len(pattern)} characters; at most {MAX_PATTERN} are allowed")
    if _META.fullmatch(pattern.strip()):
        raise ValueError("the pattern is a name alone, which fits everything; put some code around it")
    unbalanced = _unbalanced(pattern)
    if unbalanced:
        raise ValueError(f"the pattern has {unbalanced}; write a whole expression or statement")
    sample = _META.sub(lambda found: found[1] or found[2] or "ANY", pattern)
    if _depth(language, sample.encode("utf-8", "replace")) > MAX_DEPTH:
        raise ValueError(f"the pattern is nested deeper than {MAX_DEPTH} levels; ask for a part of it")
    found = {one or many: bool(many) for many, one in _META.findall(pattern) if one or many}
    return tuple((name, several) for name, several in found.items() if not name.startswith("_"))


@lru_cache(maxsize=64)
def _in_context(language: str, pattern: str) -> str | Pattern:
    """A pattern as the engine should read it: at the top of a Go file, a call alone would be a conversion of types."""
    if language != "go":
        return pattern
    around = "func _() {\n%s\n}"
    sample = ("package p\n" + around % _META.sub(lambda found: found[1] or found[2] or "ANY", pattern)).encode(
        "utf-8", "replace"
    )
    tree = parsed(language, sample)
    node = (
        next(iter(tree.root_node.named_children[1:]), None)
        if tree is not None and not tree.root_node.has_error
        else None
    )
    for step in ("block", "statement_list"):
        node = next((child for child in node.named_children if child.type == step), None) if node is not None else None
    if node is None or node.named_child_count != 1 or node.named_children[0].type != "expression_statement":
        return pattern
    selector = node.named_children[0].named_children[0].type
    return Pattern(context=around % pattern, selector=selector, strictness=None)


def _unbalanced(pattern: str) -> str:
    """What is wrong with the brackets of a pattern; nothing when they close, or when quotes make that hard to tell."""
    closing = {")": "(", "]": "[", "}": "{"}
    open_: list[str] = []
    for character in re.sub(r"\\.|\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|`[^`]*+`", "", pattern):
        if character in "([{":
            open_.append(character)
        elif character in closing and (not open_ or open_.pop() != closing[character]):
            return f"a {character} that nothing opened"
    return f"a {open_[-1]} that nothing closes" if open_ else ""


def _depth(language: str, data: bytes) -> int:
    tree = parsed(language, data)
    if tree is None:
        return MAX_DEPTH + 1
    cursor, deepest = tree.walk(), 0
    while True:
        deepest = max(deepest, cursor.depth)
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return deepest


@contextmanager
def _words_for(language: str, pattern: str) -> Iterator[None]:
    """Say what is wrong with a pattern in words of ours, also where the engine falls over it."""
    try:
        yield
    except RuntimeError as exc:
        reason = _REASON.search(str(exc))
        why = reason[1].partition(". Please")[0] if reason else "it is no single piece of code"
        raise ValueError(f"the pattern is not understood as {language}: {why[:200]}") from exc
    except UnicodeEncodeError as exc:
        raise ValueError("the pattern is not text that can be encoded in UTF-8") from exc
    except BaseException as exc:
        # A panic of the Rust library is derived from BaseException, and its class cannot be imported.
        if type(exc).__name__ != "PanicException":
            raise
        raise ValueError(f"the engine cannot work with the pattern {pattern[:100]!r} as {language}") from exc
