"""What is protected in a workspace, as far as it exists."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.sandbox import finding
from toolcrib.sandbox.finding import INSTALLED, LED, LINK, OTHER, REPOSITORY, STEPS, Place, find

SETTLED = 10**18
"""A time long ago, in nanoseconds."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    return root


def make(workspace: Path, *names: str) -> None:
    """Files; with a slash at the end, directories."""
    for name in names:
        path = workspace / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


def settle(directory: Path, at: int = SETTLED) -> None:
    """All of it changed long ago."""
    for path in (directory, *directory.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            os.utime(path, ns=(at, at))


def kinds(workspace: Path) -> list[tuple[str, str]]:
    found = find(str(workspace))
    assert all(place.why for place in found)
    return [(place.path, place.kind) for place in found]


UNDER_WAY = "what git is in the middle of, and goes on with"
GIT = "git's own files, whose settings and hooks run programs"


def test_what_is_protected_is_found_with_its_reason_the_nearest_first(workspace: Path) -> None:
    make(
        workspace, "src/deep/.envrc", ".vscode/tasks.json", "src/.npmrc", "README.md", "src/main.py", ".github/hooks/x"
    )
    assert find(str(workspace)) == [
        Place(".vscode", "an editor's settings and tasks"),
        Place(".github/hooks", "hooks that run at a commit"),
        Place("src/.npmrc", "where packages come from, and what runs at their installation"),
        Place("src/deep/.envrc", "what a shell runs when it starts or enters a directory"),
    ]


def test_names_are_told_in_any_case_and_with_the_directories_above(workspace: Path) -> None:
    make(workspace, ".VSCode/x", "sub/.Config/Fish/config.fish", "sub/fish/x", "Config/x", "sub/.config/app/x")
    assert kinds(workspace) == [(".VSCode", OTHER), ("sub/.Config/Fish", OTHER)]


def test_of_a_repository_the_parts_that_run_programs(workspace: Path) -> None:
    make(workspace, ".git/HEAD", ".git/index", ".git/objects/aa/", ".git/refs/", ".git/config", ".git/Hooks/x")
    make(workspace, ".git/info/", ".git/config.worktree", ".git/commondir", ".git/gitdir", ".git/modules/x/config")
    make(workspace, ".git/worktrees/", ".git/.vscode/", "sub/.GIT/config", "file/.git", ".git/sequencer/todo")
    for name in ("rebase-merge", "rebase-apply"):
        make(workspace, f".git/{name}/git-rebase-todo")
    assert find(str(workspace)) == [
        Place(".git", GIT, REPOSITORY),
        *(Place(f".git/{name}", GIT) for name in ("Hooks", "commondir", "config", "config.worktree", "gitdir", "info")),
        Place(".git/modules", GIT),
        *(Place(f".git/{name}", UNDER_WAY, STEPS) for name in ("rebase-apply", "rebase-merge", "sequencer")),
        Place(".git/worktrees", GIT),
        Place("file/.git", GIT),
        Place("sub/.GIT", GIT, REPOSITORY),
        Place("sub/.GIT/config", GIT),
    ]


def test_no_link_in_a_repository_is_followed_by_git_unseen(workspace: Path) -> None:
    """Git writes messages, indexes and logs to where a link leads. Only of a HEAD that is one it makes another."""
    make(workspace, ".git/refs/heads/", ".git/logs/refs/heads/main", "bare/HEAD", "bare/objects/", "bare/refs/")
    make(workspace, "bare/logs/HEAD", "file/.git/logs", "logs/refs/")
    links = [".git/COMMIT_EDITMSG", ".git/hooks", ".git/HEAD", ".git/refs/heads/main", ".git/logs/refs/heads/side"]
    for name in (*links, ".git/logs/HEAD", "bare/index", "bare/logs/refs", "logs/refs/HEAD"):
        (workspace / name).symlink_to("/somewhere/else")
    assert kinds(workspace) == [
        (".git", REPOSITORY),
        (".git/COMMIT_EDITMSG", LED),
        (".git/hooks", LINK),
        ("bare/index", LED),
        ("file/.git", REPOSITORY),
        (".git/logs/HEAD", LED),
        ("bare/logs/refs", LED),
        (".git/logs/refs/heads/side", LED),
    ]
    assert {place.why for place in find(str(workspace)) if place.kind == LED} == {
        "a link in git's own files, which git writes through"
    }


@pytest.mark.parametrize("missing", ["", "HEAD", "objects/", "refs/"])
def test_a_bare_repository_is_known_by_what_is_in_it(workspace: Path, missing: str) -> None:
    make(workspace, "bare/config", "bare/hooks/", "bare/.envrc", "bare/description", "bare/logs/.envrc")
    make(workspace, *(f"bare/{name}" for name in ("HEAD", "objects/", "refs/") if name != missing))
    inner = [] if missing == "" else [("bare/logs/.envrc", OTHER)]
    parts = [("bare/config", OTHER), ("bare/hooks", OTHER)] if missing == "" else []
    assert kinds(workspace) == [("bare/.envrc", OTHER), *parts, *inner]


def test_what_a_bare_repository_keeps_is_not_looked_through(workspace: Path) -> None:
    make(workspace, "bare/HEAD", "bare/objects/ab/.envrc", "bare/refs/heads/.envrc")
    assert kinds(workspace) == []


def test_the_programs_of_an_environment_are_installed(workspace: Path) -> None:
    make(workspace, "venv/pyvenv.cfg", "venv/bin/python", "venv/Scripts/x", "venv/lib/x/.envrc", "venv/lib64/.envrc")
    make(workspace, "venv/include/.envrc", "venv/share/.envrc", "venv/other/.envrc", "bin/x", "lib/.envrc")
    assert kinds(workspace) == [
        ("lib/.envrc", OTHER),
        ("venv/Scripts", INSTALLED),
        ("venv/bin", INSTALLED),
        ("venv/pyvenv.cfg", INSTALLED),
        ("venv/other/.envrc", OTHER),
    ]


def test_what_installations_make_is_told_from_what_they_do_not(workspace: Path) -> None:
    make(workspace, "node_modules/.bin/x", "node_modules/pkg/.vscode/", "a/node_modules/.BIN/", "site/x.pth", "x.PTH")
    make(workspace, "sitecustomize.py", "node_modules/.npmrc")
    assert kinds(workspace) == [
        ("sitecustomize.py", OTHER),
        ("x.PTH", INSTALLED),
        ("node_modules/.bin", INSTALLED),
        ("site/x.pth", INSTALLED),
        ("a/node_modules/.BIN", INSTALLED),
    ]


def test_a_link_is_told_as_one_and_not_followed(workspace: Path, tmp_path: Path) -> None:
    make(tmp_path, "outside/.envrc")
    make(workspace, "sub/real/")
    for name, target in ((".vscode", "sub"), (".git", "sub"), ("link", str(tmp_path / "outside")), (".envrc", "gone")):
        (workspace / name).symlink_to(target)
    (workspace / "sub/bin").symlink_to("real")
    make(workspace, "sub/pyvenv.cfg")
    assert kinds(workspace) == [
        (".envrc", LINK),
        (".git", LINK),
        (".vscode", LINK),
        ("sub/pyvenv.cfg", INSTALLED),
    ]


def test_what_is_no_directory_has_nothing(workspace: Path, tmp_path: Path) -> None:
    make(workspace, "file", ".envrc")
    (tmp_path / "link").symlink_to(workspace)
    assert [find(str(path)) for path in (workspace / "file", workspace / "gone", tmp_path / "link")] == [[], [], []]


# Looking again


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories that are listed from now on."""
    listed: list[str] = []
    scandir = os.scandir

    def scan(directory: str) -> object:
        listed.append(directory)
        return scandir(directory)

    monkeypatch.setattr(finding.os, "scandir", scan)
    return listed


def test_what_did_not_change_is_not_listed_again(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(workspace, ".git/config", "node_modules/.bin/x", "sub/deep/.envrc", "other/")
    settle(workspace)
    first = find(str(workspace))
    listed = counted(monkeypatch)
    assert find(str(workspace)) == first
    assert listed == []
    make(workspace, "sub/deep/.vscode/")
    assert kinds(workspace) == [
        (".git", REPOSITORY),
        (".git/config", OTHER),
        ("node_modules/.bin", INSTALLED),
        ("sub/deep/.envrc", OTHER),
        ("sub/deep/.vscode", OTHER),
    ]
    assert listed == [str(workspace / "sub/deep")]


def by_its_time(directory: Path) -> None:
    make(directory, ".envrc")
    os.utime(directory, ns=(SETTLED, SETTLED + 1))


def by_another(directory: Path) -> None:
    """Of the same time."""
    fresh = directory.with_name("fresh")
    make(fresh, ".envrc")
    os.rename(directory, directory.with_name("was"))
    os.rename(fresh, directory)
    os.utime(directory, ns=(SETTLED, SETTLED))


@pytest.mark.parametrize("change", [by_its_time, by_another])
def test_every_change_of_a_directory_is_seen(workspace: Path, change: Callable[[Path], None]) -> None:
    make(workspace, "sub/x")
    settle(workspace)
    assert find(str(workspace)) == []
    change(workspace / "sub")
    assert kinds(workspace) == [("sub/.envrc", OTHER)]


@pytest.mark.parametrize(("age", "listed_again"), [(49_000_000, True), (51_000_000, False)])
def test_a_directory_that_changed_just_now_is_listed_again(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, age: int, listed_again: bool
) -> None:
    """Its time may be the same after the next change."""
    now = time.time_ns()
    monkeypatch.setattr(finding.time, "time_ns", lambda: now)
    settle(workspace, now - age)
    assert find(str(workspace)) == []
    listed = counted(monkeypatch)
    find(str(workspace))
    assert listed == ([str(workspace)] if listed_again else [])


def test_what_is_gone_is_not_remembered(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(workspace, "sub/.envrc")
    settle(workspace)
    assert kinds(workspace) == [("sub/.envrc", OTHER)]
    os.rename(workspace / "sub", workspace.parent / "sub")
    assert find(str(workspace)) == []
    os.rename(workspace.parent / "sub", workspace / "sub")
    listed = counted(monkeypatch)
    assert kinds(workspace) == [("sub/.envrc", OTHER)]
    assert str(workspace / "sub") in listed


@pytest.mark.parametrize(("others", "remembered"), [(15, True), (16, False)])
def test_so_many_workspaces_are_remembered_the_latest(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, others: int, remembered: bool
) -> None:
    names = [tmp_path / f"other{number}" for number in range(others)]
    make(workspace, "x")
    for path in names:
        path.mkdir()
    settle(tmp_path)
    find(str(names[0]))
    for path in (workspace, *names):
        find(str(path))
    listed = counted(monkeypatch)
    find(str(names[-1]))
    find(str(workspace))
    assert listed == ([] if remembered else [str(workspace)])


# So much and no more


def test_so_many_directories_are_looked_through_the_nearest(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MOST_DIRECTORIES", 4)
    make(workspace, *(f"{name}/.envrc" for name in ("a", "a/deep", "b", "c", "d", "d/deep")))
    assert kinds(workspace) == [(f"{name}/.envrc", OTHER) for name in "abc"]


def test_in_a_crowd_names_are_tried_as_they_are_usually_written(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(workspace, *(f"file{number}" for number in range(10)), ".envrc", ".git/config", "sub/.npmrc", ".VSCode/")
    (workspace / ".idea").symlink_to("sub")
    (workspace / "x.code-workspace").touch()
    everything = [(name, OTHER) for name in (".VSCode", ".envrc")] + [(".git", REPOSITORY), (".idea", LINK)]
    everything += [("x.code-workspace", OTHER), (".git/config", OTHER), ("sub/.npmrc", OTHER)]
    monkeypatch.setattr(finding, "_MOST_NAMES", 16)
    assert kinds(workspace) == everything
    make(workspace, "one-more")
    certain = {(".envrc", OTHER), (".git", REPOSITORY), (".idea", LINK), (".git/config", OTHER)}
    assert certain <= set(kinds(workspace))


def test_a_directory_that_cannot_be_listed_is_tried_by_names(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(workspace, "closed/.envrc", "closed/.git/config", "closed/sub/.npmrc", "open/.envrc")
    scandir = os.scandir

    def refuses(directory: str) -> object:
        if directory == str(workspace / "closed"):
            raise PermissionError(directory)
        return scandir(directory)

    monkeypatch.setattr(finding.os, "scandir", refuses)
    assert kinds(workspace) == [
        ("closed/.envrc", OTHER),
        ("closed/.git", REPOSITORY),
        ("open/.envrc", OTHER),
        ("closed/.git/config", OTHER),
    ]


def test_a_directory_that_cannot_be_looked_at_does_not_hide_the_others(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(workspace, "bad/.envrc", "good/.envrc")
    lstat = os.lstat

    def fails(path: str) -> os.stat_result:
        if path == str(workspace / "bad"):
            raise PermissionError(path)
        return lstat(path)

    monkeypatch.setattr(finding.os, "lstat", fails)
    assert kinds(workspace) == [("good/.envrc", OTHER)]
