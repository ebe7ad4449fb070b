"""What a rule on files or hosts says of a call, by what the call does: read, write, run, reach, or not say."""

from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.core.call import Call
from toolcrib.core.policy import Decision, Verdict
from toolcrib.core.tool import Capabilities, Hooks, Subject, Tool
from toolcrib.policy.load import Loader
from toolcrib.policy.rules import RulePolicy, Toolset
from toolcrib.sandbox.places import Places
from toolcrib.store.yamltext import parse

PRE, ASK, BLOCKED = Decision


def tool(*touched: Subject, name: str = "reach", source: str = "module", **claims: bool) -> Tool:
    @toolcrib.tool(capabilities=Capabilities(**claims))
    def it() -> str:
        """Do something."""
        return ""

    hooks = Hooks(touches=lambda args: touched) if touched else Hooks()
    return it._replace(name=name, source=source, hooks=hooks)


def policy(workspace: Path, rule: str, **about: Any) -> RulePolicy:
    places = Places(str(workspace))
    rules = Loader(str(workspace), places).file(parse(f"rules:\n- {{{rule}}}\n".encode(), "policy.yaml"), "user policy")
    return RulePolicy(rules=tuple(rules), places=places, **about)


def decided(found: RulePolicy, what: Tool, **args: str) -> Decision:
    return found.judge(Call(what.name, args, "1"), what).decision


@pytest.mark.parametrize(
    ("access", "subject", "decision"),
    [
        ("read", Subject("read", ("private/key",)), BLOCKED),
        ("read", Subject("write", ("private/key",)), ASK),
        ("write", Subject("write", ("private/key",)), BLOCKED),
        ("write", Subject("read", ("private/key",)), PRE),
        ("read", Subject("read", ("public/key",)), PRE),
        ("read", Subject("command", ("cat", "private/key")), BLOCKED),
        ("read", Subject("shell", ("cat private/key | wc",)), BLOCKED),
        ("read", Subject("shell", ("cat $(ls) private/key",)), BLOCKED),
        ("read", Subject("command", ("cat", "public/key")), ASK),
        ("write", Subject("command", ("cat", "private/key")), ASK),
        ("write", Subject("shell", ("cat $(ls) private/key",)), ASK),
        ("read", Subject("host", ("private:443",)), ASK),
    ],
)
def test_a_rule_on_files_by_what_is_done_to_them(
    workspace: Path, access: str, subject: Subject, decision: Decision
) -> None:
    """A command may read what it names, and whether it writes there is not known: rules on commands are for that."""
    found = policy(workspace, f"paths: private, access: {access}, approval: blocked")
    assert decided(found, tool(subject)) is decision


@pytest.mark.parametrize("access", ["read", "write"])
@pytest.mark.parametrize(("path", "decision"), [("private/key", BLOCKED), ("public/key", ASK)])
def test_of_a_tool_that_does_not_say_what_it_touches_each_text_may_be_a_path(
    workspace: Path, access: str, path: str, decision: Decision
) -> None:
    found = policy(workspace, f"paths: private, access: {access}, approval: blocked")
    assert decided(found, tool(), where=path) is decision


def test_a_rule_on_files_that_loosens_says_nothing_of_commands(workspace: Path) -> None:
    found = policy(workspace, "paths: public, approval: preApproved")
    assert decided(found, tool(Subject("write", ("public/key",)))) is PRE
    assert decided(found, tool(Subject("command", ("rm", "public/key")))) is ASK
    assert decided(found, tool(), where="public/key") is ASK


@pytest.mark.parametrize(
    ("subject", "args", "decision"),
    [
        (Subject("host", ("evil.example:443",)), {}, BLOCKED),
        (Subject("host", ("good.example:443",)), {}, ASK),
        (Subject("command", ("curl", "https://evil.example/x")), {}, BLOCKED),
        (Subject("command", ("curl", "https://good.example/x")), {}, ASK),
        (Subject("read", ("a",)), {"about": "https://evil.example/x"}, PRE),
        (Subject("write", ("a",)), {"about": "https://evil.example/x"}, ASK),
        (None, {"url": "https://evil.example/x"}, BLOCKED),
        (None, {"url": "https://good.example/x"}, ASK),
    ],
)
def test_a_rule_on_hosts_by_what_is_done(
    workspace: Path, subject: Subject | None, args: dict[str, str], decision: Decision
) -> None:
    """An address in a command or in an argument nobody explains counts; one in the text of a file that is read does not."""
    found = policy(workspace, "hosts: evil.example, approval: blocked")
    assert decided(found, tool(*[subject] if subject else []), **args) is decision


def test_a_rule_on_hosts_that_loosens_is_for_those_that_say_what_they_reach(workspace: Path) -> None:
    found = policy(workspace, "hosts: good.example, approval: preApproved")
    assert decided(found, tool(Subject("host", ("good.example:443",)))) is PRE
    assert decided(found, tool(), url="https://good.example/") is ASK


