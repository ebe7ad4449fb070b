"""The workspace guard: a path is checked by opening it. Every case runs as the kernel does it, and as it is done without."""

import errno
import os
import re
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.errors import Refused, ToolError
from toolcrib.sandbox import _beneath, _deliver, _openat2, guard
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.sandbox.places import Found, Places
from toolcrib.sandbox.readings import Readings, Stale

SECRET = b"top secret of somebody else"
OUTSIDE, MISSING, ODD = "PATH_OUTSIDE_WORKSPACE", "FILE_NOT_FOUND", "PATH_NOT_REGULAR"
PROTECTED, JUDGED = "PATH_PROTECTED", "APPROVAL_DENIED"


@pytest.fixture(params=["kernel", "walk"], autouse=True)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "walk":
        monkeypatch.setattr(_beneath, "BY_KERNEL", False)
    elif not _openat2.AVAILABLE:
        pytest.skip("this kernel has no openat2")
    return str(request.param)


@pytest.fixture
def yard(workspace: Path, tmp_path: Path) -> Path:
    """A workspace with files and links in it, and secrets around it."""
    for place in ("secret", "work-evil/file", "outside/secret", "outside/deep/secret", "other/file"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_bytes(SECRET)
    (workspace / "file").write_bytes(b"inside")
    (workspace / "folder" / "sub").mkdir(parents=True)
    (workspace / "folder" / "deep").write_bytes(b"deep")
    (workspace / "folder" / "sub" / "leaf").write_bytes(b"leaf")
    os.symlink("work", tmp_path / "alias")
    os.symlink(tmp_path, tmp_path / "up")
    return tmp_path


@pytest.fixture
def files(yard: Path) -> GuardedFiles:
    return GuardedFiles(yard / "work")


def snapshot(root: Path) -> dict[str, object]:
    """Everything below a directory: what it is, its content, its modes."""
    seen: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        content: object = None
        if path.is_symlink():
            content = os.readlink(path)
        elif stat.S_ISREG(about.st_mode):
            content = path.read_bytes()
        seen[str(path)] = (about.st_mode, about.st_ino, content)
    return seen


USES: dict[str, Callable[[GuardedFiles, str], object]] = {
    "read": lambda files, path: files.read(path),
    "write": lambda files, path: files.write(path, "changed"),
    "stat": lambda files, path: files.stat(path),
    "exists": lambda files, path: files.exists(path),
    "list": lambda files, path: files.list(path),
    "unlink": lambda files, path: files.unlink(path),
}


def refusal(use: Callable[..., object], *args: object) -> ToolError:
    with pytest.raises(ToolError) as caught:
        use(*args)
    error = caught.value
    assert SECRET.decode() not in str(error)
    assert "path" in error.details
    assert re.search(r"[;,] (use|list|call|write|copy|remove|try|ask|leave|or use)", str(error)), (
        f"no next step: {error}"
    )
    return error


def code_of(use: Callable[..., object], *args: object) -> str:
    return refusal(use, *args).code


# What lies outside


TRAVERSALS = """
../secret  ./../secret  folder/../../secret  folder/./../../secret  folder/sub/../../../secret  ..//secret
folder//..//..//secret  ../work-evil/file  folder/../../work-evil/file  ../work/../secret  ../work/file
../../../../../../../../etc/passwd  folder/../../../../../../../../etc/passwd  ..  ../  ../.  ../..  folder/../..
.//..//..//..//etc/passwd  ./.././secret  folder/sub/../sub/../../../secret  ../outside  ../outside/deep/secret
../outside/deep/../secret  ../alias/file  ../up/secret  ../up/work/file
{work}/../secret  {work}/folder/../../secret  {work}-evil/file  {work}-evil  {work}/..  {work}/../  {work}/../work/file
{work}/../..  {tmp}/secret  {tmp}//secret  /{tmp}/secret  {tmp}/./secret  {tmp}  {tmp}/  {tmp}/outside/deep/secret
{tmp}/up/secret  {tmp}/up/up/up/secret  {tmp}/alias/../secret  {tmp}/up/alias/../secret  {tmp}/up/work-evil/file
{tmp}/other/../secret  {tmp}/outside/../secret  {tmp}/nothing/../secret
/  //  /..  /.  /etc  /etc/passwd  //etc/passwd  ///etc//passwd  /./etc/passwd  /etc/../etc/passwd  /../etc/passwd
/proc/self/root/etc/passwd  /proc/self/root{tmp}/secret  /proc/self/root{work}/file  /proc/self/cwd  /proc/self/cwd/..
/proc/self/cwd/file  /proc/1/root/etc/passwd  /proc/thread-self/root/etc/passwd  /proc/self/task/../root/etc/passwd
/proc/self/fd/0  /proc/self/fd/1  /proc/self/fd/3/../secret  /proc/self/environ  /proc/self/mem  /proc/self/exe
/proc/self/maps  /proc/kcore  /proc/sysrq-trigger  /dev/stdin  /dev/stdout  /dev/fd/0  /dev/null  /dev/zero
/dev/random  /dev/tty  /dev/mem  /sys/kernel/uevent_helper  /net/somewhere/file
""".split()  # noqa: SIM905


@pytest.mark.parametrize("path", TRAVERSALS)
def test_nothing_outside_is_read_or_written(files: GuardedFiles, yard: Path, path: str) -> None:
    """A36, K47; also `/srv/app` against `/srv/app-evil`."""
    path = path.format(tmp=yard, work=yard / "work")
    before = snapshot(yard)
    for name, use in USES.items():
        assert code_of(use, files, path) == OUTSIDE, name
    assert snapshot(yard) == before
    assert files.report == {}


# Links: a name below the workspace, what it leads to, and the path that is asked for

LEADING_OUT = [
    ("link", "../secret", "link"),
    ("link", "{tmp}/secret", "link"),
    ("link", "{tmp}/secret", "./link"),
    ("link", "{tmp}/secret", "{work}/link"),
    ("link", "{tmp}/secret", "{tmp}/alias/link"),
    ("link", "{tmp}/secret", "folder/../link"),
    ("link", "folder/../../secret", "link"),
    ("link", "./../secret", "link"),
    ("link", "../work/../secret", "link"),
    ("link", "../work/file", "link"),
    ("link", "{work}/file", "link"),
    ("link", "{work}/../secret", "link"),
    ("link", "../work-evil/file", "link"),
    ("link", "/etc/passwd", "link"),
    ("link", "//etc/passwd", "link"),
    ("link", "/", "link/etc/passwd"),
    ("link", "..", "link/secret"),
    ("link", "..", "link/work/file"),
    ("link", "../", "link/secret"),
    ("link", ".//..", "link/secret"),
    ("link", "{tmp}", "link/secret"),
    ("link", "{tmp}/outside", "link/secret"),
    ("link", "{tmp}/outside", "link/deep/secret"),
    ("link", "{tmp}/outside", "link/../secret"),
    ("link", "../outside", "link/deep/../secret"),
    ("link", "../outside/deep/..", "link/secret"),
    ("link", "../outside", "link/new"),
    ("link", "../outside", "link/new/newer/newest"),
    ("link", "../outside/", "link/new"),
    ("link", "../outside/new", "link"),
    ("link", "{tmp}/new", "link"),
    ("link", "{tmp}/new/newer", "link"),
    ("link", "../../../../../../../../../../../../etc/passwd", "link"),
    ("link", "/proc/self/root", "link/etc/passwd"),
    ("link", "/proc/self/root/etc/passwd", "link"),
    ("link", "/proc/self/cwd", "link/file"),
    ("link", "/proc/self/fd", "link/0"),
    ("link", "/proc/self/environ", "link"),
    ("link", "/dev/stdin", "link"),
    ("link", "/dev/zero", "link"),
    ("link", "{tmp}/up", "link/secret"),
    ("link", "../up/outside", "link/secret"),
    ("link", "../alias", "link/file"),
    ("link", "{tmp}/other", "link/file"),
    ("link", "{tmp}/other/file", "link"),
    ("folder/link", "../../secret", "folder/link"),
    ("folder/link", "../..", "folder/link/secret"),
    ("folder/sub/link", "../../../outside", "folder/sub/link/secret"),
    ("folder/sub/link", "../../..", "folder/sub/link/work/file"),
    ("folder/sub/link", "{tmp}/outside", "folder/../folder/sub/link/new"),
    ("link", "link", "link"),
    ("link", "./link", "link"),
    ("link", "link/link", "link/x"),
    ("link", "folder/../link", "link"),
]


@pytest.mark.parametrize(("name", "target", "path"), LEADING_OUT)
def test_links_do_not_lead_out(yard: Path, name: str, target: str, path: str) -> None:
    """Not for reading, not for writing, not into another root, and also not out and in again."""
    names = {"tmp": yard, "work": yard / "work"}
    os.symlink(target.format(**names), yard / "work" / name)
    files = GuardedFiles(Places(str(yard / "work"), roots={str(yard / "other"): "write"}))
    path = path.format(**names)
    before = snapshot(yard)
    for use in ("read", "write", "stat", "exists", "list"):
        assert code_of(USES[use], files, path) == OUTSIDE, use
    assert snapshot(yard) == before
    if path.endswith("link") and path != "link/link":
        files.unlink(path)  # the link itself is the workspace's own
        assert not (yard / "work" / name).is_symlink()
        del before[str(yard / "work" / name)]
    else:
        refusal(files.unlink, path)
    assert {**before, **snapshot(yard)} == before == snapshot(yard)


CHAINS = [
    {"a": "b", "b": "../secret"},
    {"a": "b", "b": "c", "c": "d", "d": "{tmp}/secret"},
    {"a": "folder/b", "folder/b": "../../secret"},
    {"a": "folder/b/secret", "folder/b": "sub/c", "folder/sub/c": "../../../outside"},
    {"a": "b/../secret", "b": "../outside"},
    {"a": "b", "b": "a"},
    {"a": "b", "b": "c", "c": "a"},
    {"a": "b/x", "b": "a"},
    {f"l{i}" if i else "a": f"l{i + 1}" for i in range(45)} | {"l45": "file"},
]


@pytest.mark.parametrize("links", CHAINS)
def test_chains_of_links_do_not_lead_out_or_on_for_ever(files: GuardedFiles, yard: Path, links: dict[str, str]) -> None:
    for name, target in links.items():
        os.symlink(target.format(tmp=yard), yard / "work" / name)
    before = snapshot(yard)
    for use in ("read", "write", "stat", "exists", "list"):
        assert code_of(USES[use], files, "a") == OUTSIDE, use
    assert snapshot(yard) == before


STAYING_IN = [
    ("link", "file", "link", b"inside"),
    ("link", "./file", "link", b"inside"),
    ("link", "folder/deep", "link", b"deep"),
    ("link", "folder", "link/deep", b"deep"),
    ("link", "folder/", "link/sub/leaf", b"leaf"),
    ("link", "folder", "link/../file", b"inside"),
    ("link", "folder/sub", "link/../deep", b"deep"),
    ("link", "folder/sub/..", "link/deep", b"deep"),
    ("link", ".", "link/link/link/file", b"inside"),
    ("folder/link", "../file", "folder/link", b"inside"),
    ("folder/link", "..", "folder/link/file", b"inside"),
    ("folder/sub/link", "../../folder/deep", "folder/sub/link", b"deep"),
    ("folder/sub/link", "../..", "folder/sub/link/folder/deep", b"deep"),
    ("link", "folder/../folder/./sub/leaf", "{work}/link", b"leaf"),
]


@pytest.mark.parametrize(("name", "target", "path", "content"), STAYING_IN)
def test_links_that_stay_inside_are_followed(
    files: GuardedFiles, yard: Path, name: str, target: str, path: str, content: bytes
) -> None:
    os.symlink(target, yard / "work" / name)
    path = path.format(work=yard / "work")
    assert files.read(path) == content
    files.write(path, content[::-1])
    assert files.read(path) == content[::-1]
    assert (yard / "work" / name).is_symlink() and os.readlink(yard / "work" / name) == target
    assert not list(yard.rglob(".toolcrib-*"))


INSIDE = """
file  ./file  .//file  folder/../file  folder/sub/../../file  ././././file  folder//..//file
{work}/file  {work}//file  /{work}/file  {work}/./file  {work}/folder/../file  {tmp}/./work/file
{tmp}/alias/file  {tmp}/up/work/file  {tmp}/up/alias/file  {tmp}/alias/folder/../file  {tmp}/outside/../work/file
""".split()  # noqa: SIM905


@pytest.mark.parametrize("path", INSIDE)
def test_every_spelling_of_a_path_inside_works(files: GuardedFiles, yard: Path, path: str) -> None:
    path = path.format(tmp=yard, work=yard / "work")
    assert files.read(path) == b"inside"
    assert files.exists(path) and files.stat(path).st_size == 6
    files.write(path, "changed")
    assert (yard / "work" / "file").read_bytes() == b"changed"
    files.unlink(path)
    assert not (yard / "work" / "file").exists()


def test_a_workspace_may_be_named_by_a_link(yard: Path) -> None:
    files = GuardedFiles(yard / "alias")
    for path in ("file", f"{yard}/alias/file", f"{yard}/work/file"):
        assert files.read(path) == b"inside"
    assert code_of(files.read, "../secret") == OUTSIDE


# Names that only look like more


NAMES = [
    *"~ ~/x ~root/x $HOME/x ${HOME}/x `id` $(id) %2e%2e/secret ..%2fsecret ..%c0%af.. %00 .../secret ....//secret".split(),  # noqa: SIM905
    *"..\\secret ..\\..\\secret C:\\x C:/x \\\\host\\share file:///etc/passwd file:secret http://x/y ..;/x".split(),  # noqa: SIM905
    *"-rf -- --help -x/y * ? [a] {a,b} a:b a;b a&b a|b a>b # !x @x =x a=b , ' \" ... .x ..x x.. ..x/..y".split(),  # noqa: SIM905
    *("．．/secret", "\u2024\u2024/secret", "‥/secret", "..\u200b/secret", "..∕secret", "..⁄secret", "\ufeff../x"),
    *(" ../secret", ".. /secret", "a b", " a", "a ", "\t", "a\nb", "\r", "\x1b[31m", "\x7f", "a\x01b", "\u202egnp.exe"),
    *("é", "e\u0301", "ﬁle", "FILE", "名前", "😀", "\udcff", "a\udc80b", "x" * 255, "/".join(["d"] * 60)),
    *("CON", "nul", "aux.txt", "LPT1", "secret", "etc/passwd", "proc/self/environ", "dev/null", "work/file"),
]


@pytest.mark.parametrize("path", NAMES, ids=ascii)
def test_odd_names_are_names_and_nothing_more(files: GuardedFiles, yard: Path, path: str) -> None:
    """No home directory, no variable, no escape, no address, no other alphabet's slash."""
    before = snapshot(yard)
    assert code_of(files.read, path) == MISSING
    assert files.exists(path) is False
    assert code_of(files.unlink, path) == MISSING
    assert snapshot(yard) == before
    files.write(path, "made")
    assert (yard / "work" / path).read_bytes() == b"made"
    assert files.read(path) == b"made"
    assert files.report["files_accessed"] == [path.encode("utf-8", "backslashreplace").decode()]
    assert {place for place in set(snapshot(yard)) - set(before) if not place.startswith(f"{yard}/work/")} == set()
    files.unlink(path)
    assert not files.exists(path)


NO_PATHS = [
    ("", MISSING),
    ("a\0b", None),
    ("\0", None),
    ("file\0", None),
    ("../secret\0.txt", None),
    ("folder\0/../../secret", None),
    ("new/a\0b", None),
    ("\ud800", None),
    ("a\udfff", None),
    ("new/\ud83d/x", None),
    ("x" * 256, None),
    ("x" * 4095, None),
    ("x" * 5000, None),
    ("x/" * 2047 + "x", None),
    ("../" * 1300 + "etc/passwd", OUTSIDE),
    ("folder/../" * 400 + "../secret", OUTSIDE),
    ("/" + "x" * 5000, None),
    ("new/" + "x" * 256, None),
    ("/".join(["d"] * 70), None),
    ("file/", MISSING),
    ("file/.", MISSING),
    ("file/..", MISSING),
    ("file/x", MISSING),
    ("file/../../secret", MISSING),
    ("folder/deep/under/it", MISSING),
    ("new/", ODD),
    ("new/.", ODD),
    ("new/..", MISSING),
    ("new/../new", MISSING),
    ("new/../../secret", MISSING),
    ("folder", ODD),
    ("folder/", ODD),
    ("folder/.", ODD),
    ("folder/..", ODD),
    (".", ODD),
    ("./", ODD),
    ("{work}", ODD),
]


@pytest.mark.parametrize(("path", "code"), NO_PATHS, ids=lambda value: ascii(value)[:40])
def test_what_names_no_file_is_an_error_that_makes_nothing(
    files: GuardedFiles, yard: Path, path: str, code: str | None
) -> None:
    path = path.format(work=yard / "work") if path == "{work}" else path
    before = snapshot(yard)
    error = refusal(files.write, path, "x")
    assert code is None or error.code == code
    assert len(str(error)) < 1000 and str(error).isprintable() or "\0" in str(error)
    str(error).encode()  # it can be sent
    refusal(files.unlink, path)
    refusal(files.read, path)
    assert snapshot(yard) == before


# What is no regular file


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))  # its whole path may be longer than an address can be


