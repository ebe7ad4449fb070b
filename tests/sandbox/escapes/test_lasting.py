"""What a program could leave behind or use up: each in a run of its own, with small numbers, and seen from outside."""

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.escapes.trial import sandbox
from tests.sandbox.escapes.yard import Yard

from toolcrib.core.limits import Limits
from toolcrib.core.process import Command, Completed
from toolcrib.sandbox import _landlock, _restricted, bubblewrap, landlock
from toolcrib.sandbox.cage import Bounds, Cage
from toolcrib.sandbox.confined import Confined
from toolcrib.sandbox.shield import MOST

TIERS = ("landlock", "bubblewrap")
MIB = 1 << 20
NONE = Bounds()
STAY = """
import fcntl, os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.alarm(60)                                   # whatever happens, nothing stays for good
fcntl.flock(os.open("lock", os.O_RDWR), fcntl.LOCK_EX)
os.write(int(sys.argv[1]), b"x")                   # it is there
os.close(int(sys.argv[1]))
os.open("stop", os.O_RDONLY)                       # until somebody outside opens the other end
"""
LEAVE = """
import os, subprocess, sys
reads, writes = os.pipe()
os.set_inheritable(writes, True)
def stay(env):
    os.execve(sys.executable, [sys.executable, "-I", "-S", "stay.py", str(writes)], env)
how = sys.argv[1]
if os.fork() == 0:
    if how != "child":
        os.setsid()
    if how in ("daemon", "forgetful") and os.fork():
        os._exit(0)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    stay({} if how == "forgetful" else dict(os.environ))
os.close(writes)
os.read(reads, 1)
print("left", flush=True)
"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., tuple[Completed, Yard]]]:
    """`run(tier, code, *args)` runs Python text in that tier, and gives how it ended and where."""
    root = tmp_path / "run"
    root.mkdir()
    with sandbox(str(root)) as (processes, yard):

        def python(tier: str, code: str, *args: str, bounds: Bounds = NONE, keep: int = MIB) -> tuple[Completed, Yard]:
            why = {"landlock": landlock.canary, "bubblewrap": bubblewrap.canary}.get(tier, str)()
            if why:
                pytest.skip(f"{tier} does not hold here: {why}")
            Path(yard.workspace, "program.py").write_text(code)
            prefix = tuple({os.path.realpath(sys.base_prefix), os.path.realpath(sys.base_exec_prefix)})
            cage = Cage(tier=tier, workspace=yard.workspace, readable=prefix, bounds=bounds)
            mark = f"{os.path.basename(processes.scratch.root).removeprefix('toolcrib-')}-1"
            command = Command(
                (os.path.realpath(sys.executable), "-I", "-S", "program.py", *args), yard.workspace, mark,
                {"PATH": "/usr/bin:/bin", "HOME": yard.home, "TOOLCRIB_CALL_ID": mark}, limits=Limits(60, keep),
            )  # fmt: skip

            async def once() -> Completed:
                async with asyncio.timeout(60):
                    return await Confined(processes, cage).exec(command)

            return asyncio.run(once()), yard

        yield python


@pytest.fixture
def stays(run: Any, tmp_path: Path) -> Iterator[Callable[..., bool]]:
    """`stays(tier, how)`: whether something of a program is alive when its call is over."""
    stops: list[int] = []

    def left(tier: str, how: str, seconds: float = 5) -> bool:
        workspace = Path(tmp_path, "run", "ground", "home", "project")
        (workspace / "stay.py").write_text(STAY)
        (workspace / "lock").touch()
        os.mkfifo(workspace / "stop")
        done, _ = run(tier, LEAVE, how)
        assert done.stdout.head == b"left\n", done.stderr.text()
        lock = os.open(workspace / "lock", os.O_RDWR)
        try:
            return not _free(lock, seconds)
        finally:
            os.close(lock)
            stops.append(os.open(workspace / "stop", os.O_RDWR))  # whoever stays may go

    yield left
    for each in stops:
        os.close(each)


def _free(lock: int, seconds: float) -> bool:
    """Whether nobody holds it; one who was killed a moment ago lets go of it a moment later."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(0.01)
    return False


