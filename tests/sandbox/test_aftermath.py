"""What a program leaves in protected places is moved to where nobody runs it, and told; nothing is lost."""

import asyncio
import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.core.process import Command
from toolcrib.sandbox import aftermath, beforehand, listing, originals
from toolcrib.sandbox.aftermath import Aftermath, PutAside, put_aside
from toolcrib.sandbox.beforehand import before
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.canary import Alike
from toolcrib.sandbox.finding import TakesLong
from toolcrib.sandbox.found import OTHER, Place
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


def test_what_changed_where_nothing_is_held_is_put_back(workspace, aside) -> None:
    for name in (".npmrc", ".vscode/tasks.json", ".idea/x", ".envrc"):
        write(workspace / name, "mine")
    seen = before(str(workspace))
    write(workspace / "draft")
    os.replace(workspace / "draft", workspace / ".npmrc")
    write(workspace / ".vscode" / "tasks.json")
    os.unlink(workspace / ".envrc")
    done = put_aside(seen, lambda: str(aside))
    assert sorted((each.path, bool(each.moved_to), each.back) for each in done) == [
        (".envrc", False, True), (".npmrc", True, True), (".vscode", True, True),
    ]  # fmt: skip
    assert sorted(Path(each.moved_to).read_text() for each in done if each.moved_to) == ["evil", "evil"]
    assert [(workspace / name).read_text() for name in (".npmrc", ".vscode/tasks.json", ".envrc")] == ["mine"] * 3
    assert put_aside(seen, lambda: str(aside)) == []


def test_what_is_too_much_to_keep_is_told_and_left(workspace, aside, monkeypatch) -> None:
    monkeypatch.setattr(originals, "MOST_BYTES", 10)
    write(workspace / ".envrc", "mine and long")
    write(workspace / ".npmrc", "mine")
    seen = before(str(workspace))
    write(workspace / ".envrc")
    write(workspace / ".npmrc")
    done = {each.path: each for each in put_aside(seen, lambda: str(aside))}
    assert (done[".envrc"].moved_to, done[".envrc"].back, done[".npmrc"].back) == ("", False, True)
    assert ((workspace / ".envrc").read_text(), (workspace / ".npmrc").read_text()) == ("evil", "mine")


def test_of_a_workspace_so_much_is_kept_the_nearest_first(workspace, aside, monkeypatch) -> None:
    monkeypatch.setattr(beforehand, "_MOST_BYTES", 4)
    monkeypatch.setattr(beforehand, "_ALWAYS_COMPARED", 1)
    for name in ("sub/.envrc", ".envrc"):
        write(workspace / name, "mine")
    seen = before(str(workspace))
    for name in ("sub/.envrc", ".envrc"):
        write(workspace / name)
    assert {each.path: each.back for each in put_aside(seen, lambda: str(aside))} == {
        ".envrc": True,
        "sub/.envrc": False,
    }


@pytest.mark.parametrize("put", ["nothing", "a repository", "a file", "a link"])
def test_a_repository_that_was_moved_away_comes_back(workspace, aside, put: str) -> None:
    """With all that is in it, and what was in its place goes."""
    write(workspace / "sub" / ".git" / "HEAD", "ref: mine")
    write(workspace / "sub" / ".git" / "config", "mine")
    write(workspace / "sub" / ".git" / "objects" / "ab" / "cd", "mine")
    canary, seen = Alike(str(workspace / "sub")), before(str(workspace))
    os.rename(workspace / "sub" / ".git", workspace / "elsewhere")
    if put == "a repository":
        write(workspace / "sub" / ".git" / "HEAD")
        write(workspace / "sub" / ".git" / "config")
    elif put == "a file":
        write(workspace / "sub" / ".git", "gitdir: /evil")
    elif put == "a link":
        (workspace / "sub" / ".git").symlink_to("/evil")
    done = [each for each in put_aside(seen, lambda: str(aside)) if each.path == "sub/.git"]
    assert [(bool(each.moved_to), each.back) for each in done] == [(put != "nothing", True)]
    assert not canary.sprung(b"") and os.listdir(workspace) == ["sub"]


def test_a_repository_that_is_gone_is_not_made_up(workspace, aside) -> None:
    write(workspace / ".git" / "config", "mine")
    seen = before(str(workspace))
    shutil.rmtree(workspace / ".git")
    assert put_aside(seen, lambda: str(aside)) == [
        PutAside(".git", "", "git's own files, whose settings and hooks run programs")
    ]
    assert os.listdir(workspace) == []


