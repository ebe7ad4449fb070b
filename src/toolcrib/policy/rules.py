"""The verdict on a call, from configuration, from the tool's own claim, and from the defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..core.call import Call
from ..core.policy import Decision, Verdict, strictest
from ..core.tool import Tool

_OWN = Verdict(Decision.PRE_APPROVED, "the program that runs this handed the tool over")
_READS = Verdict(Decision.PRE_APPROVED, "a built-in that only reads the workspace")
_ELSE = Verdict(Decision.ASK, "nothing is configured for it, and the default is to ask")


@dataclass(frozen=True, slots=True)
class ConfigPolicy:
    """Of what speaks (an entry for the tool, the tool's own claim) the strictest wins; else the default does.

    A claim can only tighten. `blocked` is absolute, also as a default.
    """

    entries: Mapping[str, Verdict] = field(default_factory=dict)
    default: Verdict | None = None

    def judge(self, call: Call, tool: Tool) -> Verdict:
        default = self.default
        if default is not None and default.decision is Decision.BLOCKED:
            return default
        entry = self.entries.get(tool.name)
        claim = None if tool.needs_approval is None else _claimed(call, tool)
        if entry is not None and claim is not None:
            return strictest((entry, claim))
        return entry or claim or default or _by_kind(tool)


def _by_kind(tool: Tool) -> Verdict:
    if tool.source == "function":
        return _OWN
    claims = tool.capabilities
    if tool.source == "builtin" and not (claims.writes_files or claims.executes_commands or claims.accesses_network):
        return _READS
    return _ELSE


def _claimed(call: Call, tool: Tool) -> Verdict | None:
    """What the tool says of itself, where that is stricter than saying nothing."""
    claim = tool.needs_approval
    if callable(claim):
        claim = claim(call.args)
    if claim is True:
        claim = "ask"
    decision = Decision.PRE_APPROVED if claim is False else Decision.parse(claim)
    return None if decision is Decision.PRE_APPROVED else Verdict(decision, "the tool itself says so")
