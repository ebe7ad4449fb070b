"""What stands in protected places is kept while a program could change it, and put back when it did."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.sandbox import originals
from toolcrib.sandbox.canary import Alike, fingerprint
from toolcrib.sandbox.originals import Entries, Entry, PutBack, kept, stamps


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = Path(os.path.realpath(tmp_path)) / "root"
    (path / ".vscode" / "deep").mkdir(parents=True)
    (path / ".vscode" / "tasks.json").write_text("mine")
    (path / ".vscode" / "deep" / "file").write_bytes(b"\0\xff")
    (path / ".vscode" / "link").symlink_to("tasks.json")
    (path / ".vscode" / "tasks.json").chmod(0o640)
    return path


@pytest.fixture
def aside(tmp_path: Path) -> Callable[[Path], Callable[[str], str]]:
    """Moves what is at a path below a root out of it."""
    place = tmp_path / "aside"
    place.mkdir()

    def below(root: Path) -> Callable[[str], str]:
        def move(path: str) -> str:
            to = place / f"{len(list(place.iterdir()))}"
            os.rename(root / path, to)
            return str(to)

        return move

    return below


def nowhere(path: str, content: bytes) -> str:
    return ""


def put_back(
    root: str, path: str, was: Entries, aside: Callable[[str], str], keep: Callable[[str, bytes], str] = nowhere
) -> PutBack | None:
    return originals.put_back(root, path, was, aside=aside, keep=keep)


def never(path: str) -> str:
    raise AssertionError(f"{path} was moved")


def settled(entries: dict[str, Entry]) -> dict[str, Entry]:
    return {path: entry._replace(settled=True) for path, entry in entries.items()}


def test_all_of_a_place_is_kept(root: Path) -> None:
    entries = kept(str(root), ".vscode", {})
    assert entries is not None
    assert {path: entry.content for path, entry in entries.items()} == {
        ".vscode": None, ".vscode/deep": None, ".vscode/link": b"tasks.json", ".vscode/tasks.json": b"mine",
        ".vscode/deep/file": b"\0\xff",
    }  # fmt: skip
    assert stat.S_IMODE(entries[".vscode/tasks.json"].mode) == 0o640
    assert {path: entry.stamp for path, entry in entries.items()} == stamps(str(root), ".vscode")


def test_nothing_that_is_the_same_is_touched(root: Path) -> None:
    entries, before = kept(str(root), ".vscode", {}), fingerprint(str(root))
    assert entries is not None
    for known in (entries, settled(dict(entries))):
        assert put_back(str(root), ".vscode", known, never) is None
    assert fingerprint(str(root)) == before


def changes() -> dict[str, Callable[[Path], object]]:
    def replaced(place: Path) -> None:
        (place / "draft").write_text("evil")
        os.replace(place / "draft", place / "tasks.json")

    def of_one_length(place: Path) -> None:
        """At the same time, in the same file."""
        seen = (place / "tasks.json").stat()
        (place / "tasks.json").write_text("evil")
        os.utime(place / "tasks.json", ns=(seen.st_atime_ns, seen.st_mtime_ns))

    def another_link(place: Path) -> None:
        (place / "link").unlink()
        (place / "link").symlink_to("/etc/passwd")

    def a_link_for_a_directory(place: Path) -> None:
        os.rename(place / "deep", place.parent / "elsewhere")
        (place / "deep").symlink_to("../elsewhere")

    def a_file_for_a_directory(place: Path) -> None:
        os.rename(place, place.parent / "elsewhere")
        place.write_text("evil")

    def closed(place: Path) -> None:
        place.chmod(0)

    return {
        "written": lambda place: (place / "tasks.json").write_text("evil, and longer"),
        "of one length": of_one_length,
        "emptied": lambda place: (place / "tasks.json").write_text(""),
        "replaced": replaced,
        "removed": lambda place: (place / "tasks.json").unlink(),
        "rights": lambda place: (place / "tasks.json").chmod(0o777),
        "rights of a directory": lambda place: (place / "deep").chmod(0o777),
        "added": lambda place: (place / "new").write_text("evil"),
        "a directory added": lambda place: (place / "new" / "deep").mkdir(parents=True),
        "a link": another_link,
        "a link for a directory": a_link_for_a_directory,
        "a file for all of it": a_file_for_a_directory,
        "a directory for a file": lambda place: ((place / "tasks.json").unlink(), (place / "tasks.json").mkdir()),
        "a pipe for a file": lambda place: ((place / "tasks.json").unlink(), os.mkfifo(place / "tasks.json")),
        "all of it removed": lambda place: os.rename(place, place.parent / "elsewhere"),
        "closed": closed,
        "a hard link to another file": lambda place: (
            (place / "tasks.json").unlink(),
            (place.parent / "mine").write_text("mine"),
            (place.parent / "mine").chmod(0o600),
            os.link(place.parent / "mine", place / "tasks.json"),
        ),
    }


@pytest.mark.parametrize("change", changes())
@pytest.mark.parametrize("long_ago", [True, False])
def test_whatever_is_changed_is_put_back(root: Path, aside, change: str, long_ago: bool) -> None:
    place = root / ".vscode"
    entries, canary = kept(str(root), ".vscode", {}), Alike(str(place))
    assert entries is not None
    changes()[change](place)
    done = put_back(str(root), ".vscode", settled(dict(entries)) if long_ago else entries, aside(root))
    assert done is not None and done.whole
    assert not canary.sprung(b"")
    assert put_back(str(root), ".vscode", entries, never) is None
    if (root / "mine").exists():  # what another file may do is not for us to say
        assert stat.S_IMODE((root / "mine").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("change", "held"),
    [("written", b"evil, and longer"), ("replaced", b"evil"), ("added", b"evil"), ("a file for all of it", b"evil")],
)
def test_what_was_there_instead_is_moved_and_not_lost(root: Path, aside, change: str, held: bytes) -> None:
    entries = kept(str(root), ".vscode", {})
    assert entries is not None
    changes()[change](root / ".vscode")
    done = put_back(str(root), ".vscode", entries, aside(root))
    assert done is not None and Path(done.moved_to).read_bytes() == held


def test_the_time_of_a_file_that_is_put_back_is_its_own(root: Path, aside) -> None:
    os.utime(root / ".vscode" / "tasks.json", (1000, 1000))
    entries = kept(str(root), ".vscode", {})
    assert entries is not None
    (root / ".vscode" / "tasks.json").write_text("evil")
    assert put_back(str(root), ".vscode", entries, aside(root)) is not None
    assert (root / ".vscode" / "tasks.json").stat().st_mtime == 1000


def test_what_went_with_the_directory_that_held_it_is_let_go(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / ".envrc").write_text("mine")
    entries = kept(str(root), "sub/.envrc", {})
    assert entries is not None
    os.rename(root / "sub", root / "elsewhere")
    assert put_back(str(root), "sub/.envrc", entries, never) is None
    assert not (root / "sub").exists()


def test_nothing_is_put_back_through_a_link(root: Path, tmp_path: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / ".envrc").write_text("mine")
    entries = kept(str(root), "sub/.envrc", {})
    assert entries is not None
    outside = tmp_path / "outside"
    outside.mkdir()
    os.rename(root / "sub", root / "was")
    (root / "sub").symlink_to(outside)
    assert put_back(str(root), "sub/.envrc", entries, never) == PutBack(False, "", missing=True)
    assert os.listdir(outside) == []


def test_nothing_is_read_through_a_link(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that becomes a link after it was looked at: what lies there is nobody's to be put back."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "tasks.json").write_text("a secret")
    look = os.lstat

    def swap(path: str) -> os.stat_result:
        if str(path).endswith("/tasks.json") and not (root / "was").exists():
            os.rename(root / ".vscode", root / "was")
            (root / ".vscode").symlink_to(tmp_path / "outside")
        return look(path)

    monkeypatch.setattr(originals.os, "lstat", swap)
    assert kept(str(root), ".vscode", {}) is None


def test_a_file_that_was_replaced_while_it_was_looked_at_is_not_kept(root: Path, monkeypatch) -> None:
    look = os.lstat

    def swap(path: str) -> os.stat_result:
        seen = look(path)
        if str(path).endswith("/tasks.json"):
            (root / "draft").write_text("evil")
            os.replace(root / "draft", root / ".vscode" / "tasks.json")
        return seen

    monkeypatch.setattr(originals.os, "lstat", swap)
    assert kept(str(root), ".vscode", {}) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads all")
def test_what_is_not_ours_to_read_is_not_kept(root: Path) -> None:
    (root / ".vscode" / "tasks.json").chmod(0)
    assert kept(str(root), ".vscode", {}) is None


@pytest.mark.parametrize(("entries", "size", "fits"), [(5, 6, True), (4, 6, False), (5, 5, False)])
def test_of_very_much_nothing_is_kept(root: Path, monkeypatch, entries: int, size: int, fits: bool) -> None:
    (root / ".vscode" / "link").unlink()
    (root / ".vscode" / "more").mkdir()
    monkeypatch.setattr(originals, "MOST_ENTRIES", entries)
    monkeypatch.setattr(originals, "MOST_BYTES", size)
    assert (kept(str(root), ".vscode", {}) is not None) is fits


def test_a_file_of_any_length_costs_no_more_than_what_is_kept(root: Path, monkeypatch) -> None:
    monkeypatch.setattr(originals, "MOST_BYTES", 1000)
    with open(root / ".vscode" / "tasks.json", "wb") as file:
        file.truncate(1 << 40)
    assert kept(str(root), ".vscode", {}) is None


def test_a_heap_that_was_made_in_it_is_moved_in_one(root: Path, aside, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(originals, "MOST_ENTRIES", 20)
    entries, canary = kept(str(root), ".vscode", {}), Alike(str(root / ".vscode"))
    assert entries is not None
    for number in range(100):
        (root / ".vscode" / f"new-{number}").touch()
    assert put_back(str(root), ".vscode", entries, aside(root)) == PutBack(True, str(tmp_path / "aside" / "0"))
    assert not canary.sprung(b"")


def test_what_did_not_change_is_not_read_again(root: Path) -> None:
    first = kept(str(root), ".vscode", {})
    assert first is not None
    known = {path: entry._replace(settled=True, content=b"as read before") for path, entry in first.items()}
    (root / ".vscode" / "tasks.json").write_text("other")
    again = kept(str(root), ".vscode", known)
    assert again is not None
    assert (again[".vscode/tasks.json"].content, again[".vscode/deep/file"].content) == (b"other", b"as read before")
    unsettled = {path: entry._replace(settled=False) for path, entry in known.items()}
    fresh = kept(str(root), ".vscode", unsettled)
    assert fresh is not None and fresh[".vscode/deep/file"].content == b"\0\xff"


def test_what_changed_a_moment_ago_is_compared_by_what_it_holds(root: Path, aside) -> None:
    """Its stamp may be the same after the next change."""
    entries = kept(str(root), ".vscode", {})
    assert entries is not None
    (root / ".vscode" / "tasks.json").write_text("evil")
    seen = stamps(str(root), ".vscode")
    stamped = {path: entry._replace(stamp=seen[path], settled=False) for path, entry in entries.items()}
    done = put_back(str(root), ".vscode", stamped, aside(root))
    assert done is not None and (root / ".vscode" / "tasks.json").read_text() == "mine"


def test_where_it_cannot_be_moved_away_that_is_said(root: Path) -> None:
    entries = kept(str(root), ".vscode", {})
    assert entries is not None
    (root / ".vscode" / "tasks.json").write_text("evil")
    assert put_back(str(root), ".vscode", entries, lambda path: "") == PutBack(False, "")


def test_no_descriptor_is_left(root: Path, aside) -> None:
    before = len(os.listdir("/dev/fd"))
    entries = kept(str(root), ".vscode", {})
    assert entries is not None
    for change in changes().values():
        try:
            change(root / ".vscode")
        except OSError:  # one of those before it has changed that already
            pass
        put_back(str(root), ".vscode", entries, aside(root))
    assert len(os.listdir("/dev/fd")) == before


def test_what_cannot_be_written_again_is_not_there_by_half(root: Path, aside, monkeypatch) -> None:
    """A full disk: half of a file would look as if it were all of it."""
    entries = settled(kept(str(root), ".vscode", {}) or {})
    (root / ".vscode" / "tasks.json").write_text("evil and longer")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(originals.os, "fchmod", full)
    done = put_back(str(root), ".vscode", entries, aside(root))
    assert done is not None and not done.whole
    assert Path(done.moved_to).read_text() == "evil and longer"
    assert not (root / ".vscode" / "tasks.json").exists()


def test_of_what_cannot_be_written_again_a_copy_remains(root: Path, aside, tmp_path: Path, monkeypatch) -> None:
    """It was in memory alone. What can be put back is, whatever became of the rest."""
    (root / ".vscode" / "b.json").write_text("mine too")
    entries = kept(str(root), ".vscode", {})
    assert entries is not None
    for name in ("tasks.json", "b.json"):
        (root / ".vscode" / name).write_text("evil and longer")
    fill = originals._fill

    def full(fd: int, then: Entry) -> None:
        if then.content == b"mine":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fill(fd, then)

    def keep(path: str, content: bytes) -> str:
        (tmp_path / "kept").write_bytes(content)
        return f"{path} is kept"

    monkeypatch.setattr(originals, "_fill", full)
    done = put_back(str(root), ".vscode", entries, aside(root), keep)
    assert done is not None and (done.whole, done.kept_in) == (False, (".vscode/tasks.json is kept",))
    assert (tmp_path / "kept").read_bytes() == b"mine"
    assert (root / ".vscode" / "b.json").read_text() == "mine too"
    assert not (root / ".vscode" / "tasks.json").exists()
    assert all(path.read_text() == "evil and longer" for path in (tmp_path / "aside").iterdir())


def test_without_room_for_a_directory_a_copy_remains_of_all_in_it(root: Path, aside, monkeypatch) -> None:
    entries, written = kept(str(root), ".vscode", {}), {}
    assert entries is not None
    os.rename(root / ".vscode", root / "elsewhere")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def keep(path: str, content: bytes) -> str:
        written[path] = content
        return ""

    monkeypatch.setattr(originals.os, "mkdir", full)
    done = put_back(str(root), ".vscode", entries, aside(root), keep)
    assert done == PutBack(False, "", missing=True)
    assert written == {".vscode/tasks.json": b"mine", ".vscode/deep/file": b"\0\xff"}


def test_what_cannot_be_moved_away_is_not_whole(root: Path) -> None:
    entries = kept(str(root), ".vscode", {})
    assert entries is not None
    (root / ".vscode" / "new").write_text("evil")
    assert put_back(str(root), ".vscode", entries, lambda path: "") == PutBack(False, "")


def test_a_directory_that_may_not_be_written_to_is_made_with_all_that_was_in_it(root: Path, aside) -> None:
    (root / ".vscode" / "deep").chmod(0o575)
    entries, canary = kept(str(root), ".vscode", {}), Alike(str(root / ".vscode"))
    assert entries is not None
    (root / ".vscode" / "deep").chmod(0o755)
    os.rename(root / ".vscode", root / "elsewhere")
    assert put_back(str(root), ".vscode", entries, aside(root)) == PutBack(True, "")
    assert not canary.sprung(b"")
    (root / ".vscode" / "deep").chmod(0o755)


def test_what_there_was_no_room_for_is_made_when_there_is(root: Path, monkeypatch) -> None:
    entries, canary = kept(str(root), ".vscode", {}), Alike(str(root / ".vscode"))
    assert entries is not None
    os.rename(root / ".vscode", root / "elsewhere")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as without_room:
        without_room.setattr(originals.os, "mkdir", full)
        assert originals.make_good(str(root), entries) == entries
    assert originals.make_good(str(root), entries) == {}
    assert not canary.sprung(b"")


def test_what_somebody_made_meanwhile_or_has_no_place_is_not_made(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / ".envrc").write_text("mine")
    entries = kept(str(root), "sub/.envrc", {}) or {}
    (root / "sub" / ".envrc").write_text("mine, and newer")
    assert originals.make_good(str(root), entries) == {}
    assert (root / "sub" / ".envrc").read_text() == "mine, and newer"
    os.rename(root / "sub", root / "elsewhere")
    assert originals.make_good(str(root), entries) == {}
    assert not (root / "sub").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives links away")
@pytest.mark.parametrize("owner", [0, 54321])
def test_a_link_is_its_owners_again(root: Path, aside, owner: int) -> None:
    os.lchown(root / ".vscode" / "link", owner, owner)
    was = kept(str(root), ".vscode", {})
    assert was is not None
    (root / ".vscode" / "link").unlink()
    done = put_back(str(root), ".vscode", was, aside(root))
    seen = os.lstat(root / ".vscode" / "link")
    assert done is not None and done.whole
    assert (seen.st_uid, seen.st_gid, os.readlink(root / ".vscode" / "link")) == (owner, owner, "tasks.json")


def test_a_file_whose_rights_alone_changed_stays_the_one_that_it_is(root: Path) -> None:
    was = kept(str(root), ".vscode", {})
    assert was is not None
    file = root / ".vscode" / "tasks.json"
    before = file.stat().st_ino
    file.chmod(0o777)
    assert put_back(str(root), ".vscode", was, never) == PutBack(whole=True, moved_to="")
    assert (file.stat().st_ino, stat.S_IMODE(file.stat().st_mode)) == (before, 0o640)
