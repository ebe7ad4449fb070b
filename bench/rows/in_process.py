"""Row: an async Python function called as a tool, beside four other libraries."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from bench.measure import Comparison, Row, interleave
from bench.scratch import Scratch

NAME = "in-process"
TITLE = "async function called in process, whole pipeline with policy and audit"
ROUNDS = 60
OURS = "toolcrib"


@dataclass(frozen=True)
class Peer:
    """Another library's way to call the same function."""

    name: str
    command: tuple[str, ...]
    calls: int
    mark: float | None = None


PEERS = (
    Peer("openai-agents bare", ("call_openai_agents", "once"), 500, 1.0),
    Peer("openai-agents, ctx", ("call_openai_agents", "each"), 200),
    Peer("pydantic-ai", ("call_pydantic_ai",), 200, 0.5),
    Peer("FastMCP in memory", ("call_fastmcp",), 10, 0.01),
    Peer("langchain-core", ("call_langchain",), 20),
)


def ask(scratch: Scratch) -> Row:
    """Time the same function behind every door, all warm, all in processes of their own."""
    row = Row(NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample="the mean of 10 to 500 calls")
    home = scratch.home("in-process")
    with ExitStack() as stack:
        ours = scratch.worker(OURS, "call_toolcrib", str(home), str(scratch.workspace()))
        contenders = [stack.enter_context(ours).contender(calls=500)]
        for peer in PEERS:
            worker = scratch.worker(peer.name, *peer.command, python=scratch.peers)
            contenders.append(stack.enter_context(worker).contender(calls=peer.calls))
        taken = interleave(contenders, rounds=row.rounds)
    row.lines += [Comparison("greet", taken[OURS], peer.name, taken[peer.name], peer.mark) for peer in PEERS]
    return row
