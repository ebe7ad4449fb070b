"""A client in another language uses the service: grpc-js for node, which `make peers` installs.

It lives in `.venv-peers/grpc` (or where TOOLCRIB_PEERS says); where it or node is missing, this is skipped.
"""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PEERS = Path(os.environ.get("TOOLCRIB_PEERS", ROOT / ".venv-peers"))
MODULES = PEERS / "grpc" / "node_modules"
PROTO = ROOT / "proto" / "toolcrib" / "v1" / "tool_service.proto"


def node() -> str:
    found = shutil.which("node", path=f"{os.environ['PATH']}:{PEERS / 'mcp2' / 'bin'}")
    if found is None or not (MODULES / "@grpc" / "grpc-js").exists():
        pytest.skip(f"node or its gRPC client is not installed in {PEERS / 'grpc'}: make peers")
    return found


@pytest.mark.parametrize("listen", [None, "127.0.0.1:0"])
async def test_a_node_client_lists_activates_calls_streams_and_cancels(
    serving: Any, skill: str, tmp_path: Path, listen: str | None
) -> None:
    """A31, A32, A34, A41."""
    (tmp_path / "SKILL.md").write_text(skill)
    async with serving(listen=listen) as rig:
        words = [
            node(),
            HERE.parent / "node" / "drive.js",
            MODULES,
            PROTO,
            rig.target,
            rig.token,
            tmp_path / "SKILL.md",
        ]
        done = await asyncio.to_thread(
            subprocess.run, [str(word) for word in words], capture_output=True, text=True, timeout=50
        )
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert "count" in said["before"] and "shout" not in said["before"]
        assert said["activated"] == said["removed"] == ["shout"]
        assert set(said["during"]) - set(said["before"]) == {"shout"}
        assert said["after"] == said["before"]
        assert said["skills"] == ["shout"]
        assert (said["call"]["success"], said["call"]["data_json"]) == (True, "9007199254740993")
        assert (said["call"]["exit_code"], said["call"]["output"]) == (0, "9007199254740993")
        assert (said["failed"]["success"], said["failed"]["error"]["code"]) == (False, "VALIDATION_ERROR")
        assert [event["event"] for event in said["stream"]] == ["started", *["progress"] * 3, "result"]
        assert said["cancel"] == {"cancelled": True}
        assert said["cancelled"][-1]["result"]["error"]["code"] == "CANCELLED"
        assert rig.ended.is_set() == rig.entered.is_set()  # a call can be cancelled before its tool begins
        assert (said["ended"], said["stranger"], said["gone"]) == (True, 16, [5, "SESSION_NOT_FOUND"])
