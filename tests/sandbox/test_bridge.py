"""The bridge's own parts: what leads from a connection to the proxy's socket, and what it leaves of itself."""

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib.sandbox import bridge
from toolcrib.sandbox.sweep import end_marked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the bridge is for namespaces of Linux")


class Proxy:
    """Listens at a path, and hands out who came."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self.path)
        self._socket.listen()
        self._socket.settimeout(30)

    def came(self) -> socket.socket:
        made, _ = self._socket.accept()
        made.settimeout(30)
        return made

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    made = Proxy(tmp_path / "proxy")
    yield made
    made.close()


def everything(made: socket.socket) -> bytes:
    said = b""
    while chunk := made.recv(65536):
        said += chunk
    return said


class Joined:
    """One connection that is handed on to a proxy, in a thread."""

    def __init__(self, path: str) -> None:
        self.near, inside = socket.socketpair()
        self.near.settimeout(30)
        self.room = threading.BoundedSemaphore(1)
        self.room.acquire()
        self._thread = threading.Thread(target=bridge._joined, args=(inside, path, self.room))
        self._thread.start()

    def over(self) -> bool:
        """Whether it came to its end, and another may come."""
        self._thread.join(30)
        return not self._thread.is_alive() and self.room.acquire(blocking=False)


def test_what_either_side_says_is_handed_on_until_both_are_done(proxy) -> None:
    before = len(os.listdir("/proc/self/fd"))
    joined = Joined(proxy.path)
    with joined.near as near, proxy.came() as far:
        for one, other in ((near, far), (far, near), (near, far)):
            one.sendall(b"a word")
            assert other.recv(100) == b"a word"
        far.sendall(b"x" * 300_000)
        far.shutdown(socket.SHUT_WR)
        assert everything(near) == b"x" * 300_000
        near.sendall(b"late")
        near.shutdown(socket.SHUT_WR)
        assert everything(far) == b"late"
    assert joined.over()
    assert len(os.listdir("/proc/self/fd")) == before


def test_who_asks_and_says_no_more_is_answered(proxy) -> None:
    joined = Joined(proxy.path)
    with joined.near as near, proxy.came() as far:
        near.shutdown(socket.SHUT_WR)
        assert far.recv(100) == b""
        far.sendall(b"answer")
        far.close()
        assert everything(near) == b"answer"
    assert joined.over()


@pytest.mark.parametrize("missing", ["missing", "x" * 120 + "/missing"])
def test_where_the_proxy_is_gone_the_connection_ends_and_makes_room(tmp_path, missing) -> None:
    before = len(os.listdir("/proc/self/fd"))
    (tmp_path / missing).parent.mkdir(exist_ok=True)
    joined = Joined(str(tmp_path / missing))
    with joined.near as near:
        assert (everything(near), joined.over()) == (b"", True)
    assert len(os.listdir("/proc/self/fd")) == before


def test_one_that_breaks_off_ends_the_other_side_too(proxy) -> None:
    joined = Joined(proxy.path)
    with joined.near as near:
        far = proxy.came()
        far.sendall(b"x")  # what it has not read yet when it goes makes a reset of the end
        near.sendall(b"y" * 100)
        far.close()
        while True:
            try:
                if not near.recv(100):
                    break
            except ConnectionResetError:
                break
        with pytest.raises(OSError):
            while True:
                near.sendall(b"more")
    assert joined.over()


def test_what_cannot_be_handed_on_is_read_no_further() -> None:
    """Both sides are ended, as neither can know what the other had."""
    (reads, near), (writes, far) = socket.socketpair(), socket.socketpair()
    with reads, near, writes:
        near.settimeout(30)
        near.sendall(b"word")
        far.close()
        bridge._hand_on(reads, writes)
        assert near.recv(100) == b""
        with pytest.raises(BrokenPipeError):
            near.sendall(b"more")


@pytest.mark.parametrize("name", ["proxy", "x" * 120])
def test_a_socket_is_found_by_a_name_of_any_length(tmp_path, name) -> None:
    """The kernel takes 107 bytes."""
    (tmp_path / name).mkdir()
    there = os.getcwd()
    try:
        os.chdir(tmp_path / name)
        made = Proxy(Path("socket"))
    finally:
        os.chdir(there)
    before = len(os.listdir("/proc/self/fd"))
    with bridge._connected(str(tmp_path / name / "socket")) as near, made.came() as far:
        near.sendall(b"word")
        assert far.recv(100) == b"word"
        assert len(os.listdir("/proc/self/fd")) == before + 2
    made.close()


# The program


def test_the_words_that_run_a_program_by_way_of_it(tmp_path) -> None:
    interpreter, *options, file, path, program, word = bridge.through(["program", "word"], "/run/socket")
    assert (os.path.realpath(sys.executable), path, program, word) == (interpreter, "/run/socket", "program", "word")
    assert (options, os.path.realpath(bridge.__file__)) == (["-I", "-S"], file)
    assert {interpreter, file, os.path.realpath(sys.base_prefix)} == set(bridge.READS)


@pytest.mark.parametrize("name", ["PIPE", "XFSZ"])
def test_signals_that_the_bridge_ignores_are_the_programs(yard, proxy, name) -> None:
    done = yard.run(*bridge.through(["/bin/sh", "-c", f"kill -{name} $$; echo lived"], proxy.path))
    assert (done.code, done.stdout.text()) == (128 + signal.Signals[f"SIG{name}"], "")


def test_nothing_of_the_programs_becomes_a_part_of_the_bridge(yard, proxy, tmp_path) -> None:
    (tmp_path / "socket.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    argv = bridge.through(["/bin/sh", "-c", 'echo "$PYTHONPATH"'], proxy.path)
    assert yard.run(*argv, env={"PYTHONPATH": str(tmp_path)}).stdout.text() == f"{tmp_path}\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("name", "code", "number"), [("missing", 127, errno.ENOENT), ("plain", 126, errno.EACCES)])
def test_why_a_program_could_not_be_started(yard, proxy, tmp_path, name, code, number) -> None:
    (tmp_path / "plain").write_text("")
    done = yard.run(*bridge.through([str(tmp_path / name)], proxy.path))
    assert (done.code, done.stdout.text()) == (code, "")
    assert str(tmp_path / name) in done.stderr.text() and os.strerror(number) in done.stderr.text()


def test_it_holds_nothing_of_the_program_that_it_leads_from(yard, proxy) -> None:
    """Neither its output nor its group: the end of the one is seen, and what is sent to the other does not reach it."""
    text = """
