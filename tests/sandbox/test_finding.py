"""What is protected in a workspace, as far as it exists."""

import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolcrib.sandbox import finding, listing
from toolcrib.sandbox.finding import TakesLong, find
from toolcrib.sandbox.found import INSTALLED, LED, LINK, OTHER, POINTED, REPOSITORY, STEPS, UNSEEN, Place

SETTLED = 10**18
"""A time long ago, in nanoseconds."""
STRANGER = 54321
"""A user who owns nothing."""
LATER = 10**10
"""So many nanoseconds after a change, what was seen of it is believed."""


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


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is looked at changed long ago."""
    monkeypatch.setattr(finding.time, "time_ns", lambda now=time.time_ns: now() + LATER)


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
        Place(".git/modules", GIT, REPOSITORY),
        *(Place(f".git/{name}", UNDER_WAY, STEPS) for name in ("rebase-apply", "rebase-merge", "sequencer")),
        Place(".git/worktrees", GIT, REPOSITORY),
        Place("file/.git", GIT),
        Place("sub/.GIT", GIT, REPOSITORY),
        Place("sub/.GIT/config", GIT),
    ]


def test_of_each_module_and_worktree_the_same_parts(workspace: Path) -> None:
    """Under whatever names: a submodule's own has slashes where its path has some, and submodules of its own."""
    for module in ("one", "libs/two", "libs/two/modules/three"):
        for part in ("HEAD", "index", "config", "hooks/x", "objects/ab/", "refs/heads/x"):
            make(workspace, f".git/modules/{module}/{part}")
    for part in ("HEAD", "index", "commondir", "gitdir", "logs/HEAD", "config.worktree"):
        make(workspace, f".git/worktrees/side/{part}")
    (workspace / ".git/worktrees/side/index.lock").symlink_to("/somewhere/else")
    (workspace / ".git/modules/linked").symlink_to("/somewhere/else")
    within = {place.path.removeprefix(".git/"): place.kind for place in find(str(workspace)) if place.path != ".git"}
    directories = ["modules", "modules/one", "modules/libs/two", "modules/libs/two/modules"]
    directories += ["modules/libs/two/modules/three", "worktrees", "worktrees/side"]
    modules = ("modules/one", "modules/libs/two", "modules/libs/two/modules/three")
    assert within == {
        **dict.fromkeys(directories, REPOSITORY),
        **{f"{module}/{part}": OTHER for module in modules for part in ("config", "hooks")},
        **{f"worktrees/side/{part}": OTHER for part in ("commondir", "gitdir", "config.worktree")},
        **dict.fromkeys(("worktrees/side/index.lock", "modules/linked"), LED),
    }


def test_what_holds_modules_hides_none_by_looking_like_one(workspace: Path) -> None:
    make(
        workspace, ".git/modules/HEAD", ".git/modules/one/HEAD", ".git/modules/libs/HEAD", ".git/modules/libs/two/HEAD"
    )
    make(workspace, ".git/modules/one/config", ".git/modules/libs/two/config")
    assert {(".git/modules/one/config", OTHER), (".git/modules/libs/two/config", OTHER)} <= set(kinds(workspace))


@pytest.mark.parametrize("name", ["remotes", "branches"])
def test_old_forms_of_remotes_count_once_there_is_one(workspace: Path, name: str) -> None:
    make(workspace, f".git/{name}/", ".git/HEAD")
    assert kinds(workspace) == [(".git", REPOSITORY)]
    make(workspace, f".git/{name}/origin")
    assert kinds(workspace) == [(".git", REPOSITORY), (f".git/{name}", OTHER)]


def test_no_link_in_a_repository_is_followed_by_git_unseen(workspace: Path) -> None:
    """Git writes messages, indexes and logs to where a link leads. Only of a HEAD that is one it makes another."""
    make(workspace, ".git/refs/heads/", ".git/logs/refs/heads/main", "bare/HEAD", "bare/objects/", "bare/refs/")
    make(workspace, "bare/logs/HEAD", "file/.git/logs", "logs/refs/")
    links = [".git/COMMIT_EDITMSG", ".git/hooks", ".git/HEAD", ".git/refs/heads/main", ".git/logs/refs/heads/side"]
    for name in (*links, ".git/logs/HEAD", "bare/index", "bare/logs/refs", "logs/refs/HEAD"):
        (workspace / name).symlink_to("/somewhere/else")
    (workspace / ".git/refs/tags").symlink_to("/somewhere/else")
    (workspace / "bare/refs/heads").symlink_to("/somewhere/else")
    assert kinds(workspace) == [
        (".git", REPOSITORY),
        (".git/COMMIT_EDITMSG", LED),
        (".git/hooks", LINK),
        ("bare/index", LED),
        ("file/.git", REPOSITORY),
        (".git/logs/HEAD", LED),
        (".git/refs/tags", LED),
        ("bare/logs/refs", LED),
        ("bare/refs/heads", LED),
        (".git/refs/heads/main", LED),
        (".git/logs/refs/heads/side", LED),
    ]
    assert {place.why for place in find(str(workspace)) if place.kind == LED} == {
        "a link in git's own files, which git writes through"
    }


