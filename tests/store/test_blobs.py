"""Copies that run in place of programs: made whole or not at all, checked at each use, bounded."""

import errno
import hashlib
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from toolcrib.core.errors import Refused, ToolError
from toolcrib.sandbox import spawn
from toolcrib.store.blobs import Blobs, digest_of
from toolcrib.store.blobs import remove as remove_blob
from toolcrib.store.home import Home

GOOD = b"#!/bin/sh\necho good $0\n"
EVIL = b"#!/bin/sh\necho evil\n"
DIGEST = digest_of(GOOD)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "tool.sh"
    path.parent.mkdir()
    path.write_bytes(GOOD)
    path.chmod(0o755)
    return path


@pytest.fixture
def blobs(home: Path) -> Blobs:
    return Blobs(Home(home))


def kept(home: Path) -> list[str]:
    place = home / "cache" / "programs"
    return sorted(path.relative_to(place).as_posix() for path in place.rglob("*")) if place.exists() else []


def aged(path: str | Path) -> None:
    """Make a copy look as if it had been made a while ago, so that its state may be remembered."""
    until = time.time_ns() + 2_000_000_000
    while time.time_ns() - os.lstat(path).st_ctime_ns < 60_000_000 and time.time_ns() < until:
        threading.Event().wait(0.01)


def test_a_copy_has_the_bytes_the_name_and_a_place_of_its_own(blobs: Blobs, program: Path, home: Path) -> None:
    copy = Path(blobs.verified(str(program), DIGEST))
    assert copy == home / "cache" / "programs" / DIGEST.removeprefix("sha256:") / "tool.sh"
    assert copy.read_bytes() == GOOD
    assert stat.S_IMODE(copy.lstat().st_mode) == 0o500
    assert stat.S_IMODE(copy.parent.lstat().st_mode) == 0o700
    assert subprocess.run([copy], capture_output=True, text=True).stdout == f"good {copy}\n"


def test_a_copy_is_made_once(blobs: Blobs, program: Path) -> None:
    first = os.lstat(blobs.verified(str(program), DIGEST))
    assert os.lstat(blobs.verified(str(program), DIGEST)) == first
    assert os.lstat(Blobs(blobs._home).verified(str(program), DIGEST)).st_ino == first.st_ino


def test_other_bytes_are_refused_and_leave_nothing(blobs: Blobs, program: Path, home: Path) -> None:
    program.write_bytes(EVIL)
    with pytest.raises(Refused) as refused:
        blobs.verified(str(program), DIGEST)
    assert refused.value.code == "TOOL_PIN_MISMATCH"
    assert kept(home) == []


def test_once_copied_the_copy_counts_whatever_becomes_of_the_file(blobs: Blobs, program: Path) -> None:
    copy = blobs.verified(str(program), DIGEST)
    program.write_bytes(EVIL)
    assert Path(blobs.verified(str(program), DIGEST)).read_bytes() == GOOD
    program.unlink()
    assert blobs.verified(str(program), DIGEST) == copy


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:../../../etc", "sha256:" + "A" * 64, "md5:" + "0" * 32])
def test_what_is_no_digest_is_refused(blobs: Blobs, program: Path, home: Path, digest: str) -> None:
    with pytest.raises(Refused):
        blobs.verified(str(program), digest)
    assert kept(home) == []


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_directory(path: Path) -> None:
    path.mkdir()


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def nothing(path: Path) -> None:
    pass


@pytest.mark.parametrize("instead", [a_pipe, a_directory, a_device, a_loop, nothing])
def test_what_is_no_file_any_more_is_refused_without_waiting(blobs, program, home, instead) -> None:
    program.unlink()
    instead(program)
    with pytest.raises(Refused) as refused:
        blobs.verified(str(program), DIGEST)
    assert refused.value.code == "TOOL_PIN_MISMATCH"
    assert kept(home) == []


# A copy that somebody laid hands on


def overwrite(copy: Path) -> None:
    copy.chmod(0o700)
    copy.write_bytes(EVIL)
    copy.chmod(0o500)


def overwrite_in_place_with_the_old_times(copy: Path) -> None:
    before = copy.stat()
    overwrite(copy)
    os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(copy: Path) -> None:
    copy.unlink()
    copy.write_bytes(EVIL)
    copy.chmod(0o500)


def link_elsewhere(copy: Path) -> None:
    (copy.parent / "evil").write_bytes(EVIL)
    (copy.parent / "evil").chmod(0o500)
    copy.unlink()
    copy.symlink_to("evil")


def link_to_the_same_bytes(copy: Path) -> None:
    (copy.parent / "same").write_bytes(GOOD)
    (copy.parent / "same").chmod(0o500)
    copy.unlink()
    copy.symlink_to("same")


def let_others_write(copy: Path) -> None:
    copy.chmod(0o777)


