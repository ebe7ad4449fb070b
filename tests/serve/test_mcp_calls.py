"""Calls side by side, calls that are cancelled, calls that tell how far they are."""

import asyncio
from typing import Any

import pytest

from toolcrib.core.call import ProgressSink, Result


def failed(id: Any, code: int, answer: Any) -> str:
    """The message of the error that `answer` is."""
    assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", id, code), answer
    assert "result" not in answer
    return str(answer["error"]["message"])


async def test_one_of_a_batch_is_cancelled(client: Any, gate: Any) -> None:
    door = gate()
    client.crib.offer("gate", door)
    await client.initialize("2025-03-26")
    call = {"jsonrpc": "2.0", "id": "g", "method": "tools/call", "params": {"name": "gate"}}
    batch = asyncio.create_task(client.raw([call, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]))
    await door.entered.wait()
    await client.tell("notifications/cancelled", {"requestId": "g"})
    assert await batch == [{"jsonrpc": "2.0", "id": 2, "result": {}}]


# Concurrency and cancellation


async def test_a_slow_call_does_not_hold_up_a_quick_one(client: Any, gate: Any) -> None:
    door = gate()
    client.crib.offer("gate", door)
    await client.initialize()
    slow = client.start("tools/call", {"name": "gate"}, id="slow")
    await door.entered.wait()
    assert (await client.ask("tools/call", {"name": "echo"}, id="quick"))["id"] == "quick"
    door.open.set()
    assert (await slow)["result"]["content"][0]["text"] == "through"


async def test_a_thousand_calls_at_once(client: Any, gate: Any) -> None:
    gates = [gate() for _ in range(1000)]

    async def numbered(args: dict[str, Any], progress: ProgressSink | None) -> Result:
        return await gates[args["n"]](args, progress)

    client.crib.offer("numbered", numbered)
    await client.initialize()
    calls = [client.start("tools/call", {"name": "numbered", "arguments": {"n": n}}, id=n) for n in range(1000)]
    for each in gates:
        await each.entered.wait()
    for each in reversed(gates):
        each.open.set()
    assert [answer["id"] for answer in await asyncio.gather(*calls)] == list(range(1000))


@pytest.mark.parametrize("id", ["a", "", 0, -5, 2**70])
async def test_a_cancelled_call_ends_and_has_no_answer(client: Any, gate: Any, id: Any) -> None:
    door = gate()
    client.crib.offer("gate", door)
    await client.initialize()
    call = client.start("tools/call", {"name": "gate"}, id=id)
    await door.entered.wait()
    await client.tell("notifications/cancelled", {"requestId": id, "reason": "enough"})
    await client.tell("notifications/cancelled", {"requestId": id})
    assert await call is None
    assert door.cancelled
    assert (await client.ask("ping", id=id))["id"] == id, "the id is free again"


async def test_a_call_that_ends_well_although_cancelled_has_no_answer(client: Any) -> None:
    entered = asyncio.Event()

    async def stubborn(args: dict[str, Any], progress: ProgressSink | None) -> Result:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        return Result(data="done all the same")

    client.crib.offer("stubborn", stubborn)
    await client.initialize()
    call = client.start("tools/call", {"name": "stubborn"})
    await entered.wait()
    await client.tell("notifications/cancelled", {"requestId": 1})
    assert await call is None


@pytest.mark.parametrize("id", [None, "1", 2, True, 1.0, [1], {"a": 1}])
async def test_a_cancel_of_another_id_changes_nothing(client: Any, gate: Any, id: Any) -> None:
    door = gate()
    client.crib.offer("gate", door)
    await client.initialize()
    call = client.start("tools/call", {"name": "gate"}, id=1)
    await door.entered.wait()
    assert await client.tell("notifications/cancelled", {"requestId": id}) is None
    assert await client.tell("notifications/cancelled", {}) is None
    assert await client.tell("notifications/cancelled", None) is None
    door.open.set()
    assert (await call)["result"]["isError"] is False


async def test_the_end_of_the_connection_is_not_a_cancellation_by_the_client(client: Any, gate: Any) -> None:
    door = gate()
    client.crib.offer("gate", door)
    await client.initialize()
    call = client.start("tools/call", {"name": "gate"})
    await door.entered.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_an_id_that_is_in_use_is_refused_and_the_first_call_goes_on(client: Any, gate: Any) -> None:
    door = gate()
    client.crib.offer("gate", door)
    await client.initialize()
    first = client.start("tools/call", {"name": "gate"}, id=1)
    await door.entered.wait()
    failed(1, -32600, await client.ask("tools/call", {"name": "echo"}, id=1))
    assert (await client.ask("tools/call", {"name": "echo"}, id="1"))["id"] == "1", "another id: it is a string"
    door.open.set()
    assert (await first)["result"]["content"][0]["text"] == "through"
    assert [name for name, _ in client.crib.calls] == ["gate", "echo"]


# Progress


async def steps(args: dict[str, Any], progress: ProgressSink | None) -> Result:
    if progress is None:
        return Result(data="nobody listens")
    for done, total, words in [(0, 2, None), (0, 2, "again"), (1, 2, "half"), (0.5, 2, "back"), (2, None, "x" * 9999)]:
        progress(done, total, words)
    for nonsense in (float("nan"), float("inf"), -1.0):
        progress(nonsense, None, None)
    steps.kept = progress  # type: ignore[attr-defined]
    return Result(data="done")


async def test_progress_only_goes_forward_and_stops_with_the_answer(client: Any, meta: Any) -> None:
    client.crib.offer("steps", steps)
    await client.ask("tools/call", {"name": "steps", "_meta": {**meta, "progressToken": "p"}})
    steps.kept(3, None, "late")  # type: ignore[attr-defined]
    assert [message["method"] for message in client.offered] == ["notifications/progress"] * 3
    first, second, third = [message["params"] for message in client.offered]
    assert first == {"progressToken": "p", "progress": 0, "total": 2}
    assert second == {"progressToken": "p", "progress": 1, "total": 2, "message": "half"}
    assert (third["progress"], "total" in third, len(third["message"]) < 1200) == (2, False, True)


async def test_progress_has_no_words_in_2024(client: Any) -> None:
    client.crib.offer("steps", steps)
    await client.initialize("2024-11-05")
    await client.ask("tools/call", {"name": "steps", "_meta": {"progressToken": 0}})
    assert [message["params"] for message in client.offered] == [
        {"progressToken": 0, "progress": 0, "total": 2},
        {"progressToken": 0, "progress": 1, "total": 2},
        {"progressToken": 0, "progress": 2},
    ]


async def test_no_token_no_progress(client: Any) -> None:
    client.crib.offer("steps", steps)
    await client.initialize()
    await client.ask("tools/call", {"name": "steps"})
    await client.ask("tools/call", {"name": "steps", "_meta": {"progressToken": None}})
    assert client.offered == []
