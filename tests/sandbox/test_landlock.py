"""Programs confined by Landlock: what they reach, what they do not, and that nobody else is confined by it."""

import asyncio
import errno
import gc
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.core.process import Completed
from toolcrib.sandbox import _landlock, landlock, seccomp, spawn, system
from toolcrib.sandbox._restricted import Restricted
from toolcrib.sandbox._syscalls import machine, numbers
from toolcrib.sandbox.cage import LANDLOCK, Bounds, Cage
from toolcrib.sandbox.confined import Confined

NOT_HERE = landlock.canary()
pytestmark = pytest.mark.skipif(NOT_HERE != "", reason=f"no Landlock here: {NOT_HERE}")
PYTHON = os.path.realpath(sys.executable)
PREFIX = os.path.realpath(sys.base_prefix)
TRY = """
import errno, json, os, socket, sys
def tried(act):
    try: act(); return "done"
    except OSError as exc: return errno.errorcode[exc.errno]
"""


class Ground:
    """A workspace, something outside it, and programs confined to the one."""

    def __init__(self, yard: Any, root: Path) -> None:
        self.yard = yard
        self.workspace, self.outside = root / "workspace", root / "outside"
        for directory in (self.workspace, self.outside):
            directory.mkdir()
            (directory / "file").write_text("as it was")
        self.secret = str(self.outside / "file")

    def cage(self, **about: Any) -> Cage:
        about["readable"] = (PREFIX, *about.get("readable", ()))
        return Cage(LANDLOCK, str(self.workspace), **about)

    def exec(self, *argv: str, env: dict[str, str] | None = None, **about: Any) -> Completed:
        command = self.yard.command(*argv, cwd=str(self.workspace), env=env or {})
        return asyncio.run(Confined(self.yard.sandbox, self.cage(**about)).exec(command))

    def sh(self, text: str, **about: Any) -> Completed:
        return self.exec("/bin/sh", "-c", text, **about)

    def python(self, text: str, **about: Any) -> Any:
        """What a program prints, as JSON."""
        done = self.exec(PYTHON, "-I", "-S", "-c", TRY + text, **about)
        assert done.code == 0, done.stderr.text()
        return json.loads(done.stdout.head)

    def untouched(self) -> bool:
        return os.listdir(self.outside) == ["file"] and (self.outside / "file").read_text() == "as it was"


@pytest.fixture
def ground(yard, tmp_path) -> Ground:
    return Ground(yard, tmp_path.resolve())


# Files

ESCAPES = {
    "read": "os.open(outside + '/file', os.O_RDONLY)",
    "read by another path": "os.open(outside + '/../outside/./file', os.O_RDONLY)",
    "read by a link": "(os.symlink(outside + '/file', 'link'), open('link'))",
    "read by a linked directory": "(os.symlink(outside, 'linked'), open('linked/file'))",
    "read from a directory entered": "(os.chdir(outside), open('file'))",
    "read as the root's": "open('/proc/self/root' + outside + '/file')",
    "read by way of the directory it is in": "open('/proc/self/cwd/../outside/file')",
    "read of the caller": "open(f'/proc/{os.getppid()}/environ')",
    "read of the caller's memory": "open(f'/proc/{os.getppid()}/mem', 'rb')",
    "read of itself": "open('/proc/self/environ')",
    "write": "os.open(outside + '/file', os.O_WRONLY)",
    "append": "os.open(outside + '/file', os.O_WRONLY | os.O_APPEND)",
    "make": "os.open(outside + '/new', os.O_WRONLY | os.O_CREAT)",
    "make without a name": "os.open(outside, os.O_WRONLY | os.O_TMPFILE)",
    "make a directory": "os.mkdir(outside + '/new')",
    "make a link": "os.symlink('file', outside + '/new')",
    "make a pipe": "os.mkfifo(outside + '/new')",
    "empty": "os.truncate(outside + '/file', 0)",
    "remove": "os.unlink(outside + '/file')",
    "rename": "os.rename(outside + '/file', outside + '/new')",
    "move in": "os.rename(outside + '/file', 'stolen')",
    "move out": "os.rename('file', outside + '/new')",
    "link in": "os.link(outside + '/file', 'stolen')",
    "link out": "os.link('file', outside + '/new')",
    "list": "os.listdir(outside)",
    "list what is above": "os.listdir('..')",
    "list the root": "os.listdir('/')",
    "list the system's temporary files": "os.listdir('/tmp')",
    "write to the system's temporary files": "os.open('/tmp/toolcrib-escape', os.O_WRONLY | os.O_CREAT)",
    "write to the system": "os.open('/usr/toolcrib-escape', os.O_WRONLY | os.O_CREAT)",
    "read passwords": "open('/etc/shadow')",
    "list the settings": "os.listdir('/etc')",
    "list processes": "os.listdir('/proc')",
    "list devices": "os.listdir('/dev')",
    "make a device": "os.mknod('device', 0o020666, os.makedev(1, 3))",
    "run": "os.execv(outside + '/program', ['program'])",
    "chroot": "os.chroot('.')",
}


def test_nothing_outside_can_be_read_or_changed(ground) -> None:
    """K49: each was tried, each was refused, and nothing happened outside."""
    (ground.outside / "program").write_text("#!/bin/sh\necho ran > escaped\n")
    (ground.outside / "program").chmod(0o755)
    lines = "\n".join(f"said[{name!r}] = tried(lambda: {text})" for name, text in ESCAPES.items())
    went_in = "os.chdir(workspace)\n"
    text = f"workspace, outside, said = {str(ground.workspace)!r}, {str(ground.outside)!r}, {{}}\n"
    said = ground.python(text + lines.replace("\n", f"\n{went_in}") + "\nprint(json.dumps(said))")
    refusals = {"EACCES", "EPERM", "EXDEV", "ENOENT"}
    assert {name: how for name, how in said.items() if how not in refusals} == {}
    assert said.keys() == ESCAPES.keys()
    (ground.outside / "program").unlink()
    assert ground.untouched()
    assert sorted(os.listdir(ground.workspace)) == ["file", "link", "linked"]
    assert not os.path.exists("/tmp/toolcrib-escape")
    assert not os.path.exists("/usr/toolcrib-escape")


