"""What decides about the tools of a module: entries, rules, what the tool says of itself, and defaults."""

import asyncio
from pathlib import Path

import pytest

import toolcrib
from toolcrib.policy.approvers import Standing
from toolcrib.sources.python import load_custom_tools, wrap_with_default_approval
from toolcrib.testing import ScriptedApprover

TOOL = "f = {{'name': 'f', 'input_schema': {{}}, 'execute': lambda i: 'ran'{}}}\n"


def claiming(claim: str) -> str:
    return TOOL.format(f", 'needs_approval': {claim}" if claim else "")


@pytest.mark.parametrize(
    ("claim", "approval", "more", "decision"),
    [
        ("", "", "", "ask"),
        ("", "{default: preApproved}", "", "preApproved"),
        ("", "{default: blocked}", "", "blocked"),
        ("", "{default: ask}", "approval: {default: preApproved}", "ask"),
        ("", "", "approval: {default: preApproved}", "preApproved"),
        ("", "{default: ask, tools: {f: preApproved}}", "", "preApproved"),
        ("", "{tools: {f: preApproved}}", "approval: {tools: {f: blocked}}", "blocked"),
        ("", "{default: preApproved}", "approval: {default: blocked}", "blocked"),
        ("False", "", "", "preApproved"),
        ("False", "{default: ask}", "approval: {default: ask}", "preApproved"),
        ("'preApproved'", "{default: ask}", "", "preApproved"),
        ("False", "{tools: {f: ask}}", "", "ask"),
        ("False", "{tools: {f: blocked}}", "", "blocked"),
        ("False", "", "approval: {tools: {f: ask}}", "ask"),
        ("False", "{default: blocked}", "", "blocked"),
        ("False", "", "approval: {default: blocked}", "blocked"),
        ("True", "{default: preApproved}", "", "ask"),
        ("True", "{tools: {f: preApproved}}", "", "ask"),
        ("'blocked'", "{tools: {f: preApproved}}", "", "blocked"),
    ],
)
def test_the_strictest_of_what_speaks_else_a_default(modules, claim, approval, more, decision) -> None:
    """G7, G9, G10, G13, G14, G16, G24: and a claim of the user's own module replaces a default, either way."""
    modules.write(claiming(claim), "f", approval=approval, more=more)
    assert modules.approvals() == {"f": decision}
    result = modules.call("f", approver=ScriptedApprover(False))
    expected = {"preApproved": None, "ask": "APPROVAL_DENIED", "blocked": "BLOCKED_BY_POLICY"}[decision]
    assert (result.error and result.error.code) == expected
    assert result.metadata["approval"] == decision


def test_a_rule_is_not_loosened_by_a_claim(modules) -> None:
    modules.write(claiming("False"), "f")
    (modules.home / "policy.yaml").write_text("rules:\n  - {tool: f, approval: blocked}\n")
    assert modules.call("f").error.code == "BLOCKED_BY_POLICY"


@pytest.mark.parametrize("claim", ["lambda i: i['n'] > 5", "lambda i, options: 'ask' if i['n'] > 5 else 'preApproved'"])
def test_a_claim_may_look_at_the_arguments(modules, claim: str) -> None:
    """G7"""
    modules.write(claiming(claim), "f")
    assert modules.call("f", {"n": 1}, approver=ScriptedApprover()).data == "ran"
    asked = ScriptedApprover(True, False)
    assert modules.call("f", {"n": 9}, approver=asked).data == "ran"
    assert modules.call("f", {"n": 9, "m": 1}, approver=asked).error.code == "APPROVAL_DENIED"
    assert modules.approvals() == {"f": "ask"}


def test_a_claim_cannot_change_what_runs(modules) -> None:
    modules.write(
        "f = {'name': 'f', 'input_schema': {}, 'execute': lambda i: i, 'needs_approval': lambda i: bool(i['x'].clear())}\n",
        "f",
    )
    assert modules.call("f", {"x": [1, 2]}, approver=ScriptedApprover()).data == {"x": [1, 2]}


@pytest.mark.parametrize("claim", ["lambda i: 1 / 0", "lambda i: 'yes'", "lambda i: None"])
def test_a_claim_that_fails_lets_nothing_through(modules, tmp_path: Path, claim: str) -> None:
    ran = tmp_path / "ran"
    modules.write(
        f"import pathlib\nf = {{'name': 'f', 'input_schema': {{}}, 'needs_approval': {claim},"
        f" 'execute': lambda i: pathlib.Path({str(ran)!r}).touch()}}\n",
        "f",
        approval="{default: preApproved}",
    )
    assert modules.call("f").error is not None
    assert not ran.exists()


def test_everywhere_else_a_claim_only_tightens(modules) -> None:
    """A function that is handed over, with a default of `ask`: its own `False` changes nothing."""
    (modules.home / "config.yaml").write_text("approval: {default: ask}\n")

    @toolcrib.tool(needs_approval=False)
    def f() -> str:
        return "ran"

    async def use() -> toolcrib.Result:
        async with toolcrib.open(home=modules.home, workspace=modules.workspace, tools=[f]) as crib:
            return await crib.call("f")

    assert asyncio.run(use()).error.code == "APPROVAL_REQUIRED"


