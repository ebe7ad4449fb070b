"""The handler: both eras, exact errors, concurrency, cancellation, progress."""

from typing import Any

import pytest

from toolcrib.core.call import ErrorInfo
from toolcrib.core.errors import ConfigError

HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
ALL = ["2026-07-28", *reversed(HANDSHAKE)]
SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "toolcrib", "version": "1.2.3"}}
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


DECLARED = {
    "name": "echo",
    "description": "Does echo.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True},
}


def failed(id: Any, code: int, answer: Any) -> str:
    """The message of the error that `answer` is."""
    assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", id, code), answer
    assert "result" not in answer
    return str(answer["error"]["message"])


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
    assert (await client.ask("tools/list"))["result"] == {"tools": [DECLARED]}
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
    assert (await client.modern("tools/list"))["result"] == {
        "resultType": "complete",
        "tools": [DECLARED],
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