def test_the_workspace_and_the_temporary_directory_can_be_used(ground) -> None:
    done = ground.sh(
        "set -e; mkdir -p a/b; echo new > a/b/c; mv a/b/c d; ln -s d e; cat e; rm -r a; : > file\n"
        'echo t > "$TMPDIR/t"; mv "$TMPDIR/t" here; test "$HOME" = "$TMPDIR"; echo fine > /dev/null; ls'
    )
    assert (done.code, done.stdout.text(), done.stderr.text()) == (0, "new\nd\ne\nfile\nhere\n", "")


def test_home_is_the_private_directory_also_where_the_users_was_passed_on(ground) -> None:
    done = ground.sh('echo "$HOME" "$TMPDIR"; echo x > ~/.profile', env={"HOME": str(ground.outside)})
    home, tmp = done.stdout.text().split()
    assert (done.code, home == tmp, ground.untouched()) == (0, True, True)


def test_what_is_installed_in_the_users_home_is_named(ground) -> None:
    """A program finds it there, unless it was told of another place."""
    (ground.outside / ".rustup" / "toolchains").mkdir(parents=True)
    home = {"HOME": str(ground.outside)}
    assert ground.sh('echo "$RUSTUP_HOME"', env=home).stdout.text() == f"{ground.outside}/.rustup\n"
    assert ground.sh('echo "$RUSTUP_HOME"', env={**home, "RUSTUP_HOME": "/else"}).stdout.text() == "/else\n"
    assert ground.sh('echo "$RUSTUP_HOME"').stdout.text() == "\n"


def test_a_workspace_to_be_read_cannot_be_written(ground) -> None:
    done = ground.sh("cat file; echo changed > file; echo new > new; rm file", workspace_writable=False)
    assert done.stdout.text() == "as it was"
    assert (os.listdir(ground.workspace), (ground.workspace / "file").read_text()) == (["file"], "as it was")


def test_what_was_granted_can_be_reached_and_nothing_beside_it(ground) -> None:
    (ground.outside / "sub").mkdir()
    (ground.outside / "sub" / "inner").write_text("inner")
    (ground.outside / "other").write_text("other")
    text = f"""
outside = {str(ground.outside)!r}
print(json.dumps([
    open(outside + '/sub/inner').read(), open(outside + '/file').read(),
    tried(lambda: open(outside + '/sub/inner', 'a')), tried(lambda: open(outside + '/file', 'a')),
    tried(lambda: open(outside + '/other')), tried(lambda: open(outside + '/other', 'a')),
]))"""
    said = ground.python(text, readable=(str(ground.outside / "sub"), ground.secret))
    assert said == ["inner", "as it was", "EACCES", "EACCES", "EACCES", "EACCES"]
    said = ground.python(text, writable=(str(ground.outside / "sub"), ground.secret))
    assert said == ["inner", "as it was", "done", "done", "EACCES", "EACCES"]


def test_what_is_not_there_is_no_grant_and_no_hindrance(ground) -> None:
    gone = str(ground.outside / "gone")
    assert ground.sh(f"echo x > {gone}; ls", readable=(gone,), writable=(gone,)).stdout.text() == "file\n"
    assert ground.untouched()


def test_a_grant_that_became_a_link_leads_nowhere(ground) -> None:
    """A tool that may write in a directory could otherwise point the next call's grant anywhere."""
    granted = ground.workspace / "granted"
    granted.symlink_to(ground.outside)
    text = f"print(json.dumps(tried(lambda: open({str(granted / 'file')!r}, 'a'))))"
    assert ground.python(text, writable=(str(granted),)) == "EACCES"
    deeper = ground.workspace / "deeper"
    (ground.outside / "sub").mkdir()
    deeper.symlink_to(ground.outside)
    text = f"print(json.dumps(tried(lambda: os.mkdir({str(deeper / 'sub' / 'made')!r}))))"
    assert ground.python(text, writable=(str(deeper / "sub"),)) == "EACCES"
    (ground.outside / "sub").rmdir()
    assert ground.untouched()


def test_a_directory_that_was_replaced_is_the_new_one(ground) -> None:
    """Rules hold directories, not their names."""
    assert ground.sh("echo first > made").code == 0
    os.rename(ground.workspace, ground.outside.with_name("before"))
    ground.workspace.mkdir()
    done = ground.sh(f"echo second > made; echo again > {ground.outside.with_name('before')}/made")
    assert (done.code != 0, (ground.workspace / "made").read_text()) == (True, "second\n")
    assert (ground.outside.with_name("before") / "made").read_text() == "first\n"


def test_a_settings_file_of_the_system_that_was_replaced_is_the_new_one(ground, monkeypatch) -> None:
    """After a moment; until then the one that it was is held."""
    paths = (*system.readable_paths(), ground.secret)
    monkeypatch.setattr(system, "readable_paths", lambda: paths)
    monkeypatch.setattr(landlock, "_system", (0.0, ()))
    monkeypatch.setattr(landlock, "_SYSTEM_SECONDS", 600.0)
    assert ground.sh(f"cat {ground.secret}").stdout.text() == "as it was"
    os.rename(ground.secret, f"{ground.secret}.old")
    Path(ground.secret).write_text("another")
    assert ground.sh(f"cat {ground.secret}").stdout.text() == ""
    monkeypatch.setattr(landlock, "_SYSTEM_SECONDS", 0.0)
    assert ground.sh(f"cat {ground.secret}").stdout.text() == "another"


def test_what_is_granted_for_reading_and_was_replaced_is_the_new_one(ground, monkeypatch) -> None:
    """A file at once; a directory after a moment, and until then the one that it was is held."""
    monkeypatch.setattr(landlock, "_SYSTEM_SECONDS", 600.0)
    granted = ground.outside / "granted"
    granted.mkdir()
    (granted / "note").write_text("first\n")

    def said() -> str:
        return ground.sh(f"cat {granted}/note {ground.secret}", readable=(str(granted), ground.secret)).stdout.text()

    assert said() == "first\nas it was"
    granted.rename(f"{granted}.old")
    granted.mkdir()
    (granted / "note").write_text("second\n")
    assert said() == "as it was"
    monkeypatch.setattr(landlock, "_SYSTEM_SECONDS", 0.0)
    assert said() == "second\nas it was"
    monkeypatch.setattr(landlock, "_SYSTEM_SECONDS", 600.0)
    os.rename(ground.secret, f"{ground.secret}.old")
    Path(ground.secret).write_text("another")
    assert said() == "second\nanother"


