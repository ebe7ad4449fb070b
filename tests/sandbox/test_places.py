"""Where a path leads, for judging and showing it."""

import os
import socket
from pathlib import Path

import pytest

from toolcrib.sandbox import _beneath, _openat2
from toolcrib.sandbox.places import Located, Places


@pytest.fixture(params=["kernel", "walk"], autouse=True)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "walk":
        monkeypatch.setattr(_beneath, "BY_KERNEL", False)
    elif not _openat2.AVAILABLE:
        pytest.skip("this kernel has no openat2")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for name in ("work/folder/sub", "read", "write", "outside"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("x")
    (tmp_path / "work" / "file").write_text("x")
    os.symlink("folder", tmp_path / "work" / "link")
    os.symlink("../outside", tmp_path / "work" / "out")
    os.symlink("../write", tmp_path / "work" / "over")
    os.symlink("round", tmp_path / "work" / "round")
    os.symlink("nothing", tmp_path / "work" / "dangling")
    os.symlink("work", tmp_path / "alias")
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def places(top: Path) -> Places:
    return Places(str(top / "work"), roots={str(top / "read"): "read", str(top / "write"): "write"})


@pytest.mark.parametrize(
    ("path", "real", "zone", "writable"),
    [
        ("file", "work/file", "workspace", True),
        (".", "work", "workspace", True),
        ("folder/", "work/folder", "workspace", True),
        ("link/sub/file", "work/folder/sub/file", "workspace", True),
        ("link/sub/../new", "work/folder/new", "workspace", True),
        ("new/newer", "work/new/newer", "workspace", True),
        ("file/below", "work/file/below", "workspace", True),
        ("dangling", "work/dangling", "workspace", True),
        ("{top}/alias/link/file", "work/folder/file", "workspace", True),
        ("{top}/work/file", "work/file", "workspace", True),
        ("~/file", "work/~/file", "workspace", True),
        ("{top}/read/file", "read/file", "root", False),
        ("{top}/read/new", "read/new", "root", False),
        ("{top}/write/file", "write/file", "root", True),
        ("{top}/write", "write", "root", True),
        ("../outside/file", "outside/file", "outside", False),
        ("out/file", "outside/file", "outside", False),
        ("over/file", "write/file", "outside", False),
        ("{top}/outside/new", "outside/new", "outside", False),
        ("../write/file", "write/file", "outside", False),
        ("{top}", "", "outside", False),
        ("{top}/work-evil", "work-evil", "outside", False),
    ],
)
def test_a_path_is_where_it_really_leads(
    places: Places, top: Path, path: str, real: str, zone: str, writable: bool
) -> None:
    found = places.locate(path.format(top=top))
    assert found == Located(str(top / real), zone, writable)


HOSTILE = [
    *("", "\0", "a\0b", "\ud800", "a/\udfff", "x" * 300, "x" * 5000, "/" + "x/" * 3000, "round"),
    *("round/x", "../" * 1000, "/proc/self/root/etc", "/proc/self/fd/0", "/dev/stdin", "folder/../" * 500 + "..", "//"),
    *("/tmp/.." * 500, "nope/../../x", "\0" * 5000, "/\ud800", "../\0"),
]


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: ascii(path)[:30])
@pytest.mark.parametrize("write", [False, True])
def test_no_path_is_too_hostile_to_be_located(places: Places, path: str, write: bool) -> None:
    found = places.locate(path, write=write)
    assert (found.zone, found.writable, found.protected) == ("outside", False, "")


def test_looking_opens_nothing(places: Places, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(top / "work")
    os.mkfifo("fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    for name in ("fifo", "socket"):
        assert places.locate(name) == Located(str(top / "work" / name), "workspace", True)


def test_what_is_protected_is_said_to_whoever_would_write(places: Places) -> None:
    assert (
        places.locate(".git/config", write=True).protected == "git's own files, whose settings and hooks run programs"
    )
    assert places.locate(".git/config").protected == ""
    assert places.locate("file", write=True).protected == ""


def test_the_innermost_root_decides(top: Path) -> None:
    work = top / "work"
    places = Places(
        str(work), roots={str(top): "read", str(work / "folder"): "read", str(work / "folder/sub"): "write"}
    )
    assert places.locate("file") == Located(str(work / "file"), "workspace", True)
    assert places.locate("folder/file") == Located(str(work / "folder/file"), "workspace", False)
    assert places.locate("folder/sub/file") == Located(str(work / "folder/sub/file"), "workspace", True)
    assert places.locate(str(top / "outside/file")) == Located(str(top / "outside/file"), "root", False)


def test_what_the_user_says_of_the_workspace_goes(top: Path) -> None:
    work = str(top / "work")
    assert not Places(work, roots={work: "read"}).locate("file").writable
    assert Places(work, protected=[work]).locate("file", write=True).protected
    assert not Places(work, roots={work: "write"}, protected=[work]).locate("file", write=True).protected


def test_a_root_may_come_later(top: Path) -> None:
    places = Places(str(top / "work"), roots={str(top / "later"): "write"})
    assert places.locate(str(top / "later" / "x")).zone == "outside"
    (top / "later").mkdir()
    assert places.locate(str(top / "later" / "x")) == Located(str(top / "later" / "x"), "root", True)


def test_a_root_is_for_reading_or_for_writing(top: Path) -> None:
    with pytest.raises(ValueError, match="`read` or for `write`"):
        Places(str(top), roots={str(top): "both"})


def test_the_whole_file_system_may_be_a_root(top: Path) -> None:
    places = Places(str(top / "work"), roots={"/": "read"})
    assert places.locate(str(top / "outside" / "file")) == Located(str(top / "outside" / "file"), "root", False)
    assert places.locate("/") == Located("/", "root", False)
