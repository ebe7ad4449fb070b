"""What a program leaves in protected places is moved to where nobody runs it, and told; nothing is lost."""

import asyncio
import errno
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.core.process import Command
from toolcrib.sandbox import aftermath
from toolcrib.sandbox.aftermath import Aftermath, PutAside, before, put_aside
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.finding import OTHER, Place
from toolcrib.sandbox.processes import Processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no tier that needs it but on Linux")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "workspace"
    root.mkdir()
    return root


@pytest.fixture
def aside(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "aside"
    root.mkdir()
    return root


def write(path: Path, text: str = "evil") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


NEW = (
    ".vscode/tasks.json", ".envrc", ".git/config", ".GIT/config", ".claude/settings.json", "sub/deep/.idea/x",
    "conf.code-workspace", ".husky/pre-commit", ".github/hooks/x", ".mcp.json", "bare/config",
)  # fmt: skip


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("held", [True, False])
def test_what_is_new_and_protected_is_moved(workspace, aside, name, held) -> None:
    if name.startswith("bare/"):
        for part in ("HEAD", "objects/x", "refs/x"):
            write(workspace / "bare" / part)
    seen = before(str(workspace), held=held)
    write(workspace / name)
    (moved,) = put_aside(seen, lambda: str(aside))
    assert not (workspace / name).exists()
    found = [path for path in aside.rglob("*") if path.is_file()]
    assert [path.read_text() for path in found] == ["evil"] and moved.why
    assert os.path.lexists(moved.moved_to) and name.startswith(moved.path)
    assert put_aside(seen, lambda: str(aside)) == []


@pytest.mark.parametrize("name", ["file", "src/config", "Makefile", ".gitignore", "hooks/x", ".github/workflows/x.yml"])
def test_what_is_ordinary_stays(workspace, aside, name) -> None:
    seen = before(str(workspace))
    write(workspace / name)
    assert (put_aside(seen, lambda: str(aside)), (workspace / name).read_text()) == ([], "evil")


def test_a_new_environment_is_ordinary(workspace, aside) -> None:
    names = (".venv/pyvenv.cfg", ".venv/bin/python", ".venv/lib/x.pth", "node_modules/.bin/tool", "lib/x.pth")
    seen = before(str(workspace), held=True)
    for name in names:
        write(workspace / name)
    assert put_aside(seen, lambda: str(aside)) == []
    assert all((workspace / name).exists() for name in names)


def test_what_was_there_stays(workspace, aside) -> None:
    for name in NEW[:5]:
        write(workspace / name)
    for held in (True, False):
        assert put_aside(before(str(workspace), held=held), lambda: str(aside)) == []
    assert all((workspace / name).exists() for name in NEW[:5])


def test_in_a_repository_what_runs_programs(workspace, aside) -> None:
    for name in (".git/config", ".git/HEAD"):
        write(workspace / name, "mine")
    seen = before(str(workspace), held=True)
    for name in (".git/config.worktree", ".git/hooks/pre-commit", ".git/commondir", ".git/index", ".git/objects/ab/cd"):
        write(workspace / name)
    paths = sorted(moved.path for moved in put_aside(seen, lambda: str(aside)))
    assert paths == [".git/commondir", ".git/config.worktree", ".git/hooks"]
    assert sorted(os.listdir(workspace / ".git")) == ["HEAD", "config", "index", "objects"]


def test_what_changed_where_nothing_is_held_is_told_and_left(workspace, aside) -> None:
    for name in (".npmrc", ".vscode/tasks.json", ".idea/x"):
        write(workspace / name, "mine")
    seen = before(str(workspace))
    write(workspace / "draft")
    os.replace(workspace / "draft", workspace / ".npmrc")
    write(workspace / ".vscode" / "tasks.json")
    done = put_aside(seen, lambda: str(aside))
    assert sorted((each.path, each.moved_to) for each in done) == [(".npmrc", ""), (".vscode", "")]
    assert ((workspace / ".npmrc").read_text(), os.listdir(aside)) == ("evil", [])


def test_what_was_held_and_has_another_in_its_place_is_moved(workspace, aside) -> None:
    """A program can rename a directory above what it cannot change, and make a new one."""
    write(workspace / "sub" / ".vscode" / "tasks.json", "mine")
    seen = before(str(workspace), held=True)
    os.rename(workspace / "sub", workspace / "old")
    write(workspace / "sub" / ".vscode" / "tasks.json")
    assert {each.path for each in put_aside(seen, lambda: str(aside))} == {"sub/.vscode", "old/.vscode"}
    assert not (workspace / "sub" / ".vscode").exists()


def test_a_link_that_was_replaced_is_moved(workspace, aside) -> None:
    write(workspace / "conf" / "tasks.json", "mine")
    (workspace / ".vscode").symlink_to("conf")
    seen = before(str(workspace), held=True)
    os.unlink(workspace / ".vscode")
    write(workspace / ".vscode" / "tasks.json")
    (moved,) = put_aside(seen, lambda: str(aside))
    assert (Path(moved.moved_to) / "tasks.json").read_text() == "evil"
    assert (workspace / "conf" / "tasks.json").read_text() == "mine"


def test_a_new_link_is_moved_and_not_what_it_leads_to(workspace, aside, tmp_path) -> None:
    outside = tmp_path / "outside"
    write(outside / "file", "mine")
    seen = before(str(workspace), held=True)
    (workspace / ".vscode").symlink_to(outside)
    (moved,) = put_aside(seen, lambda: str(aside))
    assert (os.readlink(moved.moved_to), (outside / "file").read_text()) == (str(outside), "mine")
    assert os.listdir(workspace) == []


def test_nothing_is_reached_through_a_link(workspace, aside, tmp_path, monkeypatch) -> None:
    """A directory that became a link after it was looked at leads nowhere."""
    outside = tmp_path / "outside"
    write(outside / ".vscode" / "x", "mine")
    seen = before(str(workspace), held=True)
    (workspace / "sub").symlink_to(outside)
    place = aftermath.Place("sub/.vscode", "an editor's settings")
    monkeypatch.setattr(aftermath, "find", lambda workspace: [place])
    assert put_aside(seen, lambda: str(aside)) == []
    assert (outside / ".vscode" / "x").read_text() == "mine" and os.listdir(aside) == []


@pytest.mark.parametrize("mode", [0o500, 0o100, 0o300])
def test_a_locked_directory_protects_nothing(workspace, aside, mode) -> None:
    seen = before(str(workspace), held=True)
    write(workspace / "sub" / ".vscode" / "x")
    os.chmod(workspace / "sub" / ".vscode", 0o500)
    os.chmod(workspace / "sub", mode)
    try:
        (moved,) = put_aside(seen, lambda: str(aside))
        assert stat.S_IMODE(os.lstat(workspace / "sub").st_mode) == mode
        assert os.path.exists(f"{moved.moved_to}/x")
    finally:
        os.chmod(workspace / "sub", 0o700)
        for path in Path(workspace).parent.rglob("*"):
            if path.is_dir():
                path.chmod(0o700)
    assert not (workspace / "sub" / ".vscode").exists()


def test_on_another_file_system_it_is_renamed_where_it_is(workspace, monkeypatch) -> None:
    if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat(workspace).st_dev:
        pytest.skip("there is no other file system to write to")
    seen = before(str(workspace), held=True)
    write(workspace / ".vscode" / "x")
    (moved,) = put_aside(seen, lambda: "/dev/shm")
    assert (
        moved.moved_to.startswith(f"{workspace}/put-aside-vscode-") and Path(moved.moved_to, "x").read_text() == "evil"
    )
    assert put_aside(seen, lambda: "/dev/shm") == [] and not (workspace / ".vscode").exists()


def test_what_was_granted_by_name_stays(workspace, aside) -> None:
    seen = before(str(workspace), writable=(f"{workspace}/.vscode",), held=True)
    write(workspace / ".vscode" / "x")
    assert (put_aside(seen, lambda: str(aside)), os.listdir(workspace)) == ([], [".vscode"])


def test_in_a_crowd_it_is_found(workspace, aside) -> None:
    for number in range(2500):
        (workspace / f"file{number}").touch()
    seen = before(str(workspace), held=True)
    write(workspace / ".vscode" / "x")
    assert [each.path for each in put_aside(seen, lambda: str(aside))] == [".vscode"]


def test_no_directory_is_made_where_nothing_is_put_aside(workspace) -> None:
    def into() -> str:
        raise AssertionError("it is not needed")

    assert put_aside(before(str(workspace)), into) == []


def test_who_wants_to_know_is_told(workspace, aside) -> None:
    told: list[tuple[str, list[PutAside]]] = []
    look = Aftermath(lambda: str(aside), lambda mark, what: told.append((mark, list(what))))
    seen = look.before(Cage("landlock", workspace=str(workspace)))
    look.after(seen, "nothing-1")
    write(workspace / ".envrc")
    look.after(seen, "call-1")
    ((mark, (what,)),) = told
    assert (mark, what.path) == ("call-1", ".envrc")


@pytest.mark.parametrize("cage", [None, Cage("process", "/x"), Cage("landlock"), Cage("landlock", "/x", False)])
def test_where_nothing_is_confined_nothing_is_looked_at(cage, aside) -> None:
    assert Aftermath(lambda: str(aside), lambda mark, what: None).before(cage) is None


def test_how_it_was_confined_says_what_is_looked_after(workspace, aside) -> None:
    look, root = Aftermath(lambda: str(aside), lambda mark, what: None), str(workspace)
    write(workspace / ".vscode" / "x", "mine")
    for tier, held in (("bubblewrap", True), ("landlock", False)):
        seen = look.before(Cage(tier, root, writable=(f"{root}/data",)))
        assert seen == before(root, writable=(f"{root}/data",), held=held)
        assert (seen.workspace, seen.writable, seen.held, list(seen.places)) == (
            root, (f"{root}/data",), held, [".vscode"],
        )  # fmt: skip
    look.after(None, "nothing-2")


def test_a_program_that_stays_running_is_looked_after_in_each_call(workspace, aside) -> None:
    told: list[tuple[str, list[str]]] = []
    look = Aftermath(lambda: str(aside), lambda mark, what: told.append((mark, [each.path for each in what])))
    processes = Processes(f"after{os.getpid()}")
    makes = "while IFS= read -r name; do echo x > $name; echo done; done"

    async def calls() -> None:
        for mark, name, cage in (
            ("call-1", ".envrc", Cage("landlock", str(workspace))),
            ("call-2", ".npmrc", Cage("landlock", str(workspace))),
            ("call-3", "ordinary", Cage("landlock", str(workspace))),
            ("call-4", ".netrc", None),
        ):
            command = Command(("/bin/sh", "-c", makes), str(workspace), mark, {"PATH": os.environ["PATH"]})
            loan = processes.lend(command, key="key", marks=lambda mark=mark: mark)
            async with look.around(loan, cage, mark) as peer:
                peer.send(f"{name}\n".encode())
                assert await peer.receive() == b"done\n"

    try:
        asyncio.run(calls())
    finally:
        processes.close()
    assert told == [("call-1", [".envrc"]), ("call-2", [".npmrc"])]
    assert sorted(os.listdir(workspace)) == [".netrc", "ordinary"]


def test_what_was_done_is_told_with_the_reason(workspace, aside) -> None:
    seen = before(str(workspace))
    write(workspace / "sub" / ".envrc")
    (moved,) = put_aside(seen, lambda: str(aside))
    (name,) = os.listdir(aside)
    assert name.startswith("envrc-")
    assert moved == PutAside("sub/.envrc", f"{aside}/{name}", "what a shell runs when it starts or enters a directory")
    write(workspace / ".envrc", "mine")
    seen = before(str(workspace))
    write(workspace / ".envrc")
    assert put_aside(seen, lambda: str(aside)) == [PutAside(".envrc", "", moved.why)]


def added(directory: Path) -> None:
    (directory / "new").touch()


def removed(directory: Path) -> None:
    os.unlink(directory / "deep" / "file")


def touched(directory: Path) -> None:
    os.utime(directory / "deep" / "file", (1, 1))


def longer(directory: Path) -> None:
    """At the same time."""
    about = (directory / "deep" / "file").stat()
    (directory / "deep" / "file").write_text("evil, and longer")
    os.utime(directory / "deep" / "file", ns=(about.st_atime_ns, about.st_mtime_ns))


def replaced(directory: Path) -> None:
    """By one of the same length and time, in a directory of the same time."""
    about, above = (directory / "deep" / "file").stat(), (directory / "deep").stat()
    (directory.parent / "draft").write_text("evil")
    os.utime(directory.parent / "draft", ns=(about.st_atime_ns, about.st_mtime_ns))
    os.replace(directory.parent / "draft", directory / "deep" / "file")
    os.utime(directory / "deep", ns=(above.st_atime_ns, above.st_mtime_ns))


@pytest.mark.parametrize("change", [added, removed, touched, longer, replaced])
def test_a_change_deep_in_a_protected_directory_shows(workspace, aside, change: Callable[[Path], None]) -> None:
    write(workspace / ".vscode" / "deep" / "file", "mine")
    write(workspace / ".idea" / "file", "mine")
    seen, held = before(str(workspace)), before(str(workspace), held=True)
    change(workspace / ".vscode")
    assert [(each.path, each.moved_to) for each in put_aside(seen, lambda: str(aside))] == [(".vscode", "")]
    assert put_aside(held, lambda: str(aside)) == []  # it cannot have been the program


@pytest.mark.parametrize(("name", "shows"), [("a", True), ("b", True), ("c", False)])
def test_in_so_many_files_a_change_shows(workspace, aside, monkeypatch, name: str, shows: bool) -> None:
    monkeypatch.setattr(aftermath, "_MOST_FILES", 3)  # with the directory itself
    for each in "abc":
        write(workspace / ".vscode" / each, "mine")
    seen = before(str(workspace))
    write(workspace / ".vscode" / name, "changed")
    assert bool(put_aside(seen, lambda: str(aside))) is shows


def test_what_was_installed_and_changed_is_told_but_never_moved(workspace, aside) -> None:
    for name in ("venv/pyvenv.cfg", "venv/bin/python"):
        write(workspace / name, "mine")
    seen, held = before(str(workspace)), before(str(workspace), held=True)
    write(workspace / "venv" / "bin" / "pip")
    assert [(each.path, each.moved_to) for each in put_aside(seen, lambda: str(aside))] == [("venv/bin", "")]
    os.rename(workspace / "venv", workspace / "was")
    for name in ("venv/pyvenv.cfg", "venv/bin/python"):
        write(workspace / name)
    assert put_aside(held, lambda: str(aside)) == []


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("first", ["link", "file"])
@pytest.mark.parametrize("then", ["link", "another link", "file"])
def test_a_link_counts_by_where_it_leads(workspace, aside, held: bool, first: str, then: str) -> None:
    """A new one to the same place is no other one. A file that was replaced was changed, where nothing is held."""

    def make(kind: str) -> None:
        if kind == "file":
            write(workspace / ".envrc", kind)
        else:
            (workspace / ".envrc").symlink_to(kind)

    make(first)
    seen = before(str(workspace), held=held)
    os.rename(workspace / ".envrc", workspace / "was")
    make(then)
    done = [bool(each.moved_to) for each in put_aside(seen, lambda: str(aside))]
    if (first, then) == ("link", "link"):
        assert done == []
    else:
        assert done == [held or (first, then) != ("file", "file")]
        assert (workspace / ".envrc").exists() is (not done[0])


def test_only_so_many_are_moved_at_once_the_nearest(workspace, aside, monkeypatch) -> None:
    monkeypatch.setattr(aftermath, "_MOST", 2)
    seen = before(str(workspace))
    for name in ("a/.envrc", ".envrc", ".npmrc"):
        write(workspace / name)
    for expected in ([".envrc", ".npmrc"], ["a/.envrc"], []):
        assert [each.path for each in put_aside(seen, lambda: str(aside))] == expected


def test_beside_what_was_granted_nothing_stays(workspace, aside) -> None:
    seen = before(str(workspace), writable=(f"{workspace}/sub",))
    for name in ("sub/.envrc", "sub/deep/.envrc", "sub-2/.envrc"):
        write(workspace / name)
    assert [each.path for each in put_aside(seen, lambda: str(aside))] == ["sub-2/.envrc"]


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EROFS, errno.EIO])
def test_what_cannot_be_moved_away_is_renamed_where_it_is(workspace, aside, monkeypatch, code: int) -> None:
    rename, before_fds = os.rename, len(os.listdir("/dev/fd"))
    seen = before(str(workspace))
    write(workspace / "a" / "b" / ".vscode" / "x")

    def refuses(name: str, label: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if src_dir_fd != dst_dir_fd:
            raise OSError(code, os.strerror(code))
        rename(name, label, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(aftermath.os, "rename", refuses)
    done = put_aside(seen, lambda: str(aside))
    if code == errno.EIO:  # nobody knows what came of it
        assert (done, os.listdir(workspace / "a" / "b")) == ([], [".vscode"])
    else:
        (name,) = os.listdir(workspace / "a" / "b")
        assert name.startswith("put-aside-vscode-")
        assert done == [PutAside("a/b/.vscode", f"{workspace}/a/b/{name}", "an editor's settings and tasks")]
        assert (Path(done[0].moved_to) / "x").read_text() == "evil"
    assert (os.listdir(aside), len(os.listdir("/dev/fd"))) == ([], before_fds)


def test_where_there_is_nowhere_to_move_it_to_it_stays_and_nothing_is_told(workspace, aside, tmp_path) -> None:
    before_fds = len(os.listdir("/dev/fd"))
    (tmp_path / "link").symlink_to(aside)
    seen = before(str(workspace))
    write(workspace / ".envrc")
    for into in (tmp_path / "missing", tmp_path / "link", workspace / ".envrc"):
        assert put_aside(seen, lambda into=into: str(into)) == []
    assert (os.listdir(workspace), os.listdir(aside)) == ([".envrc"], [])
    assert len(os.listdir("/dev/fd")) == before_fds


@pytest.mark.parametrize("mode", [0o755, 0o700, 0o500, 0o455, 0o055, 0o355])
@pytest.mark.parametrize("fails", [False, True])
def test_a_directory_is_open_for_as_long_as_it_takes(workspace, aside, monkeypatch, mode: int, fails: bool) -> None:
    """Its own right to change it is added and taken away again, whatever comes."""
    rename, seen_modes = os.rename, []
    seen = before(str(workspace))
    write(workspace / "sub" / ".envrc")
    (workspace / "sub").chmod(mode)

    def look(name: str, label: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        seen_modes.append(stat.S_IMODE(os.fstat(src_dir_fd).st_mode))
        if fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(name, label, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(aftermath.os, "rename", look)
    monkeypatch.setattr(aftermath, "find", lambda workspace: [Place("sub/.envrc", "it is so", OTHER)])
    done = put_aside(seen, lambda: str(aside))
    after = stat.S_IMODE((workspace / "sub").stat().st_mode)
    (workspace / "sub").chmod(0o700)
    assert (seen_modes, after, bool(done)) == ([mode | 0o300], mode, not fails)


def test_what_is_gone_when_it_is_to_be_moved_is_not_told(workspace, aside, monkeypatch) -> None:
    seen = before(str(workspace))
    gone = Place(".envrc", "it is so", OTHER)
    monkeypatch.setattr(aftermath, "find", lambda workspace: [gone])
    assert put_aside(seen, lambda: str(aside)) == []
    assert put_aside(before(str(workspace)), lambda: str(aside)) == []
    late = before(str(workspace), held=True)  # it was gone, and is there again
    write(workspace / ".envrc")
    assert [each.path for each in put_aside(late, lambda: str(aside))] == [".envrc"]
