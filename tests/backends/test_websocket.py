"""A WebSocket as a tool, against a real server on loopback that may misbehave."""

import asyncio
import base64
import hashlib
import json
import shutil
import ssl
import subprocess
import tracemalloc
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from toolcrib.backends import websocket
from toolcrib.backends.declared import Unfit
from toolcrib.testing import ScriptedApprover

from .declaring import TEXT, Counter, Secrets, declare, hostile_texts

serve = pytest.importorskip("websockets.asyncio.server", reason="the extra `websocket` is not installed").serve


@pytest.fixture
def counter(tmp_path):
    return Counter(tmp_path)


class Peer:
    """What a server saw."""

    def __init__(self):
        self.port = 0
        self.requests, self.got, self.connections = [], [], 0
        self.gone = asyncio.Event()


@asynccontextmanager
async def speaking(talk, **about):
    """A server that lets `talk(connection, peer)` speak with whoever comes."""
    peer = Peer()

    async def handle(connection):
        peer.connections += 1
        peer.requests.append((connection.request.path, list(connection.request.headers.raw_items())))
        try:
            await talk(connection, peer)
        finally:
            peer.gone.set()

    async with serve(handle, "127.0.0.1", 0, **about) as server:
        peer.port = server.sockets[0].getsockname()[1]
        yield peer


