"""The example that Python modules as tools began with: a calculator, in both forms, beside built-in toolsets.

A function with a schema of the name `<function>Schema` beside it, or one object with everything; a list of what is
offered; and approval by tool, else by default.
"""

import asyncio
import json
from pathlib import Path

import pytest

import toolcrib
from toolcrib.sources.python import load_custom_tools, wrap_with_default_approval
from toolcrib.testing import ScriptedApprover

CALCULATE = """
def _nth(n):
    before, here = 1, 0
    while n:
        before, here, n = here, before + here, n - 1
    return here
"""
SCHEMA = """
from pydantic import BaseModel, Field

class Which(BaseModel):
    n: int = Field(ge=0, description="Which one, counted from zero")
"""
BESIDE = f"""{SCHEMA}{CALCULATE}
def calculateFibonacci(which: Which) -> int:
    '''Find a number of Fibonacci's by its place.'''
    return _nth(which.n)

calculateFibonacciSchema = Which

def calculateFactorial(n):
    open("factorial-ran", "w").close()
    return n * calculateFactorial(n - 1) if n > 1 else 1

calculateFactorialSchema = {{"type": "object", "properties": {{"n": {{"type": "integer", "minimum": 0}}}}, "required": ["n"]}}

def formatDisk(disk: str) -> str:
    '''Is in the module, and in no list.'''
    raise SystemExit(1)
"""
WHOLE = f"""{SCHEMA}{CALCULATE}
async def _execute(which):
    return _nth(which.n)

calculateFibonacci = {{
    "name": "calculateFibonacci",
    "description": "Find a number of Fibonacci's by its place.",
    "inputSchema": Which,
    "needsApproval": False,
    "execute": _execute,
}}
"""
LISTED = ("calculateFibonacci", "calculateFactorial")
APPROVAL = "{default: ask, tools: {calculateFibonacci: preApproved}}"


def refused(result: toolcrib.Result) -> str | None:
    return result.error.code if result.error else None


@pytest.mark.parametrize("text", [BESIDE, WHOLE], ids=["function and schema", "tool object"])
def test_both_forms_are_the_same_tool(modules, text: str) -> None:
    """G6, G17, G18, G19, G20, G21, G28: name, words, constraints and answers; the function is sync, the object's is not."""
    modules.write(text, "calculateFibonacci", approval=APPROVAL)
    tool = modules.tool("calculateFibonacci")
    assert tool.description == "Find a number of Fibonacci's by its place."
    about = tool.input_schema["properties"]["n"]
    assert (about["type"], about["minimum"], about["description"]) == ("integer", 0, "Which one, counted from zero")
    places = (0, 1, 2, 3, 10, 90)
    answers = [modules.call("calculateFibonacci", {"n": n}, approver=ScriptedApprover()).data for n in places]
    assert answers == [0, 1, 1, 2, 55, 2880067194370816120]
    wrong = [{"n": -1}, {"n": 1.5}, {"n": "1"}, {}]
    assert [refused(modules.call("calculateFibonacci", args)) for args in wrong] == ["VALIDATION_ERROR"] * 4


def test_what_is_listed_is_offered_and_approved_as_it_says(modules, workspace: Path, monkeypatch) -> None:
    """G1, G3, G8, G9, G10, G13, G22, G23, G24, G30: beside the built-in files, two of three exports, one unasked."""
    monkeypatch.chdir(workspace)
    modules.write(BESIDE)
    names = ", ".join(LISTED)
    (modules.home / "config.yaml").write_text(
        f"toolsets:\n  filesystem: {{}}\n  custom: {{module: ./tools.py, tools: [{names}], approval: {APPROVAL}}}\n"
    )
    offered = modules.approvals()
    assert {name: offered[name] for name in LISTED} == {
        "calculateFibonacci": "preApproved",
        "calculateFactorial": "ask",
    }
    assert "read_file" in offered and "run_command" not in offered and "formatDisk" not in offered
    nobody = ScriptedApprover()
    assert modules.call("calculateFibonacci", {"n": 7}, approver=nobody).data == 13
    assert nobody.asked == []
    assert refused(modules.call("calculateFactorial", {"n": 5}, approver=ScriptedApprover(False))) == "APPROVAL_DENIED"
    assert not (workspace / "factorial-ran").exists()
    assert modules.call("calculateFactorial", {"n": 5}, approver=ScriptedApprover(True)).data == 120
    assert modules.tool("calculateFactorial").description == "Custom tool: calculateFactorial"


