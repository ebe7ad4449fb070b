"""A new repository stays when nothing in it names a program or leads elsewhere; any other is put aside."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.sandbox import repository
from toolcrib.sandbox.aftermath import put_aside
from toolcrib.sandbox.beforehand import before
from toolcrib.sandbox.repository import adds_nothing, are_plain_steps, is_plain

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no tier that needs it but on Linux")
CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
ORIGIN = '[remote "origin"]\n\turl = {}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "workspace"
    root.mkdir()
    return root


@pytest.fixture
def git(workspace: Path) -> Callable[..., None]:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    env = {"PATH": os.environ["PATH"], "HOME": str(workspace.parent), "GIT_CONFIG_NOSYSTEM": "1"}

    def run(*words: str, at: str = ".") -> None:
        who = ("-c", "user.name=Me", "-c", "user.email=me@example.org")
        subprocess.run(["git", *who, *words], cwd=workspace / at, env=env, check=True, capture_output=True)

    return run


@pytest.fixture
def made(workspace: Path) -> Path:
    """A git directory as `git init` makes it."""
    top = workspace / ".git"
    for name in ("objects/info", "refs/heads", "hooks", "info", "branches"):
        (top / name).mkdir(parents=True)
    (top / "HEAD").write_text("ref: refs/heads/main\n")
    (top / "config").write_text(CONFIG)
    (top / "description").write_text("Unnamed repository.\n")
    (top / "hooks" / "pre-commit.sample").write_text("#!/bin/sh\n")
    (top / "info" / "exclude").write_text("*~\n")
    return top


def test_what_git_makes_stays_and_what_is_done_in_it(workspace: Path, git: Callable[..., None], tmp_path: Path) -> None:
    for held in (True, False):
        seen = before(str(workspace), held=held)
        git("init", "-q", "one")
        (workspace / "one" / "file").write_text("x")
        git("config", "user.name", "Jörg O'Neil", at="one")
        git("add", ".", at="one")
        git("commit", "-qm", "first", at="one")
        git("clone", "-q", "one", "two")
        git("remote", "add", "up", "git@example.org:some/thing.git", at="two")
        git("remote", "add", "other", "https://example.org/some/thing.git", at="two")
        git("checkout", "-qb", "a/b", at="two")
        git("push", "-qu", "origin", "a/b", at="two")
        assert put_aside(seen, lambda: str(tmp_path)) == []
        assert all(is_plain(str(workspace), f"{name}/.git") for name in ("one", "two"))
        for name in ("one", "two"):
            shutil.rmtree(workspace / name)


def test_one_that_is_made_by_hand_like_that_is_plain(workspace: Path, made: Path) -> None:
    assert is_plain(str(workspace), ".git")


SETTINGS = [
    "[core]\n\tfsmonitor = touch x",
    "[core]\n\tsshCommand = touch x",
    "[core]\n\thooksPath = /tmp",
    "[core]\n\tpager = touch x",
    "[core]\n\teditor = touch x",
    "[core]\n\tworktree = /",
    "[core]\n\tbare = true",
    "[core]\n\tattributesFile = x",
    "[core] fsmonitor = touch x",
    "[core]fsmonitor=touch x",
    "[CORE]\n\tfsmonitor = touch x",
    '[core ""]\n\tfsmonitor = touch x',
    "[alias]\n\tst = !touch x",
    "[include]\n\tpath = ../evil",
    '[includeIf "gitdir:/"]\n\tpath = ../evil',
    '[filter "x"]\n\tclean = touch x',
    '[diff "x"]\n\ttextconv = touch x',
    "[diff]\n\texternal = touch x",
    "[credential]\n\thelper = !touch x",
    "[gpg]\n\tprogram = touch x",
    '[url "ext::sh -c touch"]\n\tinsteadOf = https',
    "[protocol]\n\tallow = always",
    "[extensions]\n\tworktreeConfig = true",
    "[uploadpack]\n\tpackObjectsHook = touch x",
    '[submodule "x"]\n\tupdate = !touch x',
    '[remote "origin"]\n\turl = ext::sh -c touch% x',
    '[remote "origin"]\n\turl = -oProxyCommand=touch',
    '[remote "origin"]\n\turl = ssh://-oProxyCommand=touch/x',
    '[remote "origin"]\n\turl = -u@example.org:x',
    '[remote "origin"]\n\turl = ssh://-u@example.org/x',
    '[remote "origin"]\n\turl = ext::x',
    '[remote "origin"]\n\turl = ../elsewhere',
    '[remote "origin"]\n\turl = a@-oProxyCommand=touch:x',
    '[remote "origin"]\n\tvcs = ext',
    '[remote "origin"]\n\tuploadpack = touch x',
    '[remote "origin"]\n\treceivepack = touch x',
    '[remote "origin"]\n\tproxy = x',
    '[remote "origin"]\n\tfetch = +refs/heads/*:refs/heads/*',
    '[remote "-x"]\n\tfetch = +refs/heads/*:refs/remotes/x/*',
    '[branch "main"]\n\tremote = -x',
    '[branch "main"]\n\tmerge = --x',
    '[branch "main"]\n\tmergeOptions = --x',
    "[user]\n\tname = a\\\n[core]\n\tfsmonitor = touch x",
    '[user]\n\tname = "a\n[core]\n\tfsmonitor = touch x',
    '[user]\n\tname = a"\\\nb"',
    "[user]\n\tname = a\r\n[core]\r\n\tfsmonitor = touch x",
    "[user]\n\tname = a\x0b\tfsmonitor = touch x",
    "[user]\n\tname = a\x00",
    "[user]\n\tname = a ; b",
    "[user]\n\tname = a # b",
    "[user]\n\tsigningKey = x",
    "[user]\n\tname",
    "\tfsmonitor = touch x",
    "; a remark",
    "\ufeff[core]",
    "[user]\n\tname = " + "x" * 65536,
]


@pytest.mark.parametrize("text", SETTINGS, ids=lambda text: ascii(text)[1:40])
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_a_setting_that_is_not_known_to_be_harmless_is_not(workspace: Path, made: Path, text: str, first: bool) -> None:
    (made / "config").write_bytes((f"{text}\n{CONFIG}" if first else f"{CONFIG}{text}\n").encode())
    assert not is_plain(str(workspace), ".git")


def test_one_that_is_no_text_is_not(workspace: Path, made: Path) -> None:
    (made / "config").write_bytes(CONFIG.encode() + b"[user]\n\tname = \xff\n")
    assert not is_plain(str(workspace), ".git")


def test_one_with_many_branches_is_plain(workspace: Path, made: Path) -> None:
    for number in range(200):
        for name in ("refs/heads", "logs/refs/heads"):
            (made / name / f"topic{number}").mkdir(parents=True)
            (made / name / f"topic{number}" / "one").touch()
    assert is_plain(str(workspace), ".git")


ADDRESSES = [
    "https://example.org/a.git",
    "ssh://me@example.org:22/~/a",
    "me@example.org:a/b.git",
    "/srv/a",
    "file:///srv/a",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_ordinary_addresses_are_plain(workspace: Path, made: Path, address: str) -> None:
    (made / "config").write_text(
        CONFIG + ORIGIN.format(address) + '[branch "main"]\n\tremote = origin\n\trebase = true\n'
    )
    assert is_plain(str(workspace), ".git")


def link(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/etc/hostname")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a hook": lambda top: (top / "hooks" / "pre-commit").write_text("#!/bin/sh\n"),
    "a hook that is a directory": lambda top: (top / "hooks" / "x.sample").mkdir(),
    "a hook that is a link": lambda top: link(top / "hooks" / "y.sample"),
    "hooks elsewhere": lambda top: (shutil.rmtree(top / "hooks"), (top / "hooks").symlink_to("../sub")),
    "attributes": lambda top: (top / "info" / "attributes").write_text("* filter=x\n"),
    "exclude elsewhere": lambda top: link(top / "info" / "exclude"),
    "info elsewhere": lambda top: (shutil.rmtree(top / "info"), (top / "info").symlink_to("..")),
    "a log that is a link": lambda top: ((top / "logs").mkdir(), link(top / "logs" / "HEAD")),
    "a log of logs elsewhere": lambda top: ((top / "logs" / "refs").mkdir(parents=True), link(top / "logs/refs/x")),
    "more logs than are looked at": lambda top: [(top / f"logs/{n}/x").mkdir(parents=True) for n in range(1001)],
    "a reference that is a link": lambda top: link(top / "refs" / "heads" / "main"),
    "references elsewhere": lambda top: (shutil.rmtree(top / "refs" / "heads"), link(top / "refs" / "heads")),
    "references deep down elsewhere": lambda top: ((top / "refs/a/b").mkdir(parents=True), link(top / "refs/a/b/c")),
    "an old remote": lambda top: (top / "branches" / "x").write_text("ext::sh -c x\n"),
    "remotes": lambda top: (top / "remotes").mkdir(),
    "settings of a worktree": lambda top: (top / "config.worktree").write_text(CONFIG),
    "another common directory": lambda top: (top / "commondir").write_text("../evil\n"),
    "another git directory": lambda top: (top / "gitdir").write_text("../evil\n"),
    "modules": lambda top: (top / "modules").mkdir(),
    "worktrees": lambda top: (top / "worktrees").mkdir(),
    "a rebase": lambda top: (top / "rebase-merge").mkdir(),
    "no settings": lambda top: (top / "config").unlink(),
    "settings elsewhere": lambda top: link(top / "config"),
    "settings that are a pipe": lambda top: ((top / "config").unlink(), os.mkfifo(top / "config")),
    "settings that are a directory": lambda top: ((top / "config").unlink(), (top / "config").mkdir()),
    "a log elsewhere": lambda top: (top / "logs").symlink_to("/tmp"),
    "objects elsewhere": lambda top: (shutil.rmtree(top / "objects"), (top / "objects").symlink_to("/tmp")),
    "a message elsewhere": lambda top: link(top / "COMMIT_EDITMSG"),
    "much": lambda top: [(top / "hooks" / f"{n}.sample").touch() for n in range(65)],
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_otherwise_than_git_makes_it_is_put_aside_whole(
    workspace: Path, made: Path, tmp_path: Path, change: str
) -> None:
    away = tmp_path / "away"
    os.rename(made, away)
    seen = before(str(workspace), held=True)
    os.rename(away, made)
    CHANGES[change](made)
    (tmp_path / "aside").mkdir()
    (moved,) = put_aside(seen, lambda: str(tmp_path / "aside"))
    assert (moved.path, made.exists(), Path(moved.moved_to, "HEAD").exists()) == (".git", False, True)


def test_one_that_a_link_leads_to_is_not_looked_at(workspace: Path, made: Path) -> None:
    os.rename(made, workspace / "real")
    made.symlink_to("real")
    (workspace / "sub").symlink_to(".")
    assert is_plain(str(workspace), "real")
    assert not is_plain(str(workspace), ".git") and not is_plain(str(workspace), "sub/real")
    assert not is_plain(str(workspace), "nowhere")


def test_a_look_leaves_no_descriptor(workspace: Path, made: Path) -> None:
    found = len(os.listdir("/proc/self/fd"))
    assert is_plain(str(workspace), ".git")
    (made / "config").unlink()
    assert not is_plain(str(workspace), ".git")
    assert len(os.listdir("/proc/self/fd")) == found


def test_many_names_are_not_gone_through(workspace: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "_MOST_NAMES", 9)
    assert is_plain(str(workspace), ".git")
    monkeypatch.setattr(repository, "_MOST_NAMES", 7)
    assert not is_plain(str(workspace), ".git")


def test_one_that_another_program_made_evil_later_is_put_aside_after_that(
    workspace: Path, made: Path, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    os.rename(made, away)
    first, second = (before(str(workspace), held=True) for _ in range(2))
    os.rename(away, made)
    assert put_aside(first, lambda: str(tmp_path)) == []
    (made / "config").write_text(CONFIG + "[core]\n\tfsmonitor = touch x\n")
    assert [each.path for each in put_aside(second, lambda: str(tmp_path))] == [".git"]
    assert not made.exists()


# What is said anew in settings


@pytest.mark.parametrize(
    ("now", "nothing"),
    [
        ("[core]\n\tfsmonitor = mine\n", True),
        ('[core]\n\tbare = false\n\tfsmonitor = mine\n[remote "up"]\n\turl = git@example.org:x/y.git\n', True),
        ("", True),
        ("[core]\n\tfsmonitor = evil\n", False),
        ("[core]\n\tfsmonitor = mine\n\tsshCommand = evil\n", False),
        ("[alias]\n\tfsmonitor = mine\n", False),
        ("[core]\n\tfsmonitor = mine\n [alias]\n\tst = !evil\n", False),
    ],
)
def test_settings_that_say_what_they_said_and_what_is_harmless_add_nothing(
    workspace: Path, now: str, nothing: bool
) -> None:
    (workspace / "config").write_text(now)
    assert adds_nothing(str(workspace), "config", b"[core]\n\tfsmonitor = mine\n") is nothing


# In the middle of a rebase

STEPS = {
    "git-rebase-todo": "pick 0123 first\n# exec is not among them\n\nlabel onto\nfixup -C 4567\nbreak\n",
    "done": "reword 89ab second\n",
    "strategy": "ort\n",
    "author-script": "GIT_AUTHOR_NAME='x'\n",
}


def in_the_middle(workspace: Path, name: str = "", text: str = "") -> bool:
    top = workspace / ".git" / "rebase-merge"
    top.mkdir(parents=True)
    for each, content in (STEPS | ({name: text} if name else {})).items():
        (top / each).write_text(content)
    return are_plain_steps(str(workspace), ".git/rebase-merge")


def test_steps_that_run_nothing_are_plain(workspace: Path) -> None:
    assert in_the_middle(workspace)
    (workspace / ".git" / "rebase-merge" / "strategy").unlink()
    assert are_plain_steps(str(workspace), ".git/rebase-merge")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("git-rebase-todo", "pick 0123 first\nexec touch evil\n"),
        ("git-rebase-todo", "x touch evil\n"),
        ("git-rebase-todo.backup", " exec touch evil\n"),
        ("done", "exec touch evil\n"),
        ("todo", "pickaxe\n"),
        ("strategy", "evil\n"),
    ],
)
def test_steps_that_run_something_are_not(workspace: Path, name: str, text: str) -> None:
    assert not in_the_middle(workspace, name, text)


def test_steps_that_cannot_be_read_are_not(workspace: Path) -> None:
    assert in_the_middle(workspace)
    (workspace / ".git" / "rebase-merge" / "done").write_bytes(b"\xff")
    assert not are_plain_steps(str(workspace), ".git/rebase-merge")


@pytest.mark.parametrize("what", ["link", "directory", "pipe"])
def test_steps_among_which_something_else_lies_are_not(workspace: Path, what: str) -> None:
    assert in_the_middle(workspace)
    place = workspace / ".git" / "rebase-merge" / "message"
    {"link": lambda: place.symlink_to("done"), "directory": place.mkdir, "pipe": lambda: os.mkfifo(place)}[what]()
    assert not are_plain_steps(str(workspace), ".git/rebase-merge")
