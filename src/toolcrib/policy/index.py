"""The rules that concern one tool, kept so that a call meets only those that could be meant."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..core.call import Call
from .rule import Rule
from .subjects import Judged, Mentions, Places

if TYPE_CHECKING:
    from .commands import Pattern

Placed = tuple[int, Rule]
"""A rule, and where it stands among the others: what is said first is named first."""


class Index:
    """Rules by what they look at: the program of a command, a file, a host, or the call as a whole."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._general: list[Placed] = []
        self._files: list[Placed] = []
        self._hosts: list[Placed] = []
        self._loosening: dict[str, list[tuple[int, Rule, Pattern]]] = {}
        self._tightening: dict[str, list[tuple[int, Rule, Pattern]]] = {}
        self._prefixes = tuple({path.prefix for rule in rules if not rule.loosens for path in rule.paths})
        for at, rule in enumerate(rules):
            for pattern in rule.commands:
                shelf, keys = (self._loosening, pattern.programs) if rule.loosens else (self._tightening, pattern.keys)
                for key in keys:
                    shelf.setdefault(key, []).append((at, rule, pattern))
            if not rule.commands:
                (self._files if rule.paths else self._hosts if rule.hosts else self._general).append((at, rule))

    def __bool__(self) -> bool:
        return bool(self._general or self._files or self._hosts or self._loosening or self._tightening)

    def general(self) -> list[Rule]:
        """Those that speak of the tool, whatever it is called with."""
        return [rule for _, rule in self._general if not rule.arguments]

    def speaking(self, call: Call) -> list[Placed]:
        """Those that speak of a call as a whole."""
        return [(at, rule) for at, rule in self._general if rule.admits(call)]

    def matching(self, call: Call, judged: Judged, places: Places, whole: Sequence[Placed]) -> list[Rule]:
        """What is said of one subject of a call, in the order of the rules; `whole` is what `speaking` found."""
        found = dict(whole)
        found.update(self._narrow(call, judged, Mentions(call, judged, places)))
        return [found[at] for at in sorted(found)]

    def veil(self, call: Call) -> Callable[[str], bool] | None:
        """What the rules keep from being read below a directory that may be; None where they keep nothing."""
        rules = [rule for _, rule in self._files if not rule.loosens and rule.access != "write" and rule.admits(call)]
        return (lambda path: any(rule.holds(path) for rule in rules)) if rules else None

    def _may_mean_a_file(self, mentions: Mentions) -> bool:
        """Whether any text leads to where a rule that tightens looks at all."""
        if not self._prefixes:
            return False
        return mentions.too_many or any(path.startswith(self._prefixes) for path in mentions.paths)

    def _narrow(self, call: Call, judged: Judged, mentions: Mentions) -> Iterator[Placed]:
        kind, value = judged.subject
        if kind in ("read", "write") or (kind != "host" and self._may_mean_a_file(mentions)):
            yield from ((at, rule) for at, rule in self._files if rule.matches(call, judged, mentions))
        if kind not in ("read", "write"):
            yield from ((at, rule) for at, rule in self._hosts if rule.matches(call, judged, mentions))
        if kind == "command" and judged.own is None:
            for at, rule, pattern in self._loosening.get(value[0], ()):
                if pattern.covers(value) and (not rule.arguments or rule.admits(call)):
                    yield at, rule
        if self._tightening and judged.commands:
            yield from self._stricter(call, judged)

    def _stricter(self, call: Call, judged: Judged) -> Iterator[Placed]:
        from .tightening import program_key  # late: a runtime without rules for commands does not need the table

        for words in judged.commands:
            # A program that is not known at all could be any: that is asked about, as everything that cannot be seen.
            for at, rule, pattern in self._tightening.get(program_key(words[0]), ()) if words and words[0] else ():
                if pattern.touches(words) and rule.admits(call):
                    yield at, rule