def directory(path: Path) -> None:
    path.mkdir()


def device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
        path.open("rb").close()
    except PermissionError:
        pytest.skip("only root makes devices")


@pytest.mark.parametrize("linked", [False, True], ids=["itself", "linked"])
@pytest.mark.parametrize("make", [fifo, unix_socket, directory, device])
def test_what_is_no_regular_file_is_refused_without_waiting(
    files: GuardedFiles, yard: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], linked: bool
) -> None:
    monkeypatch.chdir(yard / "work")
    make(yard / "work" / "thing")
    os.symlink("thing", yard / "work" / "link")
    path = "link" if linked else "thing"
    before = snapshot(yard)
    assert code_of(files.read, path) == ODD
    assert code_of(files.write, path, "x") == ODD
    assert files.exists(path)
    assert stat.S_IFMT(files.stat(path).st_mode) == stat.S_IFMT((yard / "work" / "thing").stat().st_mode)
    assert snapshot(yard) == before


def test_a_fifo_that_somebody_writes_to_is_not_disturbed_by_looking(files: GuardedFiles, yard: Path) -> None:
    """A look that opened it would let the writer go on."""
    os.mkfifo(yard / "work" / "fifo")
    assert stat.S_ISFIFO(files.stat("fifo").st_mode)
    with pytest.raises(OSError) as caught:
        os.open(yard / "work" / "fifo", os.O_WRONLY | os.O_NONBLOCK)
    assert caught.value.errno == errno.ENXIO  # nobody has it open for reading


