"""What Toolcrib says, as the index keeps it and as references are found."""

from __future__ import annotations

import random
import re
from pathlib import Path

from toolcrib.codeindex.extract import extract
from toolcrib.codeindex.languages import language_of
from toolcrib.codeindex.python_scan import scan
from toolcrib.codeindex.tokens import occurrences

from .theirs import Named, Place


def definitions(files: list[Path]) -> list[Named]:
    """Every definition that the index would keep."""
    found = []
    for file in files:
        data = file.read_bytes()
        language = language_of(file.name, data)
        if language is None:
            continue
        items = scan(data)[0] if language == "python" else extract(language, data)[1]
        lines = data.split(b"\n")
        for name, kind, line, column, *_ in items:
            left_out = _left_out(language, lines[line - 1], name)
            found.append(Named(str(file), name, line, column, kind, left_out))
    return found


def _left_out(language: str, line: bytes, name: str) -> str:
    """Why one of ours is not compared: the other engine has no kind for it at all."""
    if language == "rust" and re.search(rb"\bconst\s+" + re.escape(name.encode()) + rb"\b", line):
        return "`const` items, for which ctags has no kind"
    return ""


def uses(files: list[Path], names: list[str]) -> list[dict[str, set[Place]]]:
    """By name and by role: where it stands."""
    texts = [(str(file), data, language_of(file.name, data)) for file in files for data in [file.read_bytes()]]
    return [_uses(texts, name) for name in names]


def _uses(texts: list[tuple[str, bytes, str | None]], name: str) -> dict[str, set[Place]]:
    found: dict[str, set[Place]] = {"code": set(), "string": set(), "comment": set()}
    for file, data, language in texts:
        if language is None:
            continue
        for line, column, role in occurrences(language, data, name):
            found[role].add((file, line, column))
    return found


def in_characters(places: set[Place], texts: dict[str, list[bytes]]) -> set[Place]:
    """The same places with the columns in characters, as the other engines count them."""
    found = set()
    for file, line, column in places:
        before = texts[file][line - 1][:column]
        found.add((file, line, len(before.decode("utf-8", "replace"))))
    return found


def sample(mine: list[Named], others: list[Named], number: int, seed: int) -> list[Named]:
    """Some definitions that both know, each name once, always the same ones."""
    known = {(item.file, item.name, item.line) for item in mine}
    by_name: dict[str, Named] = {}
    for item in sorted(others):
        if not item.left_out and (item.file, item.name, item.line) in known and not item.name.startswith("__"):
            by_name.setdefault(item.name, item)
    return random.Random(seed).sample(sorted(by_name.values()), min(number, len(by_name)))
