"""Many calls, long messages, short patience: the gRPC service stays within its bounds and leaves nothing behind."""

import asyncio
import socket
import struct
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest

from toolcrib import ToolcribError
from toolcrib.serve.grpc import MESSAGE_BYTES
from toolcrib.serve.grpc_calls import Calls
from toolcrib.serve.grpc_front import MOST, Front
from toolcrib.serve.v1 import tool_service_pb2 as pb


async def until(what: Any) -> None:
    async with asyncio.timeout(20):
        while not what():
            await asyncio.sleep(0.01)


async def test_a_thousand_calls_over_the_limit_are_told_so(serving: Any) -> None:
    """Those within it all get their answers, and the crowd can still be cancelled and asked."""
    async with serving(queue=100) as rig, rig.client() as client:
        session = await client.create_session()
        held = [asyncio.create_task(client.call(session, "wait_forever", call_id=str(n))) for n in range(100)]
        await until(lambda: len(rig.ran) == 100)
        more = await asyncio.gather(
            *(client.call(session, "count", {"upto": 1}) for _ in range(1000)), return_exceptions=True
        )
        assert {getattr(each, "code", None) for each in more} == {"RESOURCE_EXHAUSTED"}
        assert rig.ran == ["wait_forever"] * 100
        assert await client.cancel(session, "0") is True
        rig.release.set()
        results = await asyncio.gather(*held)
        assert [each.success for each in results] == [False] + [True] * 99
        assert (await client.call(session, "count", {"upto": 2})).data == 2


