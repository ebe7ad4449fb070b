"""Whatever JSON comes in: the handler does not fail, and what it answers is an answer."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.core.call import ErrorInfo, ProgressSink, Result
from toolcrib.core.jsontext import dump, parse
from toolcrib.serve.mcp import McpHandler

KEYS = [
    "jsonrpc", "id", "method", "params", "result", "error", "_meta", "name", "arguments", "cursor", "requestId",
    "protocolVersion", "capabilities", "clientInfo", "progressToken", "notifications", "toolsListChanged",
    "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities",
]  # fmt: skip
WORDS = [
    "2.0", "initialize", "ping", "tools/list", "tools/call", "server/discover", "subscriptions/listen", "echo",
    "notifications/cancelled", "notifications/initialized", "2026-07-28", "2025-11-25", "2025-03-26", "2024-11-05",
]  # fmt: skip

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS)
    | st.text()
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner, max_size=6),
    max_leaves=30,
)
meta = st.fixed_dictionaries(
    {"io.modelcontextprotocol/protocolVersion": st.sampled_from(WORDS) | values},
    optional={"io.modelcontextprotocol/clientCapabilities": st.just({}) | values, "progressToken": values},
)
params = values | st.fixed_dictionaries(
    {},
    optional={
        "_meta": meta | values,
        "name": st.just("echo") | values,
        "arguments": values,
        "protocolVersion": st.sampled_from(WORDS) | values,
        "requestId": st.integers(0, 3) | values,
        "notifications": values,
        "cursor": values,
    },
)
messages = values | st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(WORDS) | values},
    optional={"id": st.integers(0, 3) | values, "params": params},
)


class Shelf:
    """One tool that gives back what it was given, and tells how far it is."""

    def tools(self) -> tuple[()]:
        return ()

    async def refresh(self) -> bool:
        return True

    async def call(self, name: str, args: dict[str, Any], *, progress: ProgressSink | None = None) -> Result:
        assert isinstance(args, dict)
        if progress is not None:
            progress(1, 2, "half")
        return Result(data=args) if name == "echo" else Result(error=ErrorInfo("TOOL_NOT_FOUND", name, args))


class Said(list[Any]):
    def send(self, message: dict[str, Any]) -> None:
        self.append(message)

    offer = send


def is_answer(message: Any) -> bool:
    if isinstance(message, list):
        return bool(message) and all(map(is_answer, message))
    assert message["jsonrpc"] == "2.0"
    assert ("result" in message) != ("error" in message)
    id = message["id"]
    assert isinstance(id, str | int | None)
    assert not isinstance(id, bool)
    if "error" in message:
        assert message["error"]["code"] in (-32600, -32601, -32602, -32603, -32022)
    else:
        assert isinstance(message["result"], dict)
    return True


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(messages | st.lists(messages, max_size=3), max_size=6))
def test_any_conversation(conversation: list[Any]) -> None:
    async def talk() -> None:
        said = Said()
        handler = McpHandler(Shelf(), outlet=said, version="0")
        tasks = [asyncio.create_task(handler.handle(parse(dump(message)))) for message in conversation]
        await asyncio.sleep(0)
        handler.close()
        for answer in await asyncio.gather(*tasks):
            assert answer is None or is_answer(answer)
            dump(answer)
        for message in said:
            assert message["method"].startswith("notifications/")
            assert "id" not in message

    asyncio.run(talk())
