"""Names that no tool writes to."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.sandbox.protected import LAST_NAMES, PATTERNS, fold, why_named, why_protected

ENVIRONMENT = "the programs of a Python environment"
REPOSITORY = "a git repository's own files, whose settings and hooks run programs"


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("plain", "plain"),
        (".GIT", ".git"),
        ("STRASSE", "strasse"),
        ("straße", "strasse"),
        ("e\u0301", "é"),
        (".g\u200cit", ".git"),
        ("\ufeff.git", ".git"),
        ("a\u200bb", "a\u200bb"),
        (".git. . ", ".git"),
        (" .git", " .git"),
        ("a.b.c", "a.b.c"),
        (".git::$INDEX_ALLOCATION", ".git"),
        (".git :x:y", ".git"),
        (":stream", ":stream"),
        (":a:B", ":a:b"),
        ("", ""),
        ("...", ""),
    ],
)
def test_a_name_is_compared_as_the_most_forgiving_file_system_would(name: str, folded: str) -> None:
    assert fold(name) == folded


def test_every_name_of_the_table_is_protected_and_what_is_near_it_is_not() -> None:
    for pattern in PATTERNS:
        path = pattern.replace("*", "any")
        assert why_protected(f"/work/{path}", "/work")
        assert why_protected(f"/work/deep/er/{path}/below", "/work")
        assert why_protected(f"/work/{path.upper()}", "/work")
        assert not why_protected(f"/work/{path}x", "/work"), path
        assert "*" in pattern or not why_protected(f"/work/x{path}", "/work"), path
    assert {pattern.rpartition("/")[2] for pattern in PATTERNS if "*" not in pattern} == set(LAST_NAMES)


@pytest.mark.parametrize(
    ("names", "protected"),
    [
        ([".git"], True),
        (["sub", ".git"], True),
        ([".git", "config"], False),  # for what is above it, not for its own name
        ([".config", "fish"], True),
        (["a", ".config", "fish"], True),
        (["fish"], False),
        (["config", "fish"], False),
        ([".config", "a", "fish"], False),
        ([".local", "share", "systemd"], True),
        (["share", "systemd"], False),
        ([".local", "systemd"], False),
        (["x", "share", "systemd"], False),
        (["evil.pth"], True),
        ([".pth"], True),
        (["a.b.pth"], True),
        (["pth"], False),
        (["x.pth.txt"], False),
        (["x.code-workspace"], True),
        (["plain"], False),
    ],
)
def test_the_last_name_counts_and_those_right_above_it(names: list[str], protected: bool) -> None:
    assert bool(why_named(names)) is protected


@pytest.mark.parametrize(
    ("real", "root", "protected"),
    [
        ("/work/.git/config", "/work", True),
        ("/work/.git", "/work", True),
        ("/work/.git", "/work/", True),
        ("/.git/work/file", "/.git/work", False),
        ("/.git/work", "/.git/work", False),
        ("/.git", "/", True),
        ("/home/.config/fish", "/home/.config", True),
        ("/home/.config/fish", "/home/.config/fish", False),
        ("/home/.config/fish/x", "/home/.config/fish", False),
        ("/work", "/work", False),
        ("/", "/", False),
    ],
)
def test_what_the_path_to_the_root_is_called_is_not_asked(real: str, root: str, protected: bool) -> None:
    assert bool(why_protected(real, root)) is protected


def test_the_reason_is_told() -> None:
    assert why_protected("/work/.husky/x", "/work") == "hooks that run at a commit"
    assert why_protected("/work/.git/hooks/x", "/work").startswith("git's own files")


# What a directory is by what else is in it


@pytest.fixture
def have(tmp_path: Path) -> Callable[..., None]:
    def make(*names: str) -> None:
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    return make


IN_A_REPOSITORY = (
    "config config.worktree hooks/x commondir info/attributes packed-refs worktrees/x HEAD objects/x refs/x modules/x"
    " remotes/x branches/x"
)


@pytest.mark.parametrize("name", IN_A_REPOSITORY.split())
def test_in_a_bare_repository_it_is_protected(tmp_path: Path, have: Callable[..., None], name: str) -> None:
    have("bare/HEAD", "bare/objects/x", "bare/refs/x")
    assert why_protected(f"{tmp_path}/bare/{name}", str(tmp_path)) == REPOSITORY
    assert why_protected(f"{tmp_path}/bare/{name.upper()}", str(tmp_path)) == REPOSITORY
    assert why_protected(f"{tmp_path}/bare/{name}", f"{tmp_path}/bare") == REPOSITORY
    assert why_protected(f"{tmp_path}/bare/sub/{name}", str(tmp_path)) == ""
    assert why_protected(f"{tmp_path}/bare/description", str(tmp_path)) == ""


@pytest.mark.parametrize(
    ("there", "name", "protected"),
    [
        ("HEAD objects", "refs/x", True),
        ("HEAD refs", "objects/x", True),
        ("objects refs", "HEAD", True),
        ("objects refs", "head", True),
        ("HEAD objects", "config", False),
        ("HEAD refs", "config", False),
        ("objects refs", "config", False),
        ("head objects refs", "config", False),
        ("HEAD", "refs/x", False),
        ("HEAD", "commondir", True),
        ("HEAD", "config.worktree", False),
        ("HEAD commondir", "config.worktree", True),
        ("commondir", "HEAD", True),
        ("commondir objects", "config", False),
    ],
)
def test_whoever_adds_the_last_part_makes_a_repository(
    tmp_path: Path, have: Callable[..., None], there: str, name: str, protected: bool
) -> None:
    have(*(f"deep/bare/{part}" for part in there.split()))
    assert why_protected(f"{tmp_path}/deep/bare/{name}", str(tmp_path)) == (REPOSITORY if protected else "")


def test_a_part_that_is_a_link_to_nothing_counts(tmp_path: Path, have: Callable[..., None]) -> None:
    have("objects", "refs")
    os.symlink("refs/heads/unborn", tmp_path / "HEAD")
    assert why_protected(f"{tmp_path}/config", str(tmp_path)) == REPOSITORY


def test_hooks_are_protected_where_the_settings_of_a_repository_above_say_they_are(
    tmp_path: Path, have: Callable[..., None]
) -> None:
    have("work/.git/config", "work/sub/.git/config")
    (tmp_path / "work/.git/config").write_text("[core]\n\thooksPath = scripts/../scripts/hooks\n")
    hooks = f"{tmp_path}/work/scripts/hooks"
    assert why_protected(f"{hooks}/pre-commit", f"{tmp_path}/work") == "hooks that run at a commit"
    assert why_protected(hooks, str(tmp_path)) == "hooks that run at a commit"
    assert why_protected(f"{hooks}/pre-commit", hooks) == ""
    assert why_protected(f"{hooks}-2/x", f"{tmp_path}/work") == ""
    assert why_protected(f"{tmp_path}/work/sub/scripts/hooks/x", f"{tmp_path}/work") == ""


@pytest.mark.parametrize("name", ["bin/python", "Scripts/x", "bin"])
def test_the_programs_of_an_environment(tmp_path: Path, have: Callable[..., None], name: str) -> None:
    assert why_protected(f"{tmp_path}/venv/{name}", str(tmp_path)) == ""
    have("venv/pyvenv.cfg")
    assert why_protected(f"{tmp_path}/venv/{name}", str(tmp_path)) == ENVIRONMENT
    assert why_protected(f"{tmp_path}/venv/{name}", f"{tmp_path}/venv") == ENVIRONMENT
    assert why_protected(f"{tmp_path}/venv/lib/{name}", str(tmp_path)) == ""
