"""`toolcrib serve mcp` as a process: nothing but protocol on stdout, and a good end for every kind of end."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib import __version__

CALL_SLOW = {"name": "custom_tool_slow", "arguments": {}}


class Served:
    """The server, and a client that waits for each answer."""

    def __init__(self, workshop: Any, *options: str) -> None:
        self.pid_file: Path = workshop.workspace / "slow.pid"
        self.process = subprocess.Popen(
            workshop.command(*options),
            env=workshop.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, method: str, params: Any = None, *, id: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message if id is None else {**message, "id": id}).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, params: Any = None, *, id: Any = 1) -> Any:
        self.send(method, params, id=id)
        return self.receive()

    def initialize(self) -> Any:
        return self.ask("initialize", {"protocolVersion": "2025-11-25"}, id="init")["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def start_slow(self) -> int:
        """A call that does not end; the descriptor becomes readable when its program is gone."""
        self.initialize()
        self.send("tools/call", CALL_SLOW, id="slow")
        while not self.pid_file.exists():
            self.ask("ping")
        return os.pidfd_open(int(self.pid_file.read_text()))

    def rest(self) -> tuple[bytes, bytes, int]:
        out, err = self.process.communicate(timeout=20)
        return out, err, self.process.returncode


@pytest.fixture
def served(workshop: Any) -> Iterator[Served]:
    server = Served(workshop, "--ask", "client")
    yield server
    server.process.kill()
    server.process.communicate()


def ends(watched: int) -> bool:
    ready, _, _ = select.select([watched], [], [], 10)
    os.close(watched)
    return bool(ready)


def test_a_session(served: Served) -> None:
    assert served.initialize()["serverInfo"] == {"name": "toolcrib", "version": __version__}
    names = [tool["name"] for tool in served.ask("tools/list")["result"]["tools"]]
    assert "custom_tool_hello" in names
    assert served.call("custom_tool_hello", name="Bob")["content"] == [{"type": "text", "text": "Hello, Bob!\n"}]
    assert served.rest() == (b"", b"", 0)


def test_without_a_client_that_asks_the_answer_says_how_to_approve(workshop: Any) -> None:
    served = Served(workshop, "--wait", "0")
    served.initialize()
    result = served.call("custom_tool_hello", name="Bob")
    assert result["isError"] is True
    text = result["content"][0]["text"]
    assert text.startswith("APPROVAL_REQUIRED: ")
    assert "custom_tool_hello: preApproved" in text
    assert served.rest()[2] == 0


def test_a_tool_that_is_added_is_there_and_told(served: Served, workshop: Any) -> None:
    served.initialize()
    before = [tool["name"] for tool in served.ask("tools/list")["result"]["tools"]]
    (workshop.home / "tools" / "hello").rename(workshop.home / "tools" / "zz_hello")
    assert served.receive() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    after = [tool["name"] for tool in served.ask("tools/list")["result"]["tools"]]
    assert sorted(before) == sorted(after), "it still calls itself hello"
    assert served.rest()[2] == 0


def test_the_end_of_the_input_ends_the_tool_and_the_server(served: Served) -> None:
    watched = served.start_slow()
    out, _, status = served.rest()
    assert ends(watched)
    assert (out, status) == (b"", 0)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)])
def test_a_second_signal_ends_the_tool_and_the_server(served: Served, number: signal.Signals, status: int) -> None:
    watched = served.start_slow()
    served.process.send_signal(number)
    refused = {"code": "ENGINE_NOT_AVAILABLE"}
    while served.ask("tools/call", {"name": "no_such_tool"})["error"].get("data") != refused:
        pass  # the first one has come when new calls are refused
    served.process.send_signal(number)
    assert served.process.wait(20) == status
    assert ends(watched)


def test_a_cancelled_call_ends_its_program(served: Served) -> None:
    watched = served.start_slow()
    served.send("notifications/cancelled", {"requestId": "slow"})
    assert ends(watched)
    assert served.ask("ping", id="after") == {"jsonrpc": "2.0", "id": "after", "result": {}}
    assert served.rest()[2] == 0


@pytest.mark.parametrize("closing", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_a_server_without_streams(workshop: Any, closing: str) -> None:
    closed = ["sh", "-c", f'exec "$@" </dev/null {closing}', "sh", *workshop.command("--ask", "client")]
    assert subprocess.run(closed, env=workshop.environment(), timeout=60, check=False).returncode == 0


PRINTS = """
import asyncio, sys, os
import toolcrib
from toolcrib.serve.stdio import serve_stdio

@toolcrib.tool
async def noisy() -> str:
    "Writes to stdout, which it should not."
    print("from print")
    os.write(1, b"from write\\n")
    assert sys.stdin.read() == ""
    return "quiet"

async def main():
    async with toolcrib.open(workspace=sys.argv[1], tools=[noisy], approver=toolcrib.SaysYes()) as crib:
        await serve_stdio(crib)

asyncio.run(main())
print("after")
"""


def test_what_a_tool_prints_does_not_reach_the_client(workshop: Any) -> None:
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "noisy"}},
    ]
    done = subprocess.run(
        [sys.executable, "-c", PRINTS, str(workshop.workspace)],
        env=workshop.environment(),
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    *answers, last = done.stdout.splitlines()
    assert [json.loads(line)["id"] for line in answers] == [1, 2]
    assert last == "after"
    assert sorted(done.stderr.splitlines()) == ["from print", "from write"]
