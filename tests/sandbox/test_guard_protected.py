"""Write now, run later: what somebody else runs or believes afterwards, outside every sandbox, no tool writes to."""

import os
import stat
from pathlib import Path

import pytest

from toolcrib.core.errors import Refused
from toolcrib.sandbox import _beneath, _openat2
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.sandbox.places import Places


@pytest.fixture(params=["kernel", "walk"], autouse=True)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "walk":
        monkeypatch.setattr(_beneath, "BY_KERNEL", False)
    elif not _openat2.AVAILABLE:
        pytest.skip("this kernel has no openat2")


def snapshot(root: Path) -> dict[str, object]:
    seen: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        seen[str(path)] = (about.st_mode, about.st_ino, path.read_bytes() if stat.S_ISREG(about.st_mode) else None)
    return seen


LATER = """
.git/config  .git/hooks/pre-commit  .git/HEAD  .git/info/attributes  .git  .git/modules/x/config  sub/.git/config
sub/.git  a/b/c/.git/hooks/post-checkout  .GIT/config  .Git/hooks/x  sub/.gIt/config  .git./config  .git../config
.git\u0020/config  .git\u0020.\u0020/config  .g\u200cit/config  .gi\u200dt/config  .git\ufeff/config  \u200e.git/config
.git::$INDEX_ALLOCATION/config  .git:stream  GIT~1/config  git~1/hooks/x
.gitmodules  .gitattributes  sub/.gitattributes  .GITATTRIBUTES  .gitconfig  .config/git/config  .config/git/attributes
.hg/hgrc  .svn/entries  .jj/repo/config.toml  .husky/pre-commit  .githooks/pre-push  .github/hooks/x
.toolcrib/config.yaml  .toolcrib/tools/new  .Toolcrib/policy.yaml  sub/.toolcrib/tools/x
.vscode/tasks.json  .vscode/settings.json  sub/.vscode/launch.json  .VSCode/tasks.json  .idea/workspace.xml  .zed/tasks.json
x.code-workspace  .devcontainer/devcontainer.json  .devcontainer.json  .vimrc  .exrc  .nvim.lua  .dir-locals.el
.claude/settings.json  .claude/agents/x.md  .agents/tools/x  .codex/config.toml  .gemini/settings.json  .cursor/rules/x.mdc
.cursor/mcp.json  .mcp.json  .kodelet/tools/x  .forge/tools/x
.envrc  sub/.envrc  .direnv/bin/x  .bashrc  .bash_profile  .bash_login  .bash_logout  .profile  .zshrc  .zshenv  .zprofile
.zlogin  .login  .cshrc  .kshrc  .inputrc  .config/fish/config.fish  .gdbinit  .lldbinit  .pdbrc  .Rprofile  .tmux.conf
sitecustomize.py  src/usercustomize.py  lib/evil.pth  .pth  EVIL.PTH  pyvenv.cfg  venv/pyvenv.cfg
node_modules/.bin/tsc  sub/node_modules/.bin/x  .local/bin/ls  .config/autostart/x.desktop  .config/systemd/user/x.service
Library/LaunchAgents/x.plist  library/launchagents/x.plist  .local/share/applications/x.desktop  .xprofile  .pam_environment
.ssh/authorized_keys  .ssh/config  .gnupg/gpg.conf  .netrc  .pypirc  .npmrc  .yarnrc  .yarnrc.yml  .aws/config
.aws/credentials  .kube/config  .docker/config.json  sub/.npmrc
"""
"""Two blanks apart: one belongs to the name."""


@pytest.mark.parametrize("path", LATER.strip().replace("\n", "  ").split("  "), ids=ascii)
def test_what_runs_later_is_neither_made_nor_changed_nor_removed(workspace: Path, path: str) -> None:
    files = GuardedFiles(workspace)
    with pytest.raises(Refused) as caught:
        files.write(path, "evil")
    assert caught.value.code == "PATH_PROTECTED"
    assert caught.value.details["reason"] and caught.value.details["reason"] in str(caught.value)
    assert list(workspace.iterdir()) == []  # no file, and no directory on the way to it
    assert files.places.locate(path, write=True).protected
    place = workspace / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("good")
    before = snapshot(workspace)
    for use in (lambda: files.write(path, "evil"), lambda: files.unlink(path), lambda: files.write(str(place), "evil")):
        with pytest.raises(Refused) as caught:
            use()
        assert caught.value.code == "PATH_PROTECTED"
    assert snapshot(workspace) == before
    assert files.read(path) == b"good"  # reading is free