def test_no_more_directories_are_known_than_it_takes(ground, monkeypatch) -> None:
    monkeypatch.setattr(landlock, "_MOST_DIRECTORIES", 3)
    places = [ground.outside / f"place-{number}" for number in range(5)]
    for place in places:
        place.mkdir()
        assert ground.sh(f"ls {place} && echo seen", readable=(str(place),)).stdout.text() == "seen\n"
        assert len(landlock._directories) <= 3


def test_calls_do_not_see_each_others_temporary_files(ground) -> None:
    async def both() -> tuple[Completed, Completed]:
        sandbox = Confined(ground.yard.sandbox, ground.cage())
        os.mkfifo(ground.workspace / "told")
        first = 'echo secret > "$TMPDIR/mine"; echo "$TMPDIR" > told; read over < told'
        second = 'read place < told; cat "$place/mine"; ls "$place"; ls "$place/.."; echo over > told'
        commands = [ground.yard.command("/bin/sh", "-c", text, cwd=str(ground.workspace)) for text in (first, second)]
        one, other = await asyncio.gather(*(sandbox.exec(command) for command in commands))
        return one, other

    one, other = asyncio.run(both())
    assert (one.code, other.stdout.text()) == (0, "")
    assert other.stderr.text().count("Permission denied") == 3


def test_the_users_programs_run_as_they_do_elsewhere(ground) -> None:
    done = ground.sh("echo b a | tr ' ' '\\n' | sort | head -n 1; date +%Y >/dev/null; id -u >/dev/null; env true")
    machine = ground.sh("head -c 8 /proc/meminfo; head -c 1 /dev/urandom | wc -c")
    assert machine.stdout.text() == "MemTotal1\n"
    assert (done.code, done.stdout.text(), done.stderr.text()) == (0, "a\n", "")


def test_bounds_hold_inside_too(ground) -> None:
    done = ground.sh("head -c 100000 /dev/zero > big; ls", bounds=Bounds(file_bytes=4096))
    assert (ground.workspace / "big").stat().st_size <= 4096
    assert "big" in done.stdout.text()


def test_a_program_that_may_not_be_read_is_said_to_lie_outside(ground) -> None:
    program = ground.outside / "program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    with pytest.raises(ToolError, match="where its sandbox does not let it read") as failure:
        ground.exec(str(program))
    assert failure.value.before_effect


def test_a_script_that_a_warm_worker_may_run_is_confined(ground) -> None:
    """By whichever way it runs: with the rights of its cage, but for the workspace, where what stays writes nothing, and
    with a temporary directory of its own for each run."""
    script = ground.workspace / "script.py"
    script.write_text(
        f"#!{PYTHON}\n{TRY}import tempfile\nopen(os.environ['TMPDIR'] + '/mine', 'x').close()\n"
        f"print(json.dumps([tried(lambda: open({ground.secret!r})), tried(lambda: open('made', 'w')),"
        f" tried(lambda: socket.socket()), tempfile.gettempdir() == os.environ['TMPDIR']]))"
    )
    script.chmod(0o755)

    async def twice() -> list[Completed]:
        sandbox = Confined(ground.yard.sandbox, ground.cage())
        warm = ((PYTHON,), (str(script),))
        command = [ground.yard.command(str(script), cwd=str(ground.workspace), warm=warm) for _ in range(2)]
        return [await sandbox.exec(each) for each in command]

    ends = asyncio.run(twice())
    assert [end.stderr.text() for end in ends] == ["", ""]
    assert [json.loads(end.stdout.head) for end in ends] == [["EACCES", "EACCES", "ENETUNREACH", True]] * 2
    assert ground.untouched()


def test_a_program_that_stays_is_confined(ground) -> None:
    async def asked() -> bytes:
        text = f"while read -r line; do cat {ground.secret} 2>/dev/null || echo refused; done"
        command = ground.yard.command("/bin/sh", "-c", text, cwd=str(ground.workspace))
        sandbox = Confined(ground.yard.sandbox, ground.cage())
        async with sandbox.lend(command, key="key", marks=lambda: f"{ground.yard.id}-stays") as peer:
            assert peer.send(b"go\n")
            return await peer.receive()

    assert asyncio.run(asked()) == b"refused\n"


def test_where_programs_are_started_in_the_slow_way(ground, monkeypatch) -> None:
    """As with a Python whose fast way is not known."""
    monkeypatch.setattr(spawn, "FAST", False)
    done = ground.sh(f"cat {ground.secret}; echo $?; cat file")
    assert done.stdout.text() == "1\nas it was"


# Sockets, signals, rights


class Ear:
    """Listens, and counts who came."""

    def __init__(
        self, family: int = socket.AF_INET, where: Any = ("127.0.0.1", 0), kind: int = socket.SOCK_STREAM
    ) -> None:
        self.socket = socket.socket(family, kind)
        self.socket.bind(where)
        if kind == socket.SOCK_STREAM:
            self.socket.listen()
        self.socket.setblocking(False)

    def heard(self) -> bool:
        try:
            if self.socket.type == socket.SOCK_STREAM:
                self.socket.accept()[0].close()
            else:
                self.socket.recv(10)
        except BlockingIOError:
            return False
        return True

    def __enter__(self) -> "Ear":
        return self

    def __exit__(self, *about: object) -> None:
        self.socket.close()


