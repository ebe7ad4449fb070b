"""Ours, judging: the same calls under many rules and under one.

    judge_toolcrib HOME WORKSPACE RULES ROUNDS

Prints one JSON object: what was judged, and the nanoseconds of each round under many rules, under many of which a
fifth cover every part, and under one.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from toolcrib.builtins import TOOLS
from toolcrib.core.call import Call
from toolcrib.runtime.build import build
from toolcrib.runtime.runtime import Crib

COMMAND = "git status && git log --oneline -n 5 | head -n 3; ls -la src && rg -n TODO src"
CALLS = {
    "a command of five parts": ("run_command", {"command": COMMAND}),
    "a file to write": ("write_file", {"path": "src/deep/down/file.py", "content": ""}),
}
APPROVALS = ("preApproved", "ask", "blocked")


COVERING = "- {{command: ['git status|log|x{}', ls, head, rg], approval: preApproved}}"


def rules(count: int, covering: int) -> str:
    """As many rules of every kind, the first `covering` of a fifth of which cover each part of the command."""
    lines = ["rules:"]
    for number in range(count):
        approval = APPROVALS[number % 3]
        match number % 5:
            case 0:
                lines.append(f"- {{command: 'program{number} verb', approval: {approval}}}")
            case 1:
                lines.append(f"- {{paths: ['area{number}/**/*.txt'], approval: {approval}}}")
            case 2:
                lines.append(f"- {{tool: [custom_tool_{number}, 'mcp__server{number}__*'], approval: {approval}}}")
            case 3:
                lines.append(f"- {{tool: run_command, args: {{/command: 'exactly {number}'}}, approval: {approval}}}")
            case _ if number // 5 < covering:
                lines.append(COVERING.format(number))
            case _:
                lines.append(f"- {{command: ['git verb{number}', 'ls a{number}', o{number}], approval: {approval}}}")
    return "\n".join(lines) + "\n"


def crib(home: Path, workspace: Path, policy: str) -> Crib:
    (home / "policy.yaml").write_text(policy)
    return build(workspace=workspace, home=home)


def main(home: Path, workspace: Path, count: int, rounds: int) -> None:
    many = crib(home, workspace, rules(count, 5))
    crowded = crib(home, workspace, rules(count, count))
    one = crib(home, workspace, f"rules:\n{COVERING.format(0)}\n")
    tools = {tool.name: tool for tool in TOOLS}
    taken = {}
    for what, (name, args) in CALLS.items():
        call, tool = Call(name, args, ""), tools[name]
        pairs = []
        for _ in range(rounds):
            pair = []
            for contender in (many, crowded, one):
                start = time.perf_counter_ns()
                contender.policy.opinions(call, tool)
                pair.append(time.perf_counter_ns() - start)
            pairs.append(pair)
        taken[what] = [[pair[at] for pair in pairs] for at in range(3)]
    print(json.dumps(taken))


main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
