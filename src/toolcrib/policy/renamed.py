"""The verdict on tools that are offered under another name than their own."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from ..core.call import Call
from ..core.policy import Decision, Verdict
from ..core.tool import Tool
from .rules import Opinion, RulePolicy, together

_NAMING = frozenset(("config", "toolset"))
"""Layers that speak of a tool by its name, beside the rules."""


def _as_it_is(tool: Tool) -> str:
    return tool.name


@dataclass(frozen=True)
class RenamedPolicy(RulePolicy):
    """Judges a tool as the one it is, by its own name. What asks or blocks under the new name counts as well.

    What is pre-approved under the new name does not: that was said of another tool, or not of this one.
    """

    own_name: Callable[[Tool], str] = _as_it_is

    @classmethod
    def around(cls, policy: RulePolicy, own_name: Callable[[Tool], str]) -> "RenamedPolicy":
        given = {each.name: getattr(policy, each.name) for each in fields(RulePolicy) if each.init}
        return cls(**given, own_name=own_name)

    def judge(self, call: Call, tool: Tool) -> Verdict:
        if self.own_name(tool) == tool.name:
            return RulePolicy.judge(self, call, tool)
        return _telling(together(self.opinions(call, tool)), self.own_name(tool))

    def in_general(self, tool: Tool) -> Verdict:
        own = self.own_name(tool)
        if own == tool.name:
            return RulePolicy.in_general(self, tool)
        both = _both(self.generally(tool._replace(name=own)), self.generally(_silent(tool)))
        return _telling(both.decisive.verdict, own)

    def opinions(self, call: Call, tool: Tool) -> tuple[Opinion, ...]:
        own = self.own_name(tool)
        if own == tool.name:
            return RulePolicy.opinions(self, call, tool)
        by_own = RulePolicy.opinions(self, call._replace(name=own), tool._replace(name=own))
        by_new = RulePolicy.opinions(self, call, _silent(tool))
        return tuple(map(_both, by_own, by_new))


def _telling(verdict: Verdict, own: str) -> Verdict:
    """With the name by which it could be allowed, where a person is asked."""
    if verdict.decision is not Decision.ASK:
        return verdict
    return replace(verdict, reason=f"{verdict.reason}; rules and settings call it {own}")


def _silent(tool: Tool) -> Tool:
    """Without its own claim, which has been heard."""
    return tool._replace(needs_approval=None)


def _both(own: Opinion, new: Opinion) -> Opinion:
    """What is said of the tool, with what is said more strictly of the name that it has now."""
    named = (voice for voice in new.voices if voice.rule is not None or voice.layer in _NAMING)
    stricter = (voice for voice in named if voice.verdict.decision is not Decision.PRE_APPROVED)
    return own._replace(voices=(*own.voices, *(voice for voice in stricter if voice not in own.voices)))
