"""Clients written by others list and call the example tools, in both eras of the protocol.

They live in `.venv-peers` (or where TOOLCRIB_PEERS says), apart from the project's own venv: `peers/` says what is in
it. Where it is missing, these tests are skipped.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("TOOLCRIB_PEERS", HERE.parents[1] / ".venv-peers"))
INSPECTOR = PEERS / "inspector" / "node_modules" / "@modelcontextprotocol" / "inspector" / "clients" / "launcher"
EXAMPLES = {"custom_tool_hello", "custom_tool_error_tool", "custom_tool_git_info", "custom_tool_slow"}


def ran(command: list[Any], workshop: Any) -> Any:
    """What a peer printed, as JSON."""
    done = subprocess.run(
        [str(word) for word in command],
        env=workshop.environment(),
        cwd=workshop.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def driven(python: Path, driver: str, *words: str, workshop: Any) -> Any:
    if not python.exists():
        pytest.skip(f"the official MCP SDK is not installed in {python.parents[1]}")
    return ran([python, HERE / "peers" / driver, *words, *workshop.command("--ask", "client")], workshop)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def holds(said: dict[str, Any], workshop: Any) -> None:
    """What every SDK must have seen."""
    assert set(said["tools"]) >= EXAMPLES
    assert said["tools"] == said["again"]
    assert said["hello"] == [False, "Hello, Bob! You are 25 years old.\n"]
    assert said["many"] == [f"Hello, {number}!\n" for number in range(10)]
    assert said["invalid"][0] is True
    assert "VALIDATION_ERROR" in said["invalid"][1]
    assert said["failed"][0] is True
    assert said["unknown"] == -32602
    assert "timed_out" in said
    assert is_gone(int((workshop.workspace / "slow.pid").read_text())), "a cancelled call ends its program"


def test_the_sdk_of_the_first_era(workshop: Any) -> None:
    said = driven(PEERS / "mcp1" / "bin" / "python", "drive_mcp1.py", workshop=workshop)
    assert (said["version"], said["server"]) == ("2025-11-25", "toolcrib")
    holds(said, workshop)


@pytest.mark.parametrize(
    ("mode", "version", "server"),
    [
        ("legacy", "2025-11-25", "toolcrib"),
        ("auto", "2026-07-28", "toolcrib"),
        ("2026-07-28", "2026-07-28", None),  # nothing is asked beforehand, so nobody has introduced himself
    ],
)
def test_the_sdk_of_both_eras(workshop: Any, mode: str, version: str, server: str | None) -> None:
    said = driven(PEERS / "mcp2" / "bin" / "python", "drive_mcp2.py", mode, workshop=workshop)
    assert (said["version"], said["server"]) == (version, server)
    holds(said, workshop)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector(workshop: Any, era: str, tmp_path: Path) -> None:
    node, launcher = PEERS / "mcp2" / "bin" / "node", INSPECTOR / "build" / "index.js"
    if not (node.exists() and launcher.exists()):
        pytest.skip(f"the MCP Inspector is not installed in {PEERS / 'inspector'}")
    command, *args = workshop.command("--ask", "client")
    server = {"command": command, "args": args, "env": workshop.environment()}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"toolcrib": server}}))

    def inspect(*words: str) -> Any:
        options = ["--cli", "--config", config, "--server", "toolcrib", "--protocol-era", era, "--format", "json", "-q"]
        return ran([node, launcher, *options, *words], workshop)["result"]

    assert {tool["name"] for tool in inspect("--method", "tools/list")["tools"]} >= EXAMPLES
    call = ("--method", "tools/call", "--tool-name", "custom_tool_hello", "--tool-arg")
    assert inspect(*call, "name=Bob")["content"] == [{"type": "text", "text": "Hello, Bob!\n"}]