def test_without_a_network_nobody_is_reached(ground) -> None:
    """K49: not by TCP, not by UDP, not by the sockets of this machine, named or not."""
    named, nameless = str(ground.outside / "ear"), f"\0toolcrib-{ground.yard.id}"
    with (
        Ear() as tcp,
        Ear(kind=socket.SOCK_DGRAM) as udp,
        Ear(socket.AF_UNIX, named) as local,
        Ear(socket.AF_UNIX, nameless) as abstract,
    ):
        text = f"""
import ctypes
unix = lambda name: socket.socket(socket.AF_UNIX).connect(name)
print(json.dumps([
    tried(lambda: socket.create_connection({tcp.socket.getsockname()!r}, 5)),
    tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', {udp.socket.getsockname()!r})),
    tried(lambda: unix({named!r})), tried(lambda: unix({nameless!r})),
    tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)), tried(lambda: socket.socket(40, 1)),
    tried(lambda: socket.socket(socket.AF_INET6)),
]))"""
        said = ground.python(text)
        heard = [ear.heard() for ear in (tcp, udp, local, abstract)]
    assert said == ["ENETUNREACH", "ENETUNREACH", "EACCES", "EACCES", "EACCES", "EACCES", "ENETUNREACH"]
    assert heard == [False] * 4


def test_with_a_network_the_internet_is_reached_and_the_users_daemons_are_not(ground) -> None:
    named, nameless = str(ground.workspace / "ear"), f"\0toolcrib-{ground.yard.id}"
    with (
        Ear() as tcp,
        Ear(kind=socket.SOCK_DGRAM) as udp,
        Ear(socket.AF_UNIX, named) as local,
        Ear(socket.AF_UNIX, nameless) as abstract,
    ):
        text = f"""
unix = lambda name: socket.socket(socket.AF_UNIX).connect(name)
print(json.dumps([
    tried(lambda: socket.create_connection({tcp.socket.getsockname()!r}, 5)),
    tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', {udp.socket.getsockname()!r})),
    tried(lambda: unix({named!r})), tried(lambda: unix({nameless!r})),
]))"""
        said = ground.python(text, network=True)
        heard = [ear.heard() for ear in (tcp, udp, local, abstract)]
    assert said == ["done", "done", "EACCES", "EACCES"]
    assert heard == [True, True, False, False]


@pytest.mark.skipif(NOT_HERE != "" or not _landlock.keeps_signals(), reason="this Landlock does not hold signals back")
def test_no_signal_leaves(ground) -> None:
    held = []
    before = signal.signal(signal.SIGUSR1, lambda *_: held.append("signal"))
    try:
        text = f"print(json.dumps([tried(lambda: os.kill({os.getpid()}, {int(signal.SIGUSR1)})), tried(lambda: os.kill(os.getpid(), 0))]))"
        assert ground.python(text) == ["EPERM", "done"]
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert held == []


SIGNALS = """
import ctypes, fcntl, struct
calls, signal, host, threads = %r, %d, %d, %r
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    if libc.syscall(ctypes.c_long(calls[name]), *args) < 0: raise OSError(ctypes.get_errno(), name)
def info(): return ctypes.create_string_buffer(struct.pack("iiiiii", signal, 0, -1, 0, os.getpid(), os.getuid()), 128)
pair, _ = socket.socketpair()
ways = {
    "kill": lambda tid: os.kill(tid, signal),
    "tkill": lambda tid: call("tkill", tid, signal),
    "tgkill": lambda tid: call("tgkill", host, tid, signal),
    "rt_sigqueueinfo": lambda tid: call("rt_sigqueueinfo", tid, signal, info()),
    "rt_tgsigqueueinfo": lambda tid: call("rt_tgsigqueueinfo", host, tid, signal, info()),
    "fcntl": lambda tid: fcntl.fcntl(pair, 8, tid),
    "fcntl by description": lambda tid: fcntl.fcntl(pair, 15, struct.pack("ii", 0, tid)),
    "ioctl": lambda tid: fcntl.ioctl(pair, 0x8901, struct.pack("i", tid)),
    "ioctl as of sockets": lambda tid: fcntl.ioctl(pair, 0x8902, struct.pack("i", tid)),
}
print(json.dumps({way: sorted({tried(lambda: act(tid)) for tid in threads}) for way, act in ways.items()}))
"""


def test_no_signal_reaches_the_thread_that_started_it(ground) -> None:
    """It has the rights of the program, and a signal to it is one to the whole of the host."""
    others = set(os.listdir("/proc/self/task"))
    ground.sh("true")
    starters = [int(name) for name in set(os.listdir("/proc/self/task")) - others]
    assert starters
    held: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: held.append(1))
    try:
        known = {name: numbers(machine())[name] for name in ("tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")}
        told = ground.python(SIGNALS % (known, signal.SIGUSR1, os.getpid(), starters))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert set(map(tuple, told.values())) == {("EPERM",)}, told
    assert held == []


@pytest.mark.skipif(machine() != "x86_64", reason="the arguments of clone are in another order")
def test_what_a_program_starts_is_its_own_child_and_never_ours(ground) -> None:
    """We would not collect it, and what it leaves of itself would stay for as long as we do."""
    text = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
