"""Names that fit a query, the best first: the name itself, its start, its humps, a part of it, something like it."""

import heapq
import re
from collections.abc import Callable, Collection, Iterable
from difflib import SequenceMatcher
from typing import NamedTuple

EXACT, SAME_LETTERS, PREFIX, HUMPS, PART, WORDS, ALIKE = range(7)
"""How a name fits; less is better."""
HOW = ("exact", "exact but for case", "prefix", "humps", "part", "words", "similar")
LONGEST = 200
"""Characters of a query that are looked at; no name is longer."""
MOST_ALIKE, LONGEST_ALIKE = 300, 64
"""Names that are compared letter by letter after a quick look at all, and how many of their letters."""
LEAST_ALIKE = 0.6
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
_QUERY_WORD = re.compile(r"\w+")
_ENOUGH = 20
"""With so many good answers nobody needs names that are merely alike."""


class Fit(NamedTuple):
    """A name and how well it fits. Sorts by that."""

    rank: int
    penalty: float
    """Within a rank: how much there is beside what was asked for."""
    name: str


def fitting(query: str, names: Collection[str], *, stop: Callable[[], bool] = lambda: False) -> list[Fit]:
    """The names that fit, best first. Bounded work: one pass over the names, and few close looks."""
    query = query.strip()[:LONGEST]
    if not query:
        return []
    found = [Fit(EXACT, 0, query)] if query in names else []
    small = query.lower()
    asked = [word.lower() for word in _QUERY_WORD.findall(query)]
    if len(asked) > 1 and " " in query:
        return _by_words(asked, names)
    humps = _subsequence(small)
    for number, name in enumerate(names):
        if number % 5000 == 0 and stop():
            break
        if (fit := _fit(query, small, name, humps)) is not None and fit.rank != EXACT:
            found.append(fit)
    if len(found) < _ENOUGH and len(query) > 2:
        known = {fit.name for fit in found}
        found += [Fit(ALIKE, penalty, name) for penalty, name in alike(query, names) if name not in known]
    return sorted(found)


def _fit(query: str, small: str, name: str, humps: "re.Pattern[str]") -> Fit | None:
    lower = name.lower()
    if small in lower:
        beside = len(name) - len(query)
        if lower == small:
            return Fit(EXACT if name == query else SAME_LETTERS, 0, name)
        if lower.startswith(small):
            return Fit(PREFIX, beside, name)
        at_hump = _at_hump(name, lower.index(small))
        return Fit(PART, beside - (0.5 if at_hump else 0), name)
    if len(small) > 1 and lower[0] == small[0] and humps.match(lower) and _has_humps(small, name):
        return Fit(HUMPS, len(name) - len(query), name)
    return None


def _at_hump(name: str, at: int) -> bool:
    return at > 0 and (name[at - 1] == "_" or (name[at].isupper() and not name[at - 1].isupper()))


def _subsequence(small: str) -> "re.Pattern[str]":
    """A quick look whether the letters come at all, in their order; each letter is found once and never again."""
    return re.compile("".join(f"[^{re.escape(letter)}]*+{re.escape(letter)}" for letter in small if letter != "_"))


def _has_humps(small: str, name: str) -> bool:
    """Whether the query is made of starts of the name's humps: `gSI`, `getsi` and `get_si` for `getSymbolInfo`."""
    pieces = [piece.lower() for piece in _HUMP.findall(name)]
    letters = small.replace("_", "")
    reached = {0}
    for piece in pieces:
        more = set()
        for start in reached:
            length = 0
            while length < len(piece) and start + length < len(letters) and piece[length] == letters[start + length]:
                length += 1
                more.add(start + length)
        reached |= more
    return len(letters) in reached


def _by_words(asked: list[str], names: Iterable[str]) -> list[Fit]:
    """For a query of several words: names that have them, those with most of them first."""
    wanted = asked[:8]
    found = []
    for name in names:
        lower = name.lower()
        held = sum(word in lower for word in wanted)
        if held and (held > 1 or len(wanted) < 3):
            found.append(Fit(WORDS, (len(wanted) - held) * LONGEST + len(name), name))
    return sorted(found)


def alike(query: str, names: Iterable[str], *, most: int = 20) -> list[tuple[float, str]]:
    """Names with nearly the same letters, with how much differs. All are glanced at; the best are compared."""
    small = query.strip()[:LONGEST_ALIKE].lower()
    pairs = {small[at : at + 2] for at in range(len(small) - 1)} or {small}
    near: list[tuple[float, str]] = []
    for name in names:
        lower = name[:LONGEST_ALIKE].lower()
        if abs(len(lower) - len(small)) <= max(3, len(small) // 2):
            shared = sum(pair in lower for pair in pairs)
            if shared * 3 >= len(pairs) or (lower[:1] == small[:1] and len(small) < 6):
                near.append((-shared / (len(pairs) + abs(len(lower) - len(small))), name))
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(small)
    close = []
    for _, name in heapq.nsmallest(MOST_ALIKE, near):
        matcher.set_seq1(name.lower()[:LONGEST_ALIKE])
        if matcher.quick_ratio() >= LEAST_ALIKE and (ratio := matcher.ratio()) >= LEAST_ALIKE:
            close.append((round(1 - ratio, 4), name))
    return sorted(close)[:most]
