"""A program in bubblewrap reaches what its cage says and nothing else, and is gone with all it started."""

import asyncio
import ctypes
import errno
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.soak import turns

from toolcrib.core.errors import ToolError
from toolcrib.core.process import Command, Completed
from toolcrib.sandbox import bubblewrap, processes
from toolcrib.sandbox.cage import Bounds, Cage
from toolcrib.sandbox.confined import Confined
from toolcrib.sandbox.processes import Processes
from toolcrib.sandbox.spawn import Start

WHY_NOT = bubblewrap.canary() if sys.platform == "linux" else "there is no bubblewrap but on Linux"
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

PYTHON = os.path.realpath(sys.executable)
OF_PYTHON = tuple(dict.fromkeys(map(os.path.realpath, (sys.prefix, sys.base_prefix))))


class Caged:
    """Runs programs of a yard in bubblewrap, in a workspace beside a directory that they cannot reach."""

    def __init__(self, yard: Any) -> None:
        self.yard = yard
        root = Path(os.path.realpath(yard.root))
        self.workspace, self.outside = root / "workspace", root / "outside"
        self.workspace.mkdir()
        self.outside.mkdir()
        (self.outside / "secret").write_text("the secret\n")

    def sandbox(self, **about: Any) -> Confined:
        return Confined(self.yard.sandbox, Cage("bubblewrap", **{"workspace": str(self.workspace), **about}))

    def command(self, *argv: str, **about: Any) -> Command:
        made: Command = self.yard.command(*argv, **{"cwd": str(self.workspace), **about})
        return made

    def run(self, *argv: str, cage: dict[str, Any] | None = None, **about: Any) -> Completed:
        return asyncio.run(self.sandbox(**(cage or {})).exec(self.command(*argv, **about)))

    def sh(self, text: str, *words: str, cage: dict[str, Any] | None = None, **about: Any) -> Completed:
        return self.run("/bin/sh", "-c", text, "sh", *words, cage=cage, **about)

    def python(self, text: str, *words: str, cage: dict[str, Any] | None = None, **about: Any) -> Completed:
        return self.run(PYTHON, "-I", "-c", text, *words, cage={"readable": OF_PYTHON, **(cage or {})}, **about)


@pytest.fixture
def caged(yard) -> Caged:
    return Caged(yard)


@pytest.fixture
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """A server of the user's own on the loopback, and what came to it."""
    came: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                came.append(connection.recv(100))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server.getsockname()[1], came
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(10)


def running(word: str) -> list[int]:
    """Processes with this word on their command line, wherever they live."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if word.encode() in file.read():
                        found.append(int(name))
            except OSError:
                pass
    return found


# What it reaches


def test_nothing_outside_is_there(caged) -> None:
    """A37: not to be read, listed, looked at or written."""
    done = caged.sh('cat "$1/secret"; ls "$1"; stat "$1"; (: > "$1/new"); echo end', str(caged.outside))
    assert (done.code, done.stdout.head) == (0, b"end\n")
    assert os.listdir(caged.outside) == ["secret"]


def test_a_link_leads_nowhere(caged) -> None:
    (caged.workspace / "link").symlink_to(caged.outside)
    done = caged.sh("cat link/secret || echo none; echo x > link/secret")
    assert done.stdout.head == b"none\n"
    assert (caged.outside / "secret").read_text() == "the secret\n"


def test_the_workspace_is_written_to(caged) -> None:
    done = caged.sh('echo data > made && cat made && pwd && test -w "$TMPDIR"')
    assert (done.code, done.stdout.text()) == (0, f"data\n{caged.workspace}\n")
    assert (caged.workspace / "made").read_text() == "data\n"


def test_a_workspace_may_be_for_reading_only(caged) -> None:
    (caged.workspace / "file").write_text("data\n")
    done = caged.sh("cat file; (echo x > file); (: > new); rm -f file; echo end", cage={"workspace_writable": False})
    assert done.stdout.head == b"data\nend\n"
    assert [(path.name, path.read_text()) for path in caged.workspace.iterdir()] == [("file", "data\n")]


def test_what_is_granted_is_there(caged) -> None:
    shared, data = caged.outside / "shared", caged.outside / "data"
    shared.mkdir()
    data.mkdir()
    (data / "in").write_text("in\n")
    grants = {"readable": (str(data),), "writable": (str(shared), str(caged.outside / "not-made-yet"))}
    done = caged.sh('cat "$1/in"; echo x > "$1/in"; echo out > "$2/out"', str(data), str(shared), cage=grants)
    assert done.stdout.head == b"in\n"
    assert ((data / "in").read_text(), (shared / "out").read_text()) == ("in\n", "out\n")


def test_tmp_and_home_are_private(caged, tmp_path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter").write_text("private")
    text = 'ls -A "$HOME"; echo x > "$HOME/new"; echo x > /tmp/toolcrib-was-here; ls /tmp; echo end'
    done = caged.sh(text, env={"HOME": str(home)})
    assert "letter" not in done.stdout.text() and "toolcrib-was-here" in done.stdout.text()
    assert os.listdir(home) == ["letter"] and not os.path.exists("/tmp/toolcrib-was-here")


def test_the_system_cannot_be_changed(caged) -> None:
    """To root as well, whose kernel settings would otherwise be writable: one of them names a program to run."""
    text = """
    for place in / /usr /etc /bin /lib /dev /proc /proc/sys /sys/devices/system/cpu /var /run; do
      (: > $place/toolcrib-canary) 2>/dev/null && echo "wrote $place"
    done
    for file in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sysrq-trigger /etc/passwd; do
      [ -w $file ] && echo "could write $file"
    done
    echo end"""
    assert caged.sh(text).stdout.head == b"end\n"


def test_of_the_systems_settings_only_what_is_public(caged) -> None:
    done = caged.sh(
        "cat /etc/passwd | head -c 5; cat /etc/shadow /etc/sudoers; ls /etc/ssh /etc/ssl/private; ls -d /root/*"
    )
    assert done.stdout.head == b"root:"


def test_it_sees_no_process_but_its_own(caged) -> None:
    done = caged.sh('for p in /proc/[0-9]*; do echo "${p#/proc/}"; done; kill -9 "$1"; echo end', str(os.getpid()))
    *pids, end = done.stdout.text().split()
    assert end == "end" and max(map(int, pids)) < 20


def test_it_has_no_network(caged, listening) -> None:
    port, came = listening
    text = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5).sendall(b'hello')"
    done = caged.python(text, str(port))
    assert (done.code, came) == (1, []), done.stderr.text()


def test_it_has_the_network_when_granted(caged, listening) -> None:
    port, came = listening
    text = """import socket, sys
with socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5) as made:
    made.sendall(b'hello')
    made.recv(1)"""
    done = caged.python(text, str(port), cage={"network": True})
    assert (done.code, came) == (0, [b"hello"]), done.stderr.text()


@pytest.mark.parametrize("network", [False, True])
def test_held_to_hosts_it_reaches_the_proxy_and_nobody_else(caged, listening, network) -> None:
    port, came = listening
    path = str(Path(caged.outside) / "proxy")
    asked: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as proxy:
        proxy.bind(path)
        proxy.listen()

        def serve() -> None:
            connection, _ = proxy.accept()
            with connection:
                asked.append(connection.recv(100))
                connection.sendall(b"answer")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        text = """import os, socket, sys
host, _, port = os.environ['HTTP_PROXY'].removeprefix('http://').partition(':')
with socket.create_connection((host, int(port)), 5) as made:
    made.sendall(b'CONNECT')
    print(made.recv(100))
try:
    socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)
except OSError:
    print('nobody else')"""
        done = caged.python(text, str(port), cage={"hosts": ("example.com",), "proxy": path, "network": network})
        thread.join(10)
    assert (done.stdout.text(), asked, came) == ("b'answer'\nnobody else\n", [b"CONNECT"], []), done.stderr.text()


def test_without_a_proxy_nothing_is_held_to_hosts(caged) -> None:
    with pytest.raises(ToolError) as caught:
        caged.sh(": > ran", cage={"hosts": ("example.com",)})
    assert (caught.value.code, os.listdir(caged.workspace)) == ("SANDBOX_UNAVAILABLE", [])


# What it is given


def test_it_gets_its_environment_and_no_other(caged, monkeypatch) -> None:
    monkeypatch.setenv("TOOLCRIB_TEST_SECRET", "hidden")
    command = caged.command("/usr/bin/env", env={"WORD": "a b\n--bind", "EMPTY": ""})
    done = asyncio.run(caged.sandbox().exec(command))
    lines = done.stdout.text().splitlines()
    assert f"TOOLCRIB_CALL_ID={command.mark}" in lines and "WORD=a b" in lines and "EMPTY=" in lines
    assert "hidden" not in done.stdout.text()


def test_a_nul_makes_no_option(caged) -> None:
    """Arguments are told to bubblewrap between NULs: one inside a value would be an option of somebody's choice."""
    hostile = f"x\0--bind\0{caged.outside}\0{caged.outside}"
    for about in ({"env": {"WORD": hostile}}, {"cwd": f"{caged.workspace}/{hostile}"}):
        with pytest.raises(ToolError):
            caged.sh(f"echo x > {caged.outside}/secret; : > ran", **about)
    with pytest.raises(ToolError):
        caged.sh(": > ran", hostile)
    assert (caged.outside / "secret").read_text() == "the secret\n" and os.listdir(caged.workspace) == []


def test_words_are_no_options(caged) -> None:
    done = caged.run("/bin/echo", "--bind", "/", "/", "--", "-n")
    assert done.stdout.text() == "--bind / / -- -n\n"


def test_it_gets_its_three_descriptors_and_no_other(caged) -> None:
    kept_open = os.open(caged.outside, os.O_RDONLY)
    os.set_inheritable(kept_open, True)
    try:
        done = caged.sh("ls /proc/$$/fd")
    finally:
        os.close(kept_open)
    assert done.stdout.text().split() == ["0", "1", "2"]


def test_a_channel_is_handed_through(caged) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        text = "import os; os.write(int(os.environ['TOOLCRIB_CHANNEL']), b'hello')"
        done = caged.python(text, channel=theirs.fileno())
        assert done.code == 0, done.stderr.text()
        assert ours.recv(100) == b"hello"


def test_the_secret_of_a_call_is_on_no_command_line(caged) -> None:
    done = caged.sh("cat /proc/1/cmdline /proc/self/cmdline; cat /proc/1/environ", env={"API_KEY": "do-not-show"})
    assert b"do-not-show" not in done.stdout.head and b"bwrap" in done.stdout.head


def test_bounds_hold_inside(caged) -> None:
    done = caged.sh("head -c 5000000 /dev/zero > big", cage={"bounds": Bounds(file_bytes=1 << 20)})
    assert done.code != 0 and (caged.workspace / "big").stat().st_size <= 1 << 20


def test_what_fills_a_private_place_fills_no_disk(caged, monkeypatch) -> None:
    monkeypatch.setattr(bubblewrap, "_TEMPORARY_BYTES", 1 << 20)
    monkeypatch.setattr(bubblewrap, "_prepared", {})
    done = caged.sh("head -c 5000000 /dev/zero > /tmp/big; echo $?; wc -c < /tmp/big")
    code, size = done.stdout.text().split()
    assert code != "0" and int(size) <= 1 << 20


@pytest.mark.parametrize("home", ["/", "relative", "/usr", "/home/../home/x", "", "/nowhere/home", "{workspace}/sub"])
def test_a_home_hides_nothing_that_is_shown(caged, home) -> None:
    """Where it is none, or lies in what is shown anyway, no private one is put over it."""
    (caged.workspace / "sub").mkdir()
    (caged.workspace / "sub" / "file").touch()
    done = caged.sh("ls sub; ls -d /usr/bin; ls -A /nowhere/home", env={"HOME": home.format(workspace=caged.workspace)})
    assert done.stdout.text() == "file\n/usr/bin\n", done.stderr.text()
    assert ("/nowhere/home" in done.stderr.text()) is (home != "/nowhere/home")


def test_private_places_are_bounded_and_for_nobody_else(caged) -> None:
    text = 'for place in /tmp "$HOME" /dev/shm; do stat -c %a $place; df -k --output=size $place | tail -n 1; done'
    done = caged.sh(text, env={"HOME": "/nowhere/home"})
    assert done.stdout.text().split() == ["700", "524288", "700", "524288", "700", "65536"], done.stderr.text()


