"""SIGTERM at the doors that stay open: nothing new, what runs may finish, nothing is left, and the record is whole."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from toolcrib.observe.verify import verify
from toolcrib.serve.stdio import DRAIN_SECONDS

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
STATUS = {signal.SIGTERM: 0, signal.SIGINT: 130, signal.SIGHUP: 0}


class Mcp:
    """`toolcrib serve mcp`, and a client that reads what comes, in whatever order."""

    def __init__(self, site: Any, *, before: tuple[str, ...] = ()) -> None:
        self.site, self.heard = site, dict[Any, Any]()
        self.process = site.start("serve", "mcp", "--ask", "client", before=before)
        self.ask("initialize", {"protocolVersion": "2025-11-25"}, id="init")

    def send(self, method: str, params: Any = None, *, id: Any) -> None:
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def answer(self, id: Any) -> Any:
        while id not in self.heard:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            message = json.loads(line)
            self.heard[message.get("id")] = message
        return self.heard.pop(id)

    def ask(self, method: str, params: Any = None, *, id: Any = "ask") -> Any:
        self.send(method, params, id=id)
        return self.answer(id)

    def start(self, name: str) -> None:
        self.send("tools/call", {"name": name, "arguments": {}}, id=name)

    def start_slow(self) -> None:
        """A call that waits for a word, under way."""
        self.start("custom_tool_slow")
        while not self.site.marks():
            self.ask("ping")

    def signal(self, number: signal.Signals) -> None:
        """Send it, and know that it came: new calls are refused."""
        self.process.send_signal(number)
        while True:
            answer = self.ask("tools/call", {"name": "custom_tool_mark", "arguments": {}})
            if answer.get("error", {}).get("data") == {"code": "ENGINE_NOT_AVAILABLE"}:
                return

    def end(self) -> int:
        return int(self.process.wait(30))


@pytest.fixture
def server(warm: Any) -> Iterator[Mcp]:
    made = Mcp(warm)
    yield made
    made.process.kill()
    made.process.wait()
    for stream in (made.process.stdin, made.process.stdout, made.process.stderr):
        if not stream.closed:
            stream.close()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_lets_a_call_finish_and_refuses_new_ones(server: Mcp, warm: Any, number: signal.Signals) -> None:
    server.start_slow()
    server.signal(number)
    before = warm.marks()
    assert server.ask("ping")["result"] == {}, "it still speaks"
    refused = server.ask("tools/call", {"name": "custom_tool_mark", "arguments": {}})
    assert "takes no new calls; nothing ran" in refused["error"]["message"]
    (warm.workspace / "go").touch()
    assert server.answer("custom_tool_slow")["result"]["content"] == [{"type": "text", "text": "done\n"}]
    assert server.end() == STATUS[number]
    assert warm.marks() == before
    assert warm.records("call")[-1]["code"] is None
    assert verify(str(warm.audit)).fault is None
    warm.assert_nothing_is_left()


def test_a_second_signal_ends_the_call_with_its_tree(server: Mcp, warm: Any) -> None:
    server.start_slow()
    server.signal(signal.SIGTERM)
    server.process.send_signal(signal.SIGTERM)
    assert server.end() == 0
    assert warm.records("call")[-1]["code"] == "CANCELLED"
    assert verify(str(warm.audit)).fault is None
    warm.assert_nothing_is_left()
    warm.assert_recovers()


def test_the_end_of_the_input_after_a_signal_does_not_wait_for_the_whole_time(server: Mcp, warm: Any) -> None:
    """The client left: what is nearly done has half a second, as without a signal."""
    server.start_slow()
    server.signal(signal.SIGTERM)
    began = time.monotonic()
    server.process.stdin.close()
    assert server.end() == 0
    assert time.monotonic() - began < DRAIN_SECONDS
    assert warm.records("call")[-1]["code"] == "CANCELLED"
    warm.assert_nothing_is_left()


def test_a_call_that_takes_longer_is_ended_when_the_time_is_over(warm: Any) -> None:
    """With a shorter time than a person would be given, so that nobody has to wait for it."""
    script = """