def test_a_commit_changes_nothing_that_is_protected(workspace, aside) -> None:
    for name in ("config", "HEAD", "index", "objects/ab/cd", "refs/heads/main", "hooks/pre-commit"):
        write(workspace / ".git" / name, "mine")
    seen = before(str(workspace))
    for name in ("HEAD", "index", "objects/ef/01", "refs/heads/main", "logs/HEAD", "COMMIT_EDITMSG"):
        write(workspace / ".git" / name, "of the commit")
    assert put_aside(seen, lambda: str(aside)) == []


def looking(aside: Path) -> tuple[Aftermath, list[tuple[str, list[PutAside]]]]:
    told: list[tuple[str, list[PutAside]]] = []
    return Aftermath(lambda: str(aside), lambda mark, what: told.append((mark, list(what)))), told


def test_of_two_at_once_neither_takes_for_given_what_the_other_left(workspace, aside) -> None:
    """One that begins when the other has made its change, and ends after that was undone, would do it again."""
    look, told = looking(aside)
    cage = Cage("landlock", str(workspace))
    write(workspace / ".envrc", "mine")
    first = look.before(cage)
    write(workspace / ".envrc")
    second = look.before(cage)
    look.after(first, "one")
    look.after(second, "two")
    assert (workspace / ".envrc").read_text() == "mine"
    assert [(mark, [each.back for each in what]) for mark, what in told] == [("one", [True])]
    write(workspace / ".envrc", "mine, and newer")  # when nobody runs, what is there is what was there
    third = look.before(cage)
    look.after(third, "three")
    assert ((workspace / ".envrc").read_text(), len(told)) == ("mine, and newer", 1)


def test_of_two_at_once_the_second_goes_on_being_looked_after(workspace, aside) -> None:
    look, told = looking(aside)
    cage = Cage("landlock", str(workspace))
    write(workspace / ".envrc", "mine")
    first, second = look.before(cage), look.before(cage)
    look.after(first, "one")
    write(workspace / ".envrc")
    look.after(second, "two")
    assert ((workspace / ".envrc").read_text(), [mark for mark, _ in told]) == ("mine", ["two"])


def test_what_one_was_granted_is_not_undone_for_another(workspace, aside) -> None:
    look, told = looking(aside)
    write(workspace / ".envrc", "mine")
    other = look.before(Cage("landlock", str(workspace)))
    granted = look.before(Cage("landlock", str(workspace), writable=(f"{workspace}/.envrc",)))
    write(workspace / ".envrc", "as granted")
    look.after(granted, "granted")
    look.after(other, "other")
    assert ((workspace / ".envrc").read_text(), told) == ("as granted", [])


def test_one_that_was_never_started_is_forgotten(workspace, aside) -> None:
    look, told = looking(aside)
    cage = Cage("landlock", str(workspace))
    write(workspace / ".envrc", "mine")
    look.forget(look.before(cage))
    look.forget(look.before(Cage("bubblewrap", str(workspace))))
    look.forget(None)
    write(workspace / ".envrc", "mine, and newer")
    look.after(look.before(cage), "later")
    assert ((workspace / ".envrc").read_text(), told) == ("mine, and newer", [])


