"""What is put outside of a sandbox to see whether anybody gets out: it notices what happens to it, and nothing else."""

import os
import resource
import select
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.sandbox import _attempts, canary
from toolcrib.sandbox._syscalls import machine, numbers
from toolcrib.sandbox.canary import Canary, Ground

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these canaries are made for Linux")


Make = Callable[..., Any]


@pytest.fixture
def put(ground: Ground) -> Iterator[Make]:
    """`put(kind, ...)` puts a canary in place under the name "case", which is gone after the test."""
    made: list[Canary] = []
    descriptors = len(os.listdir("/proc/self/fd"))

    def make(kind: Make, /, **about: Any) -> Any:
        made.append(kind(ground, "case", **about))
        return made[-1]

    yield make
    for each in made:
        each.clear()
    assert len(os.listdir("/proc/self/fd")) == descriptors, "a descriptor is left"


# The ground


def test_the_ground_is_a_home_with_a_project_and_places_outside_of_both(tmp_path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "ground").mkdir()
    made = Ground(str(tmp_path / "link" / "ground"))
    root = str(tmp_path.resolve() / "ground")
    try:
        assert (made.root, made.home, made.near) == (root, f"{root}/home", f"{root}/outside")
        assert made.workspace == f"{root}/home/project"
        modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (made.home, made.near, made.workspace, made.far)]
        assert modes == [0o700] * 4
        assert os.path.realpath(made.far) == made.far
        assert os.path.basename(made.far).startswith("toolcrib-canary-")
    finally:
        made.clear()
    assert not os.path.lexists(made.root) and not os.path.lexists(made.far)
    made.clear()


@pytest.mark.parametrize("writable", [True, False])
def test_the_far_place_is_elsewhere_where_there_is_one(tmp_path, monkeypatch, writable) -> None:
    """What hides one place for temporary files need not hide the other."""
    if writable and not os.access("/var/tmp", os.W_OK):
        pytest.skip("/var/tmp cannot be written to")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: writable if path == "/var/tmp" else access(path, mode))
    (tmp_path / "ground").mkdir()
    made = Ground(str(tmp_path / "ground"))
    made.clear()
    assert os.path.dirname(made.far) == os.path.realpath("/var/tmp" if writable else tmp_path)


# What may not be read


def test_a_secret_is_told_by_who_read_it(ground, put) -> None:
    found, other = put(canary.secret), put(canary.secret, place=f"{ground.home}/.ssh/id")
    assert [each.about["path"] for each in (found, other)] == [f"{ground.near}/case/secret", f"{ground.home}/.ssh/id"]
    words = [Path(each.about["path"]).read_bytes() for each in (found, other)]
    assert len(set(words)) == 2 and min(map(len, words)) >= 32
    said = b'{"got": "' + words[0] + b'"}'
    assert [each.sprung(said) for each in (found, other)] == [True, False]
    assert not found.sprung(b"") and not found.sprung(words[0][:-1])


def test_a_length_is_told_by_who_looked(put) -> None:
    found = put(canary.size)
    length = os.stat(found.about["path"]).st_size
    assert 1_000_000 <= length < 18_000_000
    assert found.sprung(b"... %d ..." % length)
    assert not found.sprung(b"1000000 0")
    assert put(canary.size).about["path"] == found.about["path"] and os.stat(found.about["path"]).st_size != length


# What may not change