ORDINARY = """
Makefile  package.json  pyproject.toml  conftest.py  tests/conftest.py  Dockerfile  .gitignore  .gitkeep  .dockerignore
.github/workflows/ci.yml  .github/CODEOWNERS  .gitlab-ci.yml  .pre-commit-config.yaml  .editorconfig  .env  .env.example
CLAUDE.md  AGENTS.md  README.md  src/main.py  git/config  .gitx/config  a.git/x.txt  .git-blame-ignore-revs  agit  hooks/x
bin/run  config  HEAD  objects/x  refs/x  config/git/x  node_modules/x/index.js  .config/app.toml  .local/x  local/bin/x
site.py  pth  x.pthx  .docker/app/Dockerfile  .aws/x  vscode/x  launch.json  .travis.yml  scripts/setup.sh  bashrc
sub/bin/x  sub/objects/y  sub/refs/y  sub/hooks/y  .toolcribx  toolcrib/config.yaml  Library/x  .x.swp
""".split()  # noqa: SIM905


@pytest.mark.parametrize("path", ORDINARY)
def test_what_people_edit_all_day_stays_writable(workspace: Path, path: str) -> None:
    files = GuardedFiles(workspace)
    files.write(path, "made")
    files.write(path, "changed")
    assert (workspace / path).read_text() == "changed"
    assert files.places.locate(path, write=True).protected == ""
    files.unlink(path)
    assert not (workspace / path).exists()


@pytest.mark.parametrize("path", ["link/config", "link/new", "folder/link/hooks/new", "direct", "{work}/link/config"])
def test_a_link_does_not_hide_what_is_protected(workspace: Path, path: str) -> None:
    """It is judged by where it really lies, not by what it is called."""
    (workspace / ".git").mkdir()
    (workspace / ".git" / "config").write_text("good")
    (workspace / "folder").mkdir()
    os.symlink(".git", workspace / "link")
    os.symlink("../link", workspace / "folder" / "link")
    os.symlink(".git/config", workspace / "direct")
    before = snapshot(workspace)
    with pytest.raises(Refused) as caught:
        GuardedFiles(workspace).write(path.format(work=workspace), "evil")
    assert caught.value.code == "PATH_PROTECTED"
    assert snapshot(workspace) == before


def test_a_link_of_an_ordinary_name_in_a_protected_place_stays(workspace: Path) -> None:
    (workspace / ".git").mkdir()
    os.symlink("../x", workspace / ".git" / "link")
    (workspace / "x").write_text("x")
    with pytest.raises(Refused):
        GuardedFiles(workspace).unlink(".git/link")
    assert (workspace / ".git" / "link").is_symlink()
    GuardedFiles(workspace).write(".git/link", "ordinary")  # what it leads to is no secret of git's
    assert (workspace / "x").read_text() == "ordinary"


@pytest.mark.parametrize("last", ["HEAD", "objects/info/x", "refs/heads/main", "config", "hooks/post-update"])
@pytest.mark.parametrize("place", ["", "sub/", "a/b/"])
def test_a_bare_repository_is_not_made_piece_by_piece(workspace: Path, place: str, last: str) -> None:
    """Git takes a directory for a repository by what is in it, and believes the settings it finds there."""
    files = GuardedFiles(workspace)
    for path in {"HEAD", "objects/info/x", "refs/heads/main"} - {last}:
        (workspace / place / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / place / path).write_text("x")
    before = snapshot(workspace)
    with pytest.raises(Refused) as caught:
        files.write(place + last, "evil")
    assert caught.value.code == "PATH_PROTECTED"
    assert snapshot(workspace) == before
    files.write(place + "ordinary", "x")


@pytest.mark.parametrize("path", ["venv/bin/python", "venv/bin/new", "env/Scripts/python.exe", ".venv/bin/activate"])
def test_the_programs_of_an_environment_are_not_replaced(workspace: Path, path: str) -> None:
    top = path.split("/")[0]
    (workspace / top).mkdir()
    (workspace / top / "pyvenv.cfg").write_text("home = /usr/bin")
    before = snapshot(workspace)
    with pytest.raises(Refused) as caught:
        GuardedFiles(workspace).write(path, "evil")
    assert caught.value.code == "PATH_PROTECTED"
    assert snapshot(workspace) == before
    GuardedFiles(workspace).write(f"{top}/lib/python3/site-packages/module.py", "x = 1")


