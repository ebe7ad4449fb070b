"""Who decides: the strictest of what speaks, and the default only where nothing does."""

import itertools
from typing import Any

import pytest

import toolcrib
from toolcrib.core.call import Call
from toolcrib.core.policy import Decision, Verdict, strictest
from toolcrib.core.tool import Capabilities, Tool
from toolcrib.policy.rules import RulePolicy

PRE, ASK, BLOCKED = Decision
VALUES: tuple[Any, ...] = (None, "preApproved", "ask", "blocked")


def tool(*, source: str = "executable", claim: Any = None, **claims: bool) -> Tool:
    @toolcrib.tool(needs_approval=claim, capabilities=Capabilities(**claims))
    def x() -> str:
        """Do something."""
        return ""

    return x._replace(source=source)


def judged(policy: RulePolicy, what: Tool, args: dict[str, Any] | None = None) -> Decision:
    return policy.judge(Call(what.name, args or {}, "1"), what).decision


def verdict(value: str | None) -> Verdict | None:
    return None if value is None else Verdict(Decision.parse(value), "test")


def policy(entry: str | None, default: str | None) -> RulePolicy:
    found = verdict(entry)
    return RulePolicy({"x": found} if found else {}, verdict(default))


def test_decisions_are_ordered_by_strictness() -> None:
    assert PRE < ASK < BLOCKED
    assert strictest([]).decision is ASK  # silence is not consent
    assert strictest([Verdict(PRE, "a"), Verdict(BLOCKED, "b"), Verdict(ASK, "c")]).reason == "b"


@pytest.mark.parametrize("value", ["preApproved", "ask", "blocked"])
def test_exactly_three_values(value: str) -> None:
    """G11"""
    assert Decision.parse(value).wire == value


@pytest.mark.parametrize(
    "value", [True, False, None, 0, 1, "", "preapproved", "PRE_APPROVED", "allow", "Ask", "blocked ", ["ask"]]
)
def test_anything_else_is_refused(value: object) -> None:
    """G11: never a boolean, never a guess."""
    with pytest.raises(ValueError, match="not one of preApproved, ask, blocked"):
        Decision.parse(value)


@pytest.mark.parametrize(
    ("what", "decision"),
    [
        (tool(source="function"), PRE),
        (tool(source="builtin"), PRE),
        (tool(source="builtin", writes_files=True), ASK),
        (tool(source="builtin", executes_commands=True), ASK),
        (tool(source="builtin", accesses_network=True), ASK),
        (tool(source="executable"), ASK),
        (tool(source="mcp"), ASK),
        (tool(source="skill"), ASK),
    ],
)
def test_the_table_of_defaults(what: Tool, decision: Decision) -> None:
    """G10: nothing configured means ask, but for what only reads and what the host itself handed over."""
    assert judged(RulePolicy(), what) is decision


def test_what_speaks_wins_over_the_default_and_the_strictest_of_it() -> None:
    """G12, G13, G14, G16: every combination of entry, claim and default."""
    for entry, claim, default in itertools.product(VALUES, VALUES, VALUES):
        speaking = [Decision.parse(value) for value in (entry, claim if claim != "preApproved" else None) if value]
        if default == "blocked":
            expected = BLOCKED
        elif speaking:
            expected = max(speaking)
        else:
            expected = Decision.parse(default or "ask")
        assert judged(policy(entry, default), tool(claim=claim)) is expected, (entry, claim, default)


def test_a_tool_cannot_approve_itself() -> None:
    """A tool that says it needs no approval is asked about all the same."""
    for claim in ("preApproved", False, lambda args: False):
        assert judged(RulePolicy(), tool(claim=claim)) is ASK


def test_adding_a_layer_never_loosens() -> None:
    """I2"""
    for entry, claim, default in itertools.product(VALUES, VALUES, VALUES[1:]):
        without = judged(policy(entry, default), tool())
        with_claim = judged(policy(entry, default), tool(claim=claim))
        if entry is not None:
            assert with_claim >= without
        if default == "blocked":
            assert with_claim is BLOCKED


def test_a_claim_may_depend_on_the_arguments() -> None:
    """G7: as a value or as a function of the input."""
    careful = tool(claim=lambda args: "blocked" if args.get("force") else False)
    assert judged(policy("preApproved", None), careful, {"force": True}) is BLOCKED
    assert judged(policy("preApproved", None), careful, {"force": False}) is PRE
    assert judged(policy("preApproved", None), tool(claim=True)) is ASK


def test_a_rule_means_the_whole_name() -> None:
    """`bash` is not `bash_session`."""
    entries = {"bash": Verdict(PRE, "test")}
    assert judged(RulePolicy(entries), tool()._replace(name="bash_session")) is ASK
    assert judged(RulePolicy(entries), tool()._replace(name="bash")) is PRE
