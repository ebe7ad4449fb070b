"""Where the gRPC service listens, and which files it takes its tokens from."""

import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from toolcrib import ConfigError, ToolcribError
from toolcrib.serve.grpc_listen import Address, parse_address
from toolcrib.serve.grpc_token import own_token, read_token
from toolcrib.store.home import Home


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("unix:/run/x.sock", Address(path="/run/x.sock")),
        ("unix:///run/x.sock", Address(path="/run/x.sock")),
        ("127.0.0.1:50051", Address(host="127.0.0.1", port=50051)),
        ("localhost:0", Address(host="127.0.0.1")),
        ("[::1]:1", Address(host="::1", port=1)),
        ("127.9.9.9:1", Address(host="127.9.9.9", port=1)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert parse_address(text, secure=False) == address


@pytest.mark.parametrize("text", ["0.0.0.0:1", "192.168.1.5:1", "[::]:1", "8.8.8.8:443", "[::ffff:10.0.0.1]:1"])
def test_other_machines_only_with_tls(text: str) -> None:
    with pytest.raises(ToolcribError, match="--tls-cert") as caught:
        parse_address(text, secure=False)
    assert caught.value.code == "NETWORK_DENIED"
    assert parse_address(text, secure=True).host


@pytest.mark.parametrize(
    "text", ["", "unix:", "50051", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "example.com:1", ":1"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ToolcribError) as caught:
        parse_address(text, secure=True)
    assert caught.value.code == "CONFIG_INVALID"


async def test_the_socket_and_its_directory_are_private(serving: Any, home: Path) -> None:
    home.chmod(0o755)
    async with serving() as rig:
        path = Path(rig.server.address.path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE((home / "grpc" / "token").stat().st_mode) == 0o600
    assert sorted(os.listdir(home / "grpc")) == ["token"]


async def test_at_an_address_the_inner_socket_is_private_and_goes_away(serving: Any, home: Path) -> None:
    async with serving(listen="127.0.0.1:0"):
        (inner,) = [each for each in (home / "grpc").iterdir() if each.name != "token"]
        assert stat.S_IMODE(inner.stat().st_mode) == 0o600
    assert sorted(os.listdir(home / "grpc")) == ["token"]


async def test_a_socket_that_a_killed_server_left_is_replaced(serving: Any, home: Path) -> None:
    folder = home / "grpc"
    folder.mkdir(mode=0o700)
    for name in ("socket", ".in.999999999.abcd"):
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(folder / name))
        left.close()
    async with serving() as rig, rig.client() as client:
        assert await client.create_session()
        assert sorted(os.listdir(folder)) == ["socket", "token"]


async def test_a_server_that_lives_is_not_replaced(serving: Any) -> None:
    async with serving() as rig, rig.client() as client:
        with pytest.raises(ConfigError, match="another server listens here"):
            async with serving():
                pass
        assert await client.create_session(), "the first one still serves"


async def test_a_server_that_ends_leaves_its_successors_socket_alone(serving: Any) -> None:
    async with serving() as first:
        Path(first.server.address.path).unlink()
        async with serving() as second:
            await first.server.close()
            async with second.client() as client:
                assert await client.create_session()


async def test_what_is_no_socket_is_not_replaced(serving: Any, home: Path) -> None:
    (home / "grpc").mkdir(mode=0o700)
    (home / "grpc" / "socket").write_text("mine")
    with pytest.raises(ConfigError, match="something else"):
        async with serving():
            pass
    assert (home / "grpc" / "socket").read_text() == "mine"


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
async def test_no_socket_where_others_may_put_one(serving: Any, home: Path, mode: int) -> None:
    shared = home.parent / "shared"
    shared.mkdir()
    shared.chmod(mode)
    with pytest.raises(ConfigError, match="others may put a socket"):
        async with serving(listen=f"unix:{shared}/s"):
            pass
    assert os.listdir(shared) == []


async def test_a_path_too_long_for_a_socket_is_told(serving: Any, home: Path) -> None:
    folder = home / ("x" * 100)
    folder.mkdir()
    with pytest.raises(ConfigError, match="at most"):
        async with serving(listen=f"unix:{folder}/s"):
            pass


async def test_a_port_that_is_taken_is_told(serving: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(ToolcribError, match="cannot listen at"):
            async with serving(listen=f"127.0.0.1:{taken.getsockname()[1]}"):
                pass


def test_a_token_is_made_once(home: Path) -> None:
    token = own_token(Home(home))
    assert (len(token), own_token(Home(home))) == (43, token)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604])
def test_a_token_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "token"
    file.write_text("x" * 40)
    file.chmod(mode)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_token(str(file))


def test_a_token_that_is_a_link_a_pipe_or_missing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x" * 40)
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("link", "pipe", "missing"):
        with pytest.raises(ConfigError):
            read_token(str(tmp_path / name))


@pytest.mark.parametrize("text", ["", "short", "two words of some length", "x" * 2000, "é" * 30])
def test_a_token_is_one_long_word(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="one word"):
        read_token(str(file))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_token_of_another_user_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("x" * 40)
    file.chmod(0o600)
    os.chown(file, 65534, 65534)
    with pytest.raises(ConfigError, match="another user"):
        read_token(str(file))
