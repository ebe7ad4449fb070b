"""HTTP tools at the gate: who is asked about what, and that nothing is sent before the answer. And over TLS."""

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.backends.http import HttpBackend
from toolcrib.backends.network import Network
from toolcrib.core.call import Result
from toolcrib.core.errors import ToolError
from toolcrib.testing import ScriptedApprover, fake_context

from .http_server import Server, answered, ask, calling, declared, http_tool, serving
from .test_network import Resolver, noted


def asked(root: Path, approver: Any) -> tuple[Result, Server]:
    async def run() -> tuple[Result, Server]:
        async with serving(answered("ok")) as server:
            tool = http_tool({"url": server.url("/"), "method": "POST"}, allow=(server.netloc,))
            root.joinpath("work").mkdir()
            async with toolcrib.open(
                workspace=root / "work", home=root / "home", tools=[tool], approver=approver
            ) as crib:
                return await crib.call("ask", {"a": 1}), server

    return asyncio.run(run())


def test_somebody_is_asked_about_the_host(tmp_path: Path) -> None:
    approver = ScriptedApprover(True)
    result, server = asked(tmp_path, approver)
    assert result.data == "ok"
    [question] = approver.asked
    assert [(each.kind, each.value) for each in question.subjects] == [("host", (server.netloc,))]


@pytest.mark.parametrize(
    ("approver", "code"), [(None, "APPROVAL_REQUIRED"), (ScriptedApprover(False), "APPROVAL_DENIED")]
)
def test_without_a_yes_nothing_is_sent(tmp_path: Path, approver: Any, code: str) -> None:
    result, server = asked(tmp_path, approver)
    assert result.error is not None
    assert result.error.code == code
    assert server.connections == 0


def test_a_rule_for_the_host_holds(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "policy.yaml").write_text("rules:\n  - {id: no, hosts: ['127.0.0.1'], approval: blocked}\n")
    result, server = ask(tmp_path, answered("ok"))
    assert result.error is not None
    assert result.error.code == "BLOCKED_BY_POLICY"
    assert server.connections == 0


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "https://127.0.0.1:{port}/"])
def test_what_is_not_listed_is_refused_with_the_line_that_would_list_it(tmp_path: Path, url: str) -> None:
    async def run() -> tuple[Result, Server]:
        async with serving(answered("inside")) as server:
            async with calling(tmp_path, http_tool({"url": url.format(port=server.port)})) as call:
                return await call({}), server

    result, server = asyncio.run(run())
    assert result.error is not None
    assert result.error.code == "NETWORK_DENIED"
    assert f':{server.port}"]}}`' in result.error.message
    assert server.connections == 0


def test_a_name_that_leads_elsewhere_the_second_time_does_not_lead_inside() -> None:
    """DNS rebinding, by the whole client: the address that was looked at is the one that is connected to."""

    async def run() -> tuple[list[Any], list[str], int]:
        async with serving(answered("inside")) as inside:
            resolver = Resolver(["127.0.0.9"], ["127.0.0.1"])
            backend = declared({"url": f"http://rebind.example:{inside.port}/"}).backend
            assert isinstance(backend, HttpBackend)
            backend = backend._replace(network=Network(("rebind.example",), resolve=resolver))
            with noted() as events, pytest.raises(ToolError):
                await backend.run({}, fake_context())
            return events, resolver.asked, inside.connections

    events, resolved, connections = asyncio.run(run())
    assert connections == 0
    assert resolved == ["rebind.example"]
    assert {each[0] for event, each in events if event == "socket.connect"} == {"127.0.0.9"}
    assert not [event for event, _ in events if event == "socket.getaddrinfo"]


def test_a_call_that_is_given_up_ends_its_connection(tmp_path: Path) -> None:
    async def run() -> Server:
        arrived = asyncio.Event()

        async def hang(seen: Any, writer: Any) -> None:
            arrived.set()
            await seen.reader.read()

        async with serving(hang) as server:
            async with calling(tmp_path, http_tool({"url": server.url("/")}, allow=(server.netloc,))) as call:
                task = asyncio.ensure_future(call({}))
                await arrived.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await asyncio.wait_for(server.closed.wait(), 5)
            return server

    assert len(asyncio.run(run()).seen) == 1


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of `tls.example`, which vouches for itself."""
    if not shutil.which("openssl"):
        pytest.skip("this machine has no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=tls.example", "-addext", "subjectAltName=DNS:tls.example", "-keyout", folder / "key.pem",
         "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder


def over_tls(certificate: Path, name: str, answer_with: bytes = answered("sealed")) -> tuple[Any, Server]:
    """Ask a server with this certificate for `name`, which leads to this machine."""

    async def run() -> tuple[Any, Server]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
        server = Server(answer_with, "127.0.0.1")
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
        port = listening.sockets[0].getsockname()[1]
        backend = declared({"url": f"https://{name}:{port}/"}).backend
        assert isinstance(backend, HttpBackend)
        backend = backend._replace(network=Network((name, "127.0.0.1"), resolve=Resolver(["127.0.0.1"])))
        answer: Any
        async with listening:
            try:
                answer = await backend.run({}, fake_context())
                await asyncio.wait_for(server.closed.wait(), 10)
            except ToolError as exc:
                answer = exc
        return answer, server

    return asyncio.run(run())


def test_tls_is_for_the_name_and_not_for_the_address(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    answer, server = over_tls(certificate, "tls.example")
    assert answer == "sealed"
    assert server.seen[0].header("host", ).startswith("tls.example:")  # type: ignore[union-attr]  # fmt: skip


def test_a_certificate_of_another_name_is_not_taken(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    answer, server = over_tls(certificate, "other.example")
    assert isinstance(answer, ToolError)
    assert answer.before_effect
    assert "certificate" in str(answer)
    assert server.seen == []


def test_a_certificate_that_nobody_vouches_for_is_not_taken(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    answer, server = over_tls(certificate, "tls.example")
    assert isinstance(answer, ToolError)
    assert server.seen == []


def test_authorities_that_cannot_be_read_are_named(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "nothing.pem"))
    answer, server = over_tls(certificate, "tls.example")
    assert isinstance(answer, ToolError)
    assert "nothing.pem" in str(answer)
    assert server.connections == 0


@pytest.mark.parametrize("host", ["tls.example", "127.0.0.1"])
def test_from_https_nothing_leads_to_http(certificate: Path, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """Not even to a host that is listed, and not to the same one."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    location = f"Location: http://{host}:9/"
    with noted() as events:
        answer, server = over_tls(certificate, "tls.example", answered("", location, status="302 Found"))
    assert isinstance(answer, ToolError)
    assert answer.code == "NETWORK_DENIED"
    assert "without encryption" in str(answer)
    assert len(server.seen) == 1
    assert [each for event, each in events if event == "socket.connect" and each[1] == 9] == []
