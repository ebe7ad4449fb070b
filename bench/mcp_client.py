"""The smallest MCP client over stdio, so that both servers are asked at the same cost."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

PROTOCOL = "2025-06-18"


class McpClient:
    """A stdio server as a child process, and the requests this bench sends to it."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path) -> None:
        self._log = log.open("wb")
        self.log = log
        self.started = time.perf_counter_ns()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=dict(env), cwd=cwd
        )
        self._next_id = 0

    def __enter__(self) -> McpClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """Send one request and wait for its answer; what else the server says is passed over.

        Raises:
            RuntimeError: the server ended, or answered with a JSON-RPC error.
        """
        self._next_id += 1
        self._send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        assert self._process.stdout
        while line := self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._next_id and "method" not in answer:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
        said = self.log.read_text(errors="replace").strip().splitlines()
        raise RuntimeError(f"{method}: the server ended; the last it said was {said[-1:]}")

    def initialize(self) -> None:
        """The handshake of every protocol version up to 2025-11-25."""
        info = {"name": "bench", "version": "1"}
        self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": info})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool and return its text.

        Raises:
            RuntimeError: the tool failed.
        """
        result = self.request("tools/call", {"name": name, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(f"{name}: {result}")
        return str(result["content"][0]["text"])

    def resident_kib(self) -> int:
        """The resident memory of the server and of every process it keeps beside itself, as Linux counts it."""
        return sum(_resident_kib(pid) for pid in _family(self._process.pid))

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


def _family(pid: int) -> list[int]:
    """A process and its living descendants."""
    children = " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [pid, *(member for child in children.split() for member in _family(int(child)))]


def _resident_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
