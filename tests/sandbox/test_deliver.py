"""Putting a file into an open directory, alone and whole."""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.sandbox import _deliver
from toolcrib.sandbox._deliver import alone_in, deliver, directories


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory; we stand in another one, where everything has the same names."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("file", "new"):
        (elsewhere / name).write_bytes(b"elsewhere")
    monkeypatch.chdir(elsewhere)
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


@pytest.fixture
def fd(folder: Path) -> Iterator[int]:
    fd = os.open(folder, os.O_PATH if hasattr(os, "O_PATH") else os.O_RDONLY)
    before = len(os.listdir("/dev/fd"))
    yield fd
    assert len(os.listdir("/dev/fd")) == before, "a descriptor is left open"
    os.close(fd)


def without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    exists = os.path.exists
    monkeypatch.setattr(_deliver.os.path, "exists", lambda path: path != "/proc/self/fd" and exists(path))


def without_nameless_files(monkeypatch: pytest.MonkeyPatch) -> None:
    opens = os.open

    def fails(path: Any, flags: int, *args: Any, **about: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return opens(path, flags, *args, **about)

    monkeypatch.setattr(_deliver.os, "open", fails)


HOW = {"without a name": lambda patch: None, "no /proc": without_proc, "no nameless files": without_nameless_files}


@pytest.fixture(params=HOW)
def anyhow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """By a file that has no name until it is whole, and by a draft where there is no such thing."""
    HOW[request.param](monkeypatch)
    return str(request.param)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def an_old_one(folder: Path, mode: int = 0o640) -> os.stat_result:
    (folder / "file").write_bytes(b"old")
    (folder / "file").chmod(mode)
    return (folder / "file").stat()


def test_a_new_file_is_whole_and_what_came_of_it_is_told(folder: Path, fd: int, anyhow: str) -> None:
    told = deliver(fd, "new", b"x" * 100_000)
    assert content(folder) == {"new": b"x" * 100_000}
    now = (folder / "new").stat()
    assert (told.st_ino, told.st_size, told.st_mtime_ns) == (now.st_ino, 100_000, now.st_mtime_ns)


def test_a_new_file_can_be_read_by_those_whom_the_umask_lets(folder: Path, fd: int, anyhow: str) -> None:
    before = os.umask(0)
    try:
        deliver(fd, "new", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "new").stat().st_mode) == 0o644


def test_a_file_takes_the_place_of_another(folder: Path, fd: int, anyhow: str) -> None:
    like = an_old_one(folder, 0o6751)
    os.link(folder / "file", folder / "second name")
    told = deliver(fd, "file", b"new", like=like)
    assert content(folder) == {"file": b"new", "second name": b"old"}
    now = (folder / "file").stat()
    assert (stat.S_IMODE(now.st_mode), told.st_ino) == (0o751, now.st_ino)
    assert now.st_ino != like.st_ino
    assert Path("file").read_bytes() == b"elsewhere"


@pytest.mark.parametrize("other", ["file", "directory", "link"])
def test_a_new_file_replaces_nothing(folder: Path, fd: int, anyhow: str, other: str) -> None:
    taken = folder / "new"
    if other == "file":
        taken.write_bytes(b"mine")
    elif other == "directory":
        taken.mkdir()
    else:
        taken.symlink_to("nothing")
    with pytest.raises(FileExistsError):
        deliver(fd, "new", b"other")
    assert os.listdir(folder) == ["new"]
    assert other != "file" or taken.read_bytes() == b"mine"


