"""`toolcrib serve grpc` as a person starts it."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest

from toolcrib import ToolcribError
from toolcrib.serve.client import ToolClient

WITHOUT_GRPC = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "grpc":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from toolcrib.cli import main
sys.exit(main(["serve", "grpc"]))
"""


class Running(NamedTuple):
    process: Any
    target: str

    async def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Its exit status, and what else it wrote to stderr."""
        self.process.send_signal(number)
        _, rest = await asyncio.wait_for(self.process.communicate(), 30)
        return self.process.returncode, rest.decode()


Start = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def start(home: Path, workspace: Path, environment: dict[str, str]) -> Start:
    """`async with start("--listen", …) as running` has a server that is ready."""

    @asynccontextmanager
    async def started(*options: str) -> AsyncIterator[Running]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "toolcrib", "serve", "grpc", *options),
            cwd=workspace, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            line = (await asyncio.wait_for(process.stderr.readline(), 30)).decode()  # type: ignore[union-attr]
            assert line.startswith("toolcrib: serving gRPC at "), line
            yield Running(process, line.split()[-1])
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    return started


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)])
async def test_it_serves_the_home_until_a_signal_comes(start: Start, home: Path, number: int, code: int) -> None:
    async with start() as running:
        assert running.target == f"unix:{home}/grpc/socket"
        async with ToolClient(home=home) as client:
            session = await client.create_session()
            assert "read_file" in {tool.name for tool in await client.tools(session)}
        assert await running.end(number) == (code, "")
    assert sorted(os.listdir(home / "grpc")) == ["token"]


@pytest.mark.usefixtures("slow")
async def test_a_call_under_way_is_ended_by_a_second_signal(
    start: Start, home: Path, workspace: Path, is_gone: Any
) -> None:
    (home / "config.yaml").write_text("approval: {default: preApproved}\n")
    async with start() as running, ToolClient(home=home) as client:
        session = await client.create_session()
        asking = asyncio.create_task(client.call(session, "custom_tool_slow"))
        async with asyncio.timeout(20):
            while not (workspace / "pids").exists():
                await asyncio.sleep(0.01)
        pids = [int(word) for word in (workspace / "pids").read_text().split()]
        running.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            while (home / "grpc" / "socket").exists():
                await asyncio.sleep(0.01)
        code, rest = await running.end()
        assert (code, rest) == (0, "")
        assert all(map(is_gone, pids))
        with pytest.raises(ToolcribError):
            await asking


async def test_loopback_refuses_uploads_unless_told(start: Start, home: Path, skill: str) -> None:
    for options, allowed in (((), False), (("--allow-upload",), True)):
        async with start("--listen", "127.0.0.1:0", *options) as running:
            async with ToolClient(running.target, home=home) as client:
                session = await client.create_session()
                if allowed:
                    assert await client.use_skill(session, "shout", skill) == ["shout"]
                else:
                    with pytest.raises(ToolcribError, match="--allow-upload"):
                        await client.use_skill(session, "shout", skill)
            await running.end()


async def test_the_unix_socket_takes_uploads_of_its_user(start: Start, home: Path, skill: str) -> None:
    async with start() as running, ToolClient(home=home) as client:
        session = await client.create_session()
        assert await client.use_skill(session, "shout", skill) == ["shout"]
        await running.end()


def refused(run_cli: Any, home: Path, *options: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    done = run_cli("serve", "grpc", *options, env={"TOOLCRIB_HOME": str(home), **(env or {})})
    assert done.stdout == ""
    return done.returncode, done.stderr


def secret(path: Path, word: str) -> str:
    path.write_text(word)
    path.chmod(0o600)
    return str(path)


def test_what_cannot_be_is_refused_with_the_next_step(run_cli: Any, home: Path, tmp_path: Path) -> None:
    code, said = refused(run_cli, home, "--listen", "0.0.0.0:0")
    assert code == 2 and said.startswith("NETWORK_DENIED 0.0.0.0 can be reached from other machines")
    code, said = refused(run_cli, home, "--token-file", str(tmp_path / "none"))
    assert code == 2 and "umask 077" in said
    code, said = refused(run_cli, home, "--tls-cert", "x")
    assert code == 2 and "--tls-key" in said
    own = secret(tmp_path / "own", "x" * 40)
    code, said = refused(run_cli, home, "--token-file", own, "--approver-token-file", own)
    assert code == 2 and "another one" in said
    assert refused(run_cli, home, "--queue", "0")[0] == 2
    assert not (home / "grpc" / "socket").exists()


def test_a_tool_cannot_start_a_server_that_approves(run_cli: Any, home: Path, tmp_path: Path) -> None:
    approver = secret(tmp_path / "approver", "y" * 40)
    code, said = refused(run_cli, home, "--approver-token-file", approver, env={"TOOLCRIB_CALL_ID": "tc1"})
    assert code == 3 and said.startswith("APPROVAL_DENIED this runs inside a tool's call")


def test_without_the_library_it_says_what_to_install(environment: dict[str, str], workspace: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_GRPC], env=environment, cwd=workspace, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ENGINE_NOT_AVAILABLE gRPC is not installed")
    assert "pip install 'toolcrib[grpc]'" in done.stderr


def certificates(folder: Path) -> Path:
    """An authority, and certificates of a server and of a client that it signed."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256")
    openssl(*new, "-x509", "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.crt")
    for name in ("server", "client"):
        openssl(*new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl(
            *("x509", "-req", "-days", "2", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key"),
            *("-CAcreateserial", "-extfile", "names", "-out", f"{name}.crt"),
        )
    return folder


async def test_tls_with_certificates_of_both_sides(start: Start, home: Path, tmp_path: Path) -> None:
    place = certificates(tmp_path)
    files = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    options = ["--listen", "127.0.0.1:0"]
    for flag, name in (("--tls-cert", "server.crt"), ("--tls-key", "server.key"), ("--client-ca", "ca.crt")):
        options += [flag, str(place / name)]
    async with start(*options) as running:
        known = grpc.ssl_channel_credentials(files["ca.crt"], files["client.key"], files["client.crt"])
        async with ToolClient(running.target, home=home, credentials=known) as client:
            assert await client.create_session()
        stranger = grpc.ssl_channel_credentials(files["ca.crt"])
        async with ToolClient(running.target, home=home, credentials=stranger) as client:
            with pytest.raises(ToolcribError) as caught:
                await client.create_session()
            assert caught.value.code == "ENGINE_NOT_AVAILABLE"
        async with ToolClient(running.target, home=home) as client:
            with pytest.raises(ToolcribError):
                await client.create_session()
        await running.end()