trap '' TERM; kill -TERM 0
python="$1"; shift
"$python" -c "$@"
"""
    fetch = """
import os, socket
host, _, port = os.environ["HTTP_PROXY"].removeprefix("http://").partition(":")
with socket.create_connection((host, int(port)), 30) as made:
    made.sendall(b"asked")
    print(made.recv(100))
"""
    command = yard.command(*bridge.through(["/bin/sh", "-c", text, "sh", sys.executable, fetch], proxy.path))
    process = subprocess.Popen(command.argv, env=dict(command.env), stdout=subprocess.PIPE, start_new_session=True)
    try:
        with proxy.came() as far:
            assert far.recv(100) == b"asked"
            far.sendall(b"answered")
        said, _ = process.communicate(timeout=30)
        assert (said, process.returncode) == (b"b'answered'\n", 0)
        assert len(yard.left()) == 1, "the bridge goes on"
    finally:
        process.kill()
        process.communicate()
        end_marked(command.mark)


def test_a_variable_that_is_no_text_is_handed_on(yard, proxy) -> None:
    done = yard.run(*bridge.through(["/usr/bin/env", "-0"], proxy.path), env={"ODD": "\udcff", "EMPTY": ""})
    assert {b"ODD=\xff", b"EMPTY="} <= set(done.stdout.head.split(b"\0"))
