"""Where a path leads, for judging and showing it."""

import errno
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


# Which root, and which errors


def test_a_root_inside_another_is_found_also_when_it_is_a_link_there(top: Path) -> None:
    """The longest spelling goes first, in whichever order they were named."""
    (top / "read" / "inner").symlink_to("../outside")
    roots = {str(top / "read"): "read", str(top / "read" / "inner"): "write"}
    for named in (roots, dict(reversed(roots.items()))):
        found = Places(str(top / "work"), roots=named).locate(str(top / "read/inner/file"))
        assert found == Located(str(top / "outside/file"), "root", True)


@pytest.mark.parametrize("path", ["file/", "file/.", "{top}/work/file/", "{top}/work/file/.", "{top}/alias/file/."])
def test_what_is_to_be_a_directory_must_be_one(places: Places, top: Path, path: str) -> None:
    with pytest.raises(NotADirectoryError), places.open(path.format(top=top), _beneath.LOOK):
        raise AssertionError("it was opened")


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("", FileNotFoundError),
        ("nothing", FileNotFoundError),
        ("a\0b", ValueError),
        ("x" * 4096, ValueError),
        ("é" * 2048, ValueError),
        ("/" + "x" * 4095, ValueError),
        ("x/" * 2047 + "x", FileNotFoundError),
        ("../file", OSError),
        ("/etc", OSError),
        ("/", OSError),
        ("/nothing/at/all", OSError),
        ("/proc/self/cwd", OSError),
    ],
)
@pytest.mark.parametrize("way", ["open", "nearest"])
def test_each_path_that_names_nothing_here_is_its_error(
    places: Places, path: str, error: type[Exception], way: str
) -> None:
    if way == "nearest" and path in ("nothing", "x/" * 2047 + "x"):
        pytest.skip("that is what it is for")
    with pytest.raises(error) as caught:
        with places.open(path, _beneath.LOOK) if way == "open" else places.nearest(path):
            raise AssertionError("it was opened")
    if error is OSError:
        assert caught.value.errno == errno.EXDEV


def test_whoever_owns_the_root_is_told_with_what_was_opened(places: Places, top: Path) -> None:
    with places.open("link/sub/file", _beneath.LOOK) as found:
        assert os.path.samestat(os.fstat(found.fd), (top / "work/folder/sub/file").stat())
        assert found[1:] == (str(top / "work/folder/sub/file"), os.getuid())
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(found.fd)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
def test_the_owner_is_that_of_the_root_not_of_the_file(places: Places, top: Path) -> None:
    os.chown(top / "work", 4321, 4321)
    with places.open("file", _beneath.LOOK) as found, places.nearest("new") as (folder, _):
        assert (found.owner, folder.owner) == (4321, 4321)
    with places.open(str(top / "read/file"), _beneath.LOOK) as found:
        assert found.owner == 0


@pytest.mark.parametrize(
    ("path", "real", "names"),
    [
        ("new", "work", ("new",)),
        ("./new/", "work", ("new",)),
        ("folder/new", "work/folder", ("new",)),
        ("folder/sub/a/b/c", "work/folder/sub", ("a", "b", "c")),
        ("link/sub/a/./b//c", "work/folder/sub", ("a", "b", "c")),
        ("folder/sub/../a/b", "work/folder", ("a", "b")),
        ("dangling", "work", ("dangling",)),
        ("dangling/a", "work", ("dangling", "a")),
        ("file/a", "work", ("file", "a")),
        ("folder", "work", ("folder",)),
        ("{top}/write/a/b", "write", ("a", "b")),
        ("{top}/alias/link/a", "work/folder", ("a",)),
    ],
)
def test_the_nearest_directory_of_what_is_not_there(
    places: Places, top: Path, path: str, real: str, names: tuple[str, ...]
) -> None:
    with places.nearest(path.format(top=top)) as (folder, missing):
        assert os.path.samestat(os.fstat(folder.fd), (top / real).stat())
        assert (folder.real, folder.owner, missing) == (str(top / real), os.getuid(), names)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(folder.fd)


@pytest.mark.parametrize("path", [".", "./", "a/../b", "a/b/..", "{top}/work", "{top}/read/"])
def test_nothing_is_missing_below_what_is_there_or_goes_back(places: Places, top: Path, path: str) -> None:
    with pytest.raises(FileNotFoundError), places.nearest(path.format(top=top)):
        raise AssertionError("it has a place")


def test_a_root_that_is_reached_by_many_names_is_found_by_each(top: Path) -> None:
    (top / "one").symlink_to("work")
    (top / "two").symlink_to("one")
    (top / "up").symlink_to(".")
    (top / "elsewhere").symlink_to("outside")
    places = Places(str(top / "work"), roots={str(top / "gone"): "read", str(top / "read"): "read"})
    for name in ("one", "two", "up/work", "up/up/two", "elsewhere/../work"):
        assert places.locate(f"{top}/{name}/file") == Located(str(top / "work/file"), "workspace", True), name
        assert places.locate(f"{top}/{name}") == Located(str(top / "work"), "workspace", True), name
    assert places.locate(f"{top}/up/read/file") == Located(str(top / "read/file"), "root", False)


@pytest.mark.parametrize(("length", "zone"), [(63, "workspace"), (64, "workspace"), (65, "outside"), (66, "outside")])
def test_a_root_is_looked_for_so_far_down_and_no_further(top: Path, length: int, zone: str) -> None:
    (top / "up").symlink_to(".")
    left = length - len([*top.parts[1:], "work"])
    path = f"{top}/{'up/' * (left % 2)}{'outside/../' * (left // 2)}work"
    assert Places(str(top / "work")).locate(path).zone == zone