def test_a_hidden_place_is_bounded_and_empty(caged, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(caged.workspace))
    (caged.workspace / ".ssh").mkdir()
    (caged.workspace / ".netrc").write_text("key")
    text = "stat -c %a .ssh; df -k --output=size .ssh | tail -n 1; ls -A .ssh; cat .netrc; (echo x > .netrc); echo end"
    done = caged.sh(text, env={"HOME": str(caged.workspace)})
    assert done.stdout.text().split() == ["700", "1024", "end"], done.stderr.text()
    assert (caged.workspace / ".netrc").read_text() == "key"


def test_what_is_fixed_can_be_changed_and_not_moved(repository) -> None:
    """What lies in a repository's own directory, apart from its settings."""
    done = repository.sh("echo x > .git/description; mv .git g 2>/dev/null || echo held")
    assert (done.stdout.text(), (repository.workspace / ".git" / "description").read_text()) == ("held\n", "x\n")


def test_links_of_the_system_are_links(caged) -> None:
    links = [path for path in ("/bin", "/sbin", "/lib", "/lib64") if os.path.islink(path)]
    done = caged.sh('for path; do readlink "$path"; done; readlink /var/tmp', *links)
    assert done.stdout.text().splitlines() == [*map(os.readlink, links), "/tmp"]


def test_where_programs_look_for_others_there_is_nobody(caged) -> None:
    done = caged.sh("ls -A /run && echo empty")
    assert (done.stdout.text(), done.stderr.text()) == ("empty\n", "")


@pytest.fixture
def second() -> Iterator[str]:
    """A directory in the other place for temporary files."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as path:
        yield os.path.realpath(path)


def test_a_workspace_may_lie_among_temporary_files(caged, second) -> None:
    done = caged.sh("pwd; echo x > made; ls -A /var/tmp", cwd=second, cage={"workspace": second})
    assert done.stdout.text().split() == [second, os.path.basename(second)], done.stderr.text()
    assert os.listdir(second) == ["made"]


def test_what_is_granted_may_lie_among_temporary_files(caged, second) -> None:
    Path(second, "file").write_text("granted\n")
    done = caged.sh('cat "$1/file"; echo x > /var/tmp/mine; ls -A "$1"', second, cage={"readable": (second,)})
    assert done.stdout.text() == "granted\nfile\n", done.stderr.text()
    assert not os.path.exists("/var/tmp/mine")


def test_the_temporary_directory_of_a_call_may_lie_there(caged, second) -> None:
    tmp = Path(second, "tmp")
    tmp.mkdir()
    about = {"TMPDIR": str(tmp)}
    assert begin(caged, 'echo x > "$TMPDIR/made"; ls -A "$TMPDIR"', about, tmp).end() == "made\n"


def test_what_hardly_a_program_looks_at_is_left_out(caged) -> None:
    done = caged.sh("ls -d /sys/devices/system/* /sys/fs/* /sys/kernel/mm/*")
    assert done.stdout.text() == "/sys/devices/system/cpu\n"


def test_what_is_readable_in_the_workspace_can_be_written_there(caged) -> None:
    (caged.workspace / "tool").mkdir()
    caged.sh("echo x > tool/made", cage={"readable": (f"{caged.workspace}/tool", "/usr/bin", str(caged.workspace))})
    assert os.listdir(caged.workspace / "tool") == ["made"]


def test_what_is_readable_below_a_link_of_the_system_is_no_hindrance(caged) -> None:
    if not os.path.islink("/lib"):
        pytest.skip("/lib is no link here")
    done = caged.sh("ls /lib > /dev/null && echo fine", cage={"readable": (os.path.realpath("/lib"), "/missing")})
    assert done.stdout.text() == "fine\n"


@pytest.mark.parametrize("prepared", ["before", "anew"])
@pytest.mark.parametrize("swapped", ["given", "given/deep"])
def test_what_may_be_read_is_not_what_a_link_leads_to_that_came_into_its_way(
    caged, swapped: str, prepared: str
) -> None:
    """Also when what is the same for every start is made anew, as when a setting of the system changed."""
    root = caged.outside.parent
    (root / "given" / "deep").mkdir(parents=True)
    (root / "given" / "deep" / "secret").write_text("given\n")
    (caged.outside / "deep").mkdir()
    (caged.outside / "deep" / "secret").write_text("the secret\n")
    path = f"{root}/given/deep"
    assert caged.sh('cat "$1/secret"', path, cage={"readable": (path,)}).stdout.text() == "given\n"
    (root / swapped).rename(root / "away")
    (root / swapped).symlink_to(caged.outside)
    if prepared == "anew":
        bubblewrap._prepared.clear()
    done = caged.sh('cat "$1/secret" "$2/secret"; echo end', path, str(caged.outside), cage={"readable": (path,)})
    assert done.stdout.text() == "end\n"


def test_without_a_workspace_there_is_none(caged) -> None:
    done = caged.sh('pwd; ls "$1"; ls /', str(caged.workspace), cwd="/", cage={"workspace": ""})
    assert done.stdout.text().startswith("/\n") and "No such file" in done.stderr.text()


def test_it_begins_where_a_link_leads(caged) -> None:
    (caged.workspace / "real").mkdir()
    (caged.workspace / "link").symlink_to("real")
    assert caged.sh("pwd", cwd=f"{caged.workspace}/link").stdout.text() == f"{caged.workspace}/real\n"


def test_a_program_named_by_one_word_is_the_one_beside_it(caged) -> None:
    (caged.workspace / "env").write_text("#!/bin/sh\necho own $#\n")
    (caged.workspace / "env").chmod(0o755)
    assert caged.run("env", "word").stdout.text() == "own 1\n"


def test_a_temporary_directory_behind_a_link_is_found_where_it_really_is(caged, monkeypatch, tmp_path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to("real")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "linked"))
    processes = Processes(f"{caged.yard.id}linked")
    try:
        cage = Cage("bubblewrap", workspace=str(caged.workspace))
        command = caged.command("/bin/sh", "-c", 'echo x > "$TMPDIR/file" && echo "$TMPDIR"')
        done = asyncio.run(Confined(processes, cage).exec(command))
        assert done.stdout.text().startswith(f"{os.path.realpath(tmp_path)}/real/"), done.stderr.text()
    finally:
        processes.close()


def test_the_settings_of_the_system_are_copied_once_for_a_runtime(caged) -> None:
    def settings() -> list[str]:
        root = caged.yard.sandbox.scratch.root
        return [name for name in os.listdir(root) if name.startswith("settings")]

    said = [caged.sh("head -n 1 /etc/passwd; ls /etc | wc -l").stdout.text() for _ in range(2)]
    assert said[0] == said[1] and said[0].startswith("root:")
    assert len(settings()) == 1


class Begun(NamedTuple):
    """A program that was started for who waits by himself."""

    pid: int
    told: int
    said: int

    def end(self) -> str:
        """What it printed."""
        os.waitpid(self.pid, 0)
        os.close(self.told)
        with os.fdopen(self.said) as said:
            return said.read()


def begin(caged: Caged, text: str, env: dict[str, str], tmp: Path, *, cage: Cage | None = None) -> Begun:
    """`env` is the program's."""
    null = os.open(os.devnull, os.O_RDWR)
    reads, writes = os.pipe()
    try:
        argv, cwd = ("/bin/sh", "-c", text), str(caged.workspace)
        about = Start(argv, cwd, {"PATH": "/usr/bin:/bin", **env}, streams=(null, writes, writes))
        cage = cage or Cage("bubblewrap", workspace=str(caged.workspace))
        return Begun(*bubblewrap.begin(cage, about, tmp=str(tmp)), reads)
    finally:
        os.close(null)
        os.close(writes)