sibling = libc.syscall(56, 0x8000 | 17, 0, 0, 0, 0)
if sibling == 0: os._exit(0)
print(json.dumps([sibling, errno.errorcode[ctypes.get_errno()]]))"""
    assert ground.python(text) == [-1, "EPERM"]


FIRST_OF_ALL = """
import asyncio, os, sys, time
from toolcrib.core.process import Command
from toolcrib.sandbox.cage import LANDLOCK, Cage
from toolcrib.sandbox.confined import Confined
from toolcrib.sandbox.processes import Processes
assert os.getpid() == 1
processes = Processes("first-of-all")
text = "setsid sh -c ': > up; exec env -i sleep 600' >/dev/null 2>&1 & until [ -e up ]; do :; done; echo ran"
command = Command(("/bin/sh", "-c", text), sys.argv[1], "mark-1", {"PATH": "/usr/bin:/bin"})
done = asyncio.run(Confined(processes, Cage(LANDLOCK, sys.argv[1])).exec(command))
assert done.stdout.head == b"ran\\n", done
left = [open(f"/proc/{pid}/cmdline").read() for pid in os.listdir("/proc") if pid.isdigit() and pid != "1"]
processes.close()
print([each for each in left if "sleep" in each])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a namespace of processes like this")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare here")
def test_as_the_first_process_of_a_container_it_ends_what_hides(ground) -> None:
    """I7: then there is nobody else to ask whether signals stay inside."""
    argv = [
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        sys.executable,
        "-c",
        FIRST_OF_ALL,
        str(ground.workspace),
    ]
    env = {**os.environ, "TMPDIR": str(ground.outside)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_the_limits_of_the_caller_cannot_be_changed(ground) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = f"import resource\nprint(json.dumps(tried(lambda: resource.prlimit({os.getpid()}, resource.RLIMIT_NOFILE, (5, 5)))))"
    assert ground.python(text) == "EPERM"
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def of_a_thread(status: str) -> dict[str, int]:
    """The capabilities that the kernel says a thread has."""
    lines = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Cap"))
    return {name: int(lines[name], 16) for name in ("CapInh", "CapPrm", "CapEff")}


def test_root_keeps_only_its_rights_over_files() -> None:
    ours = sum(1 << bit for bit in (0, 1, 3, 4, 5, 6, 7, 10))
    before = of_a_thread(Path("/proc/thread-self/status").read_text())
    thread = restricted(("/proc", _landlock.READING, True))
    try:
        after = of_a_thread(thread.do(lambda: Path("/proc/thread-self/status").read_text()))
    finally:
        thread.end()
    assert after == {"CapInh": 0, "CapPrm": before["CapPrm"] & ours, "CapEff": before["CapEff"] & ours}
    assert of_a_thread(Path("/proc/thread-self/status").read_text()) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has them")
def test_root_can_do_with_its_files_what_root_can(ground) -> None:
    text = """
os.chown('file', 12345, 12345); os.chmod('file', 0o000); size = len(open('file').read()); os.utime('file', (1, 1))
os.setuid(12345)
print(json.dumps([size, os.stat('file').st_uid, os.getuid(), tried(lambda: os.setuid(0))]))"""
    assert ground.python(text) == [9, 12345, 12345, "EPERM"]


# The host


def test_the_host_and_what_it_starts_unconfined_keep_their_rights(ground) -> None:
    """While the thread that is restricted waits for the next start, too."""
    seen: list[str] = []
    gate = threading.Event()

    def other() -> None:
        gate.wait(30)
        seen.append(Path(ground.secret).read_text())
        socket.socket(socket.AF_UNIX).close()

    thread = threading.Thread(target=other)
    thread.start()
    assert ground.sh(f"cat {ground.secret}").code != 0
    gate.set()
    thread.join()
    assert seen == ["as it was"]
    assert Path(ground.secret).read_text() == "as it was"
    late = threading.Thread(target=lambda: seen.append(Path(ground.secret).read_text()))
    late.start()
    late.join()
    assert seen == ["as it was"] * 2
    assert ground.yard.sh(f"cat {ground.secret}").stdout.text() == "as it was"
    assert ground.sh(f"cat {ground.secret}").code != 0


def start(ground: Ground, tmp: Path, *, program: str = "/bin/true", cage: Cage | None = None) -> int:
    null = os.open(os.devnull, os.O_RDWR)
    try:
        about = spawn.Start([program], str(ground.workspace), {"PATH": "/usr/bin:/bin"}, streams=(null,) * 3)
        return landlock.start_restricted(cage or ground.cage(), about, tmp=str(tmp))
    finally:
        os.close(null)


COUNT = """
import os, sys, time
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.landlock import release, start_restricted
from toolcrib.sandbox.spawn import Start
root, times, kept, null = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), os.open(os.devnull, os.O_RDWR)
def held(): return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
def go(tmp):
    pid = start_restricted(Cage("landlock", root), Start(["/bin/true"], root, {}, (null, null, null)), tmp=tmp)
    assert os.waitpid(pid, 0)[1] == 0
def settled(threads):
    deadline = time.monotonic() + 20
    while held() != (before[0], before[1] + threads): assert time.monotonic() < deadline, (before, held())
places = [f"{root}/tmp{number}" for number in range(int(sys.argv[4]))]
[os.mkdir(place) for place in places]
before = held()
for number in range(times): go(places[number % len(places)])
settled(kept)     # they wait for the next start
release(root + "-of-another")
settled(kept)
release(root)
settled(0)
"""


def test_a_thousand_starts_leave_no_descriptor_and_no_thread(drive, ground) -> None:
    drive(COUNT, str(ground.workspace), "1000", "1", "1")


def test_many_cages_keep_a_bounded_number_of_threads(drive, ground) -> None:
    drive(COUNT, str(ground.workspace), "200", "32", "100")


def test_starts_from_many_threads_at_once(ground, tmp_path) -> None:
    codes: list[int] = []

    def some() -> None:
        for _ in range(20):
            codes.append(os.waitstatus_to_exitcode(os.waitpid(start(ground, tmp_path), 0)[1]))

    threads = [threading.Thread(target=some) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 160


def restricted(*rules: tuple[str, int, bool], network: bool = False, contained: bool = False) -> Restricted:
    """A thread that can reach nothing else."""
    ruleset = _landlock.make_ruleset(rules, network=network)
    try:
        return Restricted(ruleset, lambda thread: seccomp.program(network=network, contained=contained))
    finally:
        os.close(ruleset)


def test_what_others_left_is_not_tidied_by_a_thread_that_may_not() -> None:
    """A finaliser that removes a file would fail in silence there."""
    where: list[int] = []

    class Left:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            where.append(threading.get_native_id())

    thread = restricted()
    try:
        gc.collect()
        Left()
        thread.do(lambda: len([[] for _ in range(100_000)]))  # enough for a collection, or a hundred
        assert (where, gc.isenabled()) == ([], True)
    finally:
        thread.end()
    gc.collect()
    assert where == [threading.get_native_id()]


class Interrupted(BaseException):
    pass


def test_a_signal_while_a_program_is_being_started_does_not_lose_it() -> None:
    handled, begun, undone = threading.Event(), threading.Event(), []

    def interrupt(*_: object) -> None:
        if not handled.is_set():
            handled.set()
            raise Interrupted

    def act() -> int:
        begun.set()
        assert handled.wait(30)
        return 42

    def send() -> None:
        assert begun.wait(30)
        while not handled.wait(0.01):  # one that comes a moment too early is seen with the next
            signal.pthread_kill(main, signal.SIGUSR1)

    main = threading.get_ident()
    before = signal.signal(signal.SIGUSR1, interrupt)
    thread, sender = restricted(), threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(Interrupted):
            thread.do(act, undone.append)
        assert undone == [42]
        assert thread.do(lambda: 43) == 43
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, before)
        thread.end()


def test_signals_at_any_moment_neither_lose_nor_repeat_what_is_done() -> None:
    """While something is waited for, that is: one that comes when it is over comes to whoever asked."""
    done: list[int] = []
    undone: list[int] = []

    def interrupt(_: int, frame: Any) -> None:
        if frame.f_code is Restricted._waited.__code__ and not frame.f_locals.get("interrupted"):
            raise Interrupted

    def act() -> int:
        done.append(len(done))
        return done[-1]

    thread = restricted()
    before = signal.signal(signal.SIGALRM, interrupt)
    returned = []
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
        for _ in range(3000):
            try:
                returned.append(thread.do(act, undone.append))
            except Interrupted:
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        thread.end()
    assert sorted(returned + undone) == done
    assert undone, "no signal came while something was waited for"


def test_a_fork_of_the_host_confines_for_itself(drive, ground, tmp_path) -> None:
    text = """
import os, sys
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.landlock import start_restricted
from toolcrib.sandbox.spawn import Start
null = os.open(os.devnull, os.O_RDWR)
about = Start(["/bin/sh", "-c", "! cat " + sys.argv[2]], sys.argv[1], {"PATH": "/usr/bin:/bin"}, (null, null, null))
def go():
    pid = start_restricted(Cage("landlock", sys.argv[1]), about, tmp=sys.argv[1])
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert go() == 0
pid = os.fork()
if pid == 0: os._exit(go())
assert os.waitpid(pid, 0)[1] == 0
assert go() == 0
"""
    drive(text, str(ground.workspace), ground.secret)


# When it cannot be


def refused(started: Any) -> ToolError:
    with pytest.raises(ToolError) as failure:
        started()
    assert failure.value.before_effect
    return failure.value


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EMFILE, "RESOURCE_EXHAUSTED"),
        (errno.ENFILE, "RESOURCE_EXHAUSTED"),
        (errno.ENOMEM, "RESOURCE_EXHAUSTED"),
        (errno.EAGAIN, "RESOURCE_EXHAUSTED"),
        (errno.EPERM, "SANDBOX_UNAVAILABLE"),
        (errno.ENOSYS, "SANDBOX_UNAVAILABLE"),
        (errno.E2BIG, "SANDBOX_UNAVAILABLE"),
    ],
)
@pytest.mark.parametrize("what", ["make_ruleset", "restrict_this_thread"])
def test_why_a_program_was_not_confined(monkeypatch, ground, tmp_path, number, code, what) -> None:
    def fail(*_: object, **__: object) -> int:
        raise OSError(number, f"the kernel said {number}")

    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(_landlock, what, fail)
    error = refused(lambda: start(ground, tmp_path))
    assert (error.code, len(os.listdir("/proc/self/fd"))) == (code, before)
    assert f"the kernel said {number}" in str(error) or code == "SANDBOX_UNAVAILABLE"


