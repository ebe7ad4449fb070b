"""Interleaved measurement: every round samples every contender, and nothing is thrown away."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Series:
    """The samples of one contender, in the order of the rounds."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def minimum(self) -> float:
        return min(self.samples)


@dataclass(frozen=True)
class Contender:
    """Something that can be sampled once, again and again."""

    name: str
    sample: Callable[[], float]


@dataclass(frozen=True)
class Comparison:
    """One line of the table: ours beside theirs, and the mark the ratio should hold."""

    what: str
    ours: Series
    against: str
    theirs: Series
    mark: float | None = None
    unit: str = "ns"
    note: str = ""

    @property
    def ratio(self) -> float:
        """The median over the rounds of ours / theirs: both had the same noise in one round."""
        pairs = zip(self.ours.samples, self.theirs.samples, strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)

    @property
    def ratio_of_minima(self) -> float:
        return self.ours.minimum / self.theirs.minimum

    @property
    def held(self) -> bool | None:
        """Whether the median ratio is within the mark; None where there is no mark."""
        return None if self.mark is None else self.ratio <= self.mark


@dataclass(frozen=True)
class Fact:
    """A figure of its own, without a peer; with a limit where one is promised."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    note: str = ""

    @property
    def held(self) -> bool | None:
        return None if self.limit is None else self.value <= self.limit


@dataclass
class Row:
    """One question the bench asks, with its answers or the reason why there are none."""

    name: str
    title: str
    rounds: int = 0
    sample: str = ""
    lines: list[Comparison | Fact] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def interleave(contenders: Sequence[Contender], *, rounds: int) -> dict[str, Series]:
    """Sample all contenders once per round, each round beginning with the next one."""
    taken: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for turn in range(rounds):
        first = turn % len(contenders)
        for contender in [*contenders[first:], *contenders[:first]]:
            taken[contender.name].append(contender.sample())
    return {name: Series(tuple(samples)) for name, samples in taken.items()}
