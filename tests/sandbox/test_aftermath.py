"""What a program leaves in protected places is moved to where nobody runs it, and told; nothing is lost."""

import os
import stat
import sys
from pathlib import Path

import pytest

from toolcrib.sandbox import aftermath
from toolcrib.sandbox.aftermath import Aftermath, PutAside, before, put_aside
from toolcrib.sandbox.cage import Cage

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
