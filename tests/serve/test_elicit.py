"""A client that can show questions is asked, through the protocol; what it does not clearly allow does not run."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

MARK = """#!/bin/sh
if [ "$1" = description ]; then
    echo '{"name": "mark", "description": "Leave a mark.", "input_schema": {"type": "object"}}'
    exit
fi
cat >/dev/null; echo x >> "$TOOLCRIB_WORKSPACE/marked"; echo done
"""


class Client:
    """Sends and receives, line by line."""

    def __init__(self, workshop: Any, *, revision: str = "2025-11-25", capabilities: Any = None) -> None:
        self._process = subprocess.Popen(
            workshop.command("--wait", "0"),
            env=workshop.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        can = {"elicitation": {}} if capabilities is None else capabilities
        self.send({"id": 0, "method": "initialize", "params": {"protocolVersion": revision, "capabilities": can}})
        assert self.receive()["id"] == 0

    def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def receive(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())

    def call(self, id: int = 1) -> None:
        self.send({"id": id, "method": "tools/call", "params": {"name": "custom_tool_mark", "arguments": {}}})

    def question(self) -> Any:
        asked = self.receive()
        assert asked["method"] == "elicitation/create"
        return asked

    def said(self) -> tuple[bool, str]:
        """How the call ended."""
        result = self.receive()["result"]
        return result["isError"], result["content"][0]["text"]

    def close(self) -> None:
        self._process.communicate(timeout=20)
        assert self._process.returncode == 0

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def connect(workshop: Any) -> Iterator[Callable[..., Client]]:
    program = workshop.home / "tools" / "mark"
    program.write_text(MARK)
    program.chmod(0o755)
    opened: list[Client] = []

    def start(**options: Any) -> Client:
        opened.append(Client(workshop, **options))
        return opened[-1]

    yield start
    for each in opened:
        each.kill()


def marks(workshop: Any) -> int:
    marked = Path(workshop.workspace) / "marked"
    return len(marked.read_text().split()) if marked.exists() else 0


def accept(answer: Any) -> dict[str, Any]:
    return {"result": {"action": "accept", "content": {"answer": answer}}}


def test_the_person_is_asked_through_the_client(connect: Callable[..., Client], workshop: Any) -> None:
    client = connect()
    client.call()
    asked = client.question()
    message, schema = asked["params"]["message"], asked["params"]["requestedSchema"]
    assert "custom_tool_mark is new here" in message
    assert "sha256:" in message
    assert "a lasting yes remembers:" in message
    assert schema["properties"]["answer"]["enum"] == ["no", "once", "session", "project", "user"]
    assert marks(workshop) == 0
    client.send({"id": asked["id"], **accept("once")})
    assert client.said() == (False, "done\n")
    client.call()
    client.send({"id": client.question()["id"], **accept("session")})
    assert client.said() == (False, "done\n")
    client.call()
    assert client.said() == (False, "done\n")  # not asked again
    client.close()
    assert marks(workshop) == 3


@pytest.mark.parametrize(
    "answer",
    [
        {"result": {"action": "decline"}},
        {"result": {"action": "cancel"}},
        {"result": {"action": "accept"}},
        {"result": {"action": "accept", "content": None}},
        {"result": {"action": "accept", "content": "yes"}},
        {"result": {"action": "decline", "content": {"answer": "once"}}},
        {"result": {}},
        accept("no"),
        accept("yes"),
        accept(True),
        accept(["once"]),
        accept("terminal"),
    ],
)
def test_anything_but_a_clear_yes_is_a_no(connect: Callable[..., Client], workshop: Any, answer: Any) -> None:
    client = connect()
    client.call()
    client.send({"id": client.question()["id"], **answer})
    failed, text = client.said()
    assert failed
    assert text.startswith("APPROVAL_DENIED")
    client.close()
    assert marks(workshop) == 0


@pytest.mark.parametrize(
    "options",
    [{"capabilities": {}}, {"revision": "2025-03-26"}, {"capabilities": {"elicitation": True}}],
)
def test_a_client_that_cannot_ask_is_told_what_to_type(
    connect: Callable[..., Client], workshop: Any, options: dict[str, Any]
) -> None:
    client = connect(**options)
    client.call()
    failed, text = client.said()
    assert failed
    assert "toolcrib approve" in text
    assert marks(workshop) == 0


def test_a_client_that_fails_to_ask_is_told_what_to_type(connect: Callable[..., Client], workshop: Any) -> None:
    client = connect()
    client.call()
    client.send({"id": client.question()["id"], "error": {"code": -32601, "message": "no"}})
    assert "toolcrib approve" in client.said()[1]
    assert marks(workshop) == 0


def test_an_answer_counts_once_and_for_its_own_question(connect: Callable[..., Client], workshop: Any) -> None:
    client = connect()
    for id in ("toolcrib-1", "toolcrib-2", 1, None):
        client.send({"id": id, **accept("user")})  # before anything was asked
    client.call(1)
    first = client.question()["id"]
    client.call(2)
    second = client.question()["id"]
    assert first != second
    client.send({"id": second, **accept("once")})
    assert client.receive()["id"] == 2
    client.send({"id": second, **accept("once")})
    client.send({"id": first, "result": {"action": "decline"}})
    assert client.said()[1].startswith("APPROVAL_DENIED")
    client.close()
    assert marks(workshop) == 1


def test_a_call_that_is_cancelled_takes_its_question_with_it(connect: Callable[..., Client], workshop: Any) -> None:
    client = connect()
    client.call(7)
    asked = client.question()["id"]
    client.send({"method": "notifications/cancelled", "params": {"requestId": 7}})
    assert client.receive() == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": asked},
    }
    client.send({"id": asked, **accept("once")})
    client.close()
    assert marks(workshop) == 0


def test_the_official_client_shows_questions(workshop: Any) -> None:
    from .test_official_clients import HERE, PEERS, ran

    python = PEERS / "mcp1" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"the official MCP SDK is not installed in {python.parents[1]}")
    answers = [
        {"action": "decline"},
        {"action": "accept", "content": {"answer": "once"}},
        {"action": "accept", "content": {"answer": "session"}},
    ]
    said = ran([python, HERE / "peers" / "elicit_mcp1.py", json.dumps(answers), *workshop.command()], workshop)
    assert [failed for failed, _ in said["called"]] == [True, False, False, False]
    assert [text for _, text in said["called"]][1:] == ["Hello, 1!\n", "Hello, 2!\n", "Hello, 3!\n"]
    assert len(said["asked"]) == 3
