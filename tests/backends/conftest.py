"""A shop: one tool at a time, called through the whole pipeline, with real programs."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.backends.process import ProcessBackend
from toolcrib.core.call import Call, Result
from toolcrib.core.context import Host, new_id
from toolcrib.core.executor import Executor
from toolcrib.core.limits import Limits
from toolcrib.core.policy import Decision
from toolcrib.core.registry import Registry
from toolcrib.core.schema import Schema
from toolcrib.core.tool import NO_CAPABILITIES, Tool
from toolcrib.observe.stats import Stats
from toolcrib.sandbox.processes import Processes
from toolcrib.store.artifacts import ArtifactFiles
from toolcrib.store.home import Home
from toolcrib.testing import FixedPolicy, Recorder


class Shop:
    """Calls programs as tools."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tools = root / "tools"
        self.tools.mkdir()
        self.environ = {"PATH": os.environ["PATH"], "HOME": "/the/home", "USER": "someone", "SECRET": "sesame"}
        self.sandbox = Processes(identity := new_id())
        self.artifacts = ArtifactFiles(Home(root / "home"))
        self.host = Host(
            str(root), self.sandbox, lambda report: None, environ=self.environ, artifacts=self.artifacts, id=identity
        )
        self.recorder, self.stats = Recorder(), Stats()
        self.executor = Executor(
            Registry(), FixedPolicy(Decision.PRE_APPROVED), self.host, observers=(self.recorder, self.stats)
        )

    def program(self, text: str, *, interpreter: str = "/bin/sh") -> str:
        path = self.tools / f"program{len(os.listdir(self.tools))}"
        path.write_text(f"#!{interpreter}\n{text}")
        path.chmod(0o755)
        return str(path)

    def offer(
        self,
        text: str,
        *,
        name: str = "tool",
        schema: dict[str, Any] | None = None,
        limits: Limits | None = None,
        capabilities=NO_CAPABILITIES,
        interpreter: str = "/bin/sh",
        **backend: Any,
    ) -> Tool:
        path = self.program(text, interpreter=interpreter)
        runs = ProcessBackend(path, **backend)
        tool = Tool(
            name,
            "A tool.",
            Schema(schema or {"type": "object"}),
            runs,
            "executable",
            path,
            digest=runs.digest(),
            capabilities=capabilities,
            limits=limits or Limits(),
        )
        self.executor.registry.register(tool)
        return tool

    async def call(self, args: Any = None, *, name: str = "tool", **about: Any) -> Result:
        return await self.executor.call(
            Call(name, {} if args is None else args, self.host.next_id(), "session", **about)
        )

    def run(self, text: str, args: Any = None, *, call: dict[str, Any] | None = None, **offer: Any) -> Result:
        """Offer a program with this text, and call it once."""
        self.offer(text, **offer)
        result = asyncio.run(self.call(args, **(call or {})))
        self.executor.registry.unregister("tool")
        return result


@pytest.fixture
def there():
    """Waits for a file to be there."""

    async def wait(path: Path) -> None:
        async with asyncio.timeout(10):
            while not path.exists():
                await asyncio.sleep(0.002)

    return wait


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    shop.sandbox.close()
