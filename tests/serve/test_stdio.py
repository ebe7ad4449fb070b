"""The framing: partial lines, bursts, rubbish, clients that do not read, and ends of every kind."""

import asyncio
import json
import logging
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.call import ProgressSink, Result
from toolcrib.serve import stdio
from toolcrib.serve._pipe import Inlet
from toolcrib.serve.stdio import serve_stdio

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
OPENING = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}


def call(id: Any, name: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


class Endless:
    """A tool that goes on until it is cancelled."""

    def __init__(self) -> None:
        self.entered, self.cancelled = asyncio.Event(), asyncio.Event()

    async def __call__(self, args: dict[str, Any], progress: ProgressSink | None) -> Result:
        self.entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        raise AssertionError


# Framing


async def test_a_message_in_pieces(wire: Any) -> None:
    async with wire() as client:
        for byte in PING:
            await client.send(bytes([byte]))
        assert await client.receive() == PONG


async def test_many_messages_in_a_chunk_with_blank_lines_between(wire: Any) -> None:
    async with wire() as client:
        await client.send(PING * 3 + b"\n \r\n\t\n" + PING.replace(b"\n", b"\r\n"))
        assert [await client.receive() for _ in range(4)] == [PONG] * 4


@pytest.mark.parametrize(
    "line",
    [
        b"x",
        b"{",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
        b"\x00\x01\x02",
        b"\xef\xbb\xbf{}",
        b'{"a":NaN}',
        b'{"a":"\\ud800"}',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"id":' + b"9" * 10_000 + b"}",
    ],
)
async def test_rubbish_is_a_parse_error_and_the_loop_goes_on(wire: Any, line: bytes) -> None:
    async with wire() as client:
        await client.send(line + b"\n")
        answer = await client.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        await client.send(PING)
        assert await client.receive() == PONG


@pytest.mark.parametrize("id", [2**63, -(2**70), 10**300, "\u2028\n\u0000", "x" * 100_000])
async def test_a_strange_id_comes_back_as_it_was(wire: Any, id: Any) -> None:
    async with wire() as client:
        assert (await client.ask("ping", id=id))["id"] == id


async def test_a_message_that_is_too_long_is_an_error_and_the_loop_goes_on(wire: Any) -> None:
    async with wire() as client:
        sending = asyncio.create_task(client.send(b'{"a":"' + b"x" * (stdio.LINE_BYTES + 100_000), b'"}\n', PING))
        answer = await client.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)
        assert await client.receive() == PONG
        await sending


async def test_a_message_just_short_enough(wire: Any) -> None:
    async with wire() as client:
        head, tail = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"', b'"}}'
        body = b"x" * (stdio.LINE_BYTES - len(head) - len(tail))
        sending = asyncio.create_task(client.send(head + body + tail + b"\n"))
        assert await client.receive() == PONG
        await sending


async def test_a_burst_of_a_hundred_thousand_lines(wire: Any) -> None:
    count = 100_000
    async with wire() as client:
        lines = (b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % n for n in range(count))
        sending = asyncio.create_task(client.send(b"".join(lines)))
        for n in range(count):
            assert await client.reader.readline() == b'{"jsonrpc":"2.0","id":%d,"result":{}}\n' % n
        await sending


async def test_a_thousand_calls_on_one_connection(wire: Any, crib: Any) -> None:
    waiting, everyone = 0, asyncio.Event()

    async def meet(args: dict[str, Any], progress: ProgressSink | None) -> Result:
        nonlocal waiting
        waiting += 1
        if waiting == 1000:
            everyone.set()
        await everyone.wait()
        return Result(data=args["n"])

    crib.offer("meet", meet)
    async with wire() as client:
        await client.initialize()
        await client.send(*(call(n, "meet", n=n) for n in range(1000)))
        answers = [await client.receive() for _ in range(1000)]
        assert sorted((answer["id"], answer["result"]["content"][0]["text"]) for answer in answers) == [
            (n, str(n)) for n in range(1000)
        ]