def test_a_program_that_is_not_there_is_not_said_to_lie_outside(ground, tmp_path) -> None:
    error = refused(lambda: start(ground, tmp_path, program=str(ground.workspace / "missing")))
    assert (error.code, "its sandbox" in str(error)) == (ToolError.code, False)


DEEP = """
import ctypes, os, sys
from toolcrib.core.errors import ToolError
from toolcrib.sandbox import _landlock
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.landlock import start_restricted
from toolcrib.sandbox.spawn import Start
null = os.open(os.devnull, os.O_RDWR)
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
for _ in range(16):
    fd = _landlock.make_ruleset([("/", _landlock.everything(_landlock.version()), True)], network=True)
    assert ctypes.CDLL(None).syscall(446, fd, 0) == 0
    os.close(fd)
for _ in range(2):
    try:
        about = Start(["/usr/bin/touch", "started"], sys.argv[1], {"PATH": "/usr/bin:/bin"}, (null, null, null))
        start_restricted(Cage("landlock", sys.argv[1]), about, tmp=sys.argv[1])
    except ToolError as exc:
        assert (exc.code, exc.before_effect) == ("SANDBOX_UNAVAILABLE", True), exc
        print(exc)
    else:
        raise SystemExit("it was started")
"""


def test_what_cannot_be_restricted_is_not_started(drive, ground) -> None:
    """A caller that is itself as deep in Landlock as one can be."""
    said = drive(DEEP, str(ground.workspace)).stdout
    assert said.count("could not be confined") == 2
    assert os.listdir(ground.workspace) == ["file"]


def test_a_machine_that_is_not_known_starts_nothing(monkeypatch, ground, tmp_path) -> None:
    monkeypatch.setattr("platform.machine", lambda: "vax")
    (ground.workspace / "program").write_text("#!/bin/sh\ntouch started\n")
    (ground.workspace / "program").chmod(0o755)
    error = refused(lambda: start(ground, tmp_path, program=str(ground.workspace / "program")))
    assert (error.code, "vax" in str(error)) == ("SANDBOX_UNAVAILABLE", True)
    assert not (ground.workspace / "started").exists()
    assert "vax" in landlock.canary()


def test_without_descriptors_nothing_is_started(drive, ground) -> None:
    text = """
import os, resource, sys
from toolcrib.core.errors import ToolError
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.landlock import canary, start_restricted
from toolcrib.sandbox.spawn import Start
assert canary() == ""
null = os.open(os.devnull, os.O_RDWR)
taken = []
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
try:
    while True: taken.append(os.dup(null))
except OSError: pass
about = Start(["/usr/bin/touch", "started"], sys.argv[1], {"PATH": "/usr/bin:/bin"}, (null, null, null))
def go(): return start_restricted(Cage("landlock", sys.argv[1]), about, tmp=sys.argv[1])
for free in range(2):
    try: go()
    except ToolError as exc: print(exc.code)
    else: raise SystemExit("it was started")
    assert not os.path.exists(sys.argv[1] + "/started")
    os.close(taken.pop())
for fd in taken: os.close(fd)
assert os.waitpid(go(), 0)[1] == 0
"""
    assert set(drive(text, str(ground.workspace)).stdout.split()) == {"RESOURCE_EXHAUSTED"}
    assert sorted(os.listdir(ground.workspace)) == ["file", "started"]