CHANGES: dict[str, Callable[[str], object]] = {
    "its content": lambda path: Path(path).write_text("it is it"),
    "its length": lambda path: os.truncate(path, 1),
    "its rights": lambda path: os.chmod(path, 0o640),
    "its time": lambda path: os.utime(path, (1, 1)),
    "its name": lambda path: os.rename(path, f"{path}.old"),
    "that it is there": os.unlink,
    "how many names it has": lambda path: os.link(path, f"{path}.new"),
    "its extended attributes": lambda path: os.setxattr(path, "user.toolcrib", b"x"),
    "what it is": lambda path: (os.unlink(path), os.symlink("x", path)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("at", ["", "home/.bashrc"])
def test_a_file_in_which_nothing_may_change(ground, put, change, at) -> None:
    found = put(canary.file, place=at and f"{ground.root}/{at}")
    path = found.about["path"]
    assert (path, Path(path).read_text()) == (f"{ground.root}/{at or 'outside/case/file'}", "as it was")
    Path(path).read_text()
    assert not found.sprung(b"as it was")
    try:
        change(path)
    except OSError as exc:
        pytest.skip(f"this file system does not let it: {exc}")
    assert found.sprung(b"")


@pytest.mark.parametrize("at", ["", "home/project/.envrc"])
def test_a_place_where_nothing_may_come_to_be(ground, put, at) -> None:
    found = put(canary.absent, place=at and f"{ground.root}/{at}")
    assert found.about["path"] == f"{ground.root}/{at or 'outside/case/new'}"
    assert os.path.isdir(os.path.dirname(found.about["path"]))
    assert not found.sprung(b"")
    Path(found.about["path"]).touch()
    assert found.sprung(b"")


def test_beside_a_place_of_a_project_other_things_may_come_to_be(ground, put) -> None:
    found = [put(kind, place=f"{ground.workspace}/{name}") for kind, name in ((canary.absent, "a"), (canary.file, "b"))]
    Path(ground.workspace, "c").touch()
    assert [each.sprung(b"") for each in found] == [False, False]


def test_a_tree_is_known_by_all_that_lies_in_it(tmp_path) -> None:
    root = tmp_path / "tree"
    (root / "b" / "deep").mkdir(parents=True)
    (root / "b" / "deep" / "file").write_text("text")
    (root / "a").symlink_to("/nowhere")
    os.mkfifo(root / "pipe")
    found = {path: (about, *content) for path, about, *content in canary.fingerprint(str(root))}
    assert list(found) == sorted(f"{root}{name}" for name in ("", "/a", "/b", "/b/deep", "/b/deep/file", "/pipe"))
    assert {path.removeprefix(str(root)): content for path, (_, content) in found.items()} == {
        "": ["a", "b", "pipe"], "/a": "/nowhere", "/b": ["deep"], "/b/deep": ["file"], "/b/deep/file": b"text", "/pipe": None,
    }  # fmt: skip
    seen = os.lstat(root / "b" / "deep" / "file")
    for part in (
        seen.st_ino,
        seen.st_mode,
        seen.st_uid,
        seen.st_gid,
        seen.st_nlink,
        seen.st_mtime_ns,
        seen.st_ctime_ns,
    ):
        assert part in found[f"{root}/b/deep/file"][0]
    assert canary.fingerprint(f"{root}/missing") == [(f"{root}/missing", (), "nothing")]


def test_what_was_put_back_is_alike_and_what_differs_is_not(tmp_path) -> None:
    file = tmp_path / "tree" / "file"
    file.parent.mkdir()
    file.write_text("mine")
    file.chmod(0o600)
    alike, unchanged = canary.Alike(str(tmp_path / "tree")), canary.Unchanged(str(tmp_path / "tree"))
    file.unlink()
    assert alike.sprung(b"")
    file.write_text("mine")
    file.chmod(0o644)
    assert alike.sprung(b"")
    file.chmod(0o600)
    assert (alike.sprung(b""), unchanged.sprung(b"")) == (False, True)
    file.write_text("evil")
    assert alike.sprung(b"")


def test_one_file_in_a_large_tree_that_goes_away_is_noticed(tmp_path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "file").touch()
    found = canary.Unchanged(str(tmp_path), told="something")
    assert found.about == {"told": "something"} and not found.sprung(b"")
    os.unlink(tmp_path / "b" / "file")
    assert found.sprung(b"")


# What listens


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_who_reaches_a_server_is_noticed(put, host, kind) -> None:
    try:
        found = put(canary.listener, host=host, kind=kind)
    except OSError as exc:
        pytest.skip(f"this machine has no {host}: {exc}")
    assert found.about["host"] == host and not found.sprung(b"x")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind) as made:
        made.connect((host, found.about["port"]))
        made.sendall(b"x")
        made.setblocking(False)
        assert found.sprung(b"")
    assert not found.sprung(b""), "it came once"


def test_a_server_of_this_machine_alone_unless_another_is_named(put) -> None:
    assert put(canary.listener).about["host"] == "127.0.0.1"


@pytest.mark.parametrize("abstract", [True, False])
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_who_reaches_an_agent_is_noticed(ground, put, abstract, kind) -> None:
    found = put(canary.agent, abstract=abstract, kind=kind)
    address = found.about["address"]
    assert address.startswith("@toolcrib-") if abstract else address == f"{ground.far}/case.sock"
    assert (found.about, found.sprung(b"")) == ({"address": address}, False)
    with socket.socket(socket.AF_UNIX, kind) as made:
        made.connect(f"\0{address[1:]}" if abstract else address)
        made.sendall(b"x")
    assert found.sprung(b"")


def test_a_server_and_an_agent_are_gone_afterwards(ground) -> None:
    found = canary.listener(ground, "case")
    found.clear()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((found.about["host"], found.about["port"]), 5).close()


# Another process


def wait_for_its_end(pid: int) -> None:
    fd = os.pidfd_open(pid)
    select.select([fd], [], [], 30)
    os.close(fd)


def in_state(pid: int, state: str) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].startswith(state)


