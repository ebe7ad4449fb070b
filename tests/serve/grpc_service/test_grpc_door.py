"""Strangers at the gRPC service get nothing, nothing happens, and it is recorded."""

import asyncio
import os
import socket
import subprocess
import sys
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2

from toolcrib import ToolcribError
from toolcrib.serve.grpc_refusals import MOST_IN_WINDOW, WINDOW_SECONDS, Refusals
from toolcrib.serve.v1 import tool_service_pb2 as pb

CALL = "/toolcrib.v1.ToolService/CallTool"


async def status(channel: Any, method: str, message: Any, metadata: Any) -> grpc.StatusCode:
    """What becomes of a request."""
    try:
        await channel.unary_unary(method)(message, metadata=metadata, timeout=20)
    except grpc.aio.AioRpcError as exc:
        return exc.code()
    return grpc.StatusCode.OK


def strangers(token: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """What a caller may send who is not to be let in."""
    right = ("authorization", f"Bearer {token}")
    return {
        "nothing": (),
        "a wrong word": (("authorization", "Bearer " + "x" * len(token)),),
        "another case": (("authorization", f"Bearer {token.swapcase()}"),),
        "the beginning": (("authorization", f"Bearer {token[:-1]}"),),
        "more than it": (("authorization", f"Bearer {token}x"),),
        "no word": (("authorization", "Bearer "),),
        "no scheme": (("authorization", token),),
        "another scheme": (("authorization", f"Basic {token}"),),
        "two words": (right, ("authorization", "Bearer other")),
        "the right one twice": (right, right),
        "another key": (("x-authorization", f"Bearer {token}"),),
        "a browser's page": (right, ("origin", "http://evil.example")),
        "a browser's fetch": (right, ("sec-fetch-site", "cross-site")),
        "grpc-web": (right, ("x-grpc-web", "1")),
    }


KINDS = list(strangers("t" * 43))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stranger_gets_nothing_and_is_recorded(serving: Any, kind: str) -> None:
    async with serving() as rig, rig.client() as client, rig.channel() as channel:
        session = await client.create_session()
        metadata = strangers(rig.token)[kind]
        request = pb.CallToolRequest(session_id=session, tool_name="count", arguments_json='{"upto": 1}')
        assert await status(channel, CALL, request.SerializeToString(), metadata) is grpc.StatusCode.UNAUTHENTICATED
        assert (rig.ran, rig.records("call")) == ([], [])
        (record,) = rig.records("refused")
        assert (record["door"], record["times"]) == ("grpc", 1)
        assert CALL in record["why"]
        assert rig.token not in str(record)


@pytest.mark.parametrize(
    "method",
    [
        "/toolcrib.v1.ToolService/UseSkill",
        "/toolcrib.v1.ToolService/CreateSession",
        "/toolcrib.v1.ToolService/CallToolStream",
        "/grpc.health.v1.Health/Check",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        "/no.such.Service/Method",
    ],
)
async def test_a_stranger_does_not_learn_which_methods_there_are(serving: Any, method: str) -> None:
    async with serving(reflection=True) as rig, rig.channel() as channel:
        assert await status(channel, method, b"", ()) is grpc.StatusCode.UNAUTHENTICATED
        assert await rig.crib.sessions.all() == []


async def test_the_schemes_name_may_be_written_in_any_case(serving: Any) -> None:
    async with serving() as rig, rig.channel() as channel:
        metadata = (("authorization", f"bearer {rig.token}"),)
        method = "/toolcrib.v1.ToolService/CreateSession"
        assert await status(channel, method, b"", metadata) is grpc.StatusCode.OK


async def test_health_is_told_to_those_who_may_ask(serving: Any) -> None:
    async with serving() as rig, rig.channel() as channel:
        ask = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        for service in ("", "toolcrib.v1.ToolService"):
            request = health_pb2.HealthCheckRequest(service=service)
            answer = await ask(request, metadata=(("authorization", f"Bearer {rig.token}"),))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("on", [True, False])
async def test_reflection_only_when_asked_for(serving: Any, on: bool) -> None:
    from grpc_reflection.v1alpha import reflection_pb2 as messages

    async with serving(reflection=on) as rig, rig.channel() as channel:
        ask = channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=messages.ServerReflectionRequest.SerializeToString,
            response_deserializer=messages.ServerReflectionResponse.FromString,
        )
        call = ask(
            iter([messages.ServerReflectionRequest(list_services="")]),
            metadata=(("authorization", f"Bearer {rig.token}"),),
        )
        if on:
            (answer,) = [each async for each in call]
            assert "toolcrib.v1.ToolService" in {each.name for each in answer.list_services_response.service}
        else:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                _ = [each async for each in call]
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def spoken(rig: Any, data: bytes) -> bytes:
    """All that the server says to somebody who says this at its address."""
    reader, writer = await asyncio.open_connection(rig.server.address.host, rig.server.address.port)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(), 20)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n",
        b"POST /toolcrib.v1.ToolService/CallTool HTTP/1.1\r\nHost: x\r\nContent-Type: application/grpc\r\n\r\n",
        b"OPTIONS / HTTP/1.1\r\nHost: x\r\nAccess-Control-Request-Method: POST\r\n\r\n",
        b"PRI * HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0",
    ],
)
async def test_a_browser_gets_not_one_byte_and_is_recorded(serving: Any, data: bytes) -> None:
    async with serving(listen="127.0.0.1:0") as rig:
        assert await spoken(rig, data) == b""
        assert rig.ran == []
    (record,) = rig.records("refused")
    assert (record["why"], record["peer"]) == ("it did not speak gRPC (a browser?)", "127.0.0.1")


