"""Row: our MCP server on stdio beside FastMCP's, asked by one and the same small client."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.mcp_client import McpClient
from bench.measure import Comparison, Contender, Row, Series, interleave
from bench.scratch import ROOT, Scratch

NAME = "mcp"
TITLE = "MCP server on stdio beside FastMCP's"
STARTS, ROUNDS, CALLS = 15, 60, 10
START_MARK, CALL_MARK, MEMORY_MARK = 0.15, 0.2, 0.5
GREET = ("greet", {"name": "Bob", "age": 25}, "Hello, Bob")
WORKERS = ROOT / "bench" / "workers"


@dataclass(frozen=True)
class Server:
    """How a server is started, and the name its program goes by."""

    name: str
    command: Sequence[str]
    program: str

    def start(self, scratch: Scratch, home: Path) -> McpClient:
        log = scratch.folder / f"{self.name.replace(' ', '-')}.log"
        return McpClient(self.command, env=scratch.env(home), cwd=scratch.workspace(), log=log)


def ask(scratch: Scratch) -> Row:
    """Start each server afresh many times, then keep them and call them in turn."""
    starts = scratch.rounds(STARTS)
    row = Row(
        NAME, TITLE, rounds=scratch.rounds(ROUNDS), sample=f"the mean of {CALLS} calls, or one start ({starts} rounds)"
    )
    home = scratch.home("mcp")
    tiny = home / "tools" / "tiny"
    shutil.copy(scratch.program("tiny_tool"), tiny)
    theirs = Server("FastMCP", [str(scratch.peers), str(WORKERS / "serve_fastmcp.py"), str(tiny)], "tiny")
    function = Server(
        "toolcrib function",
        [sys.executable, str(WORKERS / "serve_toolcrib.py"), str(home), str(scratch.workspace())],
        "custom_tool_tiny",
    )
    command = [str(Path(sys.executable).parent / "toolcrib"), "serve", "mcp", "--ask", "client"]
    verb = Server("toolcrib serve mcp", command, "custom_tool_tiny")
    row.lines += _starts(scratch, home, [function, verb], theirs, rounds=starts)
    row.lines += _calls(scratch, home, (function, verb, theirs), rounds=row.rounds)
    return row


def _starts(scratch: Scratch, home: Path, ours: list[Server], theirs: Server, *, rounds: int) -> list[Comparison]:
    def once(server: Server) -> float:
        with server.start(scratch, home) as client:
            client.initialize()
            client.request("tools/list", {})
            return time.perf_counter_ns() - client.started

    def contender(server: Server) -> Contender:
        return Contender(server.name, lambda: once(server))

    for server in [*ours, theirs]:
        once(server)
    taken = interleave([contender(server) for server in [*ours, theirs]], rounds=rounds)
    titles = ("start, a function", "start, `serve mcp`")
    return [
        Comparison(title, taken[server.name], theirs.name, taken[theirs.name], START_MARK)
        for title, server in zip(titles, ours, strict=True)
    ]


def _calls(scratch: Scratch, home: Path, servers: tuple[Server, Server, Server], *, rounds: int) -> list[Comparison]:
    function, verb, theirs = servers
    with ExitStack() as stack:
        clients = {server.name: stack.enter_context(server.start(scratch, home)) for server in servers}
        for client in clients.values():
            client.initialize()
        greets = interleave([_contender(clients, server, GREET) for server in (function, theirs)], rounds=rounds)
        runs = interleave(
            [_contender(clients, server, (server.program, {"name": "Bob"}, "hello\n")) for server in (verb, theirs)],
            rounds=rounds,
        )
        memory = {name: Series((float(client.resident_kib()),)) for name, client in clients.items()}
    peer = theirs.name
    return [
        Comparison("call, a function", greets[function.name], peer, greets[peer], CALL_MARK),
        Comparison("call, a program", runs[verb.name], peer, runs[peer]),
        Comparison("memory, a function", memory[function.name], peer, memory[peer], MEMORY_MARK, "KiB"),
        Comparison("memory, `serve mcp`", memory[verb.name], peer, memory[peer], MEMORY_MARK, "KiB"),
    ]


def _contender(clients: dict[str, McpClient], server: Server, request: tuple[str, dict[str, Any], str]) -> Contender:
    name, arguments, expected = request
    client = clients[server.name]

    def sample() -> float:
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            if client.call(name, arguments) != expected:
                raise RuntimeError(f"{server.name} gave a wrong answer to {name}")
        return (time.perf_counter_ns() - start) / CALLS

    sample()
    return Contender(server.name, sample)
