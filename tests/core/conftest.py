"""A bare executor on fakes: what the core does, and nothing else."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from toolcrib.core.call import Call, Result
from toolcrib.core.context import Host
from toolcrib.core.executor import Executor
from toolcrib.core.policy import Decision
from toolcrib.core.registry import Registry
from toolcrib.testing import FixedPolicy, MemoryFiles, Recorder, ScriptedSandbox


class Bench:
    """An executor, what it was told to record, and one word to call through it."""

    def __init__(
        self, *tools: Any, decision: Decision = Decision.PRE_APPROVED, policy: Any = None, **more: Any
    ) -> None:
        self.registry = Registry()
        for tool in tools:
            self.registry.register(tool)
        self.files = MemoryFiles({"a.txt": "one\ntwo\n"})
        self.host = Host("/work", ScriptedSandbox(), self._files, {})
        self.recorder = Recorder()
        observers = (self.recorder, *more.pop("observers", ()))
        self.executor = Executor(self.registry, policy or FixedPolicy(decision), self.host, observers=observers, **more)

    def _files(self, report: dict[str, Any], judged: Mapping[str, str], session: str) -> MemoryFiles:
        self.files.report = report
        return self.files

    async def acall(self, name: str, args: Any = None, **more: Any) -> Result:
        given = {} if args is None else args
        return await self.executor.call(Call(name, given, self.host.next_id(), "session-1", **more))

    def call(self, name: str, args: Any = None, **more: Any) -> Result:
        return asyncio.run(self.acall(name, args, **more))


@pytest.fixture
def bench() -> Callable[..., Bench]:
    return Bench