def remove(copy: Path) -> None:
    copy.unlink()


def truncate(copy: Path) -> None:
    copy.chmod(0o700)
    os.truncate(copy, 4)
    copy.chmod(0o500)


TAMPERINGS = [
    overwrite, overwrite_in_place_with_the_old_times, replace, link_elsewhere, link_to_the_same_bytes,
    let_others_write, remove, truncate,
]  # fmt: skip


@pytest.mark.parametrize("tamper", TAMPERINGS)
@pytest.mark.parametrize("runtime", ["the same", "another"])
def test_a_copy_that_was_tampered_with_is_replaced(blobs: Blobs, program: Path, home: Path, tamper, runtime) -> None:
    copy = Path(blobs.verified(str(program), DIGEST))
    aged(copy)
    assert blobs.verified(str(program), DIGEST) == str(copy)  # remembered now
    tamper(copy)
    again = Path((blobs if runtime == "the same" else Blobs(Home(home))).verified(str(program), DIGEST))
    assert again.read_bytes() == GOOD and not again.is_symlink()
    assert stat.S_IMODE(again.lstat().st_mode) == 0o500


@pytest.mark.parametrize("tamper", TAMPERINGS)
def test_a_copy_that_was_tampered_with_and_cannot_be_replaced_is_refused(blobs, program: Path, tamper) -> None:
    copy = Path(blobs.verified(str(program), DIGEST))
    aged(copy)
    blobs.verified(str(program), DIGEST)
    tamper(copy)
    program.write_bytes(EVIL)
    with pytest.raises(Refused):
        blobs.verified(str(program), DIGEST)


def test_a_change_within_one_tick_of_the_clock_is_seen(blobs: Blobs, program: Path) -> None:
    """The state of a file that was written this very moment says nothing, so it is not remembered."""
    copy = Path(blobs.verified(str(program), DIGEST))
    assert blobs._known == {}
    overwrite(copy)
    assert Path(blobs.verified(str(program), DIGEST)).read_bytes() == GOOD


def test_a_directory_in_place_of_the_copy_is_an_error_and_nothing_runs(blobs: Blobs, program: Path, home: Path) -> None:
    (home / "cache" / "programs" / DIGEST.removeprefix("sha256:") / "tool.sh" / "x").mkdir(parents=True)
    with pytest.raises(ToolError) as failed:
        blobs.verified(str(program), DIGEST)
    assert failed.value.code == "RESOURCE_EXHAUSTED" and failed.value.before_effect
    assert [name for name in kept(home) if "draft" in name] == []


def test_a_directory_that_others_may_write_to_is_not_used(blobs: Blobs, program: Path, home: Path) -> None:
    place = Path(blobs.verified(str(program), DIGEST)).parent
    place.chmod(0o777)
    with pytest.raises(ToolError, match="only you can write to"):
        Blobs(Home(home)).verified(str(program), DIGEST)


def test_a_link_in_place_of_the_directory_is_not_followed(blobs: Blobs, program: Path, home: Path, tmp_path) -> None:
    (home / "cache" / "programs").mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (home / "cache" / "programs" / DIGEST.removeprefix("sha256:")).symlink_to(elsewhere)
    with pytest.raises(ToolError):
        blobs.verified(str(program), DIGEST)
    assert list(elsewhere.iterdir()) == []


# Being short of something


def test_a_home_that_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path, program: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(ToolError) as failed:
        Blobs(Home(tmp_path / "file")).verified(str(program), DIGEST)
    assert failed.value.code == "RESOURCE_EXHAUSTED" and failed.value.before_effect
    assert str(program) in str(failed.value)


def test_a_full_disk_is_said_and_leaves_nothing(blobs: Blobs, program: Path, home: Path, monkeypatch) -> None:
    def full(file, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("toolcrib.store.blobs._write", full)
    with pytest.raises(ToolError) as failed:
        blobs.verified(str(program), DIGEST)
    assert failed.value.code == "RESOURCE_EXHAUSTED" and "make room" in str(failed.value)
    assert kept(home) == []


def test_a_copy_that_exists_serves_a_home_that_cannot_be_written_any_more(blobs, program, home, monkeypatch) -> None:
    copy = blobs.verified(str(program), DIGEST)

    def read_only(*args, **more):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Home, "directory", read_only)
    assert Blobs(Home(home)).verified(str(program), DIGEST) == copy


# Texts


def test_a_text_is_kept_and_found_by_its_digest(blobs: Blobs, home: Path) -> None:
    digest = blobs.keep(b"approval: {}\n", "config.yaml")
    assert digest == "sha256:" + hashlib.sha256(b"approval: {}\n").hexdigest()
    assert blobs.keep(b"approval: {}\n", "other.yaml") == digest
    assert blobs.content(digest) == b"approval: {}\n"
    assert [stat.S_IMODE(os.lstat(blob.path).st_mode) for blob in blobs.all()] == [0o400]