async def test_at_an_address_the_token_counts_just_the_same(serving: Any) -> None:
    async with serving(listen="127.0.0.1:0") as rig:
        async with rig.client() as client:
            session = await client.create_session()
            assert (await client.call(session, "count", {"upto": 7})).data == 7
        async with rig.client(token="wrong" * 8) as client:
            with pytest.raises(ToolcribError) as caught:
                await client.create_session()
            assert caught.value.code == "BLOCKED_BY_POLICY"
        assert len(rig.records("refused")) == 1


async def test_uploads_are_refused_unless_allowed(serving: Any, skill: str) -> None:
    async with serving(listen="127.0.0.1:0", upload=False) as rig, rig.client() as client:
        session = await client.create_session()
        with pytest.raises(ToolcribError, match="--allow-upload") as caught:
            await client.use_skill(session, "shout", skill)
        assert caught.value.code == "BLOCKED_BY_POLICY"
        assert await client.active_skills(session) == []
        assert [record["why"] for record in rig.records("refused")] == ["a skill was uploaded"]


async def test_uploads_are_accepted_when_allowed(serving: Any, skill: str) -> None:
    async with serving(listen="127.0.0.1:0", upload=True) as rig, rig.client() as client:
        session = await client.create_session()
        assert await client.use_skill(session, "shout", skill) == ["shout"]


async def test_what_an_uploaded_skill_brings_is_judged_like_any_other(serving: Any, skill: str) -> None:
    async with serving(config="", wait=0.0) as rig, rig.client() as client:
        session = await client.create_session()
        await client.use_skill(session, "shout", skill)
        result = await client.call(session, "shout", {"text": "x"})
        assert result.error is not None and result.error.code == "APPROVAL_REQUIRED"


CONNECT = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
except OSError as exc:
    print(type(exc).__name__)
else:
    print("connected")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("reachable", [False, True], ids=["private directory", "directory that others may enter"])
async def test_another_user_cannot_open_the_socket(serving: Any, home: Any, reachable: bool) -> None:
    """The kernel refuses: by the directory, and by the socket itself."""
    async with serving() as rig:
        if reachable:
            for folder in (home.parent, home, home / "grpc"):
                folder.chmod(0o755)
        path = rig.target.removeprefix("unix:")
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", CONNECT, path], capture_output=True, text=True, timeout=30
        )
        assert done.stdout.strip() == "PermissionError", done.stderr
        with socket.socket(socket.AF_UNIX) as own:
            own.connect(path)


KNOCK = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
with socket.socket(socket.AF_UNIX) as caller:
    caller.settimeout(20)
    caller.connect(sys.argv[1])
    try:
        caller.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n")
        print(caller.recv(100))
    except OSError:
        print(b"")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_another_user_who_can_reach_a_socket_gets_nothing_and_is_recorded(serving: Any, home: Any) -> None:
    """A socket that was put where others come by: they can knock, and that is all."""
    place = home.parent / "common"
    place.mkdir(mode=0o755)
    home.parent.chmod(0o755)
    async with serving(listen=f"unix:{place}/socket") as rig:
        knocking = [sys.executable, "-c", KNOCK, f"{place}/socket"]
        done = await asyncio.to_thread(subprocess.run, knocking, capture_output=True, text=True, timeout=30)
        assert done.stdout.strip() == "b''", done.stderr
        async with rig.client() as client:
            assert await client.create_session()
    (record,) = rig.records("refused")
    assert record["why"] == "another user"
    assert record["peer"].startswith("uid 65534")
    assert (rig.ran, rig.records("call")) == ([], [])


def test_many_refusals_do_not_fill_the_disk() -> None:
    said, now = list[tuple[str, str, str, int]](), 0.0
    refusals = Refusals(lambda *words: said.append(words), clock=lambda: now)
    for _ in range(10_000):
        refusals.note("no token", "x")
    assert len(said) == MOST_IN_WINDOW
    now = WINDOW_SECONDS + 1
    refusals.note("no token", "x")
    assert said[MOST_IN_WINDOW:] == [
        ("grpc", "many refusals in a short time", "", 10_000 - MOST_IN_WINDOW),
        ("grpc", "no token", "x", 1),
    ]
    refusals.settle()
    assert len(said) == MOST_IN_WINDOW + 2


def test_a_refusal_is_shown_by_audit_show(run_cli: Any, home: Any) -> None:
    from toolcrib.observe.audit import Audit
    from toolcrib.store.home import Home

    audit = Audit(lambda: Home(home).directory("audit"))
    audit.refused("grpc", "a wrong token", "127.0.0.1")
    audit.close()
    shown = run_cli("audit", "show", env={"TOOLCRIB_HOME": str(home)})
    assert "refused at grpc  a wrong token  127.0.0.1" in shown.stdout
    assert run_cli("audit", "verify", env={"TOOLCRIB_HOME": str(home)}).returncode == 0
