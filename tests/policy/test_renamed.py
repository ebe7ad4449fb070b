"""A tool under another name is judged as the tool it is, and by what is stricter under the new name."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.core.call import Call
from toolcrib.core.policy import Decision, Verdict
from toolcrib.core.tool import Hooks, Subject, Tool
from toolcrib.policy.commands import Pattern
from toolcrib.policy.names import NamePattern
from toolcrib.policy.renamed import RenamedPolicy
from toolcrib.policy.rule import Origin, Rule
from toolcrib.policy.rules import RulePolicy, Toolset
from toolcrib.sandbox.places import Places

PRE, ASK, BLOCKED = Decision
VALUES: tuple[str | None, ...] = (None, "preApproved", "ask", "blocked")


def tool(name: str = "new", *, claim: Any = None, source: str = "module") -> Tool:
    @toolcrib.tool(needs_approval=claim)
    def x() -> str:
        """Do something."""
        return ""

    return x._replace(source=source, name=name)


def in_own_words(call: Call, each: Tool) -> tuple[Call, Tool]:
    return (call._replace(name="own"), each._replace(name="own")) if each.name == "new" else (call, each)


def said(values: Mapping[str, str | None]) -> dict[str, Verdict]:
    return {name: Verdict(Decision.parse(value), f"{name} {value}") for name, value in values.items() if value}


def rule(name: str, value: str, **conditions: Any) -> Rule:
    where = Origin("user policy", "policy.yaml", 1, f"{name} {value}")
    return Rule(Decision.parse(value), where, tools=(NamePattern(name),), **conditions)


def renamed(policy: RulePolicy) -> RenamedPolicy:
    return RenamedPolicy.around(policy, in_own_words)


def expected(own: RulePolicy, stricter: list[str | None], claim: Any = None) -> Decision:
    """What the tool would get under its own name, or what is stricter of what is said of the new one."""
    base = own.judge(Call("own", {}, "1"), tool("own", claim=claim))
    return max([base.decision, *(Decision.parse(value) for value in stricter if value in ("ask", "blocked"))])


@pytest.mark.parametrize(("of_own", "of_new"), list(itertools.product(VALUES, VALUES)))
@pytest.mark.parametrize("default", VALUES)
@pytest.mark.parametrize("claim", [None, False, "blocked"])
def test_entries(of_own: str | None, of_new: str | None, default: str | None, claim: Any) -> None:
    """A rename can never widen an approval, nor slip out of `blocked`, whichever name that was said of."""
    policy = RulePolicy(said({"own": of_own, "new": of_new}), said({"": default}).get(""))
    wanted = expected(policy, [of_new], claim)
    call = Call("new", {}, "1")
    assert renamed(policy).judge(call, tool(claim=claim)).decision is wanted
    assert renamed(policy).in_general(tool(claim=claim)).decision is wanted
    assert max(each.decisive.verdict.decision for each in renamed(policy).opinions(call, tool(claim=claim))) is wanted


@pytest.mark.parametrize(("of_own", "of_new"), list(itertools.product(VALUES, VALUES)))
def test_rules(of_own: str | None, of_new: str | None) -> None:
    rules = [rule(name, value) for name, value in (("own", of_own), ("new", of_new)) if value]
    policy = RulePolicy(rules=rules)
    assert renamed(policy).judge(Call("new", {}, "1"), tool()).decision is expected(policy, [of_new])


@pytest.mark.parametrize(("of_own", "of_new"), list(itertools.product(VALUES, VALUES)))
def test_entries_of_a_toolset(of_own: str | None, of_new: str | None) -> None:
    toolset = Toolset(frozenset(), None, said({"own": of_own, "new": of_new}), "module")
    policy = RulePolicy(toolsets=[toolset])
    assert renamed(policy).judge(Call("new", {}, "1"), tool()).decision is expected(policy, [of_new])


def test_what_is_not_renamed_is_judged_as_ever() -> None:
    policy = RulePolicy(said({"other": "preApproved"}), rules=[rule("*", "ask")])
    call, other = Call("other", {}, "1"), tool("other")
    assert renamed(policy).judge(call, other) == policy.judge(call, other)
    assert renamed(policy).opinions(call, other) == policy.opinions(call, other)


def test_each_part_of_a_call_is_asked_about_by_itself() -> None:
    """One command is asked about by the own name, another by the new one: a person hears of both."""
    touched = [Subject("command", ("git", "log")), Subject("command", ("ls",)), Subject("command", ("id",))]
    shell = tool()._replace(hooks=Hooks(touches=lambda args: touched))
    rules = [
        rule("*", "preApproved", commands=(Pattern.parse("git log"), Pattern.parse("ls"), Pattern.parse("id"))),
        rule("own", "ask", commands=(Pattern.parse("git log"),)),
        rule("new", "ask", commands=(Pattern.parse("ls"),)),
    ]
    verdict = renamed(RulePolicy(rules=rules, search="/usr/bin:/bin")).judge(Call("new", {}, "1"), shell)
    assert (verdict.decision, verdict.asked) == (ASK, tuple(touched[:2]))


def test_a_pre_approved_command_is_so_under_another_name() -> None:
    touched = [Subject("command", ("git", "log"))]
    shell = tool()._replace(hooks=Hooks(touches=lambda args: touched))
    rules = [rule("own", "preApproved", commands=(Pattern.parse("git log"),))]
    policy = renamed(RulePolicy(rules=rules, search="/usr/bin:/bin"))
    assert policy.judge(Call("new", {}, "1"), shell).decision is PRE


def test_a_claim_is_heard_once() -> None:
    heard = []

    def claim(args: Any) -> str:
        heard.append(args)
        return "ask"

    assert renamed(RulePolicy()).judge(Call("new", {}, "1"), tool(claim=claim)).decision is ASK
    assert heard == [{}]


def test_of_another_name_the_person_is_told_the_own_one(workspace: Path) -> None:
    """Without it, nobody knows what to write into a rule. Where both names are one, or nobody is asked, it is noise."""
    call, what = Call("reach", {}, "1"), tool("reach")

    def under(name: str, decision: Decision) -> RenamedPolicy:
        inner = RulePolicy({name: Verdict(decision, "because")}, places=Places(str(workspace)))
        return RenamedPolicy.around(inner, lambda call, tool: (call._replace(name=name), tool._replace(name=name)))

    told = "because; rules and settings call it own"
    assert (under("own", ASK).judge(call, what).reason, under("own", ASK).in_general(what).reason) == (told, told)
    assert under("reach", ASK).judge(call, what).reason == "because"
    assert under("own", BLOCKED).judge(call, what).reason == "because"