def test_a_changed_module_is_asked_about_again(modules) -> None:
    """What was remembered is for this content of the file; also when the tool itself reads the same."""

    class Always:
        asked = 0

        async def approve(self, question: toolcrib.Question) -> Standing:
            self.asked += 1
            return Standing(True, "terminal", "user")

    person = Always()
    modules.write("LIMIT = 1\ndef f() -> int:\n  return LIMIT\n", "f")
    assert [modules.call("f", approver=person).data for _ in range(2)] == [1, 1]
    assert person.asked == 1
    modules.write("LIMIT = 2\ndef f() -> int:\n  return LIMIT\n")
    assert modules.call("f", approver=person).data == 2
    assert person.asked == 2


def test_a_project_may_block_the_user_s_module(modules, run_cli) -> None:
    modules.write(claiming("False"), "f")
    (modules.workspace / ".toolcrib").mkdir()
    (modules.workspace / ".toolcrib/config.yaml").write_text("toolsets: {custom: {approval: {tools: {f: blocked}}}}\n")
    assert run_cli("call", "f").returncode == 0
    assert run_cli("trust", "--yes").returncode == 0
    assert run_cli("call", "f", "--yes").returncode == 3


def test_a_project_may_do_without_the_user_s_module(modules, run_cli) -> None:
    modules.write(claiming("False"), "f")
    (modules.workspace / ".toolcrib").mkdir()
    (modules.workspace / ".toolcrib/config.yaml").write_text("toolsets: {}\n")
    assert run_cli("trust", "--yes").returncode == 0
    assert run_cli("list", "--names").stdout == ""


def load(path: Path, **config) -> list[toolcrib.Tool]:
    return asyncio.run(load_custom_tools(path, config))


def test_a_program_can_load_them_itself(modules) -> None:
    """G29"""
    modules.write(claiming("") + "g = {**f, 'name': 'g', 'needs_approval': False}\n" + "h = {**f, 'name': 'h'}\n")
    tools = load(
        modules.path, tools=["f", "g", "h"], approval={"default": "ask", "tools": {"g": "blocked", "h": "preApproved"}}
    )
    assert [(tool.name, tool.needs_approval) for tool in tools] == [
        ("f", "ask"),
        ("g", "blocked"),
        ("h", "preApproved"),
    ]

    async def use() -> list[str | None]:
        async with toolcrib.open(home=modules.home, workspace=modules.workspace, tools=tools) as crib:
            results = [await crib.call(name) for name in "fgh"]
            return [result.error and result.error.code for result in results]

    assert asyncio.run(use()) == ["APPROVAL_REQUIRED", "BLOCKED_BY_POLICY", None]


def test_an_entry_tightens_a_claim_that_looks_at_the_arguments(modules) -> None:
    modules.write(claiming("lambda i: i.get('n') == 1"))
    (tool,) = load(modules.path, tools=["f"], approval={"tools": {"f": "ask"}})
    assert callable(tool.needs_approval) and tool.needs_approval({}) == "ask"
    (tool,) = load(modules.path, tools=["f"], approval={"default": "blocked", "tools": {"f": "ask"}})
    assert tool.needs_approval == "blocked"


@pytest.mark.parametrize(
    ("text", "config", "words"),
    [
        ("", {"tools": ["f"]}, "Tool 'f' not found in"),
        ("def f(a): pass", {"tools": ["f"]}, "Schema 'f_schema' required for function 'f'"),
        ("f = 3", {"tools": ["f"]}, "Export 'f' must be a function or tool object"),
        ("1/0", {"tools": ["f"]}, "line 1: ZeroDivisionError"),
        ("def f(): pass", {"tools": ["f"], "approval": {"default": "never"}}, "'never' is not one of"),
    ],
)
def test_loading_raises_what_is_wrong(modules, text: str, config: dict, words: str) -> None:
    """G25, G26, G27, G29"""
    modules.write(text)
    with pytest.raises(toolcrib.ConfigError) as caught:
        load(modules.path, **config)
    assert words in str(caught.value) and str(modules.path) in str(caught.value)


def test_wrapping_leaves_a_tool_that_speaks_for_itself() -> None:
    """G15, G16: and keeps three values apart."""

    @toolcrib.tool(needs_approval=False)
    def speaks() -> None: ...

    @toolcrib.tool
    def silent() -> None: ...

    assert wrap_with_default_approval(speaks, {"default": "blocked"}) is speaks
    assert wrap_with_default_approval(silent).needs_approval == "ask"
    assert wrap_with_default_approval(silent, {"default": "preApproved"}).needs_approval == "preApproved"
    assert wrap_with_default_approval(silent, {"tools": {"silent": "blocked"}}).needs_approval == "blocked"
    with pytest.raises(ValueError, match="not one of"):
        wrap_with_default_approval(silent, {"default": "no"})
