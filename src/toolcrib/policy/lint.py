"""What is odd about a set of rules: which never decide, contradict each other, or allow more than they say."""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from ..core.tool import Tool
from .argv import WRAPPERS
from .commands import Pattern
from .programs import is_interpreter
from .rule import Rule
from .subjects import Places

COMMAND_TOOL = "run_command"


class Finding(NamedTuple):
    """One rule, what is odd about it, and what to do."""

    kind: str
    """`dead`, `shadowed`, `contradictory`, `interpreter` or `broad`."""
    rule: Rule
    message: str


def lint(rules: Sequence[Rule], tools: Sequence[Tool], places: Places) -> list[Finding]:
    """Everything that is odd, in the order of the rules."""
    found = [finding for rule in rules for finding in (*_dead(rule, tools, places), *_too_much(rule))]
    found += _against_each_other(rules)
    order = {id(rule): number for number, rule in enumerate(rules)}
    return sorted(found, key=lambda finding: order[id(finding.rule)])


def _dead(rule: Rule, tools: Sequence[Tool], places: Places) -> Iterator[Finding]:
    if not any(rule.concerns(tool) for tool in tools):
        yield Finding("dead", rule, "no tool on offer is meant by it; see the names with: toolcrib list")
    elif rule.commands and not any(rule.concerns(tool) for tool in tools if tool.name == COMMAND_TOOL):
        yield Finding("dead", rule, f"only {COMMAND_TOOL} runs commands, and this rule is about other tools")
    elif rule.loosens and rule.paths:
        for pattern in rule.paths:
            at = places.locate(_literal(pattern.real), write=rule.access == "write")
            if at.zone == "outside" and not _may_be_a_tool(pattern.real, places):
                yield Finding("dead", rule, f"{pattern.text} is outside the workspace and its roots: blocked anyway")
            elif at.protected and rule.access == "write":
                yield Finding("dead", rule, f"{pattern.text} is protected ({at.protected}): blocked anyway")


def _may_be_a_tool(path: str, places: Places) -> bool:
    """Whether folders of tools are meant, which come and go."""
    bench: str = getattr(places, "bench", "")
    meant, held = f"{_literal(path).rstrip('/')}/", f"{bench}/"
    return bool(bench) and (held.startswith(meant) or meant.startswith(held))


def _literal(path: str) -> str:
    """The part of a pattern before its first `*`."""
    steps = path.split("/")
    return "/".join(steps[: next((at for at, step in enumerate(steps) if "*" in step), len(steps))]) or "/"


def _too_much(rule: Rule) -> Iterator[Finding]:
    if not rule.loosens:
        return
    for pattern in rule.commands:
        for program in pattern.programs:
            if is_interpreter(program):
                message = f"`{pattern}` pre-approves an interpreter, and so whatever code it is given"
                yield Finding("interpreter", rule, f"{message}; name the one script or module that you mean")
            elif program in WRAPPERS:
                message = f"`{pattern}` pre-approves {program}, which runs other programs"
                yield Finding("interpreter", rule, f"{message}; wrappers are seen through: name what they run")
    whole = not rule.narrow and not rule.arguments
    if whole and any(pattern.text == "*" for pattern in rule.tools):
        yield Finding(
            "broad", rule, "it pre-approves every tool and command, also those that come later; name the tools"
        )
    elif whole and any(pattern.matches(COMMAND_TOOL) for pattern in rule.tools):
        yield Finding("broad", rule, f"it pre-approves every command; add `command:` to say which of {COMMAND_TOOL}'s")


def _against_each_other(rules: Sequence[Rule]) -> Iterator[Finding]:
    contradicted: set[int] = set()
    for rule, other in permutations(rules, 2):
        if other.decision < rule.decision or not _includes(other, rule):
            continue
        if other.decision == rule.decision:
            if not _includes(rule, other) or rules.index(other) < rules.index(rule):
                yield Finding("shadowed", rule, f"{other.origin} says the same of all this, and more")
        elif _includes(rule, other):
            if id(other) not in contradicted:
                contradicted.add(id(rule))
                message = f"{other.origin} says {other.decision.wire} of the very same calls, and the stricter one wins"
                yield Finding("contradictory", rule, message)
        else:
            yield Finding("shadowed", rule, f"it never decides: {other.origin} says {other.decision.wire} of all this")


def _includes(wide: Rule, narrow: Rule) -> bool:
    """Whether `wide` surely matches every call that `narrow` matches."""
    if wide.tools and not (narrow.tools and all(any(w.matches(n.text) for w in wide.tools) for n in narrow.tools)):
        return False
    if wide.sources and not (narrow.sources and narrow.sources <= wide.sources):
        return False
    if not wide.capabilities <= narrow.capabilities or not _arguments_include(wide, narrow):
        return False
    if wide.commands:
        return bool(narrow.commands) and all(
            any(_command_includes(w, n) for w in wide.commands) for n in narrow.commands
        )
    if wide.paths:
        same_access = wide.access in ("", narrow.access)
        return (
            bool(narrow.paths) and same_access and all(any(w.matches(n.real) for w in wide.paths) for n in narrow.paths)
        )
    if wide.hosts:
        return bool(narrow.hosts) and {host.text for host in narrow.hosts} <= {host.text for host in wide.hosts}
    return True


def _arguments_include(wide: Rule, narrow: Rule) -> bool:
    asked = {pattern.pointer: pattern.values for pattern in narrow.arguments}
    return all(pattern.pointer in asked and asked[pattern.pointer] <= pattern.values for pattern in wide.arguments)


def _command_includes(wide: Pattern, narrow: Pattern) -> bool:
    if wide == narrow:
        return True
    if not wide.rest or len(wide.words) > len(narrow.words) or wide.options != narrow.options:
        return False
    return all(
        mine == "*" or set(theirs.split("|")) <= set(mine.split("|"))
        for mine, theirs in zip(wide.words, narrow.words, strict=False)
    )