@pytest.mark.parametrize("tier", ("process", *TIERS))
@pytest.mark.parametrize("how", ["child", "session", "daemon"])
def test_nothing_outlives_its_call(stays, tier: str, how: str) -> None:
    """Children, also those that left their session or were handed on to the first process of the system."""
    assert not stays(tier, how)


def test_one_that_forgets_its_environment_outlives_its_call_where_nothing_confines_it(stays) -> None:
    """A known gap: it is found by a mark in its environment. If this fails the gap is closed, and the pages say less."""
    assert stays("process", "forgetful", seconds=0.5)


@pytest.mark.parametrize("tier", TIERS)
def test_confined_that_does_not_help(stays, tier: str) -> None:
    """Landlock ends all that was started with the rights of the call, and bubblewrap the namespace."""
    if tier == "landlock" and not _landlock.keeps_signals():
        pytest.skip("the Landlock of this kernel does not keep signals inside, so nothing could be ended by it")
    assert not stays(tier, "forgetful")


FORK = """
import os
log = os.open("children", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
for _ in range(200):
    try:
        if os.fork() == 0:
            os.write(log, b"x"); os.read(os.pipe()[0], 1); os._exit(0)
    except OSError:
        break
print("done", flush=True)
"""


@pytest.mark.skipif(os.geteuid() == 0, reason="the system counts no processes of root")
def test_a_heap_of_processes_is_bounded(run) -> None:
    done, yard = run("bubblewrap", FORK, bounds=Bounds(processes=40))
    assert done.stdout.head == b"done\n"
    assert 0 < os.path.getsize(f"{yard.workspace}/children") <= 40


@pytest.mark.parametrize("tier", TIERS)
def test_a_heap_of_processes_is_gone_with_its_call(run, carriers, tier: str) -> None:
    done, yard = run(tier, FORK + "print(os.environ['TOOLCRIB_CALL_ID'], flush=True)")
    mark = done.stdout.text().split()[1]
    assert os.path.getsize(f"{yard.workspace}/children") > 100
    assert carriers(mark) == []


@pytest.mark.parametrize("told", [None, []])
def test_what_nobody_can_tell_of_is_ended_by_its_mark(run, carriers, monkeypatch: pytest.MonkeyPatch, told) -> None:
    """As where another program has the same rights. If it is told that nothing is left, that is believed."""
    monkeypatch.setattr(_restricted, "_ended_all", lambda thread, born: told)
    fork = FORK.replace("os.write(log", "os.setsid(); os.write(log")
    done, yard = run("landlock", fork + "print(os.environ['TOOLCRIB_CALL_ID'], flush=True)")
    assert os.path.getsize(f"{yard.workspace}/children") > 100
    left = carriers(done.stdout.text().split()[1])
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert (left == []) == (told is None)


HIDE = """
import os, signal
for _ in range(100):
    if os.fork() == 0:
        os.setsid()
        os.execve("/bin/sleep", ["sleep", "600.25"], {})
print("done", flush=True)
"""


def test_also_what_hides_is_dead_when_the_call_is_over(run) -> None:
    """It has no mark any more. What still is in the middle of a write could change something after the last look."""
    if not _landlock.keeps_signals():
        pytest.skip("the Landlock of this kernel does not keep signals inside, so nothing could be ended by it")
    for _ in range(3):
        done, _ = run("landlock", HIDE)
        assert done.stdout.text() == "done\n"
        assert running("sleep\x00600.25") == []


def running(words: str) -> list[str]:
    """The processes that have these words, and are not dead."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if words.encode() in Path("/proc", pid, "cmdline").read_bytes():
                found.append(pid)
    return found


ALLOCATE = "got = bytearray(192 << 20); got[:: 4096] = bytes(len(got[:: 4096])); open('got', 'w').close()"
GROW = """
import os
fd = os.open("grown", os.O_CREAT | os.O_WRONLY, 0o600)
for _ in range(16):
    os.write(fd, bytes(1 << 20))
"""
SPIN = """
import time
while time.process_time() < 1.5:
    pass