def test_nobody_sees_half_of_it(folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is whole it has no name, so that a process that is killed leaves nothing; and it is private."""
    like = an_old_one(folder, 0o666)
    seen: list[tuple[list[str], int, int]] = []
    chmod, link = os.fchmod, os.link

    def look(of: int) -> None:
        about = os.fstat(of)
        seen.append((sorted(os.listdir(folder)), stat.S_IMODE(about.st_mode), about.st_size))

    def fchmod(of: int, mode: int) -> None:
        look(of)
        chmod(of, mode)

    def links(source: str, target: str, **about: Any) -> None:
        look(int(source.rpartition("/")[2]))
        link(source, target, **about)

    monkeypatch.setattr(_deliver.os, "fchmod", fchmod)
    monkeypatch.setattr(_deliver.os, "link", links)
    monkeypatch.chdir("/proc")  # where nothing can be made
    deliver(fd, "file", b"four", like=like)
    deliver(fd, "new", b"five!")
    assert seen[0] == (["file"], 0o600, 4)
    assert [names for names, _, _ in seen] == [["file"], ["file"], ["file"]]
    assert [size for _, _, size in seen] == [4, 4, 5]


@pytest.mark.parametrize(("name", "step"), [("file", "fchmod"), ("file", "replace"), ("new", "link")])
def test_what_fails_leaves_everything_as_it_was(
    folder: Path, fd: int, anyhow: str, monkeypatch: pytest.MonkeyPatch, name: str, step: str
) -> None:
    like = an_old_one(folder) if name == "file" else None

    def fails(*args: object, **about: object) -> None:
        raise OSError(errno.EIO, "it fails")

    monkeypatch.setattr(_deliver.os, step, fails)
    with pytest.raises(OSError, match="it fails"):
        deliver(fd, name, b"new", like=like)
    assert content(folder) == ({"file": b"old"} if like else {})


def without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system that has none."""

    def refuses(*args: object, **about: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(_deliver.os, "link", refuses)
    without_nameless_files(monkeypatch)


def test_where_no_file_has_two_names_a_new_one_is_made_all_the_same(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_links(monkeypatch)
    deliver(fd, "new", b"made")
    assert content(folder) == {"new": b"made"}


@pytest.mark.parametrize("target", ["nothing", ""])
def test_where_no_file_has_two_names_nothing_is_replaced_either(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    if target:
        (folder / "new").symlink_to(target)
    else:
        (folder / "new").write_bytes(b"mine")
    without_links(monkeypatch)
    with pytest.raises(FileExistsError, match="new"):
        deliver(fd, "new", b"made")
    assert os.listdir(folder) == ["new"]
    assert target or (folder / "new").read_bytes() == b"mine"


def test_an_owner_whom_we_may_not_give_it_to_does_not_stop_it(
    folder: Path, fd: int, anyhow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = an_old_one(folder)
    asked: list[tuple[int, int]] = []

    def refuses(of: int, owner: int, group: int) -> None:
        asked.append((owner, group))
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(_deliver.os, "fchown", refuses)
    fields = list(about)
    fields[stat.ST_GID] = about.st_gid + 1
    deliver(fd, "file", b"new", like=os.stat_result(fields))
    assert (content(folder), asked) == ({"file": b"new"}, [(about.st_uid, about.st_gid + 1)])
    assert stat.S_IMODE((folder / "file").stat().st_mode) == 0o640


# One at a time


def taken(folder: Path) -> int:
    """A descriptor by which another writer holds the directory."""
    holder = os.open(folder, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    return holder


def is_free(folder: Path) -> bool:
    other = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(other)
    return True


@pytest.mark.parametrize("fails", [False, True])
def test_the_directory_is_held_as_long_as_it_takes(folder: Path, fd: int, fails: bool) -> None:
    try:
        with alone_in(fd):
            assert not is_free(folder)
            assert is_free(Path.cwd())
            if fails:
                raise ValueError
    except ValueError:
        assert fails
    assert is_free(folder)


def test_another_writer_is_waited_for(folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    holder, waits = taken(folder), []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 19:
            fcntl.flock(holder, fcntl.LOCK_UN)

    monkeypatch.setattr(_deliver.time, "sleep", sleep)
    with alone_in(fd):
        assert not is_free(folder)
    assert 0 < sum(waits) < 0.1
    os.close(holder)


def test_a_writer_who_does_not_end_is_an_error_before_anything_was_done(folder: Path, fd: int) -> None:
    holder = taken(folder)
    with pytest.raises(ToolError, match="try again") as caught:
        with alone_in(fd):
            raise AssertionError("it is not alone")
    assert (caught.value.code, caught.value.before_effect) == ("RESOURCE_EXHAUSTED", True)
    os.close(holder)


def test_where_there_are_no_locks_it_goes_on_without(folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def flock(of: int, how: int) -> None:
        tries.append(how)
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with alone_in(fd):
        (folder / "new").touch()
    assert (os.listdir(folder), len(tries)) == (["new"], 1)


def test_a_directory_that_may_only_be_passed_through_is_not_held(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*args: object, **about: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(_deliver.os, "open", refuses)
        with alone_in(fd):
            (folder / "new").mkdir()
    assert os.listdir(folder) == ["new"]


# Directories on the way


def test_directories_are_made_each_in_the_one_before(folder: Path, fd: int) -> None:
    (folder / "a").mkdir()
    with directories(fd, ["a", "b", "c"]) as inner:
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
    assert (folder / "a" / "b" / "c" / "file").is_file()


def test_without_any_it_is_the_directory_itself(fd: int) -> None:
    with directories(fd, []) as inner:
        assert inner == fd


def failing(use: Callable[[], Any]) -> None:
    with pytest.raises(KeyError):
        use()


def test_those_that_were_made_are_taken_away_when_their_purpose_failed(folder: Path, fd: int) -> None:
    (folder / "a").mkdir()

    def use() -> None:
        with directories(fd, ["a", "b", "c"]):
            raise KeyError

    failing(use)
    assert [path.name for path in folder.rglob("*")] == ["a"]


def test_one_that_somebody_else_uses_meanwhile_stays(folder: Path, fd: int) -> None:
    def use() -> None:
        with directories(fd, ["a", "b", "c"]):
            (folder / "a" / "theirs").touch()
            raise KeyError

    failing(use)
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == ["a", "a/theirs"]


@pytest.mark.parametrize("target", ["../outside", "inside", "nothing"])
def test_no_link_is_gone_through(folder: Path, fd: int, target: str) -> None:
    for path in (folder.parent / "outside", folder / "inside"):
        path.mkdir()
    (folder / "link").symlink_to(target)
    with pytest.raises(OSError) as caught:
        with directories(fd, ["new", "..", "link", "below"]):
            raise AssertionError("it went through")
    assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)
    assert sorted(os.listdir(folder)) == ["inside", "link"]
    assert os.listdir(folder.parent / "outside") == os.listdir(folder / "inside") == []
