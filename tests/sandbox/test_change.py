"""Writing what is made of a file's content: alone, whole or not at all, and never over what a session has not seen."""

import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.sandbox import _beneath, _deliver, _openat2
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.sandbox.readings import KEPT_BYTES, LONGEST, Readings, Stale


@pytest.fixture(params=["kernel", "walk"], autouse=True)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Linux does it, and as it is done elsewhere: without openat2, and without files that have no name yet."""
    if request.param == "walk":
        monkeypatch.setattr(_beneath, "BY_KERNEL", False)
        monkeypatch.setattr(_deliver, "_unnamed", lambda folder, mode: None)
    elif not _openat2.AVAILABLE:
        pytest.skip("this kernel has no openat2")


@pytest.fixture
def files(workspace: Path) -> GuardedFiles:
    (workspace / "file").write_bytes(b"one")
    return GuardedFiles(workspace)


def of_session(workspace: Path, readings: Readings, name: str) -> GuardedFiles:
    return GuardedFiles(workspace, session=name, readings=readings)


def error(use: Callable[..., object], *args: object) -> ToolError:
    with pytest.raises(ToolError) as caught:
        use(*args)
    return caught.value


def test_it_is_given_the_content_and_writes_what_it_makes(files: GuardedFiles, workspace: Path) -> None:
    files.change("file", lambda old: (old or b"") + b", two")
    assert (workspace / "file").read_bytes() == b"one, two"
    assert files.report == {"bytes_written": 8, "files_accessed": ["file"]}


def test_where_nothing_is_it_is_given_nothing(files: GuardedFiles, workspace: Path) -> None:
    files.change("a/b/new", lambda old: b"made" if old is None else b"wrong")
    assert (workspace / "a" / "b" / "new").read_bytes() == b"made"
    assert stat.S_IMODE((workspace / "a" / "b" / "new").stat().st_mode) & 0o600 == 0o600


@pytest.mark.parametrize("path", ["file", "new", "a/b/new"])
def test_what_fails_while_it_is_made_changes_nothing(files: GuardedFiles, workspace: Path, path: str) -> None:
    def fails(old: bytes | None) -> bytes:
        raise ToolError("no")

    assert str(error(files.change, path, fails)) == "no"
    assert [each.name for each in workspace.iterdir()] == ["file"]
    assert (workspace / "file").read_bytes() == b"one"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o444 | 0o200])
def test_the_mode_stays(files: GuardedFiles, workspace: Path, mode: int) -> None:
    (workspace / "file").chmod(mode)
    files.change("file", lambda old: b"two")
    assert stat.S_IMODE((workspace / "file").stat().st_mode) == mode


def test_no_draft_is_left(files: GuardedFiles, workspace: Path) -> None:
    for number in range(20):
        files.change("file", lambda old: b"x" * 100)
        files.change(f"new{number}", lambda old: b"x")
    assert not [each for each in workspace.iterdir() if each.name.startswith(".")]


def test_a_file_that_appears_meanwhile_is_not_written_over(files: GuardedFiles, workspace: Path) -> None:
    """It is taken for what it is, and `make` is asked again."""
    seen: list[bytes | None] = []

    def make(old: bytes | None) -> bytes:
        seen.append(old)
        if len(seen) == 1:
            (workspace / "new").write_bytes(b"quicker")
        return (old or b"") + b"!"

    files.change("new", make)
    assert seen == [None, b"quicker"]
    assert (workspace / "new").read_bytes() == b"quicker!"


def test_another_writer_is_waited_for_and_then_named(files: GuardedFiles, workspace: Path) -> None:
    holder = os.open(workspace, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    refused = error(files.change, "file", lambda old: b"two")
    assert (refused.code, refused.before_effect) == ("RESOURCE_EXHAUSTED", True)
    assert (workspace / "file").read_bytes() == b"one"
    os.close(holder)
    files.change("file", lambda old: b"two")
    assert (workspace / "file").read_bytes() == b"two"


def test_what_is_too_long_is_not_changed(files: GuardedFiles, workspace: Path) -> None:
    with open(workspace / "big", "wb") as file:
        file.truncate(65 * 1024 * 1024)
    assert "too many" in str(error(files.change, "big", lambda old: b""))
    assert (workspace / "big").stat().st_size == 65 * 1024 * 1024


# What a session has seen


def test_a_session_reads_before_it_writes(workspace: Path, files: GuardedFiles) -> None:
    mine = of_session(workspace, Readings(), "mine")
    refused = error(mine.change, "file", lambda old: b"two")
    assert refused.details == {"path": "file", "unread": True}
    assert "read it" in str(refused)
    mine.read("file")
    mine.change("file", lambda old: b"two")
    mine.change("file", lambda old: b"three")  # it knows what it wrote
    assert (workspace / "file").read_bytes() == b"three"


def test_a_glance_is_not_reading(workspace: Path, files: GuardedFiles) -> None:
    mine = of_session(workspace, Readings(), "mine")
    with mine.open("file", glance=True) as file:
        assert file.read() == b"one"
    assert error(mine.change, "file", lambda old: b"two").details["unread"] is True
    with mine.open("file") as file:
        assert file.read() == b"one"
    mine.change("file", lambda old: b"two")
    assert mine.report["bytes_read"] == 6


def test_whoever_has_no_session_may_change_what_it_has_not_read(workspace: Path, files: GuardedFiles) -> None:
    nobody = GuardedFiles(workspace, session="tc1", readings=Readings(nameless="tc1"))
    nobody.change("file", lambda old: b"two")
    assert (workspace / "file").read_bytes() == b"two"


def test_what_changed_since_is_not_written_over(workspace: Path, files: GuardedFiles) -> None:
    readings = Readings()
    mine, other = of_session(workspace, readings, "mine"), of_session(workspace, readings, "other")
    mine.read("file")
    other.read("file")
    other.change("file", lambda old: b"other's")
    with pytest.raises(Stale) as caught:
        mine.change("file", lambda old: b"mine")
    assert (caught.value.before, caught.value.after) == (b"one", b"other's")
    assert (workspace / "file").read_bytes() == b"other's"
    mine.read("file")
    mine.change("file", lambda old: (old or b"") + b" and mine")
    assert (workspace / "file").read_bytes() == b"other's and mine"


def test_a_change_of_the_same_length_and_time_is_noticed(workspace: Path, files: GuardedFiles) -> None:
    mine = of_session(workspace, Readings(), "mine")
    mine.read("file")
    seen = (workspace / "file").stat()
    (workspace / "file").write_bytes(b"two")
    os.utime(workspace / "file", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert isinstance(error(mine.change, "file", lambda old: b"x"), Stale)


def test_a_touch_is_no_change(workspace: Path, files: GuardedFiles) -> None:
    mine = of_session(workspace, Readings(), "mine")
    mine.read("file")
    os.utime(workspace / "file", (0, 0))
    mine.change("file", lambda old: b"two")
    assert (workspace / "file").read_bytes() == b"two"


def test_a_deletion_also_looks(workspace: Path, files: GuardedFiles) -> None:
    mine = of_session(workspace, Readings(), "mine")
    mine.read("file")
    (workspace / "file").write_bytes(b"changed by hand")
    assert isinstance(error(mine.unlink, "file"), Stale)
    assert (workspace / "file").exists()
    mine.read("file")
    mine.unlink("file")
    assert not (workspace / "file").exists()
    mine.change("file", lambda old: b"anew" if old is None else b"wrong")
    assert (workspace / "file").read_bytes() == b"anew"


def test_two_names_of_one_file_are_one(workspace: Path, files: GuardedFiles) -> None:
    (workspace / "link").symlink_to("file")
    mine = of_session(workspace, Readings(), "mine")
    mine.read("link")
    mine.change("file", lambda old: b"two")
    assert (workspace / "file").read_bytes() == b"two"
    assert (workspace / "link").is_symlink()


def test_memory_is_bounded_and_still_knows_what_changed(workspace: Path, files: GuardedFiles) -> None:
    readings = Readings()
    mine = of_session(workspace, readings, "mine")
    count = KEPT_BYTES // LONGEST + 4
    for number in range(count):
        (workspace / f"f{number}").write_bytes(b"x" * LONGEST)
        mine.read(f"f{number}")
    held = [readings.known("mine", str(workspace / f"f{number}")) for number in range(count)]
    assert sum(len(each.content or b"") for each in held if each) <= KEPT_BYTES
    assert held[0] is not None
    assert held[0].content is None
    mine.change("f0", lambda old: b"small")
    (workspace / "f1").write_bytes(b"y" * LONGEST)
    assert isinstance(error(mine.change, "f1", lambda old: b"z"), Stale)


# Directories


def test_a_directory_is_opened_for_looking_through(files: GuardedFiles, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "sub" / "leaf").write_bytes(b"")
    with files.directory("sub") as folder:
        assert os.listdir(folder.fd) == ["leaf"]
        assert folder.real == str(workspace / "sub")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(folder.fd)


@pytest.mark.parametrize("path", ["..", "/", "out", "file", "nothing"])
def test_no_other_directory_is(files: GuardedFiles, workspace: Path, tmp_path: Path, path: str) -> None:
    (workspace / "out").symlink_to(tmp_path)

    def look() -> None:
        with files.directory(path):
            raise AssertionError("it was opened")

    assert error(look).code in ("PATH_OUTSIDE_WORKSPACE", "FILE_NOT_FOUND")
