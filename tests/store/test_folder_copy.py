"""Copies of folders: exactly the files of the listing, read-only, mended in place, and never anything else."""

import fcntl
import hashlib
import json
import os
from pathlib import Path

import pytest

from toolcrib.backends.folder import read_folder
from toolcrib.core.errors import Refused, ToolError
from toolcrib.store import lock
from toolcrib.store.blobs import Blobs, remove
from toolcrib.store.home import Home


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "one"
    (place / "lib" / "deep").mkdir(parents=True)
    (place / "run").write_text("run")
    (place / "run").chmod(0o755)
    (place / "lib" / "deep" / "data").write_text("data")
    (place / "words").symlink_to("lib/deep/data")
    return place


@pytest.fixture
def blobs(home: Path) -> Blobs:
    return Blobs(Home(home))


def made(blobs: Blobs, folder: Path) -> Path:
    content = read_folder(str(folder))
    return Path(blobs.verified_folder(str(folder), content.digest, content.listing))


def everything(place: Path) -> dict[str, tuple[int, str]]:
    """Mode and content of all that is there."""
    found = {}
    for path in (place, *place.rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(place))] = (0, os.readlink(path))
        else:
            text = path.read_text() if path.is_file() else ""
            found[str(path.relative_to(place))] = (path.stat().st_mode & 0o777, text)
    return found


WHOLE = {
    ".": (0o500, ""),
    "run": (0o500, "run"),
    "lib": (0o500, ""),
    "lib/deep": (0o500, ""),
    "lib/deep/data": (0o400, "data"),
    "words": (0, "lib/deep/data"),
}


def test_a_copy_has_all_and_is_read_only(blobs, folder, home) -> None:
    content = read_folder(str(folder))
    copy = made(blobs, folder)
    assert copy == home / "cache" / "programs" / content.digest.removeprefix("sha256:") / "one"
    assert everything(copy) == WHOLE


def test_it_is_found_again_when_the_original_is_gone(blobs, folder, tmp_path) -> None:
    content = read_folder(str(folder))
    copy = made(blobs, folder)
    os.rename(folder, tmp_path / "elsewhere")
    for each in (blobs, Blobs(blobs._home)):
        assert each.verified_folder(str(folder), content.digest, content.listing) == str(copy)


def test_a_copy_that_another_is_making_for_ever_is_not_waited_for_so_long(blobs, folder, home, monkeypatch) -> None:
    place = made(blobs, folder).parent
    monkeypatch.setattr(lock, "LOCK_SECONDS", 0.1)
    fd = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        with pytest.raises(ToolError, match="another process has held the lock") as caught:
            made(Blobs(Home(home)), folder)
        assert caught.value.code == "RESOURCE_EXHAUSTED" and str(place) in str(caught.value)
    finally:
        os.close(fd)
    assert everything(made(Blobs(Home(home)), folder)) == WHOLE


def unseal(copy: Path) -> None:
    for path in (copy, *copy.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)


def other_bytes(copy: Path) -> None:
    (copy / "run").chmod(0o700)
    (copy / "run").write_text("evil")
    (copy / "run").chmod(0o500)


def gone(copy: Path) -> None:
    (copy / "lib" / "deep" / "data").unlink()


def something_more(copy: Path) -> None:
    (copy / "lib" / "more").mkdir()
    (copy / "lib" / "more" / "evil").write_text("evil")


def another_mode(copy: Path) -> None:
    (copy / "run").chmod(0o777)


def link_elsewhere(copy: Path) -> None:
    (copy / "words").unlink()
    (copy / "words").symlink_to("/etc/passwd")


def file_for_a_link(copy: Path) -> None:
    (copy / "words").unlink()
    (copy / "words").write_text("evil")


def link_for_a_file(copy: Path) -> None:
    (copy / "run").unlink()
    (copy / "run").symlink_to("/bin/true")


def directory_for_a_file(copy: Path) -> None:
    (copy / "run").unlink()
    (copy / "run").mkdir()
    (copy / "run" / "x").touch()


def link_for_a_directory(copy: Path) -> None:
    os.rename(copy / "lib", copy.parent / "lib")
    (copy / "lib").symlink_to(copy.parent / "lib")


@pytest.mark.parametrize(
    "damage",
    [unseal, other_bytes, gone, something_more, another_mode, link_elsewhere, file_for_a_link, link_for_a_file,
     directory_for_a_file, link_for_a_directory],
)  # fmt: skip
@pytest.mark.parametrize("known", [True, False])
def test_a_damaged_copy_is_mended_before_it_is_used(blobs, folder, home, damage, known) -> None:
    copy = made(blobs, folder)
    unseal(copy)
    damage(copy)
    each = blobs if known else Blobs(Home(home))
    assert made(each, folder) == copy
    assert everything(copy) == WHOLE


@pytest.mark.parametrize("known", [True, False])
def test_a_damaged_copy_of_what_is_another_now_is_not_used(blobs, folder, home, known) -> None:
    content = read_folder(str(folder))
    copy = made(blobs, folder)
    unseal(copy)
    other_bytes(copy)
    (folder / "run").write_text("evil")
    each = blobs if known else Blobs(Home(home))
    with pytest.raises(Refused) as raised:
        each.verified_folder(str(folder), content.digest, content.listing)
    assert raised.value.code == "TOOL_PIN_MISMATCH"


def test_other_bytes_are_never_in_a_copy(blobs, folder, home) -> None:
    content = read_folder(str(folder))
    (folder / "lib" / "deep" / "data").write_text("evil")
    with pytest.raises(Refused):
        blobs.verified_folder(str(folder), content.digest, content.listing)
    assert [path for path in home.rglob("*") if path.is_file() and path.read_text() == "evil"] == []


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "", "a//b", "."])
def test_a_listing_that_leads_out_writes_nothing(blobs, folder, home, path) -> None:
    listing = json.dumps([[path, "file", "sha256:" + hashlib.sha256(b"run").hexdigest()]])
    digest = "sha256:" + hashlib.sha256(listing.encode()).hexdigest()
    with pytest.raises(Refused):
        blobs.verified_folder(str(folder), digest, listing)
    assert list(home.iterdir()) == []


def test_a_digest_that_is_not_that_of_the_listing_writes_nothing(blobs, folder, home) -> None:
    content = read_folder(str(folder))
    with pytest.raises(Refused):
        blobs.verified_folder(str(folder), "sha256:" + "0" * 64, content.listing)
    assert list(home.iterdir()) == []


def test_without_room_there_is_no_copy(blobs, folder, monkeypatch) -> None:
    def full(file, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("toolcrib.store.blobs._write", full)
    with pytest.raises(ToolError) as raised:
        made(blobs, folder)
    assert raised.value.code == "RESOURCE_EXHAUSTED"
    monkeypatch.undo()
    assert everything(made(blobs, folder)) == WHOLE


def test_a_copy_is_counted_and_removed_as_one(blobs, folder) -> None:
    copy = made(blobs, folder)
    (blob,) = blobs.all()
    assert (blob.path, blob.bytes) == (str(copy), len("run") + len("data") + len("lib/deep/data"))
    assert remove(blob.path) and not copy.parent.exists()
    assert not remove(blob.path)