async def test_an_answer_that_is_no_json_is_an_error(wire: Any, crib: Any) -> None:
    async def odd(args: dict[str, Any], progress: ProgressSink | None) -> Result:
        return Result(data="\ud800")

    crib.offer("odd", odd)
    async with wire() as client:
        await client.initialize()
        await client.send(call(5, "odd"), PING)
        assert {
            (answer["id"], answer.get("error", {}).get("code"))
            for answer in [await client.receive(), await client.receive()]
        } == {(5, -32603), (1, None)}


async def test_a_bug_of_ours_is_an_internal_error_and_the_loop_goes_on(wire: Any, crib: Any, caplog: Any) -> None:
    async def bug(args: dict[str, Any], progress: ProgressSink | None) -> Result:
        raise ZeroDivisionError("secret")

    crib.offer("bug", bug)
    with caplog.at_level(logging.ERROR, "toolcrib.serve"):
        async with wire() as client:
            await client.initialize()
            await client.send(call(5, "bug"))
            assert (await client.receive())["error"] == {"code": -32603, "message": "internal error: ZeroDivisionError"}
            assert await client.ask("ping") == PONG
    assert len(caplog.records) == 1


# A client that does not read


async def test_a_client_that_does_not_read_holds_up_itself_alone(crib: Any, monkeypatch: Any) -> None:
    paused = asyncio.Event()

    class Noticed(Inlet):
        def pause(self) -> None:
            super().pause()
            paused.set()

    async def big(args: dict[str, Any], progress: ProgressSink | None) -> Result:
        return Result(data="x" * 20_000)

    monkeypatch.setattr(stdio, "Inlet", Noticed)
    crib.offer("big", big)
    count, loop = 5000, asyncio.get_running_loop()
    (stdin, to_server), (from_server, stdout) = os.pipe(), os.pipe()
    server = asyncio.create_task(serve_stdio(crib, stdin=stdin, stdout=stdout))
    with open(to_server, "wb") as outgoing, open(from_server, "rb") as incoming:

        def send() -> None:
            outgoing.write(OPENING)
            outgoing.writelines(json.dumps(call(n, "big", pad="y" * 2000)).encode() + b"\n" for n in range(1, count))
            outgoing.flush()

        sending = loop.run_in_executor(None, send)
        await paused.wait()
        for _ in range(1000):  # the loop turns although nobody reads
            await asyncio.sleep(0)
        assert not sending.done(), "the client is made to wait"
        assert len(crib.calls) * 20_000 < 4 * stdio.UNREAD_BYTES, "what waits for the client is bounded"
        lines = await loop.run_in_executor(None, lambda: [incoming.readline() for _ in range(count)])
        assert {json.loads(line)["id"] for line in lines} == set(range(count))
        await sending
    assert await server is None
    os.close(stdin)
    os.close(stdout)


async def test_progress_is_dropped_where_nobody_reads_it(wire: Any, crib: Any) -> None:
    async def chatty(args: dict[str, Any], progress: ProgressSink | None) -> Result:
        assert progress is not None
        for n in range(200_000):
            progress(n, None, "w" * 100)
        return Result(data="said")

    crib.offer("chatty", chatty)
    async with wire() as client:
        await client.initialize()
        message = call("c", "chatty")
        message["params"]["_meta"] = {"progressToken": "p"}
        await client.send(message)
        heard = 0
        while (answer := await client.receive()).get("id") != "c":
            assert answer["method"] == "notifications/progress"
            heard += 1
        assert 0 < heard < 100_000


async def test_a_cancelled_call_has_no_answer_on_the_wire(wire: Any, crib: Any) -> None:
    endless = Endless()
    crib.offer("endless", endless)
    async with wire() as client:
        await client.initialize()
        await client.send(
            call("e", "endless"),
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "e"}},
            PING,
        )
        assert await client.receive() == PONG
        assert endless.entered.is_set() == endless.cancelled.is_set()


# Ends