FORBID = """
import ctypes, os, struct, sys
from toolcrib.sandbox import _landlock, landlock
class Program(ctypes.Structure): _fields_ = (("n", ctypes.c_ushort), ("ops", ctypes.c_char_p))
def forbid(call, error, argument=0, value=0):
    ops = b"".join(struct.pack("<HBBI", *op) for op in (
        (0x20, 0, 0, 0), (0x15, 0, 3, call), (0x20, 0, 0, 16 + 8 * argument),
        (0x15, 0, 1 if value else 0, value), (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7FFF0000)))
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)
    assert libc.prctl(22, 2, ctypes.byref(Program(6, ops)), 0, 0) == 0
"""
CANARY = "forbid(*map(int, sys.argv[1:])); print(landlock.canary())"


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (444, "ENOSYS", "Linux 5.13"),
        (444, "EOPNOTSUPP", "lsm="),
        (444, "EPERM", "seccomp profile"),
        (446, "EPERM", "seccomp profile"),
        (445, "EINVAL", "landlock_add_rule"),
    ],
)
def test_the_canary_says_why_not(drive, call, error, said) -> None:
    assert said in drive(FORBID + CANARY, str(call), str(getattr(errno, error))).stdout


@pytest.mark.parametrize(("error", "holds"), [("EINVAL", True), ("EPERM", False)])
def test_a_kernel_that_does_not_know_a_flag_of_filters_takes_them_without(drive, error, holds) -> None:
    call = numbers(machine())["seccomp"]
    said = drive(FORBID + CANARY, str(call), str(getattr(errno, error)), "1", "4").stdout.strip()
    assert (said == "") is holds, said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EIO, "a fault"), "a fault"),
        (AttributeError("syscall"), "another system"),
        (ToolError("the filter is not known"), "the filter is not known"),
        (OSError(errno.ENOSYS, ""), "Linux 5.13"),
        (OSError(errno.EOPNOTSUPP, ""), "lsm="),
        (OSError(errno.EPERM, ""), "seccomp profile"),
    ],
)
@pytest.mark.parametrize("asked", ["version", "make_ruleset"])
def test_the_canary_says_what_went_wrong(monkeypatch, tmp_path, error, said, asked) -> None:
    if asked == "make_ruleset" and isinstance(error, AttributeError):
        pytest.skip("it is noticed before")

    def fail(*_: object, **__: object) -> int:
        raise error

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(_landlock, asked, fail)
    assert said in landlock.canary()
    assert os.listdir(tmp_path) == []


def test_the_canary_leaves_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = len(os.listdir("/proc/self/fd"))
    assert [landlock.canary() for _ in range(20)] == [""] * 20
    assert os.listdir(tmp_path) == []
    assert len(os.listdir("/proc/self/fd")) == before


EVERYTHING = (
    "a file outside was read", "a file outside was opened to be written", "a file outside was emptied",
    "a file outside was made", "a file outside was removed", "a directory outside was listed",
    "a socket of the internet was made", "a socket of this machine was made",
)  # fmt: skip


@pytest.mark.parametrize(("ruled", "filtered"), [(False, False), (True, False), (False, True)])
def test_the_canary_notices_what_does_not_hold(monkeypatch, tmp_path, ruled, filtered) -> None:
    """As it would be with a kernel that says yes and does nothing, or half of it."""
    restrict, before = _landlock.restrict_this_thread, len(os.listdir("/proc/self/fd"))
    anything = _landlock.make_ruleset([("/", _landlock.everything(_landlock.version()), True)], network=True)
    all_calls = b"\x06\0\0\0\0\0\xff\x7f"  # the one instruction that allows them

    def partly(ruleset: int, calls: bytes) -> None:
        restrict(ruleset if ruled else anything, calls if filtered else all_calls)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(_landlock, "restrict_this_thread", partly)
    try:
        said = landlock.canary()
    finally:
        os.close(anything)
    assert [what for what in EVERYTHING if what in said] == [
        what for what in EVERYTHING if not (filtered if "socket" in what else ruled)
    ]
    assert (os.listdir(tmp_path), len(os.listdir("/proc/self/fd"))) == ([], before)


def test_the_canary_notices_what_is_refused_and_should_not_be(monkeypatch) -> None:
    monkeypatch.setattr(_landlock, "writing", lambda abi: _landlock.READING)
    assert "Permission denied" in landlock.canary()


def test_an_unconfined_start_is_what_it_was(ground, tmp_path) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    try:
        words = ["/bin/sh", "-c", f'cat {ground.secret} && test -z "$HOME"']
        pid = spawn.start(spawn.Start(words, "/", {"PATH": "/usr/bin:/bin"}, (null, null, null)))
        assert os.waitpid(pid, 0)[1] == 0
    finally:
        os.close(null)


# What the kernel is asked

NAMES = [
    "execute",
    "write_file",
    "read_file",
    "read_dir",
    "remove_dir",
    "remove_file",
    "make_char",
    "make_dir",
    "make_reg",
    "make_sock",
    "make_fifo",
    "make_block",
    "make_sym",
    "refer",
    "truncate",
    "ioctl_dev",
]
"""The kernel's names for its rights, from the lowest bit on."""


def named(rights: int) -> set[str]:
    assert rights >> len(NAMES) == 0
    return {name for bit, name in enumerate(NAMES) if rights >> bit & 1}