@pytest.mark.parametrize(
    ("env", "mark"),
    [
        ({"TOOLCRIB_CALL_ID": "run-1"}, "run-1.cage"),
        ({"TOOLCRIB_WORKER": "run-w1,run-2", "TOOLCRIB_CALL_ID": "run-1"}, "run-w1.cage"),
        ({}, ".cage"),
    ],
)
def test_bubblewrap_itself_has_a_mark_and_nothing_else(caged, tmp_path, env, mark) -> None:
    """By which it is found, and which is no call's."""
    begun = begin(caged, "echo up; while [ ! -e go ]; do :; done", {**env, "SECRET": "x"}, tmp_path)
    try:
        assert os.read(begun.said, 10) == b"up\n"
        assert Path(f"/proc/{begun.pid}/environ").read_bytes() == f"TOOLCRIB_CALL_ID={mark}\0".encode()
        assert os.readlink(f"/proc/{begun.pid}/cwd") == "/"
    finally:
        (caged.workspace / "go").touch()
        begun.end()


def test_what_one_run_of_a_worker_left_in_memory_the_next_does_not_find(caged, tmp_path) -> None:
    """Nothing can be left where all runs of a worker look, but where programs share memory."""
    env = {"TOOLCRIB_WORKER": "run-w1", "HOME": "/nowhere/home"}
    places = '/tmp/x /nowhere/home/x /dev/shm/x "$TMPDIR/x"'
    text = f"for path in {places}; do (: > $path) 2>/dev/null && echo $path; done"
    kept = begin(caged, text, {**env, "TMPDIR": str(tmp_path)}, tmp_path).end().split()
    free = begin(caged, text, {"HOME": "/nowhere/home", "TMPDIR": str(tmp_path)}, tmp_path).end().split()
    assert (kept, free) == (
        ["/dev/shm/x", f"{tmp_path}/x"],
        ["/tmp/x", "/nowhere/home/x", "/dev/shm/x", f"{tmp_path}/x"],
    )


def test_apart_from_a_runtime_the_settings_are_mounted_one_by_one(caged, tmp_path) -> None:
    said = begin(caged, "head -c 5 /etc/passwd; cat /etc/shadow", {}, tmp_path).end()
    assert said.startswith("root:") and "No such file" in said
    assert sorted(os.listdir(tmp_path)) == ["outside", "workspace"]


def test_what_is_prepared_is_prepared_for_so_many_cages_only(caged, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(bubblewrap, "_MOST_KEPT", 2)
    monkeypatch.setattr(bubblewrap, "_prepared", {})
    monkeypatch.setattr(bubblewrap, "_settings", {})
    for number in range(4):
        cage = Cage("bubblewrap", workspace=str(caged.workspace), readable=(f"/missing{number}",))
        tmp = tmp_path / f"toolcrib-{number}" / "tmp"
        tmp.mkdir(parents=True)
        assert begin(caged, "echo fine", {}, tmp, cage=cage).end() == "fine\n"
        assert len(os.listdir(tmp.parent)) == 2
    assert (len(bubblewrap._prepared), len(bubblewrap._settings)) == (2, 2)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.EMFILE, "full"), "RESOURCE_EXHAUSTED"),
        (OSError(errno.ENFILE, "full"), "RESOURCE_EXHAUSTED"),
        (OSError(errno.ENOMEM, "full"), "RESOURCE_EXHAUSTED"),
        (OSError(errno.ENOSPC, "full"), "RESOURCE_EXHAUSTED"),
        (OSError(errno.EIO, "a fault"), "SANDBOX_UNAVAILABLE"),
        (LookupError("vax"), "SANDBOX_UNAVAILABLE"),
        (ValueError("embedded null byte"), ToolError.code),
    ],
)
@pytest.mark.parametrize("where", ["os.memfd_create", "os.pipe2", "toolcrib.sandbox.seccomp.program"])
def test_why_it_was_not_confined(caged, tmp_path, monkeypatch, error, code, where) -> None:
    def fail(*_: object, **__: object) -> int:
        raise error

    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(where, fail)
    null = os.open(os.devnull, os.O_RDWR)
    about = Start(("/usr/bin/touch", "ran"), str(caged.workspace), {}, streams=(null,) * 3)
    with pytest.raises(ToolError) as caught:
        bubblewrap.begin(Cage("bubblewrap", workspace=str(caged.workspace)), about, tmp=str(tmp_path))
    os.close(null)
    assert (caught.value.code, caught.value.before_effect) == (code, True)
    assert "/usr/bin/touch" in str(caught.value) and error.args[-1] in str(caught.value)
    assert (len(os.listdir("/proc/self/fd")), os.listdir(caged.workspace)) == (before, [])