ARGUMENTS = "args: {/mode: fast}"


@pytest.mark.parametrize(
    ("rule", "subject", "meant"),
    [
        (f"{ARGUMENTS}, approval: blocked", Subject("query", ("select 1",)), BLOCKED),
        (f"{ARGUMENTS}, command: git log, approval: preApproved", Subject("command", ("git", "log")), PRE),
        (f"{ARGUMENTS}, command: git log, approval: blocked", Subject("command", ("git", "log")), BLOCKED),
        (f"{ARGUMENTS}, paths: private, approval: blocked", Subject("write", ("private/key",)), BLOCKED),
        (f"{ARGUMENTS}, hosts: evil.example, approval: blocked", Subject("host", ("evil.example:443",)), BLOCKED),
    ],
)
def test_a_rule_for_certain_arguments_is_for_calls_with_them(
    workspace: Path, rule: str, subject: Subject, meant: Decision
) -> None:
    found = policy(workspace, rule, search="/usr/bin:/bin")
    assert decided(found, tool(subject), mode="fast") is meant
    assert decided(found, tool(subject), mode="slow") is ASK
    assert decided(found, tool(subject)) is ASK


def test_what_is_said_of_a_tool_in_general_depends_on_no_arguments(workspace: Path) -> None:
    assert policy(workspace, "tool: reach, approval: blocked").in_general(tool()).decision is BLOCKED
    assert policy(workspace, f"tool: reach, {ARGUMENTS}, approval: blocked").in_general(tool()).decision is ASK


def test_a_command_is_no_file_to_a_rule_on_files_that_loosens(workspace: Path) -> None:
    """And one on what is read says nothing of what is written, also where nobody says what it touches."""
    found = policy(workspace, "paths: private, access: read, approval: blocked")
    assert decided(found, tool(Subject("write", ("private/key",))), path="private/key") is ASK


@pytest.mark.parametrize("condition", ["hosts: evil.example", "paths: private", "tool: reach", "command: curl"])
def test_each_kind_of_rule_alone_is_enough_to_be_asked(workspace: Path, condition: str) -> None:
    """Where there is one rule only, of whatever kind, it still speaks."""
    found = policy(workspace, f"{condition}, approval: blocked")
    subject = Subject("command", ("curl", "https://evil.example/", "private/a"))
    assert decided(found, tool(subject)) is BLOCKED


@pytest.mark.parametrize(
    ("claims", "decision"), [({"writes_files": True}, BLOCKED), ({"idempotent": True}, PRE), ({}, PRE)]
)
def test_a_rule_on_what_tools_can_do(workspace: Path, claims: dict[str, bool], decision: Decision) -> None:
    found = policy(workspace, "capabilities: writes_files, approval: blocked", default=Verdict(PRE, "test"))
    assert decided(found, tool(**claims)) is decision


def test_a_tool_that_changes_under_its_name_meets_the_rules_anew(workspace: Path) -> None:
    """The rules that concern a tool are kept by name; another tool of that name is another one."""
    found = policy(workspace, "capabilities: writes_files, approval: blocked", default=Verdict(PRE, "test"))
    assert decided(found, tool()) is PRE
    assert decided(found, tool(writes_files=True)) is BLOCKED
    by_source = policy(workspace, "source: mcp, approval: blocked", default=Verdict(PRE, "test"))
    kept = tool()
    assert decided(by_source, kept) is PRE
    assert decided(by_source, kept._replace(source="mcp")) is BLOCKED


def test_the_layers_are_called_by_their_names(workspace: Path) -> None:
    """`policy explain` shows who said what."""
    found = policy(
        workspace,
        "tool: reach, approval: ask",
        entries={"reach": Verdict(ASK, "entry")},
        toolsets=(Toolset(frozenset(), Verdict(ASK, "usual"), {"reach": Verdict(ASK, "set")}, "module"),),
    )
    claimed = tool(Subject("command", ("rm", "-rf", "x")))._replace(needs_approval=True)
    (opinion,) = found.opinions(Call("reach", {}, "1"), claimed)
    assert [voice.layer for voice in opinion.voices] == ["user policy", "config", "toolset", "tool", "analysis"]
    assert (opinion.default.layer, opinion.default.verdict.reason) == ("default", "usual")


def test_a_rule_gives_its_reason_or_its_place(workspace: Path) -> None:
    call, what = Call("reach", {}, "1"), tool()
    plain = policy(workspace, "tool: reach, approval: blocked").judge(call, what).reason
    assert plain.startswith("the rule at ") and "policy.yaml:2" in plain
    said = policy(workspace, "tool: reach, approval: blocked, reason: not on Fridays").judge(call, what).reason
    assert said.startswith("not on Fridays (") and "policy.yaml:2" in said