# Toolcrib's own places


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A home inside of what may be written: a person who works in their own home directory."""
    (tmp_path / "mine" / "tools").mkdir(parents=True)
    (tmp_path / "mine" / "config.yaml").write_text("good")
    (tmp_path / "mine" / "tools" / "tool").write_text("good")
    os.symlink("mine", tmp_path / "by-link")
    return tmp_path / "mine"


def refused(files: GuardedFiles, *paths: object) -> None:
    for path in paths:
        for use in (files.unlink, lambda path: files.write(path, "evil")):
            with pytest.raises(Refused) as caught:
                use(str(path))
            assert caught.value.code == "PATH_PROTECTED"


def test_no_tool_writes_to_our_own_places(tmp_path: Path, mine: Path) -> None:
    places = Places(str(tmp_path), protected=[str(mine), str(mine / "tools")])
    before = snapshot(tmp_path)
    files = GuardedFiles(places)
    refused(
        files, "mine/config.yaml", "mine/tools/tool", "by-link/config.yaml", tmp_path / "by-link" / "tools" / "tool"
    )
    with pytest.raises(Refused):
        files.write("mine/new", "evil")
    assert snapshot(tmp_path) == before
    assert files.read("mine/config.yaml") == b"good"
    files.write("minesweeper", "ordinary")


def test_a_protected_place_that_is_a_link_is_not_turned_elsewhere(tmp_path: Path, mine: Path) -> None:
    files = GuardedFiles(Places(str(tmp_path), protected=[str(tmp_path / "by-link")]))
    refused(files, "mine/config.yaml", "by-link/config.yaml")
    with pytest.raises(Refused):
        files.unlink("by-link")
    assert (tmp_path / "by-link").is_symlink()


def test_the_directory_of_tools_is_writable_when_the_user_names_it(workspace: Path, mine: Path) -> None:
    """F32: that one place, and every other restriction stays."""
    roots = {str(mine / "tools"): "write"}
    files = GuardedFiles(Places(str(workspace), roots=roots, protected=[str(mine), str(mine / "tools")]))
    files.write(str(mine / "tools" / "new"), "made")
    files.write(str(mine / "tools" / "tool"), "changed")
    files.unlink(str(mine / "tools" / "new"))
    assert (mine / "tools" / "tool").read_text() == "changed"
    with pytest.raises(Refused):
        files.write(str(mine / "tools" / ".git" / "config"), "evil")
    for path in (mine / "config.yaml", mine / "tools" / ".." / "config.yaml"):
        with pytest.raises(Exception) as caught:
            files.write(str(path), "evil")
        assert caught.value.code == "PATH_OUTSIDE_WORKSPACE"  # type: ignore[attr-defined]
    assert (mine / "config.yaml").read_text() == "good"


@pytest.mark.parametrize("roots", [{"mine/tools": "read"}, {".": "write"}, {}], ids=str)
def test_nothing_less_makes_it_writable(tmp_path: Path, mine: Path, roots: dict[str, str]) -> None:
    """Not a root for reading, not one above it, and not standing in it."""
    named = {str(tmp_path / path): kind for path, kind in roots.items()}
    (tmp_path / "elsewhere").mkdir()
    for workspace in (tmp_path, mine, mine / "tools", tmp_path / "elsewhere"):
        if workspace.name == "elsewhere" and not named:
            continue
        files = GuardedFiles(Places(str(workspace), roots=named, protected=[str(mine)]))
        refused(files, mine / "tools" / "tool")
    assert (mine / "tools" / "tool").read_text() == "good"


def test_a_workspace_may_lie_below_a_protected_name(tmp_path: Path) -> None:
    """Some keep worktrees in such places; what counts is the path below the workspace."""
    work = tmp_path / ".claude" / "worktrees" / "x"
    work.mkdir(parents=True)
    files = GuardedFiles(work)
    files.write("file", "x")
    with pytest.raises(Refused):
        files.write(".claude/settings.json", "evil")
    assert [path.name for path in work.iterdir()] == ["file"]
    config = tmp_path / ".config"
    config.mkdir()
    with pytest.raises(Refused):
        GuardedFiles(config).write("autostart/x.desktop", "evil")
    assert list(config.iterdir()) == []