def test_a_directory_is_not_removed(files: GuardedFiles, yard: Path) -> None:
    (yard / "work" / "empty").mkdir()
    for path in ("empty", "empty/", "folder", "folder/.", "."):
        assert code_of(files.unlink, path) == ODD
    assert code_of(files.unlink, str(yard / "work")) == OUTSIDE
    assert (yard / "work" / "empty").is_dir()


# Hard links


def test_writing_leaves_the_other_name_of_a_file_alone(files: GuardedFiles, yard: Path) -> None:
    os.link(yard / "secret", yard / "work" / "hard")
    files.write("hard", "mine")
    assert (yard / "secret").read_bytes() == SECRET
    assert (yard / "work" / "hard").read_bytes() == b"mine"


def test_an_ordinary_hard_link_is_read(files: GuardedFiles, yard: Path) -> None:
    os.link(yard / "work" / "file", yard / "work" / "hard")
    assert files.read("hard") == b"inside"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_hard_link_to_somebody_elses_file_is_not_read(files: GuardedFiles, yard: Path) -> None:
    os.link(yard / "secret", yard / "work" / "hard")
    os.chown(yard / "secret", 4321, 4321)
    assert code_of(files.read, "hard") == OUTSIDE
    os.chown(yard / "secret", 0, 0)
    os.chown(yard / "work", 4321, 4321)  # in a user's workspace, root's own files are somebody else's too
    assert code_of(files.read, "hard") == OUTSIDE
    os.unlink(yard / "secret")
    assert files.read("hard") == SECRET