@pytest.mark.parametrize(("abi", "count"), [(1, 13), (2, 14), (3, 15), (4, 15), (5, 16), (6, 16), (7, 16)])
def test_each_version_knows_more_rights(abi, count) -> None:
    """What a kernel does not know it refuses, and what is not named it does not hold."""
    assert named(_landlock.everything(abi)) == set(NAMES[:count])
    assert named(_landlock.writing(abi)) == set(NAMES[:count]) - {"make_char", "make_block", "ioctl_dev"}
    assert named(_landlock.READING) == {"read_file", "read_dir", "execute"}
    assert named(_landlock.DEVICE) == {"read_file", "write_file"}


def came(act: Any) -> str:
    try:
        act()
    except OSError as exc:
        return errno.errorcode[exc.errno or 0]
    return "done"


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("abi", [1, 2, 3, 4, 5, 6])
def test_an_older_version_holds_what_it_can(monkeypatch, ground, abi, network) -> None:
    if _landlock.version() < abi:
        pytest.skip(f"this kernel has version {_landlock.version()}")
    monkeypatch.setattr(_landlock, "version", lambda: abi)
    inside = (str(ground.workspace), _landlock.writing(abi), False)
    with Ear() as tcp, Ear(socket.AF_UNIX, f"\0toolcrib-{ground.yard.id}") as abstract:

        def unix() -> None:
            with socket.socket(socket.AF_UNIX) as made:
                made.connect(abstract.socket.getsockname())

        def internet() -> None:
            with socket.socket(socket.AF_INET) as made:
                made.connect(tcp.socket.getsockname())

        thread = restricted(inside, network=network, contained=not network)
        try:
            assert thread.do(lambda: came(lambda: open(ground.secret).close())) == "EACCES"
            assert thread.do(lambda: came(lambda: open(ground.workspace / "file", "a").close())) == "done"
            assert thread.do(lambda: came(internet)) == ("done" if network or abi < 4 else "EACCES")
            assert thread.do(lambda: came(lambda: os.kill(os.getppid(), 0))) == ("done" if abi < 6 else "EPERM")
            unreached = "EACCES" if network else "done" if abi < 6 else "EPERM"
            assert thread.do(lambda: came(unix)) == unreached
        finally:
            thread.end()


@pytest.mark.parametrize(("abi", "how"), [(2, "EPERM"), (3, "done")])
def test_what_is_cut_by_its_name_is_cut_only_where_that_can_be_held(monkeypatch, ground, abi, how) -> None:
    monkeypatch.setattr(_landlock, "version", lambda: abi)
    assert ground.python("print(json.dumps(tried(lambda: os.truncate('file', 2))))") == how
    assert len((ground.workspace / "file").read_text()) == (2 if how == "done" else 9)


def test_a_single_file_can_be_written_and_nothing_beside_it(ground) -> None:
    path = ground.workspace / "file"
    thread = restricted((str(path), _landlock.everything(_landlock.version()), False))
    try:
        assert thread.do(lambda: came(lambda: path.write_text("cut"))) == "done"
        assert thread.do(lambda: came(lambda: (ground.workspace / "new").write_text("new"))) == "EACCES"
        assert thread.do(lambda: came(lambda: os.listdir(ground.workspace))) == "EACCES"
    finally:
        thread.end()
    assert path.read_text() == "cut"


@pytest.mark.parametrize("links", [False, True])
def test_a_link_is_followed_only_where_no_tool_can_have_put_one(ground, links) -> None:
    (ground.workspace / "link").symlink_to(ground.outside)
    thread = restricted((str(ground.workspace / "link"), _landlock.READING, links))
    try:
        assert thread.do(lambda: came(lambda: open(ground.secret).close())) == ("done" if links else "EACCES")
    finally:
        thread.end()


@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_without_room_no_rule_is_left_out(monkeypatch, ground, number, links) -> None:
    def full(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(_landlock.os, "open", full)
    monkeypatch.setattr(_landlock, "open_without_links", full)
    with pytest.raises(OSError) as failure:
        _landlock.make_ruleset([(str(ground.workspace), _landlock.READING, links)], network=False)
    assert failure.value.errno == number


def test_what_is_not_made_leaves_no_descriptor(ground) -> None:
    def rules() -> Any:
        yield str(ground.workspace), _landlock.READING, True
        yield str(ground.workspace / "missing"), _landlock.READING, True
        yield ground.secret, _landlock.READING, False
        raise Interrupted

    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Interrupted):
        _landlock.make_ruleset(rules(), network=False)
    with pytest.raises(OSError, match=f"landlock_add_rule for {ground.workspace}"):
        _landlock.make_ruleset([(str(ground.workspace), 0, True)], network=False)
    assert len(os.listdir("/proc/self/fd")) == before


HANDLES = """
import errno, fcntl, json
if sys.argv[2]: forbid(437, getattr(errno, sys.argv[2]))
def tried(path):
    try: fd = _landlock.open_without_links(path)
    except OSError as exc: return [errno.errorcode[exc.errno], exc.filename == path]
    try: return [os.readlink(f"/proc/self/fd/{fd}"), fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_PATH > 0, os.get_inheritable(fd)]
    finally: os.close(fd)
os.chdir(sys.argv[1])
before = os.listdir("/proc/self/fd")
said = [tried(path) for path in (sys.argv[1] + "/real/file", sys.argv[1] + "/real", sys.argv[1] + "/real/./file",
    sys.argv[1] + "/link", sys.argv[1] + "/link/file", sys.argv[1] + "/missing")]
assert os.listdir("/proc/self/fd") == before
print(json.dumps(said))
"""


@pytest.mark.parametrize("hidden", ["", "ENOSYS", "EPERM", "EACCES"])
def test_a_handle_is_on_what_has_the_path_and_no_link_leads_there(drive, tmp_path, hidden) -> None:
    """Also in a container that hides the call for it."""
    root = tmp_path.resolve()
    (root / "real").mkdir()
    (root / "real" / "file").touch()
    (root / "link").symlink_to("real")
    said = json.loads(drive(FORBID + HANDLES, str(root), hidden).stdout)
    if hidden == "EACCES":
        assert said == [["EACCES", True]] * 6
    else:
        file = [f"{root}/real/file", True, False]
        assert said == [file, [f"{root}/real", True, False], file, ["ELOOP", True], ["ELOOP", True], ["ENOENT", True]]