def test_a_kept_program_can_be_looked_at(blobs: Blobs, program: Path) -> None:
    blobs.verified(str(program), DIGEST)
    assert blobs.content(DIGEST) == GOOD
    assert blobs.content(DIGEST, most=3) is None
    assert blobs.content(digest_of(b"never seen")) is None


def test_a_text_that_was_tampered_with_is_not_shown_as_what_it_was(blobs: Blobs) -> None:
    digest = blobs.keep(b"old", "x")
    path = Path(blobs.all()[0].path)
    path.chmod(0o600)
    path.write_bytes(b"lie")
    assert blobs.content(digest) is None


def test_a_kept_text_is_not_what_runs(blobs: Blobs, program: Path) -> None:
    """Kept without an execute bit; a program with the same bytes and name takes its place."""
    blobs.keep(GOOD, "tool.sh")
    assert os.access(blobs.verified(str(program), DIGEST), os.X_OK)


# Bounds


def test_old_ones_and_the_oldest_of_too_much_are_due(blobs: Blobs, home: Path) -> None:
    for number, age in enumerate((10, 100, 1000)):
        blobs.keep(b"x" * 100 + str(number).encode(), f"f{number}")
        path = next(blob.path for blob in blobs.all() if blob.path.endswith(f"f{number}"))
        os.utime(path, (time.time() - age, time.time() - age))
    names = lambda found: [os.path.basename(blob.path) for blob in found]  # noqa: E731
    assert names(blobs.due()) == []
    assert names(blobs.due(max_age=50)) == ["f1", "f2"]
    assert names(blobs.due(max_total=250)) == ["f2"]
    assert names(blobs.due(max_total=150)) == ["f1", "f2"]
    assert all(remove_blob(blob.path) for blob in blobs.due(max_total=150))
    assert len(kept(home)) == 2  # one directory and its file


def test_a_draft_that_nobody_finished_is_due_after_an_hour(blobs: Blobs, home: Path) -> None:
    place = home / "cache" / "programs"
    place.mkdir(parents=True)
    for name, age in ((".draft-1-old", 4000), (".draft-2-young", 10)):
        (place / name).write_text("half")
        os.utime(place / name, (time.time() - age, time.time() - age))
    assert [os.path.basename(blob.path) for blob in blobs.due()] == [".draft-1-old"]


# Swapping


def test_a_file_that_is_swapped_all_the_time_is_copied_right_or_not_at_all(blobs: Blobs, tmp_path: Path) -> None:
    """3,000 times: the file is opened while another process renames good and evil over it."""
    good, evil, path = tmp_path / "good", tmp_path / "evil", tmp_path / "tool"
    good.write_bytes(GOOD)
    evil.write_bytes(EVIL)
    swapper = f"""
import os
while True:
    for text in ({str(good)!r}, {str(evil)!r}):
        os.link(text, {str(tmp_path / "draft")!r})
        os.rename({str(tmp_path / "draft")!r}, {str(path)!r})
"""
    path.write_bytes(GOOD)
    with subprocess.Popen([sys.executable, "-c", swapper]) as swapping:
        try:
            copied = refused = 0
            for _ in range(3000):
                try:
                    copy = blobs.verified(str(path), DIGEST)
                except Refused:
                    refused += 1
                    continue
                with open(copy, "rb") as file:
                    assert file.read() == GOOD
                copied += 1
                os.unlink(copy)
        finally:
            swapping.kill()
    assert copied and refused, (copied, refused)


# Starting what was just written


def test_a_program_that_is_still_open_for_writing_is_tried_again(program: Path, tmp_path: Path, monkeypatch) -> None:
    held = program.open("ab")
    pauses = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        held.close()

    monkeypatch.setattr(spawn.time, "sleep", pause)
    with open(os.devnull, "r+b") as null:
        fd = null.fileno()
        pid = spawn.start(spawn.Start([str(program)], str(tmp_path), {}, (fd, fd, fd)))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(pauses) == 1


def test_a_program_that_stays_open_for_writing_is_given_up_soon(program: Path, tmp_path: Path, monkeypatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(spawn.time, "sleep", pauses.append)
    with open(program, "ab"), open(os.devnull, "r+b") as null, pytest.raises(ToolError, match="busy"):
        fd = null.fileno()
        spawn.start(spawn.Start([str(program)], str(tmp_path), {}, (fd, fd, fd)))
    assert 0 < sum(pauses) < 0.1


def test_no_other_failure_is_tried_again(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(spawn.time, "sleep", lambda seconds: pytest.fail("paused"))
    with open(os.devnull, "r+b") as null, pytest.raises(ToolError):
        fd = null.fileno()
        spawn.start(spawn.Start([str(tmp_path / "none")], str(tmp_path), {}, (fd, fd, fd)))
