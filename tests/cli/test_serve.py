"""The snippets that connect a client are what they say."""

import json
import shlex
import subprocess

from toolcrib.builtins import TOOLS

TOOL = """#!/bin/sh
case "$1" in
description) echo '{"name": "hello", "description": "Say hello", "input_schema": {"type": "object"}}' ;;
run) cat >/dev/null; echo hello ;;
*) exit 1 ;;
esac
"""
MEET = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}


def ask(command: list[str], environment: dict[str, str], *requests: dict[str, object]) -> list[dict]:
    """Start a server as a client would, ask, and return the answers in the order of the questions."""
    meet = {"method": "initialize", "params": MEET}
    messages = [{"jsonrpc": "2.0", "id": at, **each} for at, each in enumerate([meet, *requests])]
    text = "".join(json.dumps(message) + "\n" for message in messages)
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, timeout=30, check=True)
    answers = {each["id"]: each for each in map(json.loads, done.stdout.splitlines()) if "id" in each}
    return [answers[at]["result"] for at in range(1, len(messages))]


def test_the_printed_json_connects(run_cli, make_tool, environment) -> None:
    make_tool("hello", TOOL)
    for client in ("json", "gemini"):
        server = json.loads(run_cli("serve", "mcp", "--print-config", client).stdout)["mcpServers"]["toolcrib"]
        call = {"method": "tools/call", "params": {"name": "custom_tool_hello", "arguments": {}}}
        listed, called = ask([server["command"], *server["args"]], environment, {"method": "tools/list"}, call)
        built_in = sorted(tool.name for tool in TOOLS)
        assert [tool["name"] for tool in listed["tools"]] == [*built_in, "custom_tool_hello"]
        assert called["content"] == [{"type": "text", "text": "hello\n"}]


def test_the_printed_commands_name_this_installation(run_cli) -> None:
    for client in ("claude", "codex"):
        words = shlex.split(run_cli("serve", "mcp", "--print-config", client).stdout)
        assert words[:5] == [client, "mcp", "add", "toolcrib", "--"]
        assert words[5].endswith("toolcrib") and words[6:] == ["serve", "mcp", "--ask", "client"]


def test_who_asks(run_cli, make_tool, environment, home) -> None:
    """Without `--ask client` an ask is an error that says how to approve; `blocked` is blocked either way."""
    make_tool("hello", TOOL)
    server = json.loads(run_cli("serve", "mcp", "--print-config", "json").stdout)["mcpServers"]["toolcrib"]["command"]
    call = {"method": "tools/call", "params": {"name": "custom_tool_hello", "arguments": {}}}
    (asked,) = ask([server, "serve", "mcp", "--wait", "0"], environment, call)
    said = asked["content"][0]["text"]
    assert asked["isError"] and said.startswith("APPROVAL_REQUIRED")
    config = said.split("`")[1]
    assert config == "approval: {tools: {custom_tool_hello: preApproved}}" and str(home / "config.yaml") in said
    (home / "config.yaml").write_text(config)  # exactly as it says
    assert ask([server, "serve", "mcp"], environment, call)[0]["isError"] is False
    (home / "config.yaml").write_text(config.replace("preApproved", "blocked"))
    (blocked,) = ask([server, "serve", "mcp", "--ask", "client"], environment, call)
    assert blocked["isError"] and blocked["content"][0]["text"].startswith("BLOCKED_BY_POLICY")
