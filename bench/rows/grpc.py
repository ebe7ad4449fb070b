"""Row: a unary call over gRPC of an in-process tool, beside a bare round trip of the same messages."""

from __future__ import annotations

from contextlib import ExitStack

from bench.measure import Comparison, Row, interleave
from bench.scratch import Scratch

NAME = "grpc"
TITLE = "unary CallTool over gRPC, whole pipeline with token, policy and audit"
MARK = 1.3
ROUNDS, CALLS = 60, 50
FLOOR, OURS = "bare grpcio", "toolcrib"


def ask(scratch: Scratch) -> Row:
    """Both servers are asyncio servers of grpcio in a process of their own, asked by the same synchronous client."""
    row = Row(NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample=f"the mean of {CALLS} calls")
    home, workspace = str(scratch.home("grpc")), str(scratch.workspace())
    for transport, mark in (("unix", MARK), ("tcp", None)):
        with ExitStack() as stack:
            workers = [
                stack.enter_context(scratch.worker(name, "call_grpc", kind, home, workspace, transport))
                for name, kind in ((OURS, "toolcrib"), (FLOOR, "bare"))
            ]
            taken = interleave([worker.contender(calls=CALLS) for worker in workers], rounds=row.rounds)
        row.lines.append(Comparison(f"greet, {transport}", taken[OURS], FLOOR, taken[FLOOR], mark))
    return row