@pytest.mark.parametrize("roots", [{}, {"read": "read"}])
def test_what_may_be_written_is_known_of_a_real_path(top: Path, roots: dict[str, str]) -> None:
    places = Places(str(top / "work"), roots={str(top / name): kind for name, kind in roots.items()})
    for path, writable in (("work/file", True), ("work", True), ("read/file", False), ("outside", False)):
        assert places.is_writable(str(top / path)) is writable
    assert places.why_protected(str(top / "work/file")) == ""
    assert places.why_protected(str(top / "outside/file"))
    assert places.why_protected(str(top / "work/.git/config"))


def test_further_protected_places_are_kept_in_any_spelling(top: Path) -> None:
    (top / "work/by-link").symlink_to("folder/sub")
    places = Places(str(top / "work"), protected=[str(top / "work/by-link"), str(top / "work/Mine")])
    why = places.why_protected(str(top / "work/folder/sub"))
    for path in ("folder/sub/x", "by-link", "Mine", "mine/x", "MINE"):
        assert places.why_protected(str(top / "work" / path)) == why != ""
    for path in ("folder", "folder/sub-2", "min"):
        assert places.why_protected(str(top / "work" / path)) == ""


# The directory of the user's tools


@pytest.fixture
def bench(top: Path) -> Path:
    """A tool, a folder that is none, a program, and a link to a tool."""
    bench = top / "home" / "tools"
    for name in ("shout/lib", "plain/lib", "odd name"):
        (bench / name).mkdir(parents=True)
    for name in ("shout/tool.yaml", "shout/file", "plain/file", "program", "odd name/tool.yaml"):
        (bench / name).write_text("x")
    (bench / "linked").symlink_to("shout")
    (bench / "piped").mkdir()
    os.mkfifo(bench / "piped/tool.yaml")
    (bench / "tied").mkdir()
    (bench / "tied/tool.yaml").symlink_to("../shout/tool.yaml")
    return bench


def test_a_tool_s_folder_is_a_place_to_work_in(top: Path, bench: Path) -> None:
    places = Places(str(top / "work"), protected=[str(top / "home"), str(bench)], bench=str(bench))
    folder = f"{bench}/shout"
    assert (places.workspace, places.bench) == (str(top / "work"), str(bench))
    assert Places(str(top / "work")).bench == ""
    for name in ("file", "new/er", "tool.yaml", "lib/../file", "lib/"):
        real = os.path.normpath(f"{folder}/{name}")
        for write in (True, False):
            assert places.locate(f"{folder}/{name}", write=write) == Located(real, "tool", True, "", folder)
    assert places.locate(folder) == places.locate(f"{folder}/.") == Located(folder, "tool", True, "", folder)
    assert places.locate(f"{folder}/.git/config", write=True).protected
    with places.open(f"{folder}/file", _beneath.LOOK) as found:
        assert found[1:] == (f"{folder}/file", os.getuid())
    with places.nearest(f"{folder}/lib/new") as (found, names):
        assert (found.real, names) == (f"{folder}/lib", ("new",))
    assert places.is_writable(f"{folder}/x") and places.why_protected(f"{folder}/x") == ""


@pytest.mark.parametrize(
    "path", ["", "program", "plain/file", "odd name/x", "linked/file", "piped/x", "tied/x", "new/x", "../x"]
)
def test_nothing_else_there_is_one(top: Path, bench: Path, path: str) -> None:
    before = len(os.listdir("/dev/fd"))
    places = Places(str(top / "work"), protected=[str(bench)], bench=str(bench))
    assert places.locate(f"{bench}/{path}")[1:] == ("outside", False, "", "")
    with pytest.raises(OSError) as caught, places.open(f"{bench}/{path}", _beneath.LOOK):
        raise AssertionError("it was opened")
    assert caught.value.errno == errno.EXDEV
    assert not places.is_writable(f"{bench}/{path}")
    assert len(os.listdir("/dev/fd")) == before


def test_in_a_workspace_around_it_a_tool_is_told_to_whoever_would_change_it(top: Path, bench: Path) -> None:
    places = Places(str(top), protected=[str(bench)], bench=str(bench))
    file = f"{bench}/shout/file"
    assert places.locate(file) == Located(file, "workspace", True)
    assert places.locate(file, write=True) == Located(file, "workspace", True, "", f"{bench}/shout")
    assert places.locate(f"{bench}/plain/file", write=True).protected


@pytest.mark.parametrize(
    ("root", "kind", "zone", "writable"),
    [
        ("home/tools", "read", "root", False),
        ("home/tools", "write", "root", True),
        ("home/tools/shout", "read", "root", False),
        ("home/tools/shout/lib", "read", "root", False),
        ("home", "read", "tool", True),
        ("home/tools/plain", "read", "tool", True),
    ],
)
def test_what_the_user_says_of_the_directory_of_tools_goes(
    top: Path, bench: Path, root: str, kind: str, zone: str, writable: bool
) -> None:
    places = Places(str(top / "work"), roots={str(top / root): kind}, protected=[str(bench)], bench=str(bench))
    file = f"{bench}/shout/lib/x"
    assert places.locate(file)[:3] == (file, zone, writable)