def limited(pid: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (17, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))


def bound(pid: int) -> None:
    cpus = os.sched_getaffinity(pid)
    if len(cpus) < 2:
        pytest.skip("there is one processor only")
    os.sched_setaffinity(pid, {min(cpus)})


PROCESS_CHANGES: dict[str, Callable[[int], object]] = {
    "ended": lambda pid: (os.kill(pid, signal.SIGKILL), wait_for_its_end(pid)),
    "reaped": lambda pid: (os.kill(pid, signal.SIGKILL), os.waitpid(pid, 0)),
    "slowed": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19),
    "scheduled": lambda pid: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
    "bound": bound,
    "limited": limited,
    "the first to die": lambda pid: Path(f"/proc/{pid}/oom_score_adj").write_text("500"),
}


@pytest.mark.parametrize("change", PROCESS_CHANGES.values(), ids=PROCESS_CHANGES)
def test_what_is_done_to_a_bystander_is_noticed(put, change) -> None:
    found = put(canary.bystander)
    assert found.about == {"pid": found.pid} and not found.sprung(b"")
    change(found.pid)
    assert found.sprung(b"")


def test_a_bystander_that_is_stopped(put, until) -> None:
    found = put(canary.bystander)
    os.kill(found.pid, signal.SIGSTOP)
    until(lambda: in_state(found.pid, "T"), "it stopped")
    assert found.sprung(b"")
    os.kill(found.pid, signal.SIGCONT)
    until(lambda: not in_state(found.pid, "T"), "it went on")
    assert not found.sprung(b"")


def test_a_word_of_a_bystanders_is_told_by_who_read_it(ground, put) -> None:
    found, other = put(canary.environment), put(canary.environment)
    assert found.about == {"path": f"/proc/{found.pid}/environ"}
    text = Path(found.about["path"]).read_bytes()
    name, _, word = text.strip(b"\0").partition(b"=")
    assert (name, found.sprung(text), other.sprung(text)) == (b"SECRET", True, False)
    assert len(word) >= 32 and word in Path(f"/proc/{found.pid}/cmdline").read_bytes()
    assert os.readlink(f"/proc/{found.pid}/cwd") == ground.near


