"""What of a workspace is shielded from a contained program."""

import os
from pathlib import Path

import pytest

from toolcrib.sandbox import shield
from toolcrib.sandbox.cage import BUBBLEWRAP, LANDLOCK, Cage
from toolcrib.sandbox.shield import FIXED, HIDDEN_DIRECTORY, HIDDEN_FILE, MOST, READ_ONLY, shields, standing


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = Path(os.path.realpath(tmp_path)) / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def work(home: Path) -> Path:
    work = home / "work"
    work.mkdir()
    return work


def make(directory: Path, *names: str) -> None:
    """Files; with a slash at the end, directories."""
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(exist_ok=True) if name.endswith("/") else path.touch()


def shielded(root: Path, **about: object) -> dict[str, str]:
    """Paths relative to the workspace, in their order, and how each is shielded."""
    found = list(shields(Cage(BUBBLEWRAP, str(root), **about)))  # type: ignore[arg-type]  # fields by name
    return {os.path.relpath(path, root): how for path, how in found}


def test_what_is_protected_can_be_read_and_a_repository_be_worked_in(work: Path) -> None:
    make(work, ".git/config", ".git/objects/x", ".vscode/x", "src/.envrc", "src/main.py")
    assert list(shielded(work).items()) == [
        (".git", FIXED),
        (".git/config", READ_ONLY),
        (".vscode", READ_ONLY),
        ("src/.envrc", READ_ONLY),
    ]


def test_without_a_workspace_or_in_one_for_reading_nothing_has_to_be(work: Path) -> None:
    make(work, ".vscode/x")
    assert list(shields(Cage(BUBBLEWRAP))) == []
    assert shielded(work, workspace_writable=False) == {}


def test_what_was_granted_by_name_is_not_shielded(work: Path) -> None:
    make(work, ".vscode/x", "sub/.envrc", "sub/deep/.npmrc", "sub-2/.envrc", ".npmrc")
    granted = (f"{work}/.vscode", f"{work}/sub", f"{work}/.npm")
    assert shielded(work, writable=granted) == {".npmrc": READ_ONLY, "sub-2/.envrc": READ_ONLY}


def test_from_what_installs_only_what_is_installed_is_not_shielded(work: Path) -> None:
    make(work, ".envrc", "venv/pyvenv.cfg", "venv/bin/python", "lib/x.pth", "node_modules/.bin/tool")
    installed = {"venv/pyvenv.cfg", "venv/bin", "lib/x.pth", "node_modules/.bin"}
    assert shielded(work) == dict.fromkeys((".envrc", *installed), READ_ONLY)
    assert shielded(work, installs=True) == {".envrc": READ_ONLY}


def test_what_a_link_leads_to_is_shielded_where_it_is_in_the_workspace(work: Path) -> None:
    make(work.parent, "outside/x", "work-2/x")
    make(work, "conf/x")
    for name, target in (
        (".vscode", "conf"),
        (".idea", "../outside"),
        (".envrc", "gone"),
        (".zed", "../work-2/x"),
        (".npmrc", "."),
    ):
        (work / name).symlink_to(target)
    assert shielded(work) == {"conf": READ_ONLY}


def test_what_a_link_in_a_repository_leads_to_can_be_written_to(work: Path) -> None:
    """Some lend a repository its objects, or its log, from another; only that it leads there must stay so."""
    make(work, ".git/HEAD", "other/objects/x", "other/hooks/x")
    for name in ("objects", "hooks"):
        (work / ".git" / name).symlink_to(f"../other/{name}")
    assert shielded(work) == {".git": FIXED, "other/hooks": READ_ONLY}


def test_in_a_repository_that_a_link_leads_to_can_be_worked(work: Path) -> None:
    make(work, "store/HEAD", "store/objects/x", "store/refs/", "store/config")
    (work / ".git").symlink_to("store")
    assert shielded(work) == {"store": FIXED, "store/config": READ_ONLY}


def test_of_modules_and_worktrees_what_runs_programs_is_shielded(work: Path) -> None:
    make(work, ".git/HEAD", ".git/modules/sub/HEAD", ".git/modules/sub/config", ".git/modules/sub/index")
    make(work, ".git/worktrees/side/HEAD", ".git/worktrees/side/commondir", ".git/worktrees/side/index")
    places = (".git", ".git/modules", ".git/modules/sub", ".git/worktrees", ".git/worktrees/side")
    read_only = (".git/modules/sub/config", ".git/worktrees/side/commondir")
    assert shielded(work) == dict.fromkeys(places, FIXED) | dict.fromkeys(read_only, READ_ONLY)


