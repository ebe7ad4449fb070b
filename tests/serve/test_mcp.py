"""The handler: both eras, exact errors, concurrency, cancellation, progress."""

import asyncio
from typing import Any

import pytest

from toolcrib.core.call import ErrorInfo, ProgressSink, Result
from toolcrib.core.errors import ConfigError

HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
ALL = ["2026-07-28", *reversed(HANDSHAKE)]
SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "toolcrib", "version": "1.2.3"}}
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def failed(id: Any, code: int, answer: Any) -> str:
    """The message of the error that `answer` is."""
    assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", id, code), answer
    assert "result" not in answer
    return str(answer["error"]["message"])


class Gate:
    """A tool that stops in the middle until it is let go on, and says what became of it."""

    def __init__(self) -> None:
        self.entered, self.open, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.cancelled = False

    async def __call__(self, args: dict[str, Any], progress: ProgressSink | None) -> Result:
        self.entered.set()
        try:
            await self.open.wait()
            return Result(data="through")
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        finally:
            self.ended.set()


# The handshake, up to 2025-11-25


@pytest.mark.parametrize("version", HANDSHAKE)
async def test_initialize_agrees_on_a_version_both_speak(client: Any, version: str) -> None:
    assert await client.initialize(version) == {
        "jsonrpc": "2.0",
        "id": "init",
        "result": {
            "protocolVersion": version,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "toolcrib", "version": "1.2.3"},
        },
    }


@pytest.mark.parametrize("version", ["2026-07-28", "2023-01-01", "1.0", "", "zzz", "x" * 100_000])
async def test_initialize_answers_an_unknown_version_with_the_newest(client: Any, version: str) -> None:
    assert (await client.initialize(version))["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"protocolVersion": 1},
        {"protocolVersion": None},
        {"protocolVersion": "2025-11-25", "capabilities": []},
        {"protocolVersion": "2025-11-25", "clientInfo": "me"},
    ],
)
async def test_initialize_with_wrong_types(client: Any, params: Any) -> None:
    failed(1, -32602, await client.ask("initialize", params))


async def test_ping(client: Any) -> None:
    empty = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert await client.ask("ping") == empty
    await client.initialize()
    assert await client.ask("ping") == empty


async def test_list_and_call_in_a_session(client: Any) -> None:
    await client.initialize()
    declared = {"name": "echo", "description": "Does echo.", "inputSchema": {"type": "object", "properties": {}}}
    assert (await client.ask("tools/list"))["result"] == {"tools": [declared]}
    assert (await client.ask("tools/call", {"name": "echo", "arguments": {"a": 1}}))["result"] == {
        "content": [{"type": "text", "text": '{"a":1}'}],
        "isError": False,
        "_meta": {"toolcrib/call": {}},
    }


async def test_a_request_of_no_era_is_told_how_to_begin(client: Any) -> None:
    for method in ("tools/list", "tools/call", "server/discover", "subscriptions/listen"):
        failed(1, -32602, await client.ask(method, {"_meta": {"progressToken": 1}}))
    assert "initialize" in failed(1, -32602, await client.ask("tools/list"))
    assert client.crib.calls == []


# 2026-07-28: every request stands for itself


async def test_discover(client: Any) -> None:
    assert await client.modern("server/discover", id="d") == {
        "jsonrpc": "2.0",
        "id": "d",
        "result": {
            "resultType": "complete",
            "supportedVersions": ALL,
            "capabilities": {"tools": {"listChanged": True}},
            "ttlMs": 3_600_000,
            "cacheScope": "public",
            "_meta": SERVER,
        },
    }


async def test_list_and_call_without_a_handshake(client: Any) -> None:
    declared = {"name": "echo", "description": "Does echo.", "inputSchema": {"type": "object", "properties": {}}}
    assert (await client.modern("tools/list"))["result"] == {
        "resultType": "complete",
        "tools": [declared],
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": SERVER,
    }
    assert (await client.modern("tools/call", {"name": "echo"}))["result"] == {
        "resultType": "complete",
        "content": [{"type": "text", "text": "{}"}],
        "isError": False,
        "_meta": {"toolcrib/call": {}, **SERVER},
    }


@pytest.mark.parametrize("version", ["1900-01-01", "2027-01-01", "", *HANDSHAKE])
@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call"])
async def test_an_unsupported_version_is_told_the_supported_ones(client: Any, version: str, method: str) -> None:
    answer = await client.ask(method, {"_meta": {VERSION: version}})
    failed(1, -32022, answer)
    assert answer["error"]["data"] == {"supported": ALL, "requested": version}


@pytest.mark.parametrize(
    "meta",
    [
        {VERSION: "2026-07-28"},
        {VERSION: "2026-07-28", CAPABILITIES: None},
        {VERSION: "2026-07-28", CAPABILITIES: []},
        {VERSION: None, CAPABILITIES: {}},
        {VERSION: 20260728, CAPABILITIES: {}},
        {VERSION: ["2026-07-28"], CAPABILITIES: {}},
    ],
)
async def test_a_request_that_says_too_little_of_itself(client: Any, meta: Any) -> None:
    failed(1, -32602, await client.ask("tools/list", {"_meta": meta}))


