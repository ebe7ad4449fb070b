"""Two answers to the same question, counted against each other in both directions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .theirs import Named, Place

Key = tuple[str, str, int]


@dataclass(frozen=True)
class Score:
    """How many both have, and how many only one has."""

    title: str
    both: int
    theirs: int
    ours: int

    @property
    def recall(self) -> float:
        return self.both / self.theirs if self.theirs else 1.0

    @property
    def precision(self) -> float:
        return self.both / self.ours if self.ours else 1.0


@dataclass(frozen=True)
class Kind:
    """One kind of definitions: of theirs those that we found, of ours those that they have."""

    title: str
    found: int
    theirs: int
    right: int
    ours: int


@dataclass
class Comparison:
    """Definitions of one source, in all and by kind, with what was left out and examples of what differs."""

    total: Score
    kinds: list[Kind] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    missing: list[Named] = field(default_factory=list)
    extra: list[Named] = field(default_factory=list)


def definitions(mine: list[Named], others: list[Named]) -> Comparison:
    """Compare by file, name and line. A kind's recall is of the other engine's kind, its precision of ours."""
    compared = {_key(item): item for item in others if not item.left_out}
    ours = {_key(item): item for item in mine if not item.left_out}
    both = compared.keys() & ours.keys()
    result = Comparison(Score("all", len(both), len(compared), len(ours)))
    for kind in sorted({item.kind for item in compared.values()} | {item.kind for item in ours.values()}):
        of_theirs = {key for key, item in compared.items() if item.kind == kind}
        of_ours = {key for key, item in ours.items() if item.kind == kind}
        found, right = len(of_theirs & ours.keys()), len(of_ours & compared.keys())
        result.kinds.append(Kind(kind, found, len(of_theirs), right, len(of_ours)))
    result.left_out = Counter(item.left_out for item in (*others, *mine) if item.left_out)
    result.missing = [compared[key] for key in sorted(compared.keys() - ours.keys())]
    result.extra = [ours[key] for key in sorted(ours.keys() - compared.keys())]
    return result


def _key(item: Named) -> Key:
    return item.file, item.name, item.line


def references(title: str, pairs: list[tuple[set[Place], set[Place]]]) -> Score:
    """Places of theirs and ours, name by name, added up."""
    both = sum(len(theirs & ours) for theirs, ours in pairs)
    return Score(title, both, sum(len(theirs) for theirs, _ in pairs), sum(len(ours) for _, ours in pairs))
