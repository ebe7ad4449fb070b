"""The verdict on tools that are offered under another name than their own."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from ..core.call import Call
from ..core.policy import Decision, Verdict
from ..core.tool import Tool
from .rules import Opinion, RulePolicy, together

_NAMING = frozenset(("config", "toolset"))
"""Layers that speak of a tool by its name, beside the rules."""


InOwnWords = Callable[[Call, Tool], tuple[Call, Tool]]
"""A call and its tool under the name, and with the arguments, by which rules and settings know them."""


def _unchanged(call: Call, tool: Tool) -> tuple[Call, Tool]:
    return call, tool


@dataclass(frozen=True)
class RenamedPolicy(RulePolicy):
    """Judges a call as the one it is, by the tool's own name. What asks or blocks under the new name counts as well.

    What is pre-approved under the new name does not: that was said of another tool, or not of this one.
    """

    in_own_words: InOwnWords = _unchanged

    @classmethod
    def around(cls, policy: RulePolicy, in_own_words: InOwnWords) -> "RenamedPolicy":
        given = {each.name: getattr(policy, each.name) for each in fields(RulePolicy) if each.init}
        return cls(**given, in_own_words=in_own_words)

    def judge(self, call: Call, tool: Tool) -> Verdict:
        own_call, own = self.in_own_words(call, tool)
        if own is tool:
            return RulePolicy.judge(self, call, tool)
        verdict = self.veiled(self.veiled(together(self.opinions(call, tool)), own_call, own), call, tool)
        return _telling(verdict, tool.name, own.name)

    def in_general(self, tool: Tool) -> Verdict:
        _, own = self.in_own_words(Call(tool.name, {}, ""), tool)
        if own is tool:
            return RulePolicy.in_general(self, tool)
        both = _both(self.generally(own), self.generally(_silent(tool)))
        return _telling(both.decisive.verdict, tool.name, own.name)

    def opinions(self, call: Call, tool: Tool) -> tuple[Opinion, ...]:
        own_call, own = self.in_own_words(call, tool)
        if own is tool:
            return RulePolicy.opinions(self, call, tool)
        by_own = RulePolicy.opinions(self, own_call, own)
        by_new = RulePolicy.opinions(self, call, _silent(tool))
        return tuple(map(_both, by_own, by_new))


def _telling(verdict: Verdict, new: str, own: str) -> Verdict:
    """With the name by which it could be allowed, where a person is asked."""
    if verdict.decision is not Decision.ASK or new == own:
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