import asyncio, sys
import toolcrib
from toolcrib.serve import stdio

stdio.DRAIN_SECONDS = 0.3

async def main(home, workspace):
    async with toolcrib.open(home=home, workspace=workspace, approver=toolcrib.SaysYes()) as crib:
        await stdio.serve_stdio(crib)

asyncio.run(main(*sys.argv[1:]))
"""
    server = Mcp.__new__(Mcp)
    server.site, server.heard = warm, {}
    words = [warm.command()[0], "-c", script, str(warm.home), str(warm.workspace)]
    pipe = subprocess.PIPE
    server.process = subprocess.Popen(words, env=warm.environment, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
    server.ask("initialize", {"protocolVersion": "2025-11-25"}, id="init")
    server.start_slow()
    server.process.send_signal(signal.SIGTERM)
    assert server.end() == 0
    server.process.communicate()
    assert warm.records("call")[-1]["code"] == "CANCELLED"
    warm.assert_nothing_is_left()


def test_a_client_that_floods_does_not_keep_an_ending_server(server: Mcp, warm: Any) -> None:
    """Requests during the last seconds are answered or not, but they do not make them longer."""
    server.start_slow()
    server.signal(signal.SIGTERM)
    for number in range(500):
        server.send("tools/call", {"name": "custom_tool_mark", "arguments": {}}, id=number)
    (warm.workspace / "go").touch()
    assert server.answer("custom_tool_slow")["result"]["content"] == [{"type": "text", "text": "done\n"}]
    out, _ = server.process.communicate(timeout=30)
    assert server.process.returncode == 0
    answers = [*server.heard.values(), *map(json.loads, out.splitlines())]
    assert all("error" in each for each in answers)
    warm.assert_nothing_is_left()


@pytest.mark.parametrize("verb", ["call", "test"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_command_is_interrupted_in_the_middle_of_a_call(
    warm: Any, number: signal.Signals, status: int, verb: str
) -> None:
    """Ctrl-C, SIGTERM and a terminal that is closed end a command's call with its tree, and that is recorded."""
    process = warm.start(verb, "slow", "--yes")
    while not warm.marks():
        assert process.poll() is None, process.communicate()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (status, "") and "Traceback" not in err
    assert warm.records("call")[-1]["code"] == "CANCELLED"
    warm.assert_nothing_is_left()
    assert os.listdir(warm.tmp) == []


def test_a_terminal_is_closed_more_than_once(warm: Any) -> None:
    """The shell sends it, and so does the kernel; the second one does not cut the cleaning up short."""
    process = warm.start("call", "slow", "--yes")
    while not warm.marks():
        assert process.poll() is None, process.communicate()
    for _ in range(2):
        process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 129
    assert warm.records("call")[-1]["code"] == "CANCELLED"
    warm.assert_nothing_is_left()


def test_under_nohup_it_goes_on_without_its_terminal(warm: Any) -> None:
    process = warm.start("call", "slow", "--yes", before=("nohup",))
    while not warm.marks():
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGHUP)
    (warm.workspace / "go").touch()
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "done\n")
    assert warm.records("call")[-1]["code"] is None
    warm.assert_nothing_is_left()


def test_under_nohup_a_server_goes_on_without_its_terminal(warm: Any) -> None:
    server = Mcp(warm, before=("nohup",))
    server.start_slow()
    server.process.send_signal(signal.SIGHUP)
    (warm.workspace / "go").touch()
    assert server.answer("custom_tool_slow")["result"]["content"] == [{"type": "text", "text": "done\n"}]
    assert not server.ask("tools/call", {"name": "custom_tool_mark", "arguments": {}})["result"].get("isError")
    server.process.communicate()
    assert server.end() == 0
    warm.assert_nothing_is_left()