@asynccontextmanager
async def raw(answer):
    """A server that accepts the handshake by hand and then does what `answer(reader, writer)` does."""
    peer = Peer()

    async def handle(reader, writer):
        peer.connections += 1
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        key = next(line.split(": ")[1] for line in head.split("\r\n") if line.lower().startswith("sec-websocket-key"))
        accept = base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()
        hello = (
            f"HTTP/1.1 101 OK\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        )
        try:
            await answer(reader, writer, hello.encode())
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            peer.gone.set()
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    peer.port = server.sockets[0].getsockname()[1]
    try:
        yield peer
    finally:
        server.close()


def offer(peer, properties=None, *, path="/", listed=True, secrets=None, **fields):
    fields = {"url": f"ws://127.0.0.1:{peer.port}{path}", **fields}
    allow = (f"127.0.0.1:{peer.port}",) if listed else ()
    return declare(websocket.make, fields, properties, allow=allow, secrets=secrets)


async def call(counter, tool, args=None, **about):
    async with counter.open(tool) as crib:
        return await crib.call(tool.name, args or {}, **about)


async def echo(connection, peer):
    async for message in connection:
        peer.got.append(message)
        await connection.send(message)


def test_what_is_sent_comes_back_until_the_condition_holds(counter):
    """A49: send, collect until a condition, and each message is told of as it comes."""

    async def ticks(connection, peer):
        peer.got.append(json.loads(await connection.recv()))
        for at in range(5):
            await connection.send(json.dumps({"tick": at, "done": at == 3}))
        await connection.wait_closed()

    async def scene():
        heard = []
        async with speaking(ticks) as peer:
            tool = offer(
                peer, {"symbol": TEXT, "depth": {"type": "integer"}}, send={"op": "sub", "to": "${symbol}", "n": "${depth}"},
                collect={"until": {"json": {"/done": True}}},
            )  # fmt: skip
            result = await call(
                counter,
                tool,
                {"symbol": 'X"}', "depth": 3},
                progress=lambda done, total, text: heard.append((done, text)),
            )
            await peer.gone.wait()
        return peer, result, heard

    peer, result, heard = asyncio.run(scene())
    assert peer.got == [{"op": "sub", "to": 'X"}', "n": 3}]
    ticks_seen = [{"tick": at, "done": at == 3} for at in range(4)]
    assert result.data == {"messages": ticks_seen, "closed": None, "reason": "", "stopped_by": "until"}
    assert [(done, json.loads(text)) for done, text in heard] == list(enumerate(ticks_seen, 1))


@pytest.mark.parametrize(
    ("collect", "stopped", "count"),
    [
        ({"until": {"count": 2}}, "until", 2),
        ({"until": {"text": "m4"}}, "until", 5),
        ({"max_messages": 3}, "max_messages", 3),
        ({"max_bytes": 7}, "max_bytes", 3),
        ({"idle_ms": 50, "until": {"text": "never"}}, "idle", 9),
    ],
)
def test_each_limit_stops_the_collecting(counter, collect, stopped, count):
    """A49: a condition or a limit, whichever comes first, and the answer says which."""

    async def nine(connection, peer):
        for at in range(9):
            await connection.send(f"m{at}")
        await connection.wait_closed()

    async def scene():
        async with speaking(nine) as peer:
            return await call(counter, offer(peer, collect=collect))

    data = asyncio.run(scene()).data
    assert (data["stopped_by"], data["messages"]) == (stopped, [f"m{at}" for at in range(count)])


def test_the_other_side_may_close(counter):
    async def leave(connection, peer):
        await connection.send(b"\x00\xff")
        await connection.close(4001, "enough")

    async def scene():
        async with speaking(leave) as peer:
            return await call(counter, offer(peer))

    data = asyncio.run(scene()).data
    assert (data["closed"], data["reason"], data["stopped_by"]) == (4001, "enough", "closed")
    assert data["messages"] == [{"base64": "AP8=", "note": "a binary message of 2 bytes"}]


def test_a_server_that_never_answers_is_left_in_time(counter):
    """A38: the tool's own limit; the connection is gone, and what had come is told."""

    async def silent(connection, peer):
        await connection.send("first")
        await connection.wait_closed()

    async def scene():
        async with speaking(silent) as peer:
            tool = offer(peer, collect={"idle_ms": 60000}, timeout_ms=300)
            result = await call(counter, tool)
            async with asyncio.timeout(10):
                await peer.gone.wait()
            return result

    error = asyncio.run(scene()).error
    assert (error.code, error.details["messages"]) == ("TIMEOUT", ["first"])


def test_a_handshake_that_never_ends_is_left_in_time(counter):
    """A38."""

    async def stall(reader, writer, hello):
        await reader.read()

    async def scene():
        async with raw(stall) as peer:
            result = await call(counter, offer(peer, timeout_ms=300))
            async with asyncio.timeout(10):
                await peer.gone.wait()
            return result

    assert asyncio.run(scene()).error.code == "TIMEOUT"


def test_more_than_is_shown_goes_to_an_artifact(counter):
    """A8: 100 KiB are kept, and nothing is lost."""

    async def loud(connection, peer):
        for at in range(300):
            await connection.send(f"{at:04}" + "x" * 996)
        await connection.close()

    async def scene():
        async with speaking(loud) as peer:
            return await call(counter, offer(peer, collect={"max_messages": 1000}))

    result = asyncio.run(scene())
    (artifact,) = result.metadata["artifacts"]
    lines = Path(artifact["path"]).read_text().splitlines()
    assert [json.loads(line)[:4] for line in lines] == [f"{at:04}" for at in range(300)]
    shown = [message[:4] for message in result.data["messages"]]
    assert shown == [f"{at:04}" for at in range(len(shown))] and 0 < len(shown) < 103
    assert artifact["id"] in result.data["note"] and result.metadata["truncated"] is True


def test_a_flood_is_bounded(counter):
    """A server that sends without end: what is taken has a limit, and the rest is not waited for."""

    async def flood(connection, peer):
        while True:
            await connection.send("x" * 50_000)

    async def scene():
        async with speaking(flood) as peer:
            tracemalloc.start()
            result = await call(counter, offer(peer, collect={"max_messages": 10000, "max_bytes": 4_000_000}))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return result, peak

    result, peak = asyncio.run(scene())
    assert (result.data["stopped_by"], result.metadata["message_bytes"]) == ("max_bytes", 4_000_000)
    assert peak < 30_000_000


@pytest.mark.parametrize("finished", [True, False], ids=["a frame", "fragments"])
def test_a_message_of_a_gigabyte_is_not_taken(counter, finished):
    """The length in its head is enough to refuse it; as fragments it is refused when the limit is reached."""

    async def big(reader, writer, hello):
        writer.write(hello)
        if finished:
            writer.write(b"\x82\x7f" + (1 << 30).to_bytes(8, "big") + b"x" * 1000)
        else:
            writer.write(b"\x02\x7e\xff\xff" + b"x" * 65535)
            for _ in range(100):
                writer.write(b"\x00\x7e\xff\xff" + b"x" * 65535)
                await writer.drain()
        await reader.read()

    async def scene():
        async with raw(big) as peer:
            return await call(counter, offer(peer))

    data = asyncio.run(scene()).data
    assert (data["stopped_by"], data["messages"]) == ("max_bytes", [])


def test_compression_is_not_agreed_to(counter):
    """A few bytes that unpack to a gigabyte: a compressed frame is an error, and nothing is unpacked."""

    async def bomb(reader, writer, hello):
        writer.write(hello + b"\xc1\x05\xaaV\xca\x48\x00")
        await reader.read()

    async def scene():
        offered = []

        async def look(connection, peer):
            offered.append(connection.request.headers.get("Sec-WebSocket-Extensions"))

        async with speaking(look) as peer:
            await call(counter, offer(peer))
        async with raw(bomb) as peer:
            return offered, await call(counter, offer(peer))

    offered, result = asyncio.run(scene())
    assert (offered, result.data["messages"], result.data["stopped_by"]) == ([None], [], "closed")


def test_a_connection_lost_halfway_says_so(counter):
    async def half(reader, writer, hello):
        writer.write(hello + b"\x81\x03one" + b"\x81\x20half")

    async def scene():
        async with raw(half) as peer:
            return await call(counter, offer(peer))

    data = asyncio.run(scene()).data
    assert (data["messages"], data["stopped_by"], data["reason"]) == (["one"], "closed", "the connection was lost")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", "HTTP status 404"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "HTTP status 200"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "does not speak WebSocket"),
        (b"", "does not speak WebSocket"),
    ],
)
def test_what_is_no_websocket_is_said(counter, answer, says):
    async def other(reader, writer, hello):
        writer.write(answer)

    async def scene():
        async with raw(other) as peer:
            return await call(counter, offer(peer))

    error = asyncio.run(scene()).error
    assert error.code == "EXECUTION_ERROR" and says in error.message


