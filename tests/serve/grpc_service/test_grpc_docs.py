"""What docs/grpc.md says is so."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.serve.grpc import MESSAGE_BYTES
from toolcrib.serve.grpc_calls import QUEUE, QUEUE_BYTES
from toolcrib.serve.grpc_front import FIRST_WORD_SECONDS, MOST
from toolcrib.serve.grpc_status import STATUS
from toolcrib.serve.grpc_token import own_token
from toolcrib.store.home import Home

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "grpc.md").read_text(encoding="utf-8")
PEERS = Path(os.environ.get("TOOLCRIB_PEERS", ROOT / ".venv-peers"))
SKILL = """---
name: data-processor
description: Process and analyze data
tools:
  - name: chunk-text
    description: Split text into chunks
    backend:
      type: script
      interpreter: python3
      script: |
        import json, os
        args = json.loads(os.environ["TOOL_ARGS"])
        size = args["chunk_size"]
        print(*[args["text"][i : i + size] for i in range(0, len(args["text"]), size)])
    parameters:
      type: object
      properties: {text: {type: string}, chunk_size: {type: integer}}
      required: [text]
---
"""


@pytest.fixture
def server(home: Path, workspace: Path, environment: dict[str, str]) -> Any:
    """The service as the page starts it, for a user who has what the page speaks of."""
    (home / "config.yaml").write_text("approval: {default: preApproved}\n")
    (home / "skills" / "data-processor").mkdir(parents=True)
    (home / "skills" / "data-processor" / "SKILL.md").write_text(SKILL)
    (workspace / "notes.txt").write_text("remember the milk\n")
    command = [sys.executable, "-m", "toolcrib", "serve", "grpc"]
    process = subprocess.Popen(command, cwd=workspace, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    yield process.stderr.readline().split()[-1]
    process.terminate()
    process.communicate(timeout=30)


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.mark.usefixtures("server")
def test_the_python_example_runs(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block("python")], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["['chunk-text']", "abcd ef"]
    assert "remember the milk" in done.stdout


def test_the_node_example_runs(server: str, home: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    modules = PEERS / "grpc" / "node_modules"
    node = shutil.which("node", path=f"{os.environ['PATH']}:{PEERS / 'mcp2' / 'bin'}")
    if node is None or not (modules / "@grpc" / "grpc-js").exists():
        pytest.skip(f"node or its gRPC client is not installed in {PEERS / 'grpc'}: make peers")
    script = tmp_path / "example.js"
    script.write_text(block("js"))
    env = environment | {
        "NODE_PATH": str(modules),
        "PROTO": str(ROOT / "proto" / "toolcrib" / "v1" / "tool_service.proto"),
        "TARGET": server,
        "TOKEN": own_token(Home(home)),
    }
    done = subprocess.run([node, script], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("true 0 ") and "remember the milk" in done.stdout


def test_the_refusal_is_as_shown(check_console: Callable[[str], int]) -> None:
    assert check_console(PAGE) == 1


def test_the_table_of_statuses_is_the_one_in_force() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert {code: status for status, codes in rows for code in re.findall(r"`(\w+)`", codes)} == {
        code: status.name for code, status in STATUS.items()
    }


def test_the_limits_are_those_in_force() -> None:
    assert (MESSAGE_BYTES, QUEUE, QUEUE_BYTES, MOST, FIRST_WORD_SECONDS) == (16 * 2**20, 10_000, 256 * 2**20, 512, 10.0)
    for words in ("16 MiB", "10,000", "256 MiB", "| 512 |", "| 10 s |"):
        assert words in PAGE


def test_every_flag_is_there(run_cli: Any) -> None:
    shown = run_cli("serve", "grpc", "--help").stdout
    flags = set(re.findall(r"(--[a-z][a-z-]+)", PAGE))
    assert {flag for flag in flags if flag not in shown} == set()
    assert "toolcrib serve grpc --listen" in shown