async def test_ping_and_initialize_are_no_methods_of_2026(client: Any, meta: Any) -> None:
    failed(1, -32601, await client.modern("ping"))
    await client.initialize()
    failed(1, -32601, await client.modern("ping"))


async def test_both_eras_on_one_connection(client: Any) -> None:
    await client.initialize("2024-11-05")
    assert "resultType" in (await client.modern("tools/list"))["result"]
    assert "resultType" not in (await client.ask("tools/list"))["result"]


# Errors


@pytest.mark.parametrize("method", ["nope", "", "tools/List", "prompts/list", "resources/list", "logging/setLevel"])
async def test_an_unknown_method(client: Any, method: str) -> None:
    failed(1, -32601, await client.ask(method))
    failed(1, -32601, await client.modern(method))
    await client.initialize()
    failed(1, -32601, await client.ask(method))


async def test_an_unknown_tool_is_an_error_of_the_protocol(client: Any) -> None:
    await client.initialize()
    assert failed(1, -32602, await client.ask("tools/call", {"name": "nope"})) == "Unknown tool: nope"
    assert failed(2, -32602, await client.modern("tools/call", {"name": "nope"}, id=2)) == "Unknown tool: nope"
    assert client.crib.calls == [("nope", {}), ("nope", {})], "unknown calls are recorded like all others"
    assert len(failed(3, -32602, await client.ask("tools/call", {"name": "n" * 10**6}, id=3))) < 1000


async def test_a_name_that_is_held_back_says_why(client: Any) -> None:
    await client.initialize()
    client.crib.refusals["held"] = ErrorInfo("WORKSPACE_UNTRUSTED", "run `toolcrib trust` first")
    result = (await client.ask("tools/call", {"name": "held"}))["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"] == "WORKSPACE_UNTRUSTED: run `toolcrib trust` first"


async def test_a_refusal_is_a_result_that_says_how_to_approve(client: Any) -> None:
    await client.initialize()
    client.crib.refusals["echo"] = ErrorInfo("APPROVAL_REQUIRED", "approve it with: toolcrib call echo")
    result = (await client.ask("tools/call", {"name": "echo"}))["result"]
    assert result["isError"] is True
    assert "approve it with: toolcrib call echo" in result["content"][0]["text"]


async def test_a_tool_that_says_not_found_itself_is_not_unknown(client: Any) -> None:
    await client.initialize()
    client.crib.refusals["echo"] = ErrorInfo("TOOL_NOT_FOUND", "the inner one is not here")
    assert (await client.ask("tools/call", {"name": "echo"}))["result"]["isError"] is True


@pytest.mark.parametrize("name", [None, 1, True, [], {}, ["echo"]])
async def test_a_name_is_a_string(client: Any, name: Any) -> None:
    failed(1, -32602, await client.modern("tools/call", {"name": name}))


@pytest.mark.parametrize("arguments", [0, 1, "", "x", True, False, [], [1], '{"a":1}', 1.5])
async def test_arguments_is_an_object(client: Any, arguments: Any) -> None:
    failed(1, -32602, await client.modern("tools/call", {"name": "echo", "arguments": arguments}))
    assert client.crib.calls == []


async def test_arguments_may_be_absent_or_null(client: Any) -> None:
    await client.modern("tools/call", {"name": "echo"})
    await client.modern("tools/call", {"name": "echo", "arguments": None})
    assert client.crib.calls == [("echo", {}), ("echo", {})]


@pytest.mark.parametrize("meta", [0, 1, "", "x", True, False, [], [1]])
async def test_meta_is_an_object(client: Any, meta: Any) -> None:
    await client.initialize()
    failed(1, -32602, await client.ask("tools/list", {"_meta": meta}))


@pytest.mark.parametrize("token", [True, 1.5, [], {}])
async def test_a_progress_token_is_a_string_or_an_integer(client: Any, token: Any) -> None:
    await client.initialize()
    failed(1, -32602, await client.ask("tools/call", {"name": "echo", "_meta": {"progressToken": token}}))
    assert client.crib.calls == []


@pytest.mark.parametrize("cursor", ["", "x", 1, {}, True])
async def test_there_is_no_second_page(client: Any, cursor: Any) -> None:
    failed(1, -32602, await client.modern("tools/list", {"cursor": cursor}))


@pytest.mark.parametrize("message", [None, 1, "x", {}, {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "id": None}])
async def test_what_is_no_message_gets_an_error_without_an_id(client: Any, message: Any) -> None:
    failed(None, -32600, await client.raw(message))


async def test_answers_and_strange_notifications_are_passed_over(client: Any) -> None:
    for message in (
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "x"}},
        {"jsonrpc": "2.0", "method": "notifications/nothing", "params": {"a": 1}},
        {"jsonrpc": "2.0", "method": "notifications/initialized", "params": 5},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "echo"}},
    ):
        assert await client.raw(message) is None
    assert client.crib.calls == []