@pytest.mark.parametrize("missing", ["", "HEAD", "objects/", "refs/"])
def test_a_bare_repository_is_known_by_what_is_in_it(workspace: Path, missing: str) -> None:
    make(workspace, "bare/config", "bare/hooks/", "bare/.envrc", "bare/description", "bare/logs/.envrc")
    make(workspace, *(f"bare/{name}" for name in ("HEAD", "objects/", "refs/") if name != missing))
    parts = [("bare/config", OTHER), ("bare/hooks", OTHER)] if missing == "" else []
    assert kinds(workspace) == [("bare/.envrc", OTHER), *parts, ("bare/logs/.envrc", OTHER)]


def test_a_directory_that_names_another_for_the_rest_is_known_as_well(workspace: Path) -> None:
    make(workspace, "sub/HEAD", "sub/commondir", "sub/config.worktree", "sub/refs/", "other/HEAD", "other/config")
    make(workspace, "third/commondir")
    assert kinds(workspace) == [("sub/commondir", OTHER), ("sub/config.worktree", OTHER)]


def test_of_what_a_bare_repository_keeps_only_objects_are_not_looked_through(workspace: Path) -> None:
    """Anybody can make the directory that his sources are in look like one."""
    places = ("bare/src/.envrc", "bare/objects/src/.envrc", "bare/refs/heads/.envrc", "bare/branches/.envrc")
    make(workspace, "bare/HEAD", "bare/objects/ab/.envrc", "bare/objects/pack/.envrc", *places)
    assert {path for path, _ in kinds(workspace)} == {*places, "bare/branches"}


