"""What was there before a program: what is compared, and what is kept when not all can be."""

import os
import time
from pathlib import Path

import pytest

from toolcrib.sandbox import beforehand, originals
from toolcrib.sandbox.beforehand import before, identity
from toolcrib.sandbox.finding import TakesLong


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "workspace"
    root.mkdir()
    return root


def write(path: Path, text: str = "mine") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_what_git_runs_is_kept_whatever_lies_nearer(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that come before it, in other spellings, or in directories that are listed earlier."""
    for name in ("config", "hooks/pre-commit"):
        write(workspace / ".git" / name)
        write(workspace / "!first" / ".git" / name, "x" * 100)
    for name in (".GIT/hooks/x", ".git/HOOKS/x", ".VSCODE/x", "!first/.vscode/x", ".a.code-workspace", ".idea/x"):
        write(workspace / name, "x" * 100)
    write(workspace / ".vscode" / "tasks.json")
    monkeypatch.setattr(beforehand, "_MOST_BYTES", 9)
    places = before(str(workspace)).places
    has = {path for path, was in places.items() if was.entries}
    assert has == {".git/config", ".git/hooks", ".idea"}
    assert len(places) == 14


def test_a_crowd_does_not_take_the_place_of_what_is_known_by_name(workspace: Path, monkeypatch) -> None:
    monkeypatch.setattr(beforehand, "_MOST_COMPARED", 20)
    monkeypatch.setattr(beforehand, "_CROWD", 3)
    names = (".vscode/x", "sub/.envrc", ".git/config", ".git/hooks/x")
    for name in names:
        write(workspace / name)
    for number in range(30):
        (workspace / f".a{number:02}.code-workspace").touch()
    for held in (True, False):
        seen = before(str(workspace), held=held)
        assert {".vscode", "sub/.envrc", ".git", ".git/config", ".git/hooks"} <= set(seen.places)
        assert sum(path.endswith(".code-workspace") for path in seen.places) == 3
        assert len(seen.beyond) == 27 and not seen.beyond & set(seen.places)


@pytest.mark.parametrize("held", [True, False])
def test_who_has_no_time_at_all_is_told(workspace: Path, held: bool) -> None:
    write(workspace / ".envrc")
    with pytest.raises(TakesLong):
        before(str(workspace), held=held, until=time.monotonic() - 1)


def test_what_something_is_shows_where_a_link_leads(workspace: Path) -> None:
    write(workspace / "file")
    (workspace / "link").symlink_to("file")
    assert identity(str(workspace), "link")[3] == "file"
    assert identity(str(workspace), "file")[3] == ""
    assert identity(str(workspace), "missing") == beforehand.GONE


def test_what_was_read_for_another_tier_is_known_by_the_same_signs(workspace: Path, monkeypatch) -> None:
    monkeypatch.setattr(originals, "_UNSETTLED_NS", -(1 << 62))
    write(workspace / "settings")
    write(workspace / ".vimrc")
    (workspace / ".envrc").symlink_to("settings")
    (workspace / ".vscode").mkdir()
    first = before(str(workspace))
    for held in (False, True):
        again = before(str(workspace), held=held)
        assert {path: was.identity for path, was in again.places.items()} == {
            path: identity(str(workspace), path) for path in first.places
        }
