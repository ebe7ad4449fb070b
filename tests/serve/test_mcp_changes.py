"""Tools that come and go, and who is told."""

import asyncio
from typing import Any

SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "toolcrib", "version": "1.2.3"}}


def failed(id: Any, code: int, answer: Any) -> str:
    """The message of the error that `answer` is."""
    assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", id, code), answer
    assert "result" not in answer
    return str(answer["error"]["message"])


# Tools that change


async def test_new_tools_are_there_without_a_restart(client: Any) -> None:
    await client.initialize()
    assert len((await client.ask("tools/list"))["result"]["tools"]) == 1
    client.crib.offer("later", client.crib.bodies["echo"])
    assert (await client.ask("tools/call", {"name": "later"}))["result"]["isError"] is False
    assert client.heard == [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]
    assert [tool["name"] for tool in (await client.ask("tools/list"))["result"]["tools"]] == ["echo", "later"]


async def test_nothing_is_told_before_anything_was_shown(client: Any) -> None:
    await client.initialize()
    await client.ask("tools/call", {"name": "echo"})
    assert client.heard == []


async def test_a_subscription(client: Any, meta: Any) -> None:
    await client.modern("tools/list")
    subscribed = {"_meta": {"io.modelcontextprotocol/subscriptionId": 7}}
    wish = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["a:b"]}
    stream = client.start("subscriptions/listen", {"_meta": meta, "notifications": wish}, id=7)
    other = client.start("subscriptions/listen", {"_meta": meta, "notifications": {}}, id=8)
    client.crib.offer("later", client.crib.bodies["echo"])
    await client.modern("tools/call", {"name": "later"}, id=9)
    acknowledged, unheard, changed = client.heard
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"] == {**subscribed, "notifications": {"toolsListChanged": True}}
    assert unheard["params"]["notifications"] == {}
    assert changed == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": subscribed}

    await client.tell("notifications/cancelled", {"requestId": 8})
    assert await other is None
    client.handler.close()
    ended = {"io.modelcontextprotocol/subscriptionId": 7, **SERVER}
    assert (await stream)["result"] == {"resultType": "complete", "_meta": ended}


async def test_subscriptions_have_their_bounds(client: Any, meta: Any) -> None:
    for wish in (None, [], "x", True):
        failed(1, -32602, await client.ask("subscriptions/listen", {"_meta": meta, "notifications": wish}))
    streams = [
        client.start("subscriptions/listen", {"_meta": meta, "notifications": {}}, id=n) for n in range(100, 116)
    ]
    failed(1, -32603, await client.modern("subscriptions/listen", {"notifications": {}}))
    client.handler.close()
    assert len([await stream for stream in streams]) == 16


async def test_the_watch_looks_only_while_somebody_wants_to_know(client: Any) -> None:
    asked = asyncio.Event()
    plain = client.crib.refresh

    async def refresh() -> bool:
        asked.set()
        return await plain()

    client.crib.refresh = refresh
    watch = asyncio.create_task(client.handler.watch(0))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not asked.is_set()
    await client.initialize()
    await asked.wait()
    watch.cancel()
    await asyncio.wait([watch])


async def test_calls_that_come_together_share_a_reading(client: Any) -> None:
    opened, readings = asyncio.Event(), 0

    async def refresh() -> bool:
        nonlocal readings
        readings += 1
        await opened.wait()
        return False

    client.crib.refresh = refresh
    await client.initialize()
    calls = [client.start("tools/call", {"name": "echo"}, id=n) for n in range(100)]
    await asyncio.sleep(0)
    opened.set()
    assert all("result" in answer for answer in await asyncio.gather(*calls))
    assert readings == 2, "the first one's, and one that began after all the others had asked"


async def test_a_cancelled_reading_is_done_again_for_the_others(client: Any) -> None:
    begun: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def refresh() -> bool:
        may_end = asyncio.Event()
        begun.put_nowait(may_end)
        await may_end.wait()
        return False

    client.crib.refresh = refresh
    await client.initialize()
    first, second = (client.start("tools/call", {"name": "echo"}, id=n) for n in (1, 2))
    await begun.get()
    await client.tell("notifications/cancelled", {"requestId": 1})
    assert await first is None
    (await begun.get()).set()
    assert "result" in await second
