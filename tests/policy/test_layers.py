"""Random layers of rules, entries, claims and toolsets: adding one never loosens, and blocked stays blocked."""

import asyncio
import random
from pathlib import Path
from typing import Any

from tests.soak import turns

import toolcrib
from toolcrib.builtins import TOOLS
from toolcrib.core.call import Call
from toolcrib.core.context import Host
from toolcrib.core.executor import Executor
from toolcrib.core.policy import Decision, Verdict
from toolcrib.core.registry import Registry
from toolcrib.core.tool import Tool
from toolcrib.policy.approvers import SaysYes
from toolcrib.policy.commands import Pattern
from toolcrib.policy.names import NamePattern, PathPattern
from toolcrib.policy.rule import Origin, Rule
from toolcrib.policy.rules import RulePolicy, Toolset
from toolcrib.sandbox.places import Places
from toolcrib.testing import MemoryFiles, ScriptedSandbox

CASES = turns(10_000, 3_000)
PATTERNS = ["git", "git status", "git status|log", "git push --force", "ls", "rm", "rm -rf", "*"]
COMMANDS = [
    "git status", "git push --force", "ls && rm x", "git log | ls", "time rm -rf x", "rm $(x)", "git -c a=b status",
    "sh -c 'git status'", "x=1 ls", "cd sub && ls",
]  # fmt: skip
CALLS: list[tuple[str, dict[str, Any]]] = [
    *(("run_command", {"command": command}) for command in COMMANDS),
    ("run_command", {"argv": ["git", "push", "--force"]}),
    ("read_file", {"path": "a.txt"}),
    ("read_file", {"path": "../x"}),
    ("write_file", {"path": "src/a.py", "content": ""}),
    ("write_file", {"path": ".git/config", "content": ""}),
    ("greet", {"name": "src/a.py"}),
]


@toolcrib.tool
def greet(name: str) -> str:
    """Greet."""
    return name


def some_rule(rng: random.Random, layer: str, workspace: str) -> Rule:
    decision = rng.choice(list(Decision) if layer != "project policy" else list(Decision)[1:])
    about: dict[str, Any] = {}
    if rng.random() < 0.6:
        about["tools"] = (NamePattern(rng.choice(["run_command", "read_file", "*", "greet", "write_file"])),)
    match rng.randrange(4):
        case 0:
            about["commands"] = (Pattern.parse(rng.choice(PATTERNS[:-1])),)
        case 1:
            about["paths"] = (PathPattern.made(rng.choice(["src", ".", "a.txt", "**/*.py"]), workspace),)
        case 2:
            about["sources"] = frozenset([rng.choice(["builtin", "function"])])
    return Rule(decision, Origin(layer, "policy.yaml", rng.randrange(99), ""), **about)


def some_verdict(rng: random.Random) -> Verdict:
    return Verdict(rng.choice(list(Decision)), "random")


def some_policy(rng: random.Random, places: Places, workspace: str) -> dict[str, Any]:
    layers = ["user policy", "project policy", "toolsets"]
    return {
        "entries": {name: some_verdict(rng) for name in ("run_command", "read_file", "greet") if rng.random() < 0.3},
        "rules": tuple(some_rule(rng, rng.choice(layers), workspace) for _ in range(rng.randrange(4))),
        "default": some_verdict(rng) if rng.random() < 0.2 else None,
        "places": places,
    }


def stricter(rng: random.Random, parts: dict[str, Any], workspace: str) -> tuple[dict[str, Any], Any]:
    """The same, with one more layer; and the claim of the tool, if that is the layer."""
    match rng.randrange(4):
        case 0:
            return {**parts, "rules": (*parts["rules"], some_rule(rng, "project policy", workspace))}, None
        case 1:
            return {**parts, "rules": (some_rule(rng, "user policy", workspace), *parts["rules"])}, None
        case 2:
            toolset = Toolset(frozenset(["run_command"]), entries={"run_command": some_verdict(rng)})
            return {**parts, "toolsets": (toolset,)}, None
        case _:
            return parts, rng.choice(["preApproved", "ask", "blocked", True, False])


def test_adding_a_layer_never_loosens(tmp_path: Path) -> None:
    """I2, G14. Where only a default decided, a rule may say otherwise; but nothing undoes blocked."""
    rng = random.Random(20261116)
    workspace = str(tmp_path)
    places = Places(workspace)
    tools: dict[str, Tool] = {tool.name: tool for tool in (*TOOLS, greet)}
    changed = kept = 0
    for _ in range(CASES):
        parts = some_policy(rng, places, workspace)
        more, claim = stricter(rng, parts, workspace)
        name, args = rng.choice(CALLS)
        call, tool = Call(name, args, "1"), tools[name]
        before, after = RulePolicy(**parts), RulePolicy(**more)
        opinions = before.opinions(call, tool)
        was, now = before.judge(call, tool), after.judge(call, tool._replace(needs_approval=claim))
        if all(opinion.voices for opinion in opinions) or was.decision is Decision.BLOCKED:
            assert now.decision >= was.decision, (parts, more, claim, call)
            kept += 1
        assert was.decision is max(opinion.decisive.verdict.decision for opinion in opinions)
        changed += now.decision is not was.decision
    assert kept > CASES // 3
    assert changed > CASES // 20


def test_blocked_is_never_run_whoever_says_yes(tmp_path: Path) -> None:
    """G16: no rule, answer, claim or flag turns blocked into a run."""
    rng = random.Random(3)
    workspace = str(tmp_path)
    places = Places(workspace)
    sandbox, files = ScriptedSandbox(), MemoryFiles({})
    registry = Registry()
    for tool in (*TOOLS, greet):
        registry.register(tool)

    async def attempt() -> int:
        blocked = 0
        for _ in range(1000):
            parts = some_policy(rng, places, workspace)
            parts["entries"] = {**parts["entries"], "greet": Verdict(Decision.BLOCKED, "never")}
            policy = RulePolicy(**parts)
            host = Host(workspace, sandbox, lambda report, judged, session: files)
            executor = Executor(registry, policy, host, approver=SaysYes())
            name, args = rng.choice(CALLS)
            call = Call(name, args, "1", dry_run=rng.random() < 0.1)
            verdict = policy.judge(call, registry.get(name))  # type: ignore[arg-type]  # it was registered above
            if verdict.decision is Decision.BLOCKED:
                blocked += 1
                result = await executor.call(call)
                assert result.error is not None
                assert result.error.code == verdict.code
                assert result.metadata["attempts"] == 0
        return blocked

    assert asyncio.run(attempt()) > 200
    assert sandbox.commands == []
    assert files.files == {}