def test_the_programs_of_an_environment_are_installed(workspace: Path) -> None:
    make(workspace, "venv/pyvenv.cfg", "venv/bin/python", "venv/Scripts/x", "venv/lib/x/.envrc", "venv/lib64/.envrc")
    make(workspace, "venv/include/.envrc", "venv/share/.envrc", "venv/other/.envrc", "bin/x", "lib/.envrc")
    make(workspace, "venv/bin/.envrc", "venv/lib/python3.11/x/.envrc", "venv/lib/python3.11/site-packages/x/.envrc")
    make(workspace, "lib/python3.11/site-packages/x/.envrc")
    assert kinds(workspace) == [
        ("lib/.envrc", OTHER),
        ("venv/Scripts", INSTALLED),
        ("venv/bin", INSTALLED),
        ("venv/pyvenv.cfg", INSTALLED),
        *((f"venv/{name}/.envrc", OTHER) for name in ("bin", "include", "lib64", "other", "share")),
        ("venv/lib/x/.envrc", OTHER),
        ("lib/python3.11/site-packages/x/.envrc", OTHER),
        ("venv/lib/python3.11/x/.envrc", OTHER),
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
    (workspace / ".npmrc").symlink_to(".")
    assert kinds(workspace) == [
        *((name, LINK) for name in (".envrc", ".git", ".npmrc", ".vscode")),
        ("gone", POINTED),
        ("sub", REPOSITORY),
        ("sub/pyvenv.cfg", INSTALLED),
    ]


def test_all_that_a_link_leads_through_is_protected_too(workspace: Path, tmp_path: Path) -> None:
    """Also what is not there yet; a `.git` leads to a repository, in which only parts are."""
    make(workspace, "real/envrc", "store/HEAD", "store/objects/", "store/refs/", "store/config", "a/")
    for name, target in (
        (".envrc", "second"),
        ("second", "conf/envrc"),
        ("conf", f"{workspace}/a/../real"),
        ("a/.vscode", "../real/not/yet"),
        (".idea", "../outside"),
        (".zed", ".zed"),
        (".git", "store"),
    ):
        (workspace / name).symlink_to(target)
    assert kinds(workspace) == [
        *((name, LINK) for name in (".envrc", ".git", ".idea", ".zed")),
        ("second", POINTED),
        ("conf", POINTED),
        ("store", REPOSITORY),
        ("a/.vscode", LINK),
        ("store/config", OTHER),
        ("real/envrc", POINTED),
        ("real/not/yet", POINTED),
    ]


SETTINGS = {
    "[core]\n\thooksPath = scripts/hooks\n": "scripts/hooks",
    '[user]\nname = x\n[CORE] hookspath="scripts/hooks" ; ours\n': "scripts/hooks",
    "[core]\nhooksPath = there/../scripts//hooks/ # ours\n": "scripts/hooks",
    "[core]\nhooksPath = {workspace}/scripts\n": "scripts",
    "[core]\nhooksPath = linked/hooks\n": "scripts/hooks",
    "[core]\nhooksPath = /dev/null\n": "",
    "[core]\nhooksPath = .\n": "",
    "[core]\nhooksPath = ../../elsewhere\n": "",
    "[core]\nhooksPath = ../elsewhere\n": "../elsewhere",
    "[core]\nhooksPath\n": "",
    "[other]\nhooksPath = scripts/hooks\n": "",
    '[core "x"]\nhooksPath = scripts/hooks\n': "",
    '[core]\nhooksPath = "scripts\n': "",
}


@pytest.mark.parametrize("text", SETTINGS)
def test_where_the_settings_say_that_hooks_are_is_protected(workspace: Path, text: str) -> None:
    make(workspace, "sub/.git/HEAD", "sub/there/")
    (workspace / "sub/linked").symlink_to("scripts")
    (workspace / "sub/scripts").mkdir()
    (workspace / "sub/.git/config").write_text(text.format(workspace=f"{workspace}/sub"))
    found = {place.path: place.why for place in find(str(workspace)) if place.kind == POINTED}
    found.pop("sub/linked", None)
    assert found == (
        {os.path.normpath(f"sub/{SETTINGS[text]}"): "hooks that run at a commit"} if SETTINGS[text] else {}
    )


def test_hooks_of_a_module_are_where_its_own_directory_is(workspace: Path) -> None:
    make(workspace, ".git/modules/sub/HEAD", "sub/")
    settings = "[core]\n\tworktree = ../../../sub\n\thooksPath = hooks/of/it\n"
    (workspace / ".git/modules/sub/config").write_text(settings)
    assert ("sub/hooks/of/it", POINTED) in kinds(workspace)


def test_hooks_of_a_bare_repository_are_where_its_own_directory_is(workspace: Path) -> None:
    make(workspace, "bare.git/HEAD", "bare.git/objects/", "bare.git/refs/")
    (workspace / "bare.git/config").write_text("[core]\n\thooksPath = XX-hooks\n")
    (workspace / "HEAD").touch()
    (workspace / "objects").mkdir()
    (workspace / "refs").mkdir()
    (workspace / "config").write_text("[core]\n\thooksPath = XX-other\n")
    assert {("bare.git/XX-hooks", POINTED), ("XX-other", POINTED)} <= set(kinds(workspace))


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

    monkeypatch.setattr(listing.os, "scandir", scan)
    return listed


def test_what_did_not_change_is_not_listed_again(
    workspace: Path, settled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(workspace, ".git/config", ".git/refs/heads/x", "node_modules/.bin/x", "sub/deep/.envrc", "other/")
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


def by_what_nobody_sets(directory: Path) -> None:
    """The time that a program can set is what it was."""
    make(directory, ".envrc")
    os.utime(directory, ns=(SETTLED, SETTLED))


def by_another(directory: Path) -> None:
    """Of the same time."""
    fresh = directory.with_name("fresh")
    make(fresh, ".envrc")
    os.rename(directory, directory.with_name("was"))
    os.rename(fresh, directory)
    os.utime(directory, ns=(SETTLED, SETTLED))


@pytest.mark.parametrize("change", [by_its_time, by_what_nobody_sets, by_another])
def test_every_change_of_a_directory_is_seen(workspace: Path, settled: None, change: Callable[[Path], None]) -> None:
    make(workspace, "sub/x")
    os.utime(workspace / "sub", ns=(SETTLED, SETTLED))
    assert find(str(workspace)) == []
    change(workspace / "sub")
    assert kinds(workspace) == [("sub/.envrc", OTHER)]


@pytest.mark.parametrize(("age", "listed_again"), [(49_000_000, True), (51_000_000, False)])
def test_a_directory_that_changed_just_now_is_listed_again(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, age: int, listed_again: bool
) -> None:
    """Its time may be the same after the next change."""
    os.utime(workspace, ns=(SETTLED, SETTLED))  # which says nothing
    now = os.lstat(workspace).st_ctime_ns + age
    monkeypatch.setattr(finding.time, "time_ns", lambda: now)
    assert find(str(workspace)) == []
    listed = counted(monkeypatch)
    find(str(workspace))
    assert listed == ([str(workspace)] if listed_again else [])


def test_what_is_gone_is_not_remembered(workspace: Path, settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    make(workspace, "sub/.envrc")
    assert kinds(workspace) == [("sub/.envrc", OTHER)]
    os.rename(workspace / "sub", workspace.parent / "sub")
    assert find(str(workspace)) == []
    os.rename(workspace.parent / "sub", workspace / "sub")
    listed = counted(monkeypatch)
    assert kinds(workspace) == [("sub/.envrc", OTHER)]
    assert str(workspace / "sub") in listed


@pytest.mark.parametrize(("others", "remembered"), [(15, True), (16, False)])
def test_so_many_workspaces_are_remembered_the_latest(
    tmp_path: Path, workspace: Path, settled: None, monkeypatch: pytest.MonkeyPatch, others: int, remembered: bool
) -> None:
    names = [tmp_path / f"other{number}" for number in range(others)]
    make(workspace, "x")
    for path in names:
        path.mkdir()
    find(str(names[0]))
    for path in (workspace, *names):
        find(str(path))
    listed = counted(monkeypatch)
    find(str(names[-1]))
    find(str(workspace))
    assert listed == ([] if remembered else [str(workspace)])


# So much and no more


def test_so_many_directories_are_looked_through_the_nearest(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that were there at first: what was too much then is neither found nor blamed on anybody later."""
    monkeypatch.setattr(finding, "MOST_DIRECTORIES", 4)
    monkeypatch.setattr(finding, "MOST_NEW", 1)
    make(workspace, *(f"{name}/.envrc" for name in ("a", "a/deep", "b", "c", "d", "d/deep")))
    for _ in range(3):
        assert kinds(workspace) == [(f"{name}/.envrc", OTHER) for name in "abc"]
    make(workspace, "a/new/.envrc")
    assert kinds(workspace) == [(f"{name}/.envrc", OTHER) for name in ("a", "b", "c", "a/new")]


def test_whatever_is_new_what_was_known_is_looked_at(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MOST_DIRECTORIES", 6)
    monkeypatch.setattr(finding, "MOST_NEW", 1)
    make(workspace, "x/y/z/")
    assert kinds(workspace) == []
    make(workspace, "x/y/z/.envrc", *(f"a/{number}/" for number in range(9)))
    assert kinds(workspace) == [("a", OTHER), ("x/y/z/.envrc", OTHER)]


def test_what_is_new_and_too_much_is_found_until_it_is_gone(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is looked for: another call may look in between."""
    monkeypatch.setattr(finding, "MOST_DIRECTORIES", 6)
    monkeypatch.setattr(finding, "MOST_NEW", 1)
    assert kinds(workspace) == []
    make(workspace, "few/.envrc", *(f"many/{number}/deep/" for number in range(9)))
    for _ in range(3):
        assert kinds(workspace) == [("many", OTHER), ("few/.envrc", OTHER)]
    shutil.rmtree(workspace / "many")
    assert kinds(workspace) == [("few/.envrc", OTHER)]


def test_of_very_many_it_is_told_that_there_are_more(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MOST_DIRECTORIES", 6)
    monkeypatch.setattr(finding, "MOST_NEW", 2)
    assert kinds(workspace) == []
    make(workspace, *(f"{number:02}/" for number in range(50)))
    assert kinds(workspace) == [*((f"{number:02}", OTHER) for number in range(5, 37)), (".", UNSEEN)]


def test_a_path_that_is_nearly_too_long_for_the_system_is_found(workspace: Path) -> None:
    names = ["x" * 250] * 20
    make(workspace, "x" * 250 + "/")
    here = os.open(workspace, os.O_RDONLY)
    for name in names:
        if not os.path.lexists(name) or here:
            try:
                os.mkdir(name, dir_fd=here)
            except FileExistsError:
                pass
        here = os.open(name, os.O_RDONLY, dir_fd=here)
    os.close(os.open(".envrc", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    ((path, kind),) = kinds(workspace)
    assert (set(path.split("/")), kind) == ({"x" * 250}, OTHER)


def test_in_a_crowd_names_are_tried_as_they_are_usually_written(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(workspace, *(f"file{number}" for number in range(10)), ".envrc", ".git/config", "sub/.npmrc", ".VSCode/")
    (workspace / ".idea").symlink_to("sub")
    (workspace / "x.code-workspace").touch()
    everything = [(name, OTHER) for name in (".VSCode", ".envrc")] + [(".git", REPOSITORY), (".idea", LINK)]
    everything += [("x.code-workspace", OTHER), (".git/config", OTHER), ("sub/.npmrc", OTHER)]
    everything = [everything[0], *everything[1:5], ("sub", POINTED), *everything[5:]]
    monkeypatch.setattr(listing, "MOST_NAMES", 16)
    assert kinds(workspace) == everything
    monkeypatch.setattr(listing, "MOST_NAMES", 1)
    make(workspace, "one-more")
    certain = {(".envrc", OTHER), (".git", REPOSITORY), (".idea", LINK), (".git/config", OTHER), ("sub/.npmrc", OTHER)}
    assert {*certain, (".", UNSEEN)} <= set(kinds(workspace))


def test_in_a_crowd_what_git_reads_is_tried(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(workspace, ".git/HEAD", ".git/config")
    assert kinds(workspace) == [(".git", REPOSITORY), (".git/config", OTHER)]
    monkeypatch.setattr(listing, "MOST_NAMES", 1)
    parts = ("commondir", "config", "config.worktree", "gitdir", "hooks", "info")
    make(workspace, *(f".git/{name}" for name in parts), ".git/refs/heads", ".git/remotes/origin")
    (workspace / ".git/refs/tags").symlink_to("/somewhere/else")
    assert {f".git/{name}" for name in (*parts, "remotes", "refs")} <= {path for path, _ in kinds(workspace)}


def test_a_directory_that_cannot_be_listed_is_tried_by_names(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(workspace, "closed/.envrc", "closed/.git/config", "closed/sub/.npmrc", "open/.envrc")
    scandir = os.scandir

    def refuses(directory: str) -> object:
        if directory == str(workspace / "closed"):
            raise PermissionError(directory)
        return scandir(directory)

    monkeypatch.setattr(listing.os, "scandir", refuses)
    monkeypatch.setattr(listing.os, "chmod", lambda *_: refuses(str(workspace / "closed")))
    assert kinds(workspace) == [
        ("closed/.envrc", OTHER),
        ("closed/.git", REPOSITORY),
        ("open/.envrc", OTHER),
        ("closed/.git/config", OTHER),
    ]


@pytest.fixture
def strangers() -> Iterator[Path]:
    """A workspace where everybody can reach it."""
    with tempfile.TemporaryDirectory() as above:
        os.chmod(above, 0o755)
        (Path(above) / "workspace").mkdir()
        yield Path(above) / "workspace"


@pytest.mark.parametrize("mode", [0o311, 0o300, 0o100, 0o400, 0o000], ids=oct)
def test_a_directory_that_its_owner_locked_hides_nothing(strangers: Path, mode: int) -> None:
    """What nobody can go into is itself found; all may be gone into as little afterwards as before."""
    make(strangers, "src/pkg/.envrc", "src/.npmrc")
    found = as_its_owner(strangers, lambda: ((strangers / "src").chmod(mode), kinds(strangers))[1])
    assert stat.S_IMODE((strangers / "src").stat().st_mode) == mode
    assert ("src/.npmrc", OTHER) in found
    assert (("src/pkg/.envrc" if mode & 0o100 else "src"), OTHER) in found


def test_a_workspace_that_was_locked_is_told(strangers: Path) -> None:
    make(strangers, "src/.envrc", ".npmrc")
    found = as_its_owner(strangers, lambda: (strangers.chmod(0), kinds(strangers))[1])
    assert found == [(".", UNSEEN), (".npmrc", OTHER)]


def as_its_owner(workspace: Path, what: Callable[[], list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """What comes of it in a process of a user who is not root, and whose the workspace is."""
    if os.geteuid() != 0:
        return what()
    for path in (workspace, *workspace.rglob("*")):
        os.chown(path, STRANGER, STRANGER)
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            os.write(writing, json.dumps(what()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as file:
        found = file.read()
    os.waitpid(pid, 0)
    return [(path, kind) for path, kind in json.loads(found)]


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


@pytest.mark.parametrize("first", [True, False])
def test_a_look_that_has_no_time_says_so_and_the_next_one_finds_all(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """However much of it was looked at by then, what is too much is still found."""
    monkeypatch.setattr(finding, "MOST_DIRECTORIES", 6)
    monkeypatch.setattr(finding, "MOST_NEW", 1)
    if not first:
        assert kinds(workspace) == []
    make(workspace, ".envrc", *(f"many/{number}/" for number in range(9)))
    with pytest.raises(TakesLong):
        find(str(workspace), until=time.monotonic() - 1)
    assert kinds(workspace) == [(".envrc", OTHER), *([] if first else [("many", OTHER)])]
