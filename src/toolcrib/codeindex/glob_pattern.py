"""Patterns for paths, such as `src/**/*.{py,pyi}`, followed name by name on the way through a tree."""

import re
from collections.abc import Callable, Sequence
from operator import methodcaller

from .wildcard import is_plain, segment

MOST_BRANCHES = 256
State = frozenset[tuple[int, int]]
"""How far each of the patterns is: which one, and which of its names comes next."""


def braces(pattern: str) -> list[str]:
    """All that `{a,b}` in a pattern can stand for; a brace without its other half is a brace.

    Raises:
        ValueError: more than `MOST_BRANCHES`.
    """
    done, todo = [], [pattern]
    while todo:
        text = todo.pop()
        found = _innermost(text)
        if found is None:
            done.append(text)
        else:
            start, end = found
            todo += [text[:start] + each + text[end + 1 :] for each in reversed(_alternatives(text[start + 1 : end]))]
        if len(done) + len(todo) > MOST_BRANCHES:
            raise ValueError(f"the braces stand for more than {MOST_BRANCHES} patterns")
    return list(dict.fromkeys(done))


class Paths:
    """Which files below a directory are meant. A path is followed from there, a state for each directory."""

    def __init__(self, patterns: Sequence[Sequence[str]], *, hidden: bool) -> None:
        """Each pattern is one of names; `**` stands for any number of them. Without `hidden`, a name that begins with
        a dot is only meant by a pattern that begins with one.
        """
        self._patterns, self._hidden = [tuple(each) for each in patterns], hidden
        self.start: State = frozenset(at for number in range(len(patterns)) for at in self._reach(number, 0))
        self._steps: dict[State, tuple[State, list[tuple[Callable[[str], object], State]]]] = {}
        self._ends: dict[State, Callable[[str], object]] = {}

    def enter(self, state: State, name: str) -> State:
        """The state in a directory of that name; empty when nothing in it can be meant."""
        held = self._steps.get(state) or self._prepared(state)
        kept, others = held
        if kept and not self._hidden and name[0] == ".":
            kept = frozenset()
        for fits, after in others:
            if fits(name):
                kept |= after
        return kept

    def ending(self, state: State) -> Callable[[str], object]:
        """Says of a name whether, in a directory of this state, it completes a pattern."""
        made = self._ends.get(state)
        if made is None:
            last = [each[at] for number, at in state if at == len(each := self._patterns[number]) - 1]
            made = self._ends[state] = self._any_of(last)
        return made

    def _prepared(self, state: State) -> tuple[State, list[tuple[Callable[[str], object], State]]]:
        kept: State = frozenset()
        others = []
        for number, at in state:
            pattern = self._patterns[number]
            if pattern[at] == "**":
                kept |= self._reach(number, at)
            elif at + 1 < len(pattern):
                others.append((self._any_of([pattern[at]]), self._reach(number, at + 1)))
        self._steps[state] = kept, others
        return kept, others

    def _reach(self, number: int, at: int) -> State:
        """A place in a pattern, and those behind it that can be reached without a name."""
        pattern = self._patterns[number]
        reached = {(number, at)}
        while pattern[at] == "**" and at + 1 < len(pattern):
            at += 1
            reached.add((number, at))
        return frozenset(reached)

    def _any_of(self, parts: Sequence[str]) -> Callable[[str], object]:
        dots = self._hidden or not any(part[:1] == "." or part[:2] == "\\." for part in parts)
        # Where no pattern asks for a dot, the walk leaves out what begins with one.
        if dots and parts and all(part[:1] == "*" and is_plain(part[1:]) for part in parts):
            return methodcaller("endswith", tuple(part[1:] for part in parts))
        made = []
        for part in parts:
            expression = "[^/]*+" if part == "**" else segment(part)
            if expression is not None:
                free = self._hidden or part[:1] == "." or part[:2] == "\\."
                made.append((expression if free else rf"(?!\.){expression}") + r"\Z")
        return re.compile("|".join(made) if made else "(?!)", re.DOTALL).match


def _innermost(text: str) -> tuple[int, int] | None:
    """Where a pair of braces without another in it stands, outside brackets."""
    start, at = -1, 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "[" and (end := text.find("]", at + 2)) > 0:
            at = end
        elif char == "{":
            start = at
        elif char == "}" and start >= 0:
            return start, at
        at += 1
    return None


def _alternatives(text: str) -> list[str]:
    """Cut at the commas that no backslash stands before."""
    return [each.replace("\0", "\\,") for each in text.replace("\\,", "\0").split(",")]
