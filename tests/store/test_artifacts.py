"""Long output in files with a handle. A handle is a name, never a path."""

import os
import time

import pytest

from toolcrib.store.artifacts import ArtifactFiles
from toolcrib.store.home import Home


@pytest.fixture
def kept(home) -> ArtifactFiles:
    return ArtifactFiles(Home(home))


def put(kept: ArtifactFiles, name: str, data: bytes = b"x", *, age: float = 0) -> str:
    ident, path, fd = kept.create(name)
    os.write(fd, data)
    os.close(fd)
    os.utime(path, (time.time() - age,) * 2)
    return ident


def test_what_is_put_is_found_by_its_id(kept) -> None:
    ident = put(kept, "tc1-1.stdout", b"whole")
    path = kept.find(ident)
    assert path is not None
    with open(path, "rb") as file:
        assert file.read() == b"whole"
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_no_file_is_written_twice(kept) -> None:
    put(kept, "tc1-1.stdout")
    with pytest.raises(FileExistsError):
        kept.create("tc1-1.stdout")


@pytest.mark.parametrize(
    "ident",
    [
        "../config.yaml",
        "..",
        ".",
        "",
        "/etc/passwd",
        "a/b",
        ".hidden",
        "tc1-1.stdout\n",
        "a\0b",
        "x" * 101,
        "link",
        "folder",
        "~",
    ],
)
def test_an_id_is_never_a_path(kept, home, ident) -> None:
    """K47: neither out of the directory, nor through a link, nor something that is no file."""
    put(kept, "tc1-1.stdout")
    (home / "config.yaml").write_text("a: 1")
    (home / "artifacts" / "link").symlink_to(home / "config.yaml")
    (home / "artifacts" / "folder").mkdir()
    (home / "artifacts" / ".hidden").write_text("x")
    assert kept.find(ident) is None


def test_all_is_newest_first_and_holds_only_files(kept, home) -> None:
    assert kept.all() == []
    put(kept, "old", b"12", age=10)
    put(kept, "new", b"345")
    (home / "artifacts" / "link").symlink_to("/etc/passwd")
    assert [(each.id, each.bytes) for each in kept.all()] == [("new", 3), ("old", 2)]


def test_due_is_what_is_too_old_and_the_oldest_of_what_is_too_much(kept) -> None:
    for age in range(5):
        put(kept, f"a{age}", b"x" * 100, age=age * 100)
    assert [each.id for each in kept.due(max_age=250)] == ["a3", "a4"]
    assert [each.id for each in kept.due(max_total=250)] == ["a2", "a3", "a4"]
    assert kept.due() == []
    assert len(kept.all()) == 5


def test_a_runtime_that_lives_long_makes_room_again_and_again(home) -> None:
    """What a server keeps is bounded while it runs, not only when it starts; the newest are there."""
    kept = ArtifactFiles(Home(home), max_total=100_000)
    for number in range(1000):
        put(kept, f"a{number}", b"x" * 1000, age=1000 - number)
    left = kept.all()
    assert sum(each.bytes for each in left) <= 150_000
    assert [each.id for each in left[:50]] == [f"a{number}" for number in range(999, 949, -1)]


def test_a_clock_that_is_set_ahead_removes_nothing(home, monkeypatch) -> None:
    """Only a person who says `toolcrib clean` has what is old removed."""
    put(ArtifactFiles(Home(home)), "a")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 20 * 365 * 86_400)
    for name in ("b", "c"):
        put(ArtifactFiles(Home(home)), name)
    assert {each.id for each in ArtifactFiles(Home(home)).all()} == {"a", "b", "c"}
    assert [each.id for each in ArtifactFiles(Home(home)).due()] == ["a"]


def test_one_that_vanishes_meanwhile_is_no_fault(kept, monkeypatch) -> None:
    put(kept, "a")
    monkeypatch.setattr(os, "listdir", lambda path: ["a", "gone"])
    assert [each.id for each in kept.all()] == ["a"]