def test_a_look_that_failed_leaves_nothing_to_compare_with(workspace, aside, monkeypatch) -> None:
    """Else the next call would make a place again what it was long ago."""
    look, told = looking(aside)
    cage = Cage("landlock", str(workspace))
    write(workspace / ".envrc", "mine")
    seen = look.before(cage)
    with monkeypatch.context() as broken:
        broken.setattr(aftermath, "put_aside", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            look.after(seen, "broken")
    write(workspace / ".envrc", "mine, and newer")
    look.after(look.before(cage), "later")
    assert ((workspace / ".envrc").read_text(), told) == ("mine, and newer", [])


def test_a_program_that_does_not_start_leaves_nothing_to_compare_with(workspace, aside) -> None:
    look, told = looking(aside)
    write(workspace / ".envrc", "mine")

    async def story(processes: Processes) -> None:
        cage, env = Cage("landlock", str(workspace)), {"PATH": os.environ["PATH"]}
        with pytest.raises(ToolError):
            await processes.exec(Command((f"{workspace}/missing",), str(workspace), "one", env, cage=cage))
        write(workspace / ".envrc", "mine, and newer")
        await processes.exec(Command(("/bin/true",), str(workspace), "two", env, cage=cage))

    processes = Processes(f"after{os.getpid()}", aftermath=look)
    try:
        asyncio.run(story(processes))
    finally:
        processes.close()
    assert ((workspace / ".envrc").read_text(), told) == ("mine, and newer", [])


@pytest.mark.parametrize("held", [True, False])
def test_who_installs_may_change_what_is_installed_and_nothing_else(workspace, aside, held: bool) -> None:
    for name in ("venv/pyvenv.cfg", "venv/bin/python", "node_modules/.bin/tool", ".envrc"):
        write(workspace / name, "mine")
    seen = before(str(workspace), held=held, installs=True)
    for name in ("venv/pyvenv.cfg", "venv/bin/pip", "node_modules/.bin/tool", "venv/lib/x.pth"):
        write(workspace / name)
    if not held:
        write(workspace / ".envrc")
    assert [each.path for each in put_aside(seen, lambda: str(aside))] == ([] if held else [".envrc"])
    assert (workspace / "node_modules" / ".bin" / "tool").read_text() == "evil"


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
    monkeypatch.setattr(aftermath, "find", lambda workspace, **_: [place])
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


@pytest.mark.parametrize("held", [True, False])
def test_what_could_not_be_looked_through_is_told_once_and_left(workspace, aside, monkeypatch, held: bool) -> None:
    monkeypatch.setattr(listing, "MOST_NAMES", 3)
    seen = before(str(workspace), held=held)
    for number in range(5):
        write(workspace / "sub" / f"file{number}", "mine")
    (told,) = put_aside(seen, lambda: str(aside))
    assert told == PutAside("sub", "", "a directory with more names than are looked at")
    later = before(str(workspace), held=held)
    write(workspace / "sub" / "one-more")
    assert (put_aside(later, lambda: str(aside)), len(os.listdir(workspace / "sub"))) == ([], 6)


def test_no_directory_is_made_where_nothing_is_put_aside(workspace) -> None:
    def into() -> str:
        raise AssertionError("it is not needed")

    assert put_aside(before(str(workspace)), into) == []


def test_who_wants_to_know_is_told(workspace, aside) -> None:
    look, told = looking(aside)
    cage = Cage("landlock", workspace=str(workspace))
    look.after(look.before(cage), "nothing-1")
    seen = look.before(cage)
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


def test_what_was_done_is_told_with_the_reason(workspace, aside) -> None:
    seen = before(str(workspace))
    write(workspace / "sub" / ".envrc")
    (moved,) = put_aside(seen, lambda: str(aside))
    (name,) = os.listdir(aside)
    assert name.startswith("envrc-")
    assert moved == PutAside("sub/.envrc", f"{aside}/{name}", "what a shell runs when it starts or enters a directory")


def added(directory: Path) -> None:
    (directory / "new").touch()


def removed(directory: Path) -> None:
    os.unlink(directory / "deep" / "file")


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


@pytest.mark.parametrize("change", [added, removed, longer, replaced])
def test_a_change_deep_in_a_protected_directory_shows(workspace, aside, change: Callable[[Path], None]) -> None:
    write(workspace / ".vscode" / "deep" / "file", "mine")
    write(workspace / ".idea" / "file", "mine")
    seen, held = before(str(workspace)), before(str(workspace), held=True)
    change(workspace / ".vscode")
    assert put_aside(held, lambda: str(aside)) == []  # it cannot have been the program
    assert [(each.path, each.back) for each in put_aside(seen, lambda: str(aside))] == [(".vscode", True)]
    assert (workspace / ".vscode" / "deep" / "file").read_text() == "mine"


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
    """A new one to the same place is no other one; nor is a file that holds the same."""
    alike = [("link", "link"), ("file", "file")]

    def make(kind: str) -> None:
        if kind == "file":
            write(workspace / ".envrc", kind)
        else:
            (workspace / ".envrc").symlink_to(kind)

    make(first)
    seen = before(str(workspace), held=held)
    os.rename(workspace / ".envrc", workspace / "was")
    make(then)
    done = [(bool(each.moved_to), each.back) for each in put_aside(seen, lambda: str(aside))]
    assert done == ([] if (first, then) in alike else [(True, not held or first == "file")])
    if not held:
        assert (
            os.readlink(workspace / ".envrc") == first
            if first == "link"
            else (workspace / ".envrc").read_text() == first
        )


@pytest.mark.parametrize("held", [True, False])
def test_however_many_there_are_all_are_moved(workspace, aside, held: bool) -> None:
    """What matters must not be able to hide behind what does not. Many are told as few."""
    seen = before(str(workspace), held=held)
    for number in range(150):
        (workspace / f".a{number}.code-workspace").touch()
    for number in range(20):
        write(workspace / f"sub{number}" / ".vscode" / "tasks.json")
    write(workspace / ".vscode" / "tasks.json")
    write(workspace / "report.txt", "mine")
    done = put_aside(seen, lambda: str(aside))
    assert [path.name for path in workspace.rglob("*") if path.is_file()] == ["report.txt"]
    assert not any(path.is_symlink() or path.name == ".vscode" for path in workspace.rglob("*"))
    assert len(done) == 21 and sum(1 + each.more for each in done) == 171
    assert all(os.path.isdir(each.moved_to) for each in done)
    assert sorted(path.read_text() for path in aside.rglob("tasks.json")) == ["evil"] * 21
    assert len([path for path in aside.rglob("*") if "code-workspace" in path.name]) == 150
    assert put_aside(seen, lambda: str(aside)) == []


def test_of_many_that_cannot_be_moved_away_each_is_renamed_where_it_is(workspace, aside, tmp_path) -> None:
    seen = before(str(workspace))
    for number in range(70):
        write(workspace / f"{number}.code-workspace")
    done = put_aside(seen, lambda: str(tmp_path / "missing"))
    assert len(done) == 70 and all(Path(each.moved_to).read_text() == "evil" for each in done)
    assert all(name.startswith("put-aside-") for name in os.listdir(workspace))
    assert put_aside(seen, lambda: str(aside)) == []


@pytest.mark.parametrize(
    "name", ["n" * 240 + ".code-workspace", "ü" * 120 + ".code-workspace", "." * 200 + "n.pth.code-workspace"]
)
@pytest.mark.parametrize("many", [False, True])
def test_a_name_of_any_length_is_moved(workspace, aside, tmp_path, name: str, many: bool) -> None:
    for into in (aside, tmp_path / "missing"):
        seen = before(str(workspace))
        write(workspace / name)
        for number in range(70 if many else 0):
            (workspace / f"{number}.code-workspace").touch()
        done = put_aside(seen, lambda into=into: str(into))
        assert [each for each in done if each.stays] == []
        assert not any(each.endswith(".code-workspace") for each in os.listdir(workspace))
    found = [
        path for path in (*aside.rglob("*"), *workspace.iterdir()) if path.is_file() and path.read_text() == "evil"
    ]
    assert len(found) == 2


def test_a_name_of_any_length_in_what_was_there_is_moved(workspace, aside) -> None:
    write(workspace / ".claude" / "agents" / "mine.md", "mine")
    seen = before(str(workspace))
    write(workspace / ".claude" / "agents" / ("n" * 250 + ".md"))
    (done,) = put_aside(seen, lambda: str(aside))
    assert (done.back, Path(done.moved_to).read_text()) == (True, "evil")
    assert os.listdir(workspace / ".claude" / "agents") == ["mine.md"]


def test_what_cannot_be_moved_is_told_as_still_there_and_as_not_put_back(workspace, aside, monkeypatch) -> None:
    write(workspace / ".claude" / "mine.md", "mine")
    seen = before(str(workspace))
    write(workspace / ".claude" / "evil.md")
    write(workspace / ".envrc")

    def refuses(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(aftermath.os, "rename", refuses)
    done = {each.path: each for each in put_aside(seen, lambda: str(aside))}
    assert (done[".envrc"].stays, done[".envrc"].moved_to) == (True, "")
    assert (done[".claude"].back, done[".claude"].moved_to) == (False, "")


def test_what_there_was_no_room_for_is_back_before_the_next_call(workspace, aside, monkeypatch) -> None:
    """A program can fill the disk, and remove what it cannot keep changed."""
    write(workspace / ".envrc", "mine")
    look, told = looking(aside)
    cage = Cage("landlock", str(workspace))
    seen = look.before(cage)
    (workspace / ".envrc").unlink()
    opens = os.open

    def full(path, flags, *about, **more):
        if flags & os.O_CREAT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return opens(path, flags, *about, **more)

    with monkeypatch.context() as without_room:
        without_room.setattr(aftermath.os, "open", full)
        look.after(seen, "one")
        look.forget(look.before(cage))
        assert os.listdir(workspace) == []
    look.after(look.before(cage), "two")
    assert (workspace / ".envrc").read_text() == "mine"
    ((mark, (what,)),) = told
    assert (mark, what.path, what.back, what.missing, what.kept_in) == ("one", ".envrc", False, True, ())
    (workspace / ".envrc").unlink()  # by whoever owns it
    look.after(look.before(cage), "three")
    assert os.listdir(workspace) == []


def test_who_has_no_time_is_told_so_and_nothing_is_done_twice(workspace, aside) -> None:
    write(workspace / ".envrc", "mine")
    write(workspace / ".npmrc", "mine")
    look, told = looking(aside)
    cage = Cage("landlock", str(workspace))
    with pytest.raises(TakesLong):
        look.before(cage, until=0)
    seen = look.before(cage)
    write(workspace / ".envrc")
    (workspace / ".npmrc").unlink()
    for number in range(70):
        (workspace / f"{number}.code-workspace").touch()
    done: list[PutAside] = []
    with pytest.raises(TakesLong):
        look.after(seen, "mark", done, until=0)
    assert (done, told) == ([], [])
    with pytest.raises(TakesLong):  # there is time, but so many are not moved by who has to hurry
        look.after(seen, "mark", done, until=time.monotonic() + 60)
    assert sorted(each.path for each in done) == [".envrc", ".npmrc"] and told == []
    assert len(os.listdir(workspace)) == 72
    look.after(seen, "mark", done)
    ((mark, what),) = told
    assert (mark, len(what), sorted(os.listdir(workspace))) == ("mark", 3, [".envrc", ".npmrc"])
    look.after(look.before(cage), "later")
    assert len(told) == 1


def test_who_has_no_time_does_not_wait_for_one_who_compares(workspace, aside) -> None:
    look, told = looking(aside)
    cage = Cage("landlock", str(workspace))
    seen = look.before(cage)
    write(workspace / ".envrc")
    met: list[type[Exception]] = []

    def slowly() -> str:
        with pytest.raises(TakesLong) as caught:
            look.before(cage, until=time.monotonic() + 60)
        met.append(caught.type)
        return str(aside)

    look._into = slowly
    look.after(seen, "mark")
    assert (met, [mark for mark, _ in told], os.listdir(workspace)) == ([TakesLong], ["mark"], [])


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
    (name,) = os.listdir(workspace / "a" / "b")
    assert name.startswith("put-aside-vscode-")
    assert done == [PutAside("a/b/.vscode", f"{workspace}/a/b/{name}", "an editor's settings and tasks")]
    assert (Path(done[0].moved_to) / "x").read_text() == "evil"
    assert (os.listdir(aside), len(os.listdir("/dev/fd"))) == ([], before_fds)


@pytest.mark.parametrize("into", ["missing", "link", "work/.envrc", ""])
def test_where_there_is_nowhere_to_move_it_to_it_is_renamed_where_it_is(workspace, aside, tmp_path, into: str) -> None:
    """Nothing runs it by that name, and the user is told; `""`: the directory cannot be made, the disk is full."""
    before_fds = len(os.listdir("/dev/fd"))
    (tmp_path / "link").symlink_to(aside)
    seen = before(str(workspace))
    write(workspace / ".envrc")

    def place() -> str:
        if not into:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return str(tmp_path / into)

    (done,) = put_aside(seen, place)
    assert Path(done.moved_to).read_text() == "evil"
    assert (os.listdir(workspace), os.listdir(aside)) == ([os.path.basename(done.moved_to)], [])
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
    monkeypatch.setattr(aftermath, "find", lambda workspace, **_: [Place("sub/.envrc", "it is so", OTHER)])
    done = put_aside(seen, lambda: str(aside))
    after = stat.S_IMODE((workspace / "sub").stat().st_mode)
    (workspace / "sub").chmod(0o700)
    assert (seen_modes, after, bool(done)) == ([mode | 0o300] * (2 if fails else 1), mode, True)
    assert done[0].stays is fails


def test_what_is_gone_when_it_is_to_be_moved_is_not_told(workspace, aside, monkeypatch) -> None:
    seen = before(str(workspace))
    gone = Place(".envrc", "it is so", OTHER)
    monkeypatch.setattr(aftermath, "find", lambda workspace, **_: [gone])
    assert put_aside(seen, lambda: str(aside)) == []
    assert put_aside(before(str(workspace)), lambda: str(aside)) == []
    late = before(str(workspace), held=True)  # it was gone, and is there again
    write(workspace / ".envrc")
    assert [each.path for each in put_aside(late, lambda: str(aside))] == [".envrc"]