async def test_a_thousand_calls_at_once_all_get_their_answers(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        results = await asyncio.gather(*(client.call(session, "count", {"upto": n}) for n in range(1000)))
        assert [each.data for each in results] == list(range(1000))


def test_calls_under_way_have_a_bounded_size() -> None:
    async def main() -> None:
        calls = Calls(most=10, most_bytes=100)
        with calls.place("s", "", size=60):
            with pytest.raises(ToolcribError) as caught, calls.place("s", "", size=60):
                pass
            assert caught.value.code == "RESOURCE_EXHAUSTED"
        with calls.place("s", "", size=60):
            pass

    asyncio.run(main())


async def test_a_long_message_passes_and_one_beyond_the_limit_does_not(serving: Any) -> None:
    async with serving() as rig, rig.client() as client, rig.channel() as channel:
        session = await client.create_session()
        result = await client.call(session, "repeat", {"text": "x" * 7_000_000, "times": 0})
        assert (result.data, result.error) == ("", None)
        ask = channel.unary_unary("/toolcrib.v1.ToolService/CallTool")
        request = pb.CallToolRequest(session_id=session, arguments_json=" " * MESSAGE_BYTES, tool_name="count")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(request.SerializeToString(), metadata=(("authorization", f"Bearer {rig.token}"),))
        assert (caught.value.code(), rig.ran) == (grpc.StatusCode.RESOURCE_EXHAUSTED, [])
        assert (await client.call(session, "count", {"upto": 1})).data == 1


async def test_arguments_beyond_the_gates_limit_are_refused_by_the_gate(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        result = await client.call(session, "repeat", {"text": "x" * 9_000_000})
        assert result.error is not None and result.error.code == "INPUT_TOO_LARGE"


async def test_a_deadline_ends_the_tool(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        with pytest.raises(ToolcribError) as caught:
            await client.call(session, "wait_forever", deadline=0.3)
        assert caught.value.code == "TIMEOUT"
        await asyncio.wait_for(rig.ended.wait(), 20)


@pytest.mark.usefixtures("slow")
async def test_a_deadline_ends_the_whole_tree_of_a_program(serving: Any, workspace: Path, is_gone: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        asking = asyncio.create_task(client.call(session, "custom_tool_slow", deadline=1.5))
        await until((workspace / "pids").exists)
        pids = [int(word) for word in (workspace / "pids").read_text().split()]
        with pytest.raises(ToolcribError):
            await asking
        await until(lambda: all(map(is_gone, pids)))


@pytest.mark.usefixtures("slow")
async def test_whoever_leaves_a_stream_ends_the_tool(serving: Any, workspace: Path, is_gone: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        events = client.stream(session, "custom_tool_slow")
        await anext(events)
        await until((workspace / "pids").exists)
        pids = [int(word) for word in (workspace / "pids").read_text().split()]
        await events.aclose()
        await until(lambda: all(map(is_gone, pids)))


LISTENER = """
import asyncio, sys
from toolcrib.serve.client import ToolClient

async def main(target, token, session):
    async with ToolClient(target, token=token) as client:
        async for event in client.stream(session, "custom_tool_slow"):
            print(event, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("listen", [None, "127.0.0.1:0"])
async def test_a_client_that_is_killed_takes_its_tool_with_it(
    serving: Any, workspace: Path, is_gone: Any, listen: str | None
) -> None:
    async with serving(listen=listen) as rig, rig.client() as client:
        session = await client.create_session()
        words = ("-c", LISTENER, rig.target, rig.token, session)
        peer = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.DEVNULL)
        await until((workspace / "pids").exists)
        pids = [int(word) for word in (workspace / "pids").read_text().split()]
        peer.kill()
        await peer.wait()
        await until(lambda: all(map(is_gone, pids)))


@pytest.mark.usefixtures("slow")
async def test_a_server_that_ends_leaves_no_process(serving: Any, workspace: Path, is_gone: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        asking = asyncio.create_task(client.call(session, "custom_tool_slow"))
        await until((workspace / "pids").exists)
        pids = [int(word) for word in (workspace / "pids").read_text().split()]
        await rig.server.close()
        assert all(map(is_gone, pids)), "they ended before the server did"
        with pytest.raises(ToolcribError):
            await asking
        assert not Path(rig.server.address.path).exists()


async def test_a_server_that_drains_finishes_what_is_under_way_and_takes_nothing_new(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        session = await client.create_session()
        asking = asyncio.create_task(client.call(session, "wait_forever"))
        await rig.entered.wait()
        closing = asyncio.create_task(rig.server.close(20.0))
        await until(lambda: not Path(rig.server.address.path).exists())
        with pytest.raises(ToolcribError):
            await client.call(session, "count", {"upto": 1})
        rig.release.set()
        assert (await asking).data == "released"
        await closing
        assert rig.ran == ["wait_forever"]


async def test_long_messages_cross_the_front_in_both_directions(serving: Any) -> None:
    async with serving(listen="127.0.0.1:0") as rig, rig.client() as client:
        session = await client.create_session()
        text = "0123456789" * 200_000
        results = await asyncio.gather(*(client.call(session, "repeat", {"text": text}) for _ in range(5)))
        assert all(each.data == text for each in results)


class Behind:
    """A front, and what it told."""

    def __init__(self, folder: Path, **given: Any) -> None:
        self.inner = socket.socket(socket.AF_UNIX)
        self.inner.bind(str(folder / "inner"))
        self.inner.listen()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.told: list[str] = []
        self.front = Front(self.listener, str(folder / "inner"), told=lambda why, peer: self.told.append(why), **given)
        self.front.start()

    def close(self) -> None:
        self.front.close()
        self.inner.close()


def test_the_front_takes_so_many_and_no_more(home: Path) -> None:
    behind = Behind(home, secure=False, most=3)
    with socket.create_connection(behind.address) as caller:
        caller.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore")
        behind.inner.settimeout(20)
        with behind.inner.accept()[0] as accepted:
            silent = [socket.create_connection(behind.address) for _ in range(2)]
            with socket.create_connection(behind.address) as late:
                late.settimeout(20)
                assert late.recv(1) == b""
            accepted.settimeout(20)
            caller.settimeout(20)
            assert accepted.recv(100) == b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore"
            accepted.sendall(b"answer")
            assert caller.recv(100) == b"answer"
            caller.shutdown(socket.SHUT_WR)
            assert accepted.recv(1) == b""
            accepted.sendall(b"last words")
            accepted.shutdown(socket.SHUT_WR)
            assert caller.recv(100) == b"last words"
    for each in silent:
        each.close()
    behind.close()
    assert behind.told == ["too many connections"]


def test_the_front_behind_tls_wants_tls(home: Path) -> None:
    behind = Behind(home, secure=True, most=MOST)
    with socket.create_connection(behind.address) as caller:
        caller.settimeout(20)
        caller.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        try:
            assert caller.recv(1) == b""
        except ConnectionResetError:
            pass
    behind.close()
    assert behind.told == ["it did not speak gRPC (a browser?)"]


def test_the_front_holds_back_whoever_sends_faster_than_is_read(home: Path) -> None:
    behind = Behind(home, secure=False)
    with socket.create_connection(behind.address) as caller:
        caller.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        with behind.inner.accept()[0] as accepted:
            caller.settimeout(0.5)
            sent = 0
            with pytest.raises(TimeoutError):
                while sent < 200_000_000:
                    sent += caller.send(b"x" * 65536)
            caller.shutdown(socket.SHUT_WR)
            accepted.settimeout(20)
            received = 0
            while chunk := accepted.recv(1_000_000):
                received += len(chunk)
    behind.close()
    assert received == sent + 24


@pytest.mark.parametrize("abrupt", [True, False])
def test_the_front_tells_the_server_that_a_caller_is_gone(home: Path, abrupt: bool) -> None:
    behind = Behind(home, secure=False)
    caller = socket.create_connection(behind.address)
    caller.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    with behind.inner.accept()[0] as accepted:
        accepted.settimeout(20)
        assert len(accepted.recv(100)) == 24
        if abrupt:  # a reset, as of a client that was killed with something unread
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        caller.close()
        assert accepted.recv(1) == b""
    behind.close()


def test_the_servers_last_words_arrive(home: Path) -> None:
    behind = Behind(home, secure=False)
    with socket.create_connection(behind.address) as caller:
        caller.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        with behind.inner.accept()[0] as accepted:
            accepted.settimeout(20)
            assert len(accepted.recv(100)) == 24
            accepted.sendall(b"x" * 150_000)
        caller.settimeout(20)
        received = 0
        while chunk := caller.recv(100_000):
            received += len(chunk)
    behind.close()
    assert received == 150_000


def test_whoever_says_nothing_gets_no_place(home: Path) -> None:
    behind = Behind(home, secure=False, patience=0.2)
    with socket.create_connection(behind.address) as caller:
        caller.settimeout(20)
        caller.sendall(b"PRI * HT")
        assert caller.recv(1) == b""
    behind.close()
    assert behind.told == ["it said nothing"]


@pytest.mark.parametrize("data", [b"\xff\xff\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x02\xc3\x28"])
async def test_what_is_no_message_is_refused_and_the_server_goes_on(serving: Any, data: bytes) -> None:
    async with serving() as rig, rig.client() as client, rig.channel() as channel:
        for method in ("CallTool", "CallToolStream", "UseSkill", "Approve"):
            ask = channel.unary_unary(f"/toolcrib.v1.ToolService/{method}")
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await ask(data, metadata=(("authorization", f"Bearer {rig.token}"),))
            assert caught.value.code() in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
        assert rig.ran == []
        assert await client.create_session()