# Writing


def test_reads_writes_lists_and_removes_inside(files: GuardedFiles, yard: Path) -> None:
    """C12, A35"""
    work = yard / "work"
    assert files.read("file") == b"inside"
    assert files.read(str(work / "folder" / "deep")) == b"deep"
    files.write("new", "text")
    assert (files.exists("new"), files.exists("nope"), files.stat("new").st_size) == (True, False, 4)
    assert files.list() == ["file", "folder", "new"]
    assert files.list("folder") == files.list("folder/") == files.list(f"{work}/folder/sub/..") == ["deep", "sub"]
    files.write("file", b"shorter"[:3])
    assert files.read("file") == b"sho"
    files.unlink("new")
    assert not (work / "new").exists()
    assert files.report["files_accessed"] == ["file", str(work / "folder" / "deep"), "new"]
    assert (files.report["bytes_read"], files.report["bytes_written"]) == (13, 7)


def test_directories_are_made_for_a_new_file(files: GuardedFiles, yard: Path) -> None:
    files.write("a/b/c/new", "x")
    files.write("folder/./d//e", "y")
    os.symlink("folder", yard / "work" / "link")
    files.write("link/f/g", "z")
    assert [files.read(path) for path in ("a/b/c/new", "folder/d/e", "folder/f/g")] == [b"x", b"y", b"z"]