def test_a_redirect_is_not_followed(counter):
    """Nothing is asked of where it leads."""

    async def scene():
        async with speaking(echo) as elsewhere:

            async def away(reader, writer, hello):
                writer.write(f"HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:{elsewhere.port}/\r\n\r\n".encode())

            async with raw(away) as peer:
                return await call(counter, offer(peer)), elsewhere.connections

    result, connections = asyncio.run(scene())
    assert "redirect is not followed" in result.error.message and connections == 0


@pytest.mark.parametrize("url", ["ws://127.0.0.1:{port}/", "wss://127.0.0.1:{port}/", "ws://localhost:{port}/"])
def test_an_address_that_is_not_listed_is_never_reached(counter, url):
    """Nothing connects: the server would have counted it."""

    async def scene():
        async with speaking(echo) as peer:
            tool = declare(websocket.make, {"url": url.format(port=peer.port)})
            return await call(counter, tool), peer.connections

    result, connections = asyncio.run(scene())
    assert (result.error.code, connections) == ("NETWORK_DENIED", 0)


def test_an_encrypted_connection_is_for_the_name_of_the_host(counter, tmp_path, monkeypatch):
    """Whose certificate nobody vouches for is not spoken with; with one that is vouched for, it works."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("there is no openssl here to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = [program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=x",
             "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]  # fmt: skip
    subprocess.run(words, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def scene():
        async with speaking(echo, ssl=context) as peer:

            def at(host):
                fields = {"url": f"wss://{host}:{peer.port}/", "send": "hi", "collect": {"until": {"count": 1}}}
                return declare(websocket.make, fields, allow=(f"{host}:{peer.port}",))

            nobody = await call(counter, at("localhost"))
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            return nobody, await call(counter, at("127.0.0.1")), await call(counter, at("localhost")), peer.got

    nobody, another, right, got = asyncio.run(scene())
    assert "certificate" in nobody.error.message.lower() and "certificate" in another.error.message.lower()
    assert (right.data["messages"], got) == (["hi"], ["hi"])


def test_proxies_of_the_environment_are_not_used(counter, monkeypatch):
    async def scene():
        async with speaking(echo) as proxy, speaking(echo) as peer:
            for name in ("http_proxy", "https_proxy", "all_proxy", "ALL_PROXY", "ws_proxy"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            result = await call(counter, offer(peer, send="hi", collect={"until": {"count": 1}}))
            return result, proxy.connections

    result, connections = asyncio.run(scene())
    assert (result.data["messages"], connections) == (["hi"], 0)


def test_a_secret_goes_to_the_host_and_nowhere_else(counter):
    """It is asked for by the literal host, and a preview does not ask for it."""
    secrets = Secrets({"KEY": "sesame"})

    async def scene():
        async with speaking(echo) as peer:
            tool = offer(
                peer, headers={"X-Key": "${env:KEY}"}, send="${env:KEY}", secrets=secrets, collect={"max_messages": 1}
            )
            preview = await call(counter, tool, dry_run=True)
            asked = list(secrets.asked)
            return peer, preview, asked, await call(counter, tool)

    peer, preview, asked, result = asyncio.run(scene())
    assert (preview.data["send"], preview.data["headers"], asked) == (["${env:KEY}"], ["X-Key"], [])
    assert secrets.asked[0] == ("ask", "KEY", "127.0.0.1", "127.0.0.1")
    assert (peer.got, dict(peer.requests[-1][1])["X-Key"]) == (["sesame"], "sesame") and result.success


def test_a_denied_call_connects_to_nothing(counter):
    async def scene():
        async with speaking(echo) as peer:
            tool = offer(peer, send="x")
            async with counter.open(tool, approver=ScriptedApprover(False)) as crib:
                return await crib.call("ask", {}), peer.connections

    result, connections = asyncio.run(scene())
    assert (result.error.code, connections) == ("APPROVAL_DENIED", 0)


def test_hostile_values_stay_in_their_places(counter):
    """A49: 1,000 values in every place: never one more message, key, header, path segment or query parameter."""
    values = list(hostile_texts(1000, seed=49, without="\x00"))

    async def scene():
        async with speaking(echo, max_size=None) as peer:
            tool = offer(
                peer, {"p": TEXT, "q": TEXT, "h": TEXT, "j": TEXT, "t": TEXT},
                path="/a/x${p}/b?one=${q}&two=2",
                headers={"X-One": "<${h}>"},
                send=['{"a": "${j}", "b": ["pre-${j}", 1]}', {"c": {"d": "${j}"}}, "text ${t}"],
                collect={"until": {"count": 3}},
            )  # fmt: skip
            async with counter.open(tool) as crib:
                gate = asyncio.Semaphore(8)

                async def one(value):
                    header = "".join(char for char in value if " " <= char <= "~")
                    path = value.replace(".", "")
                    async with gate:
                        args = {"p": path, "q": value, "h": header, "j": value, "t": value}
                        return args, await crib.call("ask", args)

                plain = await crib.call("ask", dict.fromkeys("pqhjt", "v"))
                count = len(peer.requests[-1][1])
                return peer, plain, count, await asyncio.gather(*map(one, values))

    peer, plain, count, answers = asyncio.run(scene())
    assert plain.success and len(answers) == 1000 and peer.connections == 1001
    for args, result in answers:
        value = args["j"]
        assert result.error is None, (args, result.error)
        text = f"text {value}"
        assert result.data["messages"] == [{"a": value, "b": [f"pre-{value}", 1]}, {"c": {"d": value}}, text]
    seen = sorted(json.dumps(_request(*each)) for each in peer.requests[1:])
    sent = sorted(json.dumps([args["p"], args["q"], args["h"]]) for args, _ in answers)
    assert seen == sent
    assert {len(headers) for _, headers in peer.requests} == {count}
    assert len(peer.got) == 3 * 1001


def _request(path, headers):
    """What a server reads in the three places of the request."""
    parts = urlsplit(path)
    segments = parts.path.split("/")
    assert [segments[0], segments[1], segments[3:]] == ["", "a", ["b"]]
    (one, value), two = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)
    assert (one, two) == ("one", ("two", "2"))
    header = [text for name, text in headers if name == "X-One"]
    assert len(header) == 1
    return [unquote(segments[2])[1:], value, header[0][1:-1]]


@pytest.mark.parametrize("value", ["a\r\nX-Two: 2", "a\nb", "\x00", "\x1b[0m", "漢"])
def test_a_header_refuses_what_ends_its_line(counter, value):
    """Refused before anything is connected to."""

    async def scene():
        async with speaking(echo) as peer:
            tool = offer(peer, {"h": TEXT}, headers={"X-One": "${h}"})
            return await call(counter, tool, {"h": value}), peer.connections

    result, connections = asyncio.run(scene())
    assert (result.error.code, connections) == ("VALIDATION_ERROR", 0)


def test_a_missing_argument_is_said_and_an_optional_member_falls_away(counter):
    async def scene():
        async with speaking(echo) as peer:
            once = {"until": {"count": 1}}
            text = await call(counter, offer(peer, {"x": TEXT}, send="say ${x}", collect=once))
            member = await call(counter, offer(peer, {"x": TEXT}, send={"a": 1, "x": "${x}"}, collect=once))
            return text, member, peer.connections

    text, member, connections = asyncio.run(scene())
    assert (text.error.code, member.data["messages"], connections) == ("VALIDATION_ERROR", [{"a": 1}], 1)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({}, "/url"),
        ({"url": "http://example.com/"}, "/url"),
        ({"url": "wss://${h}/"}, "/url"),
        ({"url": "wss://user@example.com/"}, "/url"),
        ({"url": "wss://example.com/", "sent": "x"}, "/sent"),
        ({"url": "wss://example.com/${nope}"}, "/url"),
        ({"url": "wss://example.com/", "headers": {"Sec-WebSocket-Key": "x"}}, "/headers/Sec-WebSocket-Key"),
        ({"url": "wss://example.com/", "headers": {"Host": "x"}}, "/headers/Host"),
        ({"url": "wss://example.com/", "send": '{"a": ${h}}'}, "/send/0"),
        ({"url": "wss://example.com/", "send": {"${h}": 1}}, "/send/0/${h}"),
        ({"url": "wss://example.com/", "send": 5}, "/send/0"),
        ({"url": "wss://example.com/", "send": "${nope}"}, "/send/0"),
        ({"url": "wss://example.com/", "collect": {"until": {"count": 0}}}, "/collect/until/count"),
        ({"url": "wss://example.com/", "collect": {"until": {"count": 1, "text": "x"}}}, "/collect/until"),
        ({"url": "wss://example.com/", "collect": {"until": {"json": {"done": True}}}}, "/collect/until/json"),
        ({"url": "wss://example.com/", "collect": {"until": {"text": "${env:X}"}}}, "/collect/until"),
        ({"url": "wss://example.com/", "collect": {"max": 1}}, "/collect/max"),
        ({"url": "wss://example.com/", "timeout_ms": 0}, "/timeout_ms"),
        ({"url": "wss://example.com/", "timeout_ms": True}, "/timeout_ms"),
    ],
)
def test_a_wrong_declaration_is_refused_with_its_place(fields, pointer):
    with pytest.raises(Unfit) as refused:
        declare(websocket.make, fields, {"h": TEXT})
    assert refused.value.pointer == pointer