@pytest.mark.parametrize(
    ("text", "code"), [(None, "SANDBOX_UNAVAILABLE"), ("#!/nowhere/interpreter\n", ToolError.code)]
)
def test_a_bubblewrap_that_does_not_start_leaves_nothing_open(caged, tmp_path, monkeypatch, text, code) -> None:
    program = caged.outside / "bwrap"
    if text is not None:
        program.write_text(text)
        program.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "PROGRAM", str(program))
    null, before = os.open(os.devnull, os.O_RDWR), len(os.listdir("/proc/self/fd"))
    about = Start(("/usr/bin/touch", "ran"), str(caged.workspace), {}, streams=(null,) * 3)
    try:
        with pytest.raises(ToolError, match=str(program)) as caught:
            bubblewrap.begin(Cage("bubblewrap", workspace=str(caged.workspace)), about, tmp=str(tmp_path))
        assert (caught.value.code, caught.value.before_effect) == (code, True)
        assert (len(os.listdir("/proc/self/fd")), os.listdir(caged.workspace)) == (before, [])
    finally:
        os.close(null)


# How it ends


@pytest.mark.parametrize(
    ("text", "code"), [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -15 $$", 143)]
)
def test_its_status_is_told(caged, text, code) -> None:
    assert caged.sh(text).code == code


def test_one_that_says_what_bubblewrap_says_did_run(caged) -> None:
    done = caged.sh("echo 'bwrap: execvp /bin/x: No such file or directory' >&2; : > ran; exit 1")
    assert (done.code, os.listdir(caged.workspace)) == (1, ["ran"])


def test_a_program_that_is_not_there(caged) -> None:
    with pytest.raises(ToolError, match="missing could not be started.*is not there") as caught:
        caged.run("/usr/bin/missing")
    assert (caught.value.code, caught.value.before_effect) == ("EXECUTION_ERROR", True)


@pytest.mark.parametrize(
    ("program", "workspace", "code", "said"),
    [
        ("/usr/bin/missing", "", "EXECUTION_ERROR", "missing could not be started.*is not there"),
        ("/bin/true", "/missing", "SANDBOX_UNAVAILABLE", "bubblewrap cannot confine"),
        ("/bin/true", "", "EXECUTION_ERROR", "cannot be entered"),
    ],
)
def test_one_that_would_stay_running_says_why_it_never_ran(
    caged, program: str, workspace: str, code: str, said: str
) -> None:
    async def story() -> None:
        cage = {"workspace": workspace} if workspace else {}
        cwd = "/" if program != "/bin/true" or workspace else str(caged.outside)
        lent = caged.sandbox(**cage).lend(caged.command(program, cwd=cwd), key="k", marks=lambda: f"{caged.yard.id}-9")
        async with lent as peer:
            assert await peer.receive() == b""
            await peer.end()

    with pytest.raises(ToolError, match=said) as caught:
        asyncio.run(story())
    assert (caught.value.code, caught.value.before_effect) == (code, True)


def test_a_directory_that_is_not_there(caged) -> None:
    with pytest.raises(ToolError, match="cannot be entered"):
        caged.sh("true", cwd=str(caged.outside))


def test_a_workspace_that_is_not_there(caged) -> None:
    with pytest.raises(ToolError) as caught:
        caged.sh("true", cwd="/", cage={"workspace": str(caged.outside / "missing")})
    assert (caught.value.code, caught.value.before_effect) == ("SANDBOX_UNAVAILABLE", True)


def test_one_that_cannot_be_confined_does_not_run(caged, monkeypatch) -> None:
    """K49: never with less."""
    monkeypatch.setattr(bubblewrap, "_AFTER", ("--tmpfs", "/proc/impossible"))
    with pytest.raises(ToolError, match="nothing ran") as caught:
        caged.sh(": > ran")
    assert (caught.value.code, os.listdir(caged.workspace)) == ("SANDBOX_UNAVAILABLE", [])


def test_without_bubblewrap_nothing_runs(caged, monkeypatch) -> None:
    monkeypatch.setattr(bubblewrap, "PROGRAM", str(caged.outside / "bwrap"))
    with pytest.raises(ToolError) as caught:
        caged.sh(": > ran")
    assert (caught.value.code, os.listdir(caged.workspace)) == ("SANDBOX_UNAVAILABLE", [])


def test_what_hides_from_its_mark_is_gone_with_the_call(caged) -> None:
    """A38: in a session of its own, deaf, with an empty environment."""
    word = f"{os.getpid()}71.5"
    text = "env -i setsid sh -c \"trap '' TERM HUP; : > up; exec sleep $1\" >/dev/null 2>&1 & while [ ! -e up ]; do :; done"
    assert caged.sh(text, word).code == 0
    assert running(word) == []


def test_a_cancelled_program_is_asked_to_end(caged, until) -> None:
    async def main() -> None:
        text = "trap 'echo asked > asked; exit 0' TERM; : > up; while :; do sleep 0.05; done"
        task = asyncio.create_task(caged.sandbox().exec(caged.command("/bin/sh", "-c", text)))
        await started(caged.workspace / "up")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert (caged.workspace / "asked").exists() and caged.yard.left() == []


def test_a_storm_of_processes_ends_when_it_is_cancelled(caged) -> None:
    word = f"{os.getpid()}72.5"

    async def main() -> None:
        text = """trap '' TERM; : > up
        for i in 1 2 3 4 5 6 7 8; do (trap '' TERM; while :; do env -i setsid sleep 0.01; done) & done
        env -i setsid sh -c "trap '' TERM; sleep $1" & wait"""
        task = asyncio.create_task(caged.sandbox().exec(caged.command("/bin/sh", "-c", text, "sh", word)))
        await started(caged.workspace / "up")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(60):
                await task

    asyncio.run(main())
    assert (running(word), caged.yard.left()) == ([], [])


async def started(path: Path) -> None:
    async with asyncio.timeout(30):
        while not path.exists():
            await asyncio.sleep(0.005)


def test_a_flood_of_output_is_counted(caged) -> None:
    size = turns(1 << 30, 32 << 20)
    done = caged.sh(f"head -c {size} /dev/zero", keep=1024)
    assert (done.code, done.stdout.total, len(done.stdout.head) + len(done.stdout.tail)) == (0, size, 1024)


def test_what_goes_on_in_the_background(caged) -> None:
    async def main() -> tuple[str, int]:
        job = caged.sandbox().begin(
            caged.command("/bin/sh", "-c", "trap 'exit 3' TERM; echo begun; while :; do sleep 0.05; done")
        )
        text = ""
        async with asyncio.timeout(30):
            while "begun" not in text:
                await job.wait(10)
                text += job.look()[0].text
        job.end()
        await job.ended()
        assert job.completed is not None
        return text, job.completed.code

    assert asyncio.run(main()) == ("begun\n", 3)
    assert caged.yard.left() == []


def test_one_that_stays_running_is_spoken_to(caged) -> None:
    async def main() -> list[bytes]:
        sandbox, answers = caged.sandbox(), []
        marks = iter((f"{caged.yard.id}-p1", f"{caged.yard.id}-p2"))
        for word in (b"one\n", b"two\n"):
            command = caged.command("/bin/sh", "-c", 'while read -r line; do echo "$$ $line"; done')
            command = command._replace(env={"PATH": command.env["PATH"]})
            async with asyncio.timeout(30), sandbox.lend(command, key="k", marks=lambda: next(marks)) as peer:
                assert peer.send(word)
                answers.append(await peer.receive())
        caged.yard.sandbox.close()
        return answers

    assert asyncio.run(main()) == [b"2 one\n", b"2 two\n"]
    assert caged.yard.left() == []


def test_many_starts_leave_nothing(caged) -> None:
    """No process, no descriptor, no mount, no file."""

    def here() -> tuple[int, str, list[str]]:
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            return len(os.listdir("/proc/self/fd")), file.read(), sorted(os.listdir(caged.workspace))

    async def main() -> None:
        sandbox = caged.sandbox()
        await sandbox.exec(caged.command("/bin/true"))
        before = here()
        for _ in range(turns(1000, 40) // 10):
            done = await asyncio.gather(*(sandbox.exec(caged.command("/bin/true")) for _ in range(10)))
            assert [each.code for each in done] == [0] * 10
        assert here() == before

    asyncio.run(main())
    assert caged.yard.left() == []


def test_nothing_outlives_a_killed_host(caged, until, carriers) -> None:
    text = """
import asyncio, os, sys
from toolcrib.core.process import Command
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.confined import Confined
from toolcrib.sandbox.processes import Processes
async def main():
    ident, workspace, word = sys.argv[1:]
    sandbox = Confined(Processes(ident), Cage("bubblewrap", workspace=workspace))
    run = "env -i setsid sh -c 'sleep $1' sh $1 & : > up; sleep $1"
    env = {"PATH": "/usr/bin:/bin", "TOOLCRIB_CALL_ID": ident + "-1"}
    await sandbox.exec(Command(("/bin/sh", "-c", run, "sh", word), workspace, ident + "-1", env))
asyncio.run(main())
"""
    word, ident = f"{os.getpid()}73.5", f"{caged.yard.id}host"
    host = subprocess.Popen([sys.executable, "-c", text, ident, str(caged.workspace), word])
    try:
        until((caged.workspace / "up").exists, "the program began", seconds=30)
    finally:
        host.kill()
        host.wait()
    until(lambda: not running(word) and not carriers(f"{ident}-"), "all was gone", seconds=30)


# What is protected in the workspace


PROTECTED = (
    ".vscode/tasks.json",
    ".npmrc",
    "sub/.claude/settings.json",
    "a/b/.envrc",
    ".venv/bin/python",
    "node_modules/.bin/x",
)


def test_what_is_run_or_believed_later_cannot_be_changed(caged) -> None:
    (caged.workspace / ".venv").mkdir()
    (caged.workspace / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    for name in PROTECTED:
        (caged.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (caged.workspace / name).write_text("mine\n")
    (caged.workspace / "src").mkdir()
    text = """for f; do echo x > $f; rm -f $f; mv $f elsewhere; echo x > $(dirname $f)/new; done
    echo x > .venv/pyvenv.cfg; rm -rf .vscode; mv .vscode v; mv sub/.claude c; echo fine > src/ordinary"""
    caged.sh(text, *PROTECTED)
    assert [(caged.workspace / name).read_text() for name in PROTECTED] == ["mine\n"] * len(PROTECTED)
    assert (caged.workspace / ".venv" / "pyvenv.cfg").read_text() == "home = /usr/bin\n"
    assert (caged.workspace / "src" / "ordinary").read_text() == "fine\n"
    assert os.listdir(caged.workspace / ".vscode") == ["tasks.json"]


@pytest.fixture
def repository(caged) -> Caged:
    if not os.path.exists("/usr/bin/git"):
        pytest.skip("git is not installed")
    run = "git init -q . && git config user.name n && git config user.email n@example.com && mkdir -p .git/hooks"
    env = {"PATH": "/usr/bin:/bin", "HOME": str(caged.outside), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["/bin/sh", "-c", run], cwd=caged.workspace, check=True, env=env)
    return caged


def test_git_works_and_its_settings_cannot_be_changed(repository) -> None:
    before = (repository.workspace / ".git" / "config").read_text()
    text = """echo x > file && git add file && git commit -qm first && git log --format=%s && git status --short
    git config core.fsmonitor /bin/evil; echo evil >> .git/config; echo evil > .git/hooks/pre-commit
    mv .git/hooks .git/h; mv .git g; rm -f .git/config"""
    done = repository.sh(text, env={"HOME": str(repository.outside)})
    assert done.stdout.text() == "first\n"
    assert (repository.workspace / ".git" / "config").read_text() == before
    assert not (repository.workspace / ".git" / "hooks" / "pre-commit").exists()


def test_what_a_protected_link_leads_to_is_protected(caged) -> None:
    (caged.workspace / "conf").mkdir()
    (caged.workspace / "conf" / "tasks.json").write_text("mine")
    (caged.workspace / ".vscode").symlink_to("conf")
    caged.sh("echo x > .vscode/tasks.json; echo x > conf/tasks.json; : > conf/new")
    assert [(path.name, path.read_text()) for path in (caged.workspace / "conf").iterdir()] == [("tasks.json", "mine")]


def test_a_protected_link_that_leads_out_opens_nothing(caged) -> None:
    for name, target in ((".vscode", caged.outside), (".idea", "."), (".claude", "missing"), (".zed", "/")):
        (caged.workspace / name).symlink_to(target)
    done = caged.sh("cat .vscode/secret .zed/etc/shadow || echo none; (echo x > .vscode/secret); echo fine > file")
    assert done.stdout.head == b"none\n"
    assert ((caged.outside / "secret").read_text(), (caged.workspace / "file").read_text()) == (
        "the secret\n",
        "fine\n",
    )


def test_what_was_granted_by_name_can_be_changed(caged) -> None:
    (caged.workspace / ".vscode").mkdir()
    (caged.workspace / ".idea").mkdir()
    caged.sh("echo x > .vscode/new; echo x > .idea/new", cage={"writable": (f"{caged.workspace}/.vscode",)})
    assert (os.listdir(caged.workspace / ".vscode"), os.listdir(caged.workspace / ".idea")) == (["new"], [])


def test_keys_are_hidden_in_a_workspace_that_is_the_home(caged, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(caged.workspace))
    for name in (".ssh/id", ".netrc", ".config/gcloud/token", "notes"):
        (caged.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (caged.workspace / name).write_text("key\n")
    text = "cat .ssh/id .netrc .config/gcloud/token notes; mv .config c; mv .ssh s; cat c/gcloud/token s/id; echo x > .ssh/id"
    done = caged.sh(text, env={"HOME": str(caged.workspace)})
    assert done.stdout.head == b"key\n"
    assert (caged.workspace / ".ssh" / "id").read_text() == "key\n"


def test_a_grant_that_became_a_link_is_refused(caged) -> None:
    """What lies in the workspace can be swapped by a tool between two calls."""
    (caged.workspace / "out").symlink_to(caged.outside)
    with pytest.raises(ToolError) as caught:
        caged.sh("echo x > out/secret; : > ran", cage={"writable": (f"{caged.workspace}/out",)})
    assert (caught.value.code, (caged.outside / "secret").read_text()) == ("SANDBOX_UNAVAILABLE", "the secret\n")
    assert os.listdir(caged.workspace) == ["out"]


def test_what_may_be_read_and_became_a_link_since_is_not_what_it_leads_to(caged) -> None:
    """Another tool, which may write there, put the link in its place."""
    data = Path(os.path.realpath(caged.yard.root)) / "data"
    data.mkdir()
    (data / "secret").write_text("mine\n")
    about = {"readable": (str(data),)}
    assert caged.sh(f"cat {data}/secret", cage=about).stdout.head == b"mine\n"
    data.rename(data.with_name("was"))
    data.symlink_to(caged.outside)
    assert caged.sh(f"cat {data}/secret", cage=about).stdout.head == b""
    data.unlink()
    assert caged.sh(f"cat {data}/secret", cage=about).code != 0
    data.mkdir()
    (data / "secret").write_text("new\n")
    assert caged.sh(f"cat {data}/secret", cage=about).stdout.head == b"new\n"


def test_swapping_links_during_a_start_opens_nothing(caged) -> None:
    """Another program of the same workspace exchanges a protected directory and a link, as fast as it can."""
    (caged.outside / ".vscode").mkdir()
    (caged.outside / ".vscode" / "secret").write_text("the secret\n")
    inside, link = caged.workspace / "sub", caged.workspace / "link"
    (inside / ".vscode").mkdir(parents=True)
    link.symlink_to("../outside")
    stop = threading.Event()
    exchange = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if exchange is None:
        pytest.skip("the C library has no renameat2")

    def swap() -> None:
        names = os.fsencode(inside), os.fsencode(link)
        while not stop.is_set():
            assert exchange(-100, names[0], -100, names[1], 2) == 0  # AT_FDCWD, RENAME_EXCHANGE

    thread = threading.Thread(target=swap)
    thread.start()
    said = []
    try:
        for _ in range(turns(300, 25)):
            try:
                done = caged.sh('cat */.vscode/secret "$1"/.vscode/secret; : > "$1"/new', str(caged.outside))
                said.append(done.stdout.head)
            except ToolError as exc:
                assert exc.code == "SANDBOX_UNAVAILABLE", exc
    finally:
        stop.set()
        thread.join()
    assert set(said) <= {b""}
    assert sorted(os.listdir(caged.outside)) == [".vscode", "secret"]


# Workers


WARM_SCRIPT = """import json, os, sys
mine = os.path.join(os.environ["HOME"], "mark")
found = os.path.exists(mine), os.path.exists("left")
open(mine, "w").close()
print(json.dumps([*found, os.getpid() > 1, sys.argv[1:]]))
"""


def program(caged: Caged, text: str) -> Path:
    path: Path = caged.outside / f"script{len(os.listdir(caged.outside))}.py"
    path.write_text(f"#!{PYTHON}\n{text}")
    path.chmod(0o755)
    return path


@pytest.fixture
def warm(caged) -> Iterator[Callable[..., Completed]]:
    """Runs a Python script in a worker inside bubblewrap. All of one test share an event loop."""
    runner = asyncio.Runner()

    def run(text: str, *words: str, path: Path | None = None, **about: Any) -> Completed:
        script = path or program(caged, text)
        command = caged.command(str(script), *words, **about)
        command = command._replace(warm=((PYTHON,), (str(script),)), reads=(str(script),))
        return runner.run(caged.sandbox(readable=OF_PYTHON).exec(command))

    with runner:
        yield run
        caged.yard.sandbox.close()


def test_a_worker_runs_inside(caged, warm) -> None:
    script = program(caged, WARM_SCRIPT)
    done = [warm("", str(number), path=script) for number in range(3)]
    assert [each.stdout.text() for each in done] == [f'[false, false, true, ["{number}"]]\n' for number in range(3)]
    assert [(each.warm, each.code) for each in done] == [(True, 0)] * 3, done


def test_what_a_worker_runs_is_confined(caged, warm) -> None:
    (caged.workspace / ".vscode").mkdir()
    text = f"""import os
for path in ("{caged.outside}/new", ".vscode/new", "/tmp/new", "/usr/new", "/dev/new"):
    try:
        open(path, "w")
        print("wrote", path)
    except OSError:
        pass
print(os.path.exists("{caged.outside}/secret"))"""
    done = warm(text)
    assert (done.warm, done.stdout.text()) == (True, "False\n"), done.stderr.text()
    assert not (caged.outside / "new").exists() and os.listdir(caged.workspace / ".vscode") == []


def test_what_hides_in_a_worker_is_gone_with_the_run(caged, warm) -> None:
    word = f"{os.getpid()}74.5"
    text = """import os, subprocess, sys
subprocess.Popen(["/usr/bin/env", "-i", "setsid", "sleep", sys.argv[1]], stdout=subprocess.DEVNULL, start_new_session=True)
print("done")"""
    for _ in range(3):
        done = warm(text, word)
        assert (done.warm, done.stdout.text(), running(word)) == (True, "done\n", []), done.stderr.text()


SEEN_AND_TOUCHED = """import os
tmp = os.environ["TMPDIR"]
print(sorted(os.listdir(tmp)), os.listdir(os.path.dirname(tmp)) == [os.path.basename(tmp)])
for name in os.listdir(os.path.dirname(tmp)):
    open(os.path.dirname(tmp) + "/" + name + "/message", "w").close()"""


def test_a_run_in_a_worker_finds_nothing_of_the_one_before_nor_what_the_next_is_given(caged, warm, monkeypatch) -> None:
    """Neither what is about to be removed, however long that takes, nor any directory but its own."""
    monkeypatch.setattr(processes, "remove_behind", lambda loop, path: None)
    script = program(caged, SEEN_AND_TOUCHED)
    done = [warm("", path=script) for _ in range(3)]
    assert [(each.stdout.text(), each.warm) for each in done] == [("[] True\n", True)] * 3, done[0].stderr.text()


def test_a_worker_is_let_into_no_directory_of_another_tool_s(caged) -> None:
    """Two tools of one folder have the same cage."""
    script, waits = program(caged, SEEN_AND_TOUCHED), 'echo x > "$TMPDIR/mine"; : > up; read x < go; ls "$TMPDIR"'
    os.mkfifo(caged.workspace / "go")

    async def main() -> tuple[Completed, Completed]:
        reads = (str(script),)
        sandbox = caged.sandbox(readable=OF_PYTHON)
        command = caged.command(str(script))._replace(warm=((PYTHON,), (str(script),)), reads=reads)
        await sandbox.exec(command)
        other = caged.command("/bin/sh", "-c", waits)._replace(reads=reads)
        task = asyncio.create_task(sandbox.exec(other))
        await started(caged.workspace / "up")
        done = await sandbox.exec(caged.command(str(script))._replace(warm=command.warm, reads=reads))
        (caged.workspace / "go").write_text("go\n")
        both = done, await task
        caged.yard.sandbox.close()
        return both

    done, other = asyncio.run(main())
    assert (done.warm, done.stdout.text()) == (True, "[] True\n"), done.stderr.text()
    assert other.stdout.text() == "mine\n"


def test_a_run_in_a_worker_is_cancelled(caged, warm) -> None:
    text = """import signal, sys, time
signal.signal(15, lambda *a: (open("out/asked", "w").close(), sys.exit(0)))
open("out/up", "w").close()
while True: time.sleep(0.05)"""
    script, out = program(caged, text), caged.workspace / "out"
    out.mkdir()

    async def main() -> None:
        command = caged.command(str(script))._replace(warm=((PYTHON,), (str(script),)), reads=(str(script),))
        task = asyncio.create_task(caged.sandbox(readable=OF_PYTHON, writable=(str(out),)).exec(command))
        await started(out / "up")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        caged.yard.sandbox.close()

    asyncio.run(main())
    assert (out / "asked").exists() and caged.yard.left() == []


PLANTS_LATER = """import pathlib, signal
def plant(*_):
    for name in (".envrc", "new", "out/new"):
        try: pathlib.Path(%r, name).write_text("planted")
        except OSError: pass
signal.signal(signal.SIGALRM, plant)
signal.setitimer(signal.ITIMER_REAL, 0.01)
"""


def test_what_a_worker_imported_writes_nothing_in_the_workspace_between_calls(caged) -> None:
    """It lives on when the call is over, and nobody looks after what it makes then. What it was granted, it may write to."""
    (caged.workspace / "out").mkdir()
    script = program(caged, "import planter\nprint('ran')")
    vendor = caged.outside / "vendor"
    vendor.mkdir()
    (vendor / "planter.py").write_text(PLANTS_LATER % str(caged.workspace))

    async def main() -> Completed:
        command = caged.command(str(script))._replace(warm=((PYTHON,), (str(script),)), reads=(str(caged.outside),))
        done = await caged.sandbox(readable=OF_PYTHON, writable=(f"{caged.workspace}/out",)).exec(command)
        await started(caged.workspace / "out" / "new")
        caged.yard.sandbox.close()
        return done

    done = asyncio.run(main())
    assert (done.stdout.text(), done.warm) == ("ran\n", True)
    assert sorted(os.listdir(caged.workspace)) == ["out"]


def test_at_once_only_one_runs_in_a_worker(caged) -> None:
    script = program(caged, "import sys; print(sys.stdin.read())")

    async def main() -> list[Completed]:
        sandbox = caged.sandbox(readable=OF_PYTHON)
        made = [caged.command(str(script), stdin=b"%d" % number) for number in range(4)]
        made = [each._replace(warm=((PYTHON,), (str(script),)), reads=(str(script),)) for each in made]
        done = [await sandbox.exec(made[0]), *await asyncio.gather(*(sandbox.exec(each) for each in made[1:]))]
        caged.yard.sandbox.close()
        return done

    done = asyncio.run(main())
    assert [each.stdout.text() for each in done] == [f"{number}\n" for number in range(4)]
    assert done[0].warm and sum(each.warm for each in done[1:]) == 1


def test_swapping_links_during_a_start_moves_nothing_over_the_system(caged) -> None:
    """A directory of programs in the workspace, protected as it is, must not come to lie where others look for theirs."""
    exchange = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if exchange is None:
        pytest.skip("the C library has no renameat2")
    inside, link = caged.workspace / "sub", caged.workspace / "link"
    (inside / "bin").mkdir(parents=True)
    (inside / "pyvenv.cfg").touch()
    shutil.copy("/bin/sh", inside / "bin" / "sh")
    (inside / "bin" / "evil").touch()
    link.symlink_to("../" * len(caged.workspace.parts[1:]) + "usr")
    stop = threading.Event()

    def swap() -> None:
        names = os.fsencode(inside), os.fsencode(link)
        while not stop.is_set():
            assert exchange(-100, names[0], -100, names[1], 2) == 0

    thread = threading.Thread(target=swap)
    thread.start()
    said = []
    try:
        for _ in range(turns(300, 25)):
            try:
                said.append(caged.sh("[ -e /usr/bin/evil ] && echo evil; echo end").stdout.head)
            except ToolError as exc:
                assert exc.code == "SANDBOX_UNAVAILABLE", exc
    finally:
        stop.set()
        thread.join()
    assert set(said) <= {b"end\n"}
