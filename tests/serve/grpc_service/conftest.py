"""A real crib behind a real gRPC server, and clients of it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.unconfined import unconfined

import toolcrib
from toolcrib.core.context import Context
from toolcrib.policy.approvers import Pending
from toolcrib.store.home import Home
from toolcrib.store.pending import PendingCalls

try:
    import grpc
except ModuleNotFoundError:
    INSTALLED = False
else:
    INSTALLED = True
    from toolcrib.serve.client import ToolClient
    from toolcrib.serve.grpc import GrpcServer, Settings, Tls, listening
    from toolcrib.serve.grpc_listen import own_address, parse_address
    from toolcrib.serve.grpc_service import Rights
    from toolcrib.serve.grpc_token import own_token

SKILL = """---
name: shout
description: Say things loudly.
version: 1.2.0
tools:
  - name: shout
    description: Say it in capitals.
    backend:
      type: script
      interpreter: sh
      script: printf '%s' "$TOOL_ARG_TEXT" | tr a-z A-Z
    parameters:
      type: object
      properties: {text: {type: string}}
      required: [text]
---
Use it sparingly.
"""
SLOW = """#!/bin/sh
if [ "$1" = description ]; then
    echo '{"name": "slow", "description": "Never ends by itself.", "input_schema": {"type": "object"}}'
    exit
fi
sleep 600 &
echo $! $$ > "$TOOLCRIB_WORKSPACE/pids.new"
mv "$TOOLCRIB_WORKSPACE/pids.new" "$TOOLCRIB_WORKSPACE/pids"
wait
"""
PREAPPROVED = "approval: {default: preApproved}\n"


class Skipped(pytest.Module):
    """A file of tests that cannot be read here."""

    def collect(self) -> Any:
        pytest.skip("gRPC is not installed: pip install 'toolcrib[grpc]'", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> pytest.Module | None:
    return None if INSTALLED else Skipped.from_parent(parent, path=module_path)


class Rig:
    """A server, its home, and what its tools did."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home, self.workspace = home, workspace
        self.token = own_token(Home(home))
        self.entered, self.ended, self.release = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.ran: list[str] = []
        self.crib: Any = None
        self.server: GrpcServer = None  # type: ignore[assignment]

    @property
    def target(self) -> str:
        return self.server.address.target

    def client(self, **given: Any) -> ToolClient:
        return ToolClient(self.target, **{"token": self.token, **given})

    def channel(self, **given: Any) -> Any:
        return grpc.aio.insecure_channel(self.target, options=[("grpc.default_authority", "localhost")], **given)

    def tools(self) -> list[Any]:
        async def count(ctx: Context, upto: int) -> int:
            """Count to a number, the last hundred steps of it aloud."""
            self.ran.append("count")
            for step in range(max(1, upto - 99), upto + 1):
                ctx.progress(float(step), float(upto), f"step {step}")
                await asyncio.sleep(0)
            return upto

        async def wait_forever() -> str:
            """Wait until somebody says so."""
            self.ran.append("wait_forever")
            self.entered.set()
            try:
                await self.release.wait()
            finally:
                self.ended.set()
            return "released"

        async def repeat(text: str, times: int = 1) -> str:
            """Say a text many times."""
            return text * times

        return [count, wait_forever, repeat]

    def records(self, event: str) -> list[dict[str, Any]]:
        lines = [
            line for path in sorted((self.home / "audit").glob("*.jsonl")) for line in path.read_text().splitlines()
        ]
        return [record for record in map(json.loads, lines) if record["event"] == event]


Serving = Callable[..., AbstractAsyncContextManager[Rig]]


@pytest.fixture
def home() -> Iterator[Path]:
    """The path of a socket is short, and pytest's own directories are long."""
    place = Path(tempfile.mkdtemp(prefix="tc")).resolve()
    (place / "home").mkdir(mode=0o700)
    yield unconfined(place / "home")
    shutil.rmtree(place)


@pytest.fixture
def serving(home: Path, workspace: Path) -> Serving:
    """`async with serving(listen=…, config=…) as rig` serves what `Rig.tools` has, and what lies in the home."""

    @asynccontextmanager
    async def serve(
        *,
        listen: str | None = None,
        config: str = PREAPPROVED,
        upload: bool = True,
        approver_token: str | None = None,
        wait: float = 10.0,
        tls: Tls | None = None,
        **more: Any,
    ) -> AsyncIterator[Rig]:
        (home / "config.yaml").write_text(config)
        place, rig = Home(home), Rig(home, workspace)
        address = own_address(place) if listen is None else parse_address(listen, secure=tls is not None)
        settings = Settings(address, rig.token, Rights(upload, approver_token), tls=tls, **more)
        pending = Pending(PendingCalls(place), wait_seconds=wait, poll_seconds=0.02)
        opened = toolcrib.open(workspace=workspace, home=home, tools=rig.tools(), approver=pending, asker="grpc")
        async with opened as rig.crib:
            async with listening(rig.crib, settings, home=place, record=rig.crib.audit.refused) as rig.server:
                yield rig

    return serve


@pytest.fixture
def skill() -> str:
    """The text of a SKILL.md with one tool."""
    return SKILL


@pytest.fixture
def slow(make_tool: Callable[..., Path]) -> None:
    """A program that never ends, with a child that does not either."""
    make_tool("slow", SLOW)


@pytest.fixture
def is_gone() -> Callable[[int], bool]:
    """Whether a process ended: a zombie did, too, whose parent has not looked yet."""

    def gone(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            pass
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    return gone
