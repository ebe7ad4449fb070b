"""Ours, judging: the same calls under many rules and under one.

    judge_toolcrib HOME WORKSPACE RULES ROUNDS

Prints one JSON object: what was judged, and the nanoseconds of each round under many rules and under one.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from toolcrib.builtins import TOOLS
from toolcrib.core.call import Call
from toolcrib.runtime.build import build

COMMAND = "git status && git log --oneline -n 5 | head -n 3; ls -la src && rg -n TODO src"
CALLS = {
    "a command of five parts": ("run_command", {"command": COMMAND}),
    "a file to write": ("write_file", {"path": "src/deep/down/file.py", "content": ""}),
}
APPROVALS = ("preApproved", "ask", "blocked")


def rules(count: int) -> str:
    """As many rules of every kind; none of those that block means any of the calls."""
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
            case _:
                lines.append("- {command: ['git status|log', ls, head, rg], approval: preApproved}")
    return "\n".join(lines) + "\n"


def main(home: Path, workspace: Path, count: int, rounds: int) -> None:
    (home / "policy.yaml").write_text(rules(count))
    many = build(workspace=workspace, home=home)
    (home / "policy.yaml").write_text(rules(5).splitlines()[0] + "\n" + rules(5).splitlines()[5] + "\n")
    one = build(workspace=workspace, home=home)
    tools = {tool.name: tool for tool in TOOLS}
    taken = {}
    for what, (name, args) in CALLS.items():
        call, tool = Call(name, args, ""), tools[name]
        pairs = []
        for _ in range(rounds):
            pair = []
            for crib in (many, one):
                start = time.perf_counter_ns()
                crib.policy.opinions(call, tool)
                pair.append(time.perf_counter_ns() - start)
            pairs.append(pair)
        taken[what] = [[pair[0] for pair in pairs], [pair[1] for pair in pairs]]
    print(json.dumps(taken))


main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