def test_a_link_to_nothing_is_not_written_through(files: GuardedFiles, yard: Path) -> None:
    os.symlink("nothing", yard / "work" / "link")
    before = snapshot(yard)
    for path in ("link", "link/new"):
        assert code_of(files.write, path, "x") == MISSING
    assert snapshot(yard) == before


@pytest.mark.parametrize("mode_of_file", [0o644, 0o600, 0o755, 0o664])
def test_a_file_keeps_its_mode(files: GuardedFiles, yard: Path, mode_of_file: int) -> None:
    (yard / "work" / "file").chmod(mode_of_file | stat.S_ISUID)
    files.write("file", "x")
    assert stat.S_IMODE((yard / "work" / "file").stat().st_mode) == mode_of_file


def test_a_new_file_is_what_the_user_lets_new_files_be(files: GuardedFiles, yard: Path) -> None:
    before = os.umask(0o077)
    try:
        files.write("closed", "x")
        os.umask(0)
        files.write("open", "x")
    finally:
        os.umask(before)
    assert [stat.S_IMODE((yard / "work" / name).stat().st_mode) for name in ("closed", "open")] == [0o600, 0o644]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner(files: GuardedFiles, yard: Path) -> None:
    os.chown(yard / "work" / "file", 4321, 4322)
    files.write("file", "x")
    about = (yard / "work" / "file").stat()
    assert (about.st_uid, about.st_gid, about.st_size) == (4321, 4322, 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes to read-only files")
def test_a_read_only_file_is_not_replaced(files: GuardedFiles, yard: Path) -> None:
    (yard / "work" / "file").chmod(0o444)
    assert code_of(files.write, "file", "x") == "EXECUTION_ERROR"
    assert files.read("file") == b"inside"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_what_we_may_not_do_is_an_error_that_says_so(files: GuardedFiles, yard: Path) -> None:
    (yard / "work" / "file").chmod(0)
    (yard / "work" / "folder").chmod(0o500)
    assert code_of(files.read, "file") == "READ_ERROR"
    assert code_of(files.write, "folder/new", "x") == "EXECUTION_ERROR"
    (yard / "work" / "folder").chmod(0)
    assert code_of(files.list, "folder") == "READ_ERROR"
    assert code_of(files.read, "folder/deep") == "READ_ERROR"
    (yard / "work" / "folder").chmod(0o700)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_failed_write_leaves_everything_as_it_was(
    files: GuardedFiles, yard: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    before = snapshot(yard)

    def fails(*args: object, **kwargs: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(_deliver.os, "replace", fails)
    monkeypatch.setattr(_deliver.os, "link", fails)
    for path in ("file", "new", "a/b/new"):
        assert code_of(files.write, path, "x" * 100_000) == "EXECUTION_ERROR"
    assert snapshot(yard) == before
    assert files.report == {}


def test_a_full_disk_leaves_everything_as_it_was(files: GuardedFiles, yard: Path) -> None:
    """A limit on the size of files fails in the same place as a full disk does: while the content is written."""
    resource, signal = pytest.importorskip("resource"), pytest.importorskip("signal")
    before = snapshot(yard)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, limits[1]))
    try:
        for path in ("file", "a/b/new"):
            assert code_of(files.write, path, "x" * 200_000) == "EXECUTION_ERROR"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert snapshot(yard) == before


def test_text_that_is_no_text_is_refused(files: GuardedFiles, yard: Path) -> None:
    before = snapshot(yard)
    assert code_of(files.write, "file", "half \ud83d of one") == "EXECUTION_ERROR"
    assert snapshot(yard) == before


def test_no_descriptor_is_left_open(files: GuardedFiles, yard: Path) -> None:
    if not os.path.isdir("/dev/fd"):
        pytest.skip("descriptors cannot be counted here")
    os.symlink("..", yard / "work" / "folder" / "link")

    def everything() -> None:
        for path in ("file", "folder/link/file", "a/b/c", "../secret", "nope", "file/x", "folder", "x" * 300, "\0"):
            for name in ("read", "write", "list", "stat", "unlink"):
                try:
                    USES[name](files, path)
                except ToolError:
                    pass

    everything()
    count = len(os.listdir("/dev/fd"))
    everything()
    assert len(os.listdir("/dev/fd")) == count


# Where a path led when it was judged


def test_a_path_that_leads_elsewhere_than_when_judged_is_refused(yard: Path) -> None:
    """I3: what was approved is exactly what runs."""
    work = yard / "work"
    os.symlink("file", work / "link")
    places = Places(str(work))
    judged = {path: places.locate(path).real for path in ("link", "folder/deep", "new/thing", "file")}
    files = GuardedFiles(places, {}, judged)
    assert files.read("link") == b"inside"
    os.unlink(work / "link")
    os.symlink("folder/deep", work / "link")
    os.rename(work / "folder", work / "was")
    os.symlink("was", work / "folder")
    os.symlink("was/sub", work / "new")
    before = snapshot(yard)
    for path in ("link", "folder/deep"):
        for use in ("read", "write", "stat", "exists", "list"):
            if use != "list":
                assert code_of(USES[use], files, path) == JUDGED, (path, use)
    with pytest.raises(Refused):
        files.unlink("folder/deep")
    assert code_of(files.write, "new/thing", "x") == JUDGED
    assert snapshot(yard) == before
    assert files.read("file") == b"inside"
    assert files.read("was/sub/leaf") == b"leaf"  # it was not judged, and is pinned to nothing


def test_what_was_judged_can_be_made_changed_and_removed(yard: Path) -> None:
    places = Places(str(yard / "work"))
    os.symlink("file", yard / "work" / "link")
    judged = {path: places.locate(path, write=True).real for path in ("a/b", "file", "link")}
    files = GuardedFiles(places, {}, judged)
    for path in ("a/b", "file", "link"):
        files.write(path, "x")
        files.write(path, "xy")
        assert files.read(path) == b"xy"
    files.unlink("link")
    assert (yard / "work" / "file").exists() and not (yard / "work" / "link").is_symlink()


# More roots


@pytest.fixture
def rooted(yard: Path) -> Iterator[GuardedFiles]:
    """`other` may be written, `outside` only read, and so may `folder` in the workspace."""
    roots = {str(yard / "other"): "write", str(yard / "outside"): "read", str(yard / "work" / "folder"): "read"}
    yield GuardedFiles(Places(str(yard / "work"), roots=roots))
    assert (yard / "secret").read_bytes() == SECRET


def test_further_roots_are_used_by_absolute_paths(rooted: GuardedFiles, yard: Path) -> None:
    assert rooted.read(f"{yard}/other/file") == SECRET
    assert rooted.read(f"{yard}/up/other/file") == SECRET
    rooted.write(f"{yard}/other/new/file", "x")
    rooted.unlink(f"{yard}/other/new/file")
    assert rooted.list(f"{yard}/outside") == ["deep", "secret"]
    for path in ("../other/file", f"{yard}/other/../secret", f"{yard}/other/../work/file", f"{yard}/others"):
        assert code_of(rooted.read, path) == OUTSIDE


def test_in_a_root_for_reading_nothing_is_written(rooted: GuardedFiles, yard: Path) -> None:
    os.symlink("folder", yard / "work" / "link")
    before = snapshot(yard)
    for path in (f"{yard}/outside/secret", f"{yard}/outside/new", "folder/deep", "folder/new/x", "link/deep"):
        assert code_of(rooted.write, path, "x") == PROTECTED
    for path in (f"{yard}/outside/secret", "folder/deep", "link/deep"):
        assert code_of(rooted.unlink, path) == PROTECTED
        assert rooted.read(path)
    assert snapshot(yard) == before


def test_a_root_that_was_replaced_by_a_link_is_closed(yard: Path, mode: str) -> None:
    """A root inside the workspace could be turned elsewhere by whoever writes there."""
    if mode == "walk":
        pytest.skip("without the kernel's word, where an open root lies is not known")
    files = GuardedFiles(Places(str(yard / "other"), roots={str(yard / "work" / "folder"): "read"}))
    assert files.read(f"{yard}/work/folder/deep") == b"deep"
    os.rename(yard / "work" / "folder", yard / "work" / "was")
    os.symlink(yard / "outside", yard / "work" / "folder")
    assert code_of(files.read, f"{yard}/work/folder/secret") == OUTSIDE


def test_the_walk_is_there_for_kernels_without_openat2(yard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_openat2, "AVAILABLE", False)
    monkeypatch.setattr(_openat2, "open_beneath", None)
    assert guard.GuardedFiles(yard / "work").read("file") == b"inside"


# What is told


@pytest.mark.parametrize(
    ("use", "path", "code"),
    [
        *((use, "../secret", OUTSIDE) for use in USES),
        *((use, "nothing", MISSING) for use in ("read", "stat", "list", "unlink")),
        *((use, "folder", ODD) for use in ("read", "write", "unlink")),
        *((use, "x" * 256, "READ_ERROR") for use in ("read", "stat", "exists", "list")),
        *((use, "x" * 256, "EXECUTION_ERROR") for use in ("write", "unlink")),
        *((use, "a\0b", "READ_ERROR") for use in ("read", "stat", "exists", "list")),
        *((use, "a\0b", "EXECUTION_ERROR") for use in ("write", "unlink")),
        ("write", "dangling", MISSING),
        ("write", "new/", ODD),
        ("write", "/".join("d" * 66), "EXECUTION_ERROR"),
        ("list", "file", MISSING),
        ("unlink", "nothing/.", MISSING),
        ("unlink", "folder/..", ODD),
    ],
)
def test_an_error_has_the_path_and_says_what_kind_it_is(
    files: GuardedFiles, yard: Path, use: str, path: str, code: str
) -> None:
    os.symlink("nowhere", yard / "work" / "dangling")
    error = refusal(USES[use], files, path)
    assert (error.code, error.details, path in str(error)) == (code, {"path": path}, True)
    assert files.report == {}


@pytest.mark.parametrize("path", [".git/config", "folder/.envrc"])
def test_a_protected_place_is_told_with_the_reason(files: GuardedFiles, path: str) -> None:
    error = refusal(files.write, path, "x")
    assert (error.code, error.details["path"]) == (PROTECTED, path)
    assert error.details["reason"] in str(error) and isinstance(error, Refused)


def test_every_use_is_noted_in_the_report_it_was_given(yard: Path) -> None:
    report: dict[str, Any] = {}
    files = GuardedFiles(yard / "work", report)
    files.write("file", b"12345")
    assert report == {"bytes_written": 5, "files_accessed": ["file"]}
    files.unlink("file")
    files.write("new", "é")
    assert report == {"bytes_written": 7, "files_accessed": ["file", "new"]}
    files.read("new")
    with files.open("folder/deep") as file:
        assert file.read(1) == b"d"
        assert file.read() == b"eep"
    with pytest.raises(KeyError), files.open("folder/sub/leaf") as file:
        file.read()
        raise KeyError
    with files.open("folder/deep"):
        pass
    assert report == {
        "bytes_written": 7, "bytes_read": 2 + 4 + 4, "files_accessed": ["file", "new", "folder/deep", "folder/sub/leaf"],
    }  # fmt: skip
    files.stat("new"), files.exists("new"), files.list("folder")
    assert report["files_accessed"] == ["file", "new", "folder/deep", "folder/sub/leaf"]


def test_what_is_removed_alone_is_noted_too(files: GuardedFiles, yard: Path) -> None:
    os.mkfifo(yard / "work" / "fifo")
    files.unlink("fifo")
    assert files.report == {"bytes_written": 0, "files_accessed": ["fifo"]}
    assert not files.exists("fifo")


def test_of_a_large_file_as_much_is_read_as_is_asked_for(files: GuardedFiles, yard: Path) -> None:
    content = os.urandom(2 * 1024 * 1024 + 5)
    (yard / "work" / "large").write_bytes(content)
    assert files.read("large") == content
    with files.open("large") as file:
        assert file.read(10) == content[:10]
        file.seek(-5, os.SEEK_END)
        assert file.read() == content[-5:]
    assert len(content) < files.report["bytes_read"] < len(content) + 1024 * 1024


def test_no_descriptor_of_a_file_that_was_read_in_parts_stays(files: GuardedFiles) -> None:
    before = len(os.listdir("/dev/fd"))
    with files.open("file") as file, files.directory("folder") as folder:
        assert (file.read(), os.listdir(folder.fd)) == (b"inside", os.listdir(folder.real))
    assert len(os.listdir("/dev/fd")) == before


# Limits


@pytest.mark.parametrize(("length", "changed"), [(10, True), (11, False)])
def test_what_is_longer_than_that_is_not_changed(
    files: GuardedFiles, yard: Path, monkeypatch: pytest.MonkeyPatch, length: int, changed: bool
) -> None:
    monkeypatch.setattr(guard, "_LONGEST_CHANGED", 10)
    (yard / "work" / "file").write_bytes(b"x" * length)
    if changed:
        files.change("file", lambda old: (old or b"") + b"!")
    else:
        error = refusal(files.change, "file", lambda old: b"wrong")
        assert (error.code, error.details) == ("EXECUTION_ERROR", {"path": "file"})
    assert (yard / "work" / "file").read_bytes() == b"x" * length + (b"!" if changed else b"")
    files.write("file", "whatever was there")


@pytest.mark.parametrize(("depth", "made"), [(64, True), (65, False)])
def test_so_many_directories_are_made_on_the_way(files: GuardedFiles, yard: Path, depth: int, made: bool) -> None:
    path = "/".join("d" * depth)
    if made:
        files.write(path, "x")
        assert files.read(path) == b"x"
    else:
        assert code_of(files.write, path, "x") == "EXECUTION_ERROR"
        assert not (yard / "work" / "d").exists()


def test_a_file_that_comes_and_goes_is_not_tried_for_ever(files: GuardedFiles, yard: Path) -> None:
    place, asked = yard / "work" / "new", []

    def make(old: bytes | None) -> bytes:
        asked.append(old)
        if old is None:
            place.write_bytes(b"quicker")
            return b"mine"
        place.unlink()
        raise FileNotFoundError

    error = refusal(files.change, "new", make)
    assert (error.code, error.details) == ("EXECUTION_ERROR", {"path": "new"})
    assert 16 <= len(asked) <= 64
    assert place.read_bytes() == b"quicker"


# While somebody else moves things


class Moving(Places):
    """Does something before a path is opened for the second time."""

    def __init__(self, workspace: Path, move: Callable[[], None]) -> None:
        super().__init__(str(workspace))
        self.move, self.opened = move, 0

    @contextmanager
    def open(self, path: str, flags: int) -> Iterator[Found]:
        self.opened += 1
        if self.opened == 2:
            self.move()
        with super().open(path, flags) as found:
            yield found


def test_a_directory_that_becomes_another_while_a_file_in_it_is_written(yard: Path) -> None:
    """What was opened to be replaced is not what its name leads to now."""
    work = yard / "work"
    (work / "other").mkdir()
    (work / "other" / "deep").write_bytes(b"other's")

    def move() -> None:
        os.rename(work / "folder", work / "was")
        os.symlink("other", work / "folder")

    files = GuardedFiles(Moving(work, move))
    error = refusal(files.write, "folder/deep", "new")
    assert (error.code, error.details) == ("EXECUTION_ERROR", {"path": "folder/deep"})
    assert [(work / name / "deep").read_bytes() for name in ("was", "other")] == [b"deep", b"other's"]


def test_a_file_that_we_may_not_write_to_is_not_replaced(
    files: GuardedFiles, yard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the directory would let us. Root may do everything, so it is told what others are told."""

    def access(name: str, how: int, *, dir_fd: int) -> bool:
        about = os.stat(name, dir_fd=dir_fd)
        return how == os.W_OK and bool(about.st_mode & 0o200)

    monkeypatch.setattr(guard.os, "access", access)
    (yard / "work" / "file").chmod(0o444)
    for use in (lambda: files.write("file", "x"), lambda: files.change("file", lambda old: b"x")):
        error = refusal(use)
        assert (error.code, error.details) == ("EXECUTION_ERROR", {"path": "file"})
        assert "permission" in str(error)
    assert (yard / "work" / "file").read_bytes() == b"inside"
    (yard / "work" / "file").chmod(0o644)
    files.write("file", "x")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_second_name_of_somebody_elses_file_is_neither_read_in_parts_nor_changed(
    files: GuardedFiles, yard: Path
) -> None:
    os.link(yard / "secret", yard / "work" / "hard")
    os.chown(yard / "secret", 4321, 4321)

    def opens() -> None:
        with files.open("hard"):
            raise AssertionError("it was opened")

    for use in (opens, lambda: files.change("hard", lambda old: b"x"), lambda: files.read("hard")):
        error = refusal(use)
        assert (error.code, error.details) == (OUTSIDE, {"path": "hard"})
    assert files.report == {} and (yard / "secret").read_bytes() == SECRET


def test_a_directory_that_somebody_holds_is_not_written_in(files: GuardedFiles, yard: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    holder = os.open(yard / "work", os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    for use in (lambda: files.unlink("file"), lambda: files.write("file", "x"), lambda: files.write("new/er", "x")):
        with pytest.raises(ToolError) as caught:
            use()
        assert (caught.value.code, caught.value.before_effect) == ("RESOURCE_EXHAUSTED", True)
    os.close(holder)
    assert ((yard / "work" / "file").read_bytes(), files.list()) == (b"inside", ["file", "folder"])


# What a session knows


def test_what_a_session_wrote_it_has_read(yard: Path) -> None:
    work, readings = yard / "work", Readings()
    mine = GuardedFiles(work, session="mine", readings=readings)
    mine.write("file", "one")
    mine.write("new", "two")
    for name, content in (("file", b"one"), ("new", b"two")):
        known = readings.known("mine", str(work / name))
        assert known is not None and known.content == content
        mine.change(name, lambda old: (old or b"") + b"!")
        (work / name).write_bytes(b"by hand")
        with pytest.raises(Stale) as caught:
            mine.change(name, lambda old: b"wrong")
        assert (caught.value.before, caught.value.after) == (content + b"!", b"by hand")
        assert caught.value.details["path"] == name
        with pytest.raises(Stale) as caught:
            mine.unlink(name)
        assert caught.value.details["path"] == name
        mine.write(name, "blind")  # that asks nobody
    mine.unlink("new")
    assert readings.known("mine", str(work / "new")) is None


def test_a_file_read_in_parts_is_known_by_its_stamp(yard: Path) -> None:
    readings = Readings()
    mine = GuardedFiles(yard / "work", session="mine", readings=readings)
    with mine.open("file") as file:
        file.read()
    known = readings.known("mine", str(yard / "work" / "file"))
    assert known is not None and known.content is None
    mine.read("file")
    known = readings.known("mine", str(yard / "work" / "file"))
    assert known is not None and known.content == b"inside"


def test_without_others_a_session_may_change_what_it_has_not_read(yard: Path) -> None:
    files = GuardedFiles(yard / "work", session="alone")
    files.change("file", lambda old: (old or b"") + b"!")
    assert files.read("file") == b"inside!"
    (yard / "work" / "file").write_bytes(b"by hand")
    with pytest.raises(Stale):
        files.change("file", lambda old: b"wrong")
    given = Readings()
    GuardedFiles(yard / "work", session="alone", readings=given).read("file")
    assert given.known("alone", str(yard / "work" / "file")) is not None


# Where it led


def test_a_link_that_leads_elsewhere_than_when_judged_is_not_removed(yard: Path) -> None:
    """But one may be removed whose own place was judged."""
    work = yard / "work"
    os.symlink("file", work / "link")
    judged = GuardedFiles(work, None, {"link": str(work / "folder" / "deep")})
    error = refusal(judged.unlink, "link")
    assert (error.code, error.details, isinstance(error, Refused)) == (JUDGED, {"path": "link"}, True)
    assert (work / "link").is_symlink()
    os.symlink("nowhere", work / "gone")
    assert code_of(GuardedFiles(work, None, {"gone": str(work / "file")}).unlink, "gone") == JUDGED
    for name, led in (("link", "link"), ("gone", "gone")):
        GuardedFiles(work, None, {name: str(work / led)}).unlink(name)
    assert sorted(os.listdir(work)) == ["file", "folder"]


def test_a_new_file_is_made_only_where_it_was_judged_to_be(yard: Path) -> None:
    work = yard / "work"
    files = GuardedFiles(work, None, {"new": str(work / "elsewhere"), "a/b": str(work / "a" / "b")})
    assert code_of(files.write, "new", "x") == JUDGED
    files.write("a/b", "x")
    assert sorted(os.listdir(work)) == ["a", "file", "folder"]