def test_blocked_is_not_a_question(modules, workspace: Path, monkeypatch) -> None:
    """G11, G12, G16: nobody is asked, whoever would say yes; and nothing ran."""
    monkeypatch.chdir(workspace)
    modules.write(BESIDE, *LISTED, approval="{default: blocked}")
    willing = ScriptedApprover(True)
    assert refused(modules.call("calculateFactorial", {"n": 5}, approver=willing)) == "BLOCKED_BY_POLICY"
    assert willing.asked == []
    assert not (workspace / "factorial-ran").exists()


def test_the_shell_beside_it_has_rules(modules) -> None:
    """G3, G4: what the rule names needs no question, anything else does."""
    config = "toolsets: {shell: {rules: [{pattern: 'git log', approval: preApproved}]}}\n"
    (modules.home / "config.yaml").write_text(config)

    def judged(crib: toolcrib.Crib) -> list[str]:
        tool = crib.find("run_command")
        assert tool is not None
        return [
            crib.verdict(tool, {"command": text}).decision.wire for text in ("git log -3", "gitk", "git log; ls > x")
        ]

    assert modules.opened(judged) == ["preApproved", "ask", "ask"]


def test_the_loader_and_the_default(tmp_path: Path) -> None:
    """G15, G29: the same for a program; a tool that speaks for itself is left as it is."""
    (tmp_path / "beside.py").write_text(BESIDE)
    (tmp_path / "whole.py").write_text(WHOLE)
    said = {"default": "ask", "tools": {"calculateFibonacci": "preApproved"}}
    names = {"tools": list(LISTED), "approval": said}
    fibonacci, factorial = asyncio.run(load_custom_tools(tmp_path / "beside.py", names))
    assert (fibonacci.needs_approval, factorial.needs_approval) == ("preApproved", "ask")
    (whole,) = asyncio.run(load_custom_tools(tmp_path / "whole.py", {"tools": ["calculateFibonacci"]}))
    assert whole.needs_approval is False
    assert wrap_with_default_approval(whole, {"default": "blocked"}) is whole
    bare = factorial._replace(needs_approval=None)
    assert wrap_with_default_approval(bare).needs_approval == "ask"
    assert wrap_with_default_approval(bare, said).needs_approval == "ask"
    assert wrap_with_default_approval(bare, {"tools": {bare.name: "blocked"}}).needs_approval == "blocked"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("calculateNothing", ["calculateNothing", "not found", "tools.py"]),
        ("bare", ["bare", "bare_schema"]),
        ("text", ["text", "function", "tool object"]),
    ],
)
def test_what_cannot_be_a_tool_is_named(modules, name: str, words: list[str]) -> None:
    """G25, G26, G27: no such export; neither hints nor a schema; neither a function nor a tool object."""
    modules.write(BESIDE + "\ndef bare(n):\n    return n\n\ntext = 'calculate'\n", name, "calculateFibonacci")
    ((code, message),) = modules.problems()
    assert code == "CONFIG_INVALID"
    assert [word for word in words if word not in message] == []
    assert modules.names() == ["calculateFibonacci"]


def test_it_is_callable_by_hand(modules, run_cli) -> None:
    """G8: the way a person tries it."""
    modules.write(BESIDE, *LISTED, approval=APPROVAL)
    assert run_cli("call", "calculateFibonacci", "--n", "12").stdout == "144\n"
    listed = json.loads(run_cli("list", "--json").stdout)["tools"]
    assert [(tool["name"], tool["source"]) for tool in listed] == [(name, "module") for name in sorted(LISTED)]
