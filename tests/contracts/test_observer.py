"""What every observer keeps to: `core.events.Observer`."""

import asyncio

import pytest

from toolcrib.backends.function import tool
from toolcrib.core.call import Call
from toolcrib.core.context import Context, Host
from toolcrib.core.errors import ToolError
from toolcrib.core.events import Finished, Started
from toolcrib.core.executor import Executor
from toolcrib.core.policy import Decision
from toolcrib.core.registry import Registry
from toolcrib.observe.audit import Audit
from toolcrib.observe.stats import Stats
from toolcrib.observe.verify import records
from toolcrib.testing import FixedPolicy, Recorder, ScriptedSandbox


@tool
async def greet(ctx: Context, name: str) -> str:
    """Greet somebody."""
    ctx.log.info("greeting")
    return f"Hello, {name}!"


@pytest.fixture(params=["audit", "stats", "recorder"])
def observer(request, tmp_path):
    made = {"audit": lambda: Audit(lambda: str(tmp_path)), "stats": Stats, "recorder": Recorder}[request.param]()
    yield made
    if request.param == "audit":
        made.close()


def executor(*observers) -> Executor:
    registry = Registry()
    registry.register(greet)
    host = Host("/", ScriptedSandbox(), lambda report: None)
    return Executor(registry, FixedPolicy(Decision.PRE_APPROVED), host, observers=observers)


def seen_by(observer, tmp_path) -> int:
    """How many calls it knows to be over."""
    if isinstance(observer, Audit):
        return sum(record["event"] == "call" for record in records(str(tmp_path)))
    if isinstance(observer, Stats):
        return observer.to_dict()["total_executions"]
    return sum(isinstance(event, Finished) for event in observer.events)


def test_it_is_told_of_every_call_whatever_became_of_it(observer, tmp_path) -> None:
    """C38"""
    runs = executor(observer)

    async def several() -> list[bool]:
        calls = [("greet", {"name": "Bob"}), ("greet", {}), ("nobody", {})]
        return [(await runs.call(Call(name, args, f"c-{n}"))).success for n, (name, args) in enumerate(calls)]

    assert asyncio.run(several()) == [True, False, False]
    assert seen_by(observer, tmp_path) == 3


def test_it_is_ready_any_number_of_times(observer) -> None:
    observer.ready()
    observer.ready()


def test_it_bears_every_kind_of_event(observer, tmp_path) -> None:
    recorder = Recorder()
    asyncio.run(executor(recorder).call(Call("greet", {"name": "Bob"}, "c-1")))
    finished = next(event for event in recorder.events if isinstance(event, Finished))
    for event in (Started(finished.call, greet, finished.payload, "preApproved"), *recorder.events):
        observer.notice(event)
    assert seen_by(observer, tmp_path) == 1


class Fails(Recorder):
    def ready(self) -> None:
        raise ToolError("no room", code="RESOURCE_EXHAUSTED")


def test_one_that_is_not_ready_keeps_everything_from_running() -> None:
    ran = []

    @tool
    async def marks() -> str:
        """Leave a mark."""
        ran.append(1)
        return "ran"

    observer = Fails()
    runs = executor(observer)
    runs.registry.register(marks)
    result = asyncio.run(runs.call(Call("marks", {}, "c-1")))
    assert (result.error.code, ran) == ("RESOURCE_EXHAUSTED", [])