open("spun", "w").close()
"""


@pytest.mark.parametrize("tier", TIERS)
def test_memory_is_bounded(run, tier: str) -> None:
    """K49"""
    done, yard = run(tier, ALLOCATE, bounds=Bounds(memory_bytes=128 * MIB))
    assert (done.code != 0, os.path.exists(f"{yard.workspace}/got")) == (True, False)


@pytest.mark.parametrize("tier", TIERS)
def test_the_length_of_a_file_is_bounded(run, tier: str) -> None:
    done, yard = run(tier, GROW, bounds=Bounds(file_bytes=2 * MIB))
    assert done.code != 0
    assert os.path.getsize(f"{yard.workspace}/grown") == 2 * MIB


@pytest.mark.parametrize("tier", TIERS)
def test_time_on_the_processor_is_bounded(run, tier: str) -> None:
    done, yard = run(tier, SPIN, bounds=Bounds(cpu_seconds=1))
    assert done.code in (128 + signal.SIGXCPU, 128 + signal.SIGKILL)
    assert not os.path.exists(f"{yard.workspace}/spun")


@pytest.mark.parametrize("tier", TIERS)
def test_bounds_cannot_be_raised_again(run, tier: str) -> None:
    """Also not by root, who may otherwise."""
    raise_them = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 20, 16 << 20))\n"
    _, yard = run(tier, raise_them + GROW, bounds=Bounds(file_bytes=2 * MIB))
    path = f"{yard.workspace}/grown"
    assert not os.path.exists(path) or os.path.getsize(path) <= 2 * MIB


def test_without_bounds_none_of_this_is_held(run) -> None:
    """Otherwise the tests above would say nothing."""
    _, yard = run("process", f"{GROW}{SPIN}{ALLOCATE}")
    assert os.path.getsize(f"{yard.workspace}/grown") == 16 * MIB
    assert {"got", "spun"} <= set(os.listdir(yard.workspace))


FILL = """
import os, sys
fd = os.open(sys.argv[1] + "/filling", os.O_CREAT | os.O_WRONLY, 0o600)
try:
    os.posix_fallocate(fd, 0, 1 << 30)
    print("room", flush=True)
except OSError as exc:
    print(exc, flush=True)
"""


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "home"])
def test_what_is_private_has_little_room_in_bubblewrap(run, tmp_path: Path, place: str) -> None:
    """It is memory. A gigabyte is asked for at once, and nothing of it is used."""
    where = str(tmp_path / "run" / "ground" / "home") if place == "home" else place
    done, _ = run("bubblewrap", FILL, where)
    assert "room" not in done.stdout.text() and "No space left" in done.stdout.text()
    assert not os.path.exists(f"{where}/filling")


@pytest.mark.parametrize("tier", TIERS)
def test_a_flood_is_drained_and_counted(run, tier: str) -> None:
    """A37. A quarter of a gigabyte, of which little is kept."""
    done, _ = run(tier, "import os\nfor _ in range(4096): os.write(1, bytes(65536))", keep=65536)
    assert (done.code, done.stdout.total) == (0, 4096 * 65536)
    assert len(done.stdout.head) + len(done.stdout.tail) <= 65536


MANY = """
import os
changed = 0
for name in os.listdir("many"):
    try:
        open(f"many/{name}/.envrc", "w").close()
        changed += 1
    except OSError:
        pass
print(changed)
"""


def test_bubblewrap_holds_as_many_protected_places_as_the_page_says(run, tmp_path: Path) -> None:
    """A known bound. If this fails more or fewer are held, and the page says something else. The others are put back."""
    many = tmp_path / "run" / "ground" / "home" / "project" / "many"
    for number in range(MOST + 6):
        (many / str(number)).mkdir(parents=True)
        (many / str(number) / ".envrc").write_text("as it was")
    done, _ = run("bubblewrap", MANY)
    assert done.stdout.text() == "6\n"
    assert {path.read_text() for path in many.glob("*/.envrc")} == {"as it was"}
    assert f"the nearest {MOST} are held" in (Path(__file__).parents[3] / "docs" / "confinement.md").read_text()
