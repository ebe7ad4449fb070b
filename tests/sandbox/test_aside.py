"""Moving things out of the way: none is lost, none takes another's place."""

import os
import stat
from pathlib import Path

import pytest

from toolcrib.sandbox import aside
from toolcrib.sandbox.aside import Together, is_there, kept, moved, moved_together


@pytest.fixture
def into(tmp_path: Path) -> Path:
    path = tmp_path / "aside"
    path.mkdir()
    return path


def test_a_moved_thing_lies_under_a_name_that_nothing_looks_for(workspace: Path, into: Path) -> None:
    (workspace / ".envrc").write_text("evil")
    to = moved(str(workspace), ".envrc", lambda: str(into))
    assert (os.listdir(workspace), os.listdir(into)) == ([], [os.path.basename(to)])
    assert Path(to).read_text() == "evil" and os.path.basename(to).startswith("envrc-")


def test_many_that_would_be_called_alike_lie_side_by_side(workspace: Path, into: Path) -> None:
    names = [".a", "a", "..a", "x" * 210 + "1", "x" * 210 + "2"]
    for name in names:
        (workspace / name).write_text(name)
    together = moved_together(str(workspace), "", names, lambda: str(into))
    assert together.left == [] and os.listdir(workspace) == []
    assert sorted(path.read_text() for path in Path(together.moved_to).iterdir()) == sorted(names)


def test_of_many_those_that_are_gone_are_left_out(workspace: Path, into: Path) -> None:
    (workspace / "here").touch()
    together = moved_together(str(workspace), "", ["gone", "here"], lambda: str(into))
    assert (together.left, len(os.listdir(together.moved_to))) == (["gone"], 1)
    assert moved_together(str(workspace), "", ["gone"], lambda: str(into)) == Together("", ["gone"])
    assert os.listdir(into) == [os.path.basename(together.moved_to)]


def test_what_has_no_room_at_its_place_is_written_down_for_its_owner_alone(into: Path) -> None:
    first, second = (kept("sub/.envrc", b"as it was \0\n", lambda: str(into)) for _ in range(2))
    assert first != second
    for place in (first, second):
        assert Path(place).read_bytes() == b"as it was \0\n"
        assert (os.path.dirname(place), stat.S_IMODE(os.stat(place).st_mode)) == (str(into), 0o600)


def test_half_of_it_is_not_kept(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open

    def full(fd: int, mode: str) -> object:
        opened(fd, mode).close()
        raise OSError("there is no room")

    monkeypatch.setattr(aside, "open", full, raising=False)
    assert kept(".envrc", b"as it was", lambda: str(into)) == ""
    assert os.listdir(into) == []


def test_a_link_is_there_wherever_it_leads(workspace: Path) -> None:
    (workspace / "link").symlink_to("nowhere")
    assert is_there(str(workspace), "link")
    assert not is_there(str(workspace), "nowhere") and not is_there(str(workspace), "gone/below")


@pytest.mark.skipif(os.geteuid() == 0, reason="root looks into all")
def test_what_cannot_be_seen_may_be_there(workspace: Path) -> None:
    (workspace / "locked").mkdir(mode=0o400)
    assert is_there(str(workspace), "locked/.envrc")
    (workspace / "locked").chmod(0o700)