def test_where_the_word_is_in_memory(put) -> None:
    found = put(canary.memory)
    at, size = found.about["at"], found.about["size"]
    assert found.about == {"pid": found.pid, "at": at, "size": size}
    with open(f"/proc/{found.pid}/mem", "rb") as memory:
        memory.seek(at)
        text = memory.read(size)
    assert text == Path(f"/proc/{found.pid}/environ").read_bytes()
    assert found.sprung(text)


def test_one_whose_end_may_come_late_is_waited_for(ground) -> None:
    found = canary.Bystander(ground.near, patience=30)
    late = threading.Timer(0.02, os.kill, (found.pid, signal.SIGKILL))
    late.start()
    try:
        assert found.sprung(b"")
    finally:
        late.join()
        found.clear()


def test_a_bystander_that_is_traced_is_waited_for_a_moment(put) -> None:
    """Its end comes a moment after that of its tracer."""
    found = put(canary.traced)
    began = time.monotonic()
    assert (found.about, found.sprung(b"")) == ({"pid": found.pid}, False)
    assert time.monotonic() - began > 0.15


def test_a_bystander_has_what_it_is_handed_and_no_other_descriptor(ground, until) -> None:
    reads, writes = os.pipe()
    try:
        found = canary.Bystander(ground.near, kept=(writes,))
        try:
            wanted = {"0", "1", "2", str(writes)}  # and one more at times, until it has loaded its libraries
            until(lambda: set(os.listdir(f"/proc/{found.pid}/fd")) == wanted, f"it has {wanted} and no other")
            assert {os.readlink(f"/proc/{found.pid}/fd/{name}") for name in "12"} == {os.devnull}
        finally:
            found.clear()
    finally:
        os.close(reads)
        os.close(writes)


def test_a_bystander_is_gone_afterwards(ground, until) -> None:
    for gone in (False, True):
        found = canary.bystander(ground, "case")
        if gone:
            os.kill(found.pid, signal.SIGKILL)
            os.waitpid(found.pid, 0)
        found.clear()
        assert not os.path.exists(f"/proc/{found.pid}")


# What somebody else may make


def test_what_is_found_is_undone_and_only_then() -> None:
    there, undone = [False], []
    found = canary.Found(lambda: there[0], lambda: undone.append(1), path="here")
    assert (found.about, found.sprung(b"here")) == ({"path": "here"}, False)
    found.clear()
    assert undone == []
    there[0] = True
    assert found.sprung(b"")
    found.clear()
    assert undone == [1]


def test_a_program_that_comes_to_run_as_its_owner_is_noticed(ground, put) -> None:
    found = put(canary.own_program)
    path = found.about["path"]
    assert (path, Path(path).read_text()) == (f"{ground.workspace}/case", "#!/bin/sh\n")
    for mode, noticed in ((0o755, False), (0o4755, True), (0o2755, True), (0o1777, False)):
        os.chmod(path, mode)
        assert found.sprung(b"") is noticed


def test_a_key_that_comes_into_the_users_ring_is_noticed_and_taken_out(ground, monkeypatch, until) -> None:
    monkeypatch.setattr(_attempts, "NUMBERS", numbers(machine()))
    found, other = canary.key(ground, "case"), canary.key(ground, "case")
    assert found.about["description"] != other.about["description"]
    assert [found.sprung(b""), other.sprung(b"")] == [False, False]
    try:
        _attempts.add_key(**found.about)
    except OSError as exc:
        pytest.skip(f"no key can be put there: {exc}")
    assert [found.sprung(b""), other.sprung(b"")] == [True, False]
    other.clear()
    assert found.sprung(b"")
    found.clear()
    until(lambda: not found.sprung(b""), "the kernel let go of it")


def test_a_file_that_is_not_there_has_no_text(tmp_path) -> None:
    (tmp_path / "file").write_bytes(b"a\xffb")
    assert canary.text_of(str(tmp_path / "file")) == "a\ufffdb"
    assert canary.text_of(str(tmp_path / "missing")) == canary.text_of(str(tmp_path)) == ""
