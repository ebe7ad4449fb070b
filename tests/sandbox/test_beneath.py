"""Opening below a directory: as the kernel does it, and name by name, with one and the same outcome."""

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolcrib.sandbox import _beneath, _openat2
from toolcrib.sandbox._beneath import FOLDER, LOOK, Opened, is_below, open_beneath, open_root

READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
AT_MOST = 40
linux = pytest.mark.skipif(sys.platform != "linux", reason="there it is the kernel that is asked")


class Darwin:
    """What macOS says of an open file, asked by `F_GETPATH`: its path, in letters as they were first written."""

    F_GETPATH = 50

    def __init__(self) -> None:
        self.spelled: dict[str, str] = {}

    def fcntl(self, fd: int, command: int, room: bytes) -> bytes:
        assert command == self.F_GETPATH and len(room) >= 1024
        path = os.readlink(f"/proc/self/fd/{fd}")
        return self.spelled.get(path, path).encode().ljust(len(room), b"\0")


@pytest.fixture
def darwin(monkeypatch: pytest.MonkeyPatch) -> Darwin:
    if sys.platform != "linux":
        pytest.skip("what it is played with is Linux's")
    system = Darwin()
    monkeypatch.setattr(_beneath, "BY_KERNEL", False)
    monkeypatch.setattr(_beneath, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(fcntl, "F_GETPATH", system.F_GETPATH, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", system.fcntl)
    return system


def never(root: int, path: str, flags: int) -> int:
    """The kernel, on a machine where something is renamed or mounted at every moment."""
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)


@pytest.fixture(params=["kernel", "busy kernel", "walk", "macOS"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "macOS":
        request.getfixturevalue("darwin")
    elif request.param == "walk":
        monkeypatch.setattr(_beneath, "BY_KERNEL", False)
    elif not _openat2.AVAILABLE:
        pytest.skip("this kernel has no openat2")
    elif request.param == "busy kernel":
        monkeypatch.setattr(_openat2, "open_beneath", never)
    return str(request.param)


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with files and links; we stand beside it, among others of the same names."""
    top = Path(os.path.realpath(tmp_path)) / "top"
    for below in (top, tmp_path / "elsewhere"):
        (below / "a" / "b").mkdir(parents=True)
        for name in ("file", "a/file", "a/b/file"):
            (below / name).write_text(f"{below.name}: {name}")
    (tmp_path / "outside").mkdir()
    for name, target in (
        ("link", "a"),
        ("a/up", ".."),
        ("a/b/over", "../../a/./b/"),
        ("a/b/leaf", "../file"),
        ("slash", "file/"),
        ("dot", "a/."),
        ("parent", "a/b/.."),
        ("round", "round"),
        ("away", str(top / "file")),
        ("out", "../outside"),
        ("gone", "nothing"),
    ):
        (top / name).symlink_to(target)
    monkeypatch.chdir(tmp_path / "elsewhere")
    return top


@pytest.fixture
def root(top: Path) -> Iterator[Opened]:
    before = len(os.listdir("/dev/fd"))
    root = open_root(str(top))
    yield root
    os.close(root.fd)
    assert len(os.listdir("/dev/fd")) == before, "a descriptor is left open"


def opened(root: Opened, path: str, flags: int = READ) -> tuple[str, str]:
    """Where it really lies, below the root, and what it is: the text of a file, or the names in a directory."""
    found = open_beneath(root, path, flags)
    try:
        where = os.path.relpath(found.real, root.real)
        if stat.S_ISDIR(os.fstat(found.fd).st_mode):
            return where, " ".join(sorted(os.listdir(found.fd)))
        return where, os.read(found.fd, 100).decode()
    finally:
        os.close(found.fd)


def failure(root: Opened, path: str, flags: int = READ) -> int | None:
    with pytest.raises(OSError) as caught:
        os.close(open_beneath(root, path, flags).fd)
    return caught.value.errno


TOP = "a away dot file gone link out parent round slash"


@pytest.mark.parametrize(
    ("path", "real", "what"),
    [
        ("file", "file", "top: file"),
        ("./file", "file", "top: file"),
        ("a//b/./file", "a/b/file", "top: a/b/file"),
        ("a/b/../file", "a/file", "top: a/file"),
        ("a/b/../../file", "file", "top: file"),
        ("link/b/../file", "a/file", "top: a/file"),
        ("link/up/link/up/file", "file", "top: file"),
        ("a/b/over/over/file", "a/b/file", "top: a/b/file"),
        ("a/b/leaf", "a/file", "top: a/file"),
        ("a/up/a/b/leaf", "a/file", "top: a/file"),
        ("a/b", "a/b", "file leaf over"),
        ("a/b/", "a/b", "file leaf over"),
        ("dot/b", "a/b", "file leaf over"),
        ("link", "a", "b file up"),
        ("link/", "a", "b file up"),
        ("dot", "a", "b file up"),
        ("parent", "a", "b file up"),
        ("a/b/..", "a", "b file up"),
        (".", ".", TOP),
        ("./", ".", TOP),
        ("a/..", ".", TOP),
        ("a/up", ".", TOP),
    ],
)
def test_what_stays_below_is_opened_and_where_it_lies_is_told(
    root: Opened, way: str, path: str, real: str, what: str
) -> None:
    assert opened(root, path) == (real, what.replace(TOP, " ".join(sorted(os.listdir(root.real)))))


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("..", errno.EXDEV),
        ("../file", errno.EXDEV),
        ("a/../../top/file", errno.EXDEV),
        ("a/b/../../..", errno.EXDEV),
        ("away", errno.EXDEV),
        ("link/up/away", errno.EXDEV),
        ("out", errno.EXDEV),
        ("out/file", errno.EXDEV),
        ("a/up/..", errno.EXDEV),
        ("round", errno.ELOOP),
        ("round/file", errno.ELOOP),
        ("nothing", errno.ENOENT),
        ("nothing/../file", errno.ENOENT),
        ("gone", errno.ENOENT),
        ("gone/file", errno.ENOENT),
        ("file/", errno.ENOTDIR),
        ("file/.", errno.ENOTDIR),
        ("file/..", errno.ENOTDIR),
        ("file/x", errno.ENOTDIR),
        ("slash", errno.ENOTDIR),
        ("a/b/leaf/", errno.ENOTDIR),
    ],
)
def test_what_cannot_be_opened_is_the_same_error_either_way(root: Opened, way: str, path: str, code: int) -> None:
    assert failure(root, path) == code


@pytest.mark.parametrize(("count", "fails"), [(AT_MOST, False), (AT_MOST + 1, True)])
def test_so_many_links_are_followed_and_no_more(root: Opened, top: Path, way: str, count: int, fails: bool) -> None:
    (top / "l1").symlink_to("file")
    for number in range(2, count + 1):
        (top / f"l{number}").symlink_to(f"l{number - 1}")
    if fails:
        assert failure(root, f"l{count}") == errno.ELOOP
    else:
        assert opened(root, f"l{count}") == ("file", "top: file")


@pytest.mark.parametrize("path", ["file", "a", "link", "a/..", "."])
@pytest.mark.parametrize("flags", [LOOK, FOLDER, READ | os.O_DIRECTORY])
def test_it_is_opened_as_it_was_asked_for(root: Opened, way: str, path: str, flags: int) -> None:
    """To look only, or as a directory and nothing else; never for writing."""
    if path == "file" and flags & os.O_DIRECTORY:
        assert failure(root, path, flags) == errno.ENOTDIR
        return
    found = open_beneath(root, path, flags)
    try:
        assert not os.get_inheritable(found.fd)
        if flags & getattr(os, "O_PATH", 0):
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.read(found.fd, 1)
        else:
            os.listdir(found.fd)
    finally:
        os.close(found.fd)


def test_a_fifo_is_opened_without_waiting(root: Opened, top: Path, way: str) -> None:
    os.mkfifo(top / "fifo")
    found = open_beneath(root, "fifo", LOOK)
    assert stat.S_ISFIFO(os.fstat(found.fd).st_mode)
    os.close(found.fd)


@linux
def test_the_kernel_says_where_it_lies_also_when_it_was_moved(root: Opened, top: Path) -> None:
    if not _openat2.AVAILABLE:
        pytest.skip("this kernel has no openat2")
    os.rename(top, top.with_name("moved"))
    assert failure(root, "file") == errno.EXDEV  # it is not below where it was any more
    os.rename(top.with_name("moved"), top)
    assert opened(root, "file") == ("file", "top: file")


@linux
def test_a_name_that_ends_as_if_it_were_deleted_is_a_name(root: Opened, top: Path, way: str) -> None:
    (top / "file (deleted)").write_text("is not")
    (top / "folder (deleted)").mkdir()
    assert opened(root, "file (deleted)") == ("file (deleted)", "is not")
    assert opened(root, "folder (deleted)") == ("folder (deleted)", "")


def test_the_system_s_spelling_of_a_path_is_believed(top: Path, darwin: Darwin) -> None:
    """A root may be named in other letters there. Another directory is another one."""
    darwin.spelled = {str(top): str(top).upper(), str(top / "a"): str(top / "A")}
    root = open_root(str(top))
    assert root.real == str(top).upper()
    found = open_beneath(root, "a", LOOK)
    assert found.real == str(top / "A")
    os.close(found.fd)
    os.close(root.fd)
    darwin.spelled = {str(top): str(top.parent)}
    with pytest.raises(OSError) as caught:
        open_root(str(top))
    assert caught.value.errno == errno.EXDEV


@linux
def test_what_is_removed_while_it_is_opened_still_has_its_name(
    root: Opened, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not _openat2.AVAILABLE:
        pytest.skip("this kernel has no openat2")
    opens = _openat2.open_beneath

    def removes(fd: int, path: str, flags: int) -> int:
        found = opens(fd, path, flags)
        os.unlink(top / path)
        return found

    monkeypatch.setattr(_openat2, "open_beneath", removes)
    assert opened(root, "file") == ("file", "top: file")


@pytest.mark.parametrize("at", ["a/file", "a/b/over/file", "a/b/../file"])
def test_a_directory_that_becomes_a_link_on_the_way_is_not_followed_out(
    root: Opened, top: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """Somebody swaps it between two steps of the walk."""
    monkeypatch.setattr(_beneath, "BY_KERNEL", False)
    opens, swapped = os.open, []

    def swaps(path: str, flags: int, **about: int) -> int:
        if path == "a" and not swapped:
            swapped.append(path)
            os.rename(top / "a", top / "was")
            (top / "a").symlink_to("../outside")
        return opens(path, flags, **about)

    monkeypatch.setattr(_beneath.os, "open", swaps)
    assert failure(root, at) == errno.EXDEV


def test_a_directory_above_that_becomes_a_link_is_not_gone_back_through(
    root: Opened, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_beneath, "BY_KERNEL", False)
    opens, seen = os.open, []

    def swaps(path: str, flags: int, **about: int) -> int:
        found = opens(path, flags, **about)
        if path == "b" and not seen:
            seen.append(path)
            os.rename(top / "a", top / "was")
            (top / "a").symlink_to("../outside")
        return found

    monkeypatch.setattr(_beneath.os, "open", swaps)
    assert failure(root, "a/b/../file") in (errno.ELOOP, errno.ENOTDIR)


def test_a_link_that_is_none_any_more_is_to_be_tried_again(
    root: Opened, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_beneath, "BY_KERNEL", False)
    reads = os.readlink

    def swaps(path: str, **about: int) -> str:
        os.unlink(top / "link")
        (top / "link").write_text("a file now")
        return reads(path, **about)

    monkeypatch.setattr(_beneath.os, "readlink", swaps)
    assert failure(root, "link") == errno.EAGAIN
    monkeypatch.setattr(_beneath.os, "readlink", lambda path, **about: reads(f"{path}-gone", **about))
    assert failure(root, "a/up") == errno.ENOENT


# The root


def test_a_root_is_a_directory_at_its_own_path(top: Path) -> None:
    root = open_root(str(top))
    try:
        assert root.real == str(top) and os.path.samestat(os.fstat(root.fd), top.stat())
    finally:
        os.close(root.fd)


@pytest.mark.parametrize(("name", "code"), [("file", errno.ENOTDIR), ("nothing", errno.ENOENT)])
def test_what_is_no_directory_is_no_root(top: Path, name: str, code: int) -> None:
    with pytest.raises(OSError) as caught:
        open_root(str(top / name))
    assert caught.value.errno == code


@linux
@pytest.mark.parametrize("name", ["link", "link/b", "out"])
def test_a_root_that_became_a_link_is_none(top: Path, name: str) -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(OSError) as caught:
        open_root(str(top / name))
    assert (caught.value.errno, len(os.listdir("/dev/fd"))) == (errno.EXDEV, before)


def test_where_nothing_tells_where_it_lies_the_path_is_believed(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "darwin":
        pytest.skip("the system tells it")
    monkeypatch.setattr(_beneath.os.path, "exists", lambda path: False)
    root = open_root(str(top))
    os.close(root.fd)
    assert root.real == str(top)


@pytest.mark.parametrize(
    ("real", "directory", "below"),
    [
        ("/a", "/a", True),
        ("/a/b", "/a", True),
        ("/a/b", "/", True),
        ("/", "/", True),
        ("/ab", "/a", False),
        ("/a", "/a/b", False),
        ("/b/a", "/a", False),
    ],
)
def test_a_path_is_below_a_directory_by_whole_names(real: str, directory: str, below: bool) -> None:
    assert is_below(real, directory) is below