async def test_a_refresh_that_fails_says_why(client: Any) -> None:
    async def broken() -> bool:
        raise ConfigError("unknown key tols", path="config.yaml", line=3)

    client.crib.refresh = broken
    await client.initialize()
    assert "config.yaml:3" in failed(1, -32603, await client.ask("tools/list"))
    result = (await client.ask("tools/call", {"name": "echo"}))["result"]
    assert (result["isError"], result["content"][0]["text"]) == (
        True,
        "CONFIG_INVALID: config.yaml:3: unknown key tols",
    )
    assert client.crib.calls == []


# Batches: 2025-03-26 has them, no other


async def test_a_batch(client: Any) -> None:
    await client.initialize("2025-03-26")
    answers = await client.raw(
        [
            {"jsonrpc": "2.0", "id": 1, "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"a": 1}}},
            {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}},
            17,
        ]
    )
    assert [answer["id"] for answer in answers] == [1, 2, 3, None]
    assert [answer.get("error", {}).get("code") for answer in answers] == [None, None, -32600, -32600]


async def test_a_batch_of_notifications_has_no_answer(client: Any) -> None:
    await client.initialize("2025-03-26")
    assert await client.raw([{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 3) is None


@pytest.mark.parametrize("batch", [[], [{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 1000])
async def test_a_batch_has_its_bounds(client: Any, batch: Any) -> None:
    await client.initialize("2025-03-26")
    failed(None, -32600, await client.raw(batch))


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-06-18", "2025-11-25"])
async def test_no_batches_elsewhere(client: Any, version: str | None) -> None:
    if version:
        await client.initialize(version)
    failed(None, -32600, await client.raw([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]))


async def test_one_of_a_batch_is_cancelled(client: Any) -> None:
    gate = Gate()
    client.crib.offer("gate", gate)
    await client.initialize("2025-03-26")
    call = {"jsonrpc": "2.0", "id": "g", "method": "tools/call", "params": {"name": "gate"}}
    batch = asyncio.create_task(client.raw([call, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]))
    await gate.entered.wait()
    await client.tell("notifications/cancelled", {"requestId": "g"})
    assert await batch == [{"jsonrpc": "2.0", "id": 2, "result": {}}]


# Concurrency and cancellation


async def test_a_slow_call_does_not_hold_up_a_quick_one(client: Any) -> None:
    gate = Gate()
    client.crib.offer("gate", gate)
    await client.initialize()
    slow = client.start("tools/call", {"name": "gate"}, id="slow")
    await gate.entered.wait()
    assert (await client.ask("tools/call", {"name": "echo"}, id="quick"))["id"] == "quick"
    gate.open.set()
    assert (await slow)["result"]["content"][0]["text"] == "through"


async def test_a_thousand_calls_at_once(client: Any) -> None:
    gates = [Gate() for _ in range(1000)]

    async def numbered(args: dict[str, Any], progress: ProgressSink | None) -> Result:
        return await gates[args["n"]](args, progress)

    client.crib.offer("numbered", numbered)
    await client.initialize()
    calls = [client.start("tools/call", {"name": "numbered", "arguments": {"n": n}}, id=n) for n in range(1000)]
    for gate in gates:
        await gate.entered.wait()
    for gate in reversed(gates):
        gate.open.set()
    assert [answer["id"] for answer in await asyncio.gather(*calls)] == list(range(1000))


@pytest.mark.parametrize("id", ["a", "", 0, -5, 2**70])
async def test_a_cancelled_call_ends_and_has_no_answer(client: Any, id: Any) -> None:
    gate = Gate()
    client.crib.offer("gate", gate)
    await client.initialize()
    call = client.start("tools/call", {"name": "gate"}, id=id)
    await gate.entered.wait()
    await client.tell("notifications/cancelled", {"requestId": id, "reason": "enough"})
    await client.tell("notifications/cancelled", {"requestId": id})
    assert await call is None
    assert gate.cancelled
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
async def test_a_cancel_of_another_id_changes_nothing(client: Any, id: Any) -> None:
    gate = Gate()
    client.crib.offer("gate", gate)
    await client.initialize()
    call = client.start("tools/call", {"name": "gate"}, id=1)
    await gate.entered.wait()
    assert await client.tell("notifications/cancelled", {"requestId": id}) is None
    assert await client.tell("notifications/cancelled", {}) is None
    assert await client.tell("notifications/cancelled", None) is None
    gate.open.set()
    assert (await call)["result"]["isError"] is False


async def test_the_end_of_the_connection_is_not_a_cancellation_by_the_client(client: Any) -> None:
    gate = Gate()
    client.crib.offer("gate", gate)
    await client.initialize()
    call = client.start("tools/call", {"name": "gate"})
    await gate.entered.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_an_id_that_is_in_use_is_refused_and_the_first_call_goes_on(client: Any) -> None:
    gate = Gate()
    client.crib.offer("gate", gate)
    await client.initialize()
    first = client.start("tools/call", {"name": "gate"}, id=1)
    await gate.entered.wait()
    failed(1, -32600, await client.ask("tools/call", {"name": "echo"}, id=1))
    assert (await client.ask("tools/call", {"name": "echo"}, id="1"))["id"] == "1", "another id: it is a string"
    gate.open.set()
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