def test_only_so_many_are_shielded_the_nearest(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shield, "MOST", 3)
    make(work, ".a/.envrc", ".b/deep/.envrc", ".npmrc", ".envrc", ".vscode/")
    (work / ".idea").symlink_to("gone")
    assert MOST == 256
    assert list(shielded(work)) == [".envrc", ".npmrc", ".vscode"]
    monkeypatch.setattr(shield, "MOST", 4)
    assert list(shielded(work)) == [".envrc", ".npmrc", ".vscode", ".a/.envrc"]


# A home as the workspace


@pytest.mark.parametrize("writable", [True, False])
def test_in_a_home_keys_are_hidden(home: Path, writable: bool) -> None:
    make(home, ".ssh/id", ".netrc", ".config/gh/token", ".config/git/config", ".aws/", ".npmrc", "data/.ssh/id")
    hidden = {
        ".ssh": HIDDEN_DIRECTORY,
        ".netrc": HIDDEN_FILE,
        ".config": FIXED,
        ".config/gh": HIDDEN_DIRECTORY,
        ".aws": HIDDEN_DIRECTORY,
        ".npmrc": HIDDEN_FILE,
    }
    protected = {".config/git": READ_ONLY, "data/.ssh": READ_ONLY} if writable else {}
    assert shielded(home, workspace_writable=writable) == hidden | protected


def test_above_a_home_as_well_and_beside_it_not(home: Path, work: Path) -> None:
    make(home, ".ssh/id", ".local/share/keyrings/x")
    make(work, ".ssh/id")
    (home / ".kube").symlink_to("..")
    assert shielded(home.parent, workspace_writable=False) == {
        "home/.ssh": HIDDEN_DIRECTORY,
        "home/.local/share": FIXED,
        "home/.local/share/keyrings": HIDDEN_DIRECTORY,
    }
    assert shielded(work, workspace_writable=False) == {}
    other = home.with_name("home-2")
    make(other, ".ssh/id")
    assert shielded(other, workspace_writable=False) == {}


def test_the_whole_file_system_holds_a_home(home: Path) -> None:
    make(home, ".ssh/id")
    found = list(shields(Cage(BUBBLEWRAP, "/", False)))
    assert found == [(f"{home}/.ssh", HIDDEN_DIRECTORY)]


def test_keys_behind_a_link_are_hidden_where_they_are(home: Path) -> None:
    """Not beside the workspace, and never the home itself."""
    make(home, "vault/keys/id", "vault/netrc")
    make(home.parent, "outside/id")
    for name, target in ((".ssh", "vault/keys"), (".aws", "../outside"), (".kube", "."), (".gnupg", "gone")):
        (home / name).symlink_to(target)
    assert shielded(home, workspace_writable=False) == {"vault": FIXED, "vault/keys": HIDDEN_DIRECTORY}
    make(home, "home/id")
    (home / ".docker").symlink_to("home")
    assert shielded(home, workspace_writable=False)["home"] == HIDDEN_DIRECTORY


def test_a_home_that_is_a_link_is_known(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(home, ".ssh/id")
    (home.parent / "alias").symlink_to(home)
    monkeypatch.setenv("HOME", str(home.parent / "alias"))
    assert shielded(home, workspace_writable=False) == {".ssh": HIDDEN_DIRECTORY}


# What a program that stays running stands on


def test_a_program_in_another_tier_stands_on_nothing(work: Path) -> None:
    make(work, ".vscode/x")
    assert (standing(None), standing(Cage(LANDLOCK, str(work)))) == (None, None)


def test_what_it_was_shielded_from_is_told_by_what_is_there(work: Path) -> None:
    cage = Cage(BUBBLEWRAP, str(work))
    empty = standing(cage)
    make(work, ".vscode/x", "ordinary")
    first = standing(cage)
    assert (first == standing(cage), first == empty, hash(first) == hash(standing(cage))) == (True, False, True)
    make(work, ".vscode/more", "another")
    assert standing(cage) == first
    os.rename(work / ".vscode", work / "was")
    make(work, ".vscode/x")
    assert standing(cage) != first


def test_what_is_gone_while_it_is_looked_at_has_no_number(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(work, ".vscode/x", ".npmrc")
    cage = Cage(BUBBLEWRAP, str(work))
    there = list(shields(cage))

    def vanishes(cage: Cage) -> list[shield.Shield]:
        os.unlink(work / ".npmrc")
        return there

    monkeypatch.setattr(shield, "shields", vanishes)
    assert standing(cage) == (
        (f"{work}/.npmrc", READ_ONLY, 0),
        (f"{work}/.vscode", READ_ONLY, (work / ".vscode").stat().st_ino),
    )
