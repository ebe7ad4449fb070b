"""A call over MCP waits for a person, who answers it in another terminal."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

TOUCH = """#!/bin/sh
if [ "$1" = description ]; then
    echo '{"name": "mark", "description": "Leave a mark.", "input_schema": {"type": "object"}}'
    exit
fi
cat > "$TOOLCRIB_WORKSPACE/marked"; echo done
"""


class Client:
    """A server, and a client that can send without waiting."""

    def __init__(self, workshop: Any, *options: str) -> None:
        self._process = subprocess.Popen(
            workshop.command(*options),
            env=workshop.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.send("initialize", {"protocolVersion": "2025-11-25"}, id="init")
        self.receive("init")

    def send(self, method: str, params: Any, *, id: Any = None) -> None:
        assert self._process.stdin
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self._process.stdin.write(json.dumps(message if id is None else {**message, "id": id}) + "\n")
        self._process.stdin.flush()

    def receive(self, id: Any) -> Any:
        assert self._process.stdout
        while (message := json.loads(self._process.stdout.readline())).get("id") != id:
            pass
        return message["result"]

    def start(self, id: int = 1, **arguments: Any) -> None:
        self.send("tools/call", {"name": "custom_tool_mark", "arguments": arguments}, id=id)

    def call(self, id: int = 1, **arguments: Any) -> tuple[bool, str]:
        """Whether it failed, and what it said."""
        self.start(id, **arguments)
        return self.end(id)

    def end(self, id: int = 1) -> tuple[bool, str]:
        result = self.receive(id)
        return result["isError"], result["content"][0]["text"]

    def told(self) -> str:
        """The id in the next line on stderr."""
        assert self._process.stderr
        line = self._process.stderr.readline()
        assert line.startswith("toolcrib: custom_tool_mark waits for a person's approval: toolcrib approve "), line
        return line.split()[-1]

    def close(self) -> str:
        """The rest of stderr."""
        _, err = self._process.communicate(timeout=20)
        assert self._process.returncode == 0
        return err


@pytest.fixture
def serve(workshop: Any) -> Iterator[Callable[..., Client]]:
    program = workshop.home / "tools" / "mark"
    program.write_text(TOUCH)
    program.chmod(0o755)
    opened: list[Client] = []

    def start(*options: str) -> Client:
        opened.append(Client(workshop, *options))
        return opened[-1]

    yield start
    for each in opened:
        each._process.kill()
        each._process.communicate()


@pytest.fixture
def approve(workshop: Any) -> Callable[..., int]:
    def run(*words: str) -> int:
        command = [sys.executable, "-m", "toolcrib", "approve", *words]
        return subprocess.run(command, env=workshop.environment(), stdin=subprocess.DEVNULL, timeout=60).returncode

    return run


@pytest.mark.parametrize(("answer", "outcome"), [("--yes", (False, "done\n")), ("--deny", (True, "APPROVAL_DENIED"))])
def test_a_call_that_waits_goes_on_when_it_is_answered(
    serve: Callable[..., Client], approve: Callable[..., int], workshop: Any, answer: str, outcome: tuple[bool, str]
) -> None:
    client = serve("--wait", "60")
    client.start()
    assert not (workshop.workspace / "marked").exists()
    assert approve(client.told(), answer) == 0
    failed, text = client.end()
    assert (failed, text[: len(outcome[1])]) == outcome
    assert (workshop.workspace / "marked").exists() is not failed


def test_a_call_that_was_refused_runs_when_it_is_made_again(
    serve: Callable[..., Client], approve: Callable[..., int], workshop: Any
) -> None:
    client = serve("--wait", "0")
    failed, text = client.call(a=1)
    id = client.told()
    assert failed and text.startswith("APPROVAL_REQUIRED: ") and f"toolcrib approve {id}" in text
    assert approve(id, "--yes") == 0
    assert client.call(a=2)[0] is True, "other arguments are another call"
    assert not (workshop.workspace / "marked").exists()
    client.told()
    assert client.call(a=1) == (False, "done\n")
    assert client.call(a=1)[0] is True, "one answer, one call"


def test_another_server_does_not_use_the_answer(
    serve: Callable[..., Client], approve: Callable[..., int], workshop: Any
) -> None:
    """Each server is a session of its own."""
    client, other = serve("--wait", "0"), serve("--wait", "0")
    client.call()
    approve(client.told(), "--yes")
    assert other.call()[0] is True
    assert not (workshop.workspace / "marked").exists()


def test_a_lasting_answer_counts_for_the_calls_after_it(
    serve: Callable[..., Client], approve: Callable[..., int], workshop: Any
) -> None:
    client = serve("--wait", "0")
    client.call(a=1)
    approve(client.told(), "--yes", "--scope", "project")
    assert [client.call(a=number)[0] for number in range(3)] == [False, False, False]
    assert client.close() == "", "and nobody is asked about them"
    assert serve("--wait", "0").call(a=9) == (False, "done\n")


def test_a_tool_that_changed_since_does_not_run(
    serve: Callable[..., Client], approve: Callable[..., int], workshop: Any
) -> None:
    client = serve("--wait", "0")
    client.call()
    assert approve(client.told(), "--yes") == 0
    (workshop.home / "tools" / "mark").write_text(TOUCH + "# changed\n")
    assert client.call()[0] is True
    assert not (workshop.workspace / "marked").exists()


def test_a_cancelled_call_leaves_the_question_and_runs_nothing(
    serve: Callable[..., Client], approve: Callable[..., int], workshop: Any
) -> None:
    client = serve("--wait", "60")
    client.start(id=7)
    id = client.told()
    client.send("notifications/cancelled", {"requestId": 7})
    client.send("ping", {}, id="after")
    client.receive("after")
    assert approve(id, "--yes") == 0
    assert not (workshop.workspace / "marked").exists()
    assert client.call(id=8) == (False, "done\n")


def test_a_client_that_asks_by_itself_is_not_kept_waiting(serve: Callable[..., Client], workshop: Any) -> None:
    client = serve("--ask", "client")
    assert client.call() == (False, "done\n")
    assert client.close() == ""


@pytest.mark.parametrize("wait", ["-1", "soon", "", "nan"])
def test_a_time_to_wait_is_a_time(workshop: Any, wait: str) -> None:
    done = subprocess.run(
        workshop.command(f"--wait={wait}"), env=workshop.environment(), capture_output=True, timeout=60
    )
    assert (done.returncode, b"--wait" in done.stderr) == (2, True)