async def test_the_end_of_the_input_ends_calls_under_way(wire: Any, crib: Any) -> None:
    endless = Endless()
    crib.offer("endless", endless)
    async with wire() as client:
        await client.initialize()
        await client.send(call(1, "endless"))
        await endless.entered.wait()
        assert await client.hang_up() is None
        assert endless.cancelled.is_set()


async def test_what_is_nearly_done_is_answered_after_the_end_of_the_input(wire: Any, crib: Any) -> None:
    async def quick(args: dict[str, Any], progress: ProgressSink | None) -> Result:
        await asyncio.sleep(0)
        return Result(data="quick")

    crib.offer("quick", quick)
    async with wire() as client:
        await client.initialize()
        await client.send(json.dumps(call(1, "quick")).encode())  # and no line end
        await client.hang_up()
        assert (await client.receive())["result"]["content"][0]["text"] == "quick"


async def test_a_client_that_is_gone_ends_calls_under_way(crib: Any) -> None:
    endless = Endless()
    crib.offer("endless", endless)
    (stdin, to_server), (from_server, stdout) = os.pipe(), os.pipe()
    server = asyncio.create_task(serve_stdio(crib, stdin=stdin, stdout=stdout))
    os.write(to_server, OPENING)
    os.write(to_server, json.dumps(call(1, "endless")).encode() + b"\n")
    await endless.entered.wait()
    os.close(from_server)
    os.write(to_server, PING)  # its answer finds nobody
    assert await server is None
    assert endless.cancelled.is_set()
    for fd in (stdin, to_server, stdout):
        os.close(fd)


async def test_an_end_without_a_word(wire: Any) -> None:
    async with wire() as client:
        assert await client.hang_up() is None


async def test_a_subscription_is_closed_in_good_order(wire: Any, meta: Any) -> None:
    async with wire() as client:
        listen = {"_meta": meta, "notifications": {"toolsListChanged": True}}
        assert (await client.ask("subscriptions/listen", listen))["method"].endswith("/acknowledged")
        await client.hang_up()
        assert (await client.receive())["result"]["resultType"] == "complete"


# Streams that are no pipes


async def test_a_file_is_answered_whole(crib: Any, tmp_path: Path) -> None:
    async def slow(args: dict[str, Any], progress: ProgressSink | None) -> Result:
        for _ in range(1000):
            await asyncio.sleep(0)
        return Result(data="slow")

    crib.offer("slow", slow)
    requests, answers = tmp_path / "requests", tmp_path / "answers"
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
    requests.write_text(
        "\n".join(json.dumps(message) for message in [opening, *(call(n, "slow") for n in range(1, 6))])
    )
    with requests.open("rb") as source, answers.open("wb") as sink:
        await serve_stdio(crib, stdin=source.fileno(), stdout=sink.fileno())
    assert [json.loads(line)["id"] for line in answers.read_text().splitlines()] == list(range(6))


async def test_a_device_that_cannot_be_waited_for(crib: Any) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    assert await serve_stdio(crib, stdin=nothing, stdout=nothing) is None
    os.close(nothing)


async def test_one_socket_for_both_directions(crib: Any) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = asyncio.create_task(serve_stdio(crib, stdin=theirs.fileno(), stdout=theirs.fileno()))
        reader, writer = await asyncio.open_connection(sock=ours)
        writer.write(PING)
        assert json.loads(await reader.readline()) == PONG
        writer.close()
        assert await server is None


async def test_a_terminal(crib: Any) -> None:
    ours, theirs = os.openpty()
    flags = os.get_blocking(theirs)
    server = asyncio.create_task(serve_stdio(crib, stdin=theirs, stdout=theirs))
    loop = asyncio.get_running_loop()
    os.write(ours, PING)
    heard = b""
    while b'"result"' not in heard:
        heard += await loop.run_in_executor(None, os.read, ours, 4096)
    os.write(ours, b"\x04")  # control-D
    assert await server is None
    assert os.get_blocking(theirs) == flags, "the terminal is left as it was"
    os.close(ours)
    os.close(theirs)
