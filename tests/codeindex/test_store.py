"""What is kept between runs: it saves time, and nothing that happens to it can make an answer wrong."""

import os
import random
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.codeindex import store as storing
from toolcrib.codeindex.examine import examine
from toolcrib.codeindex.settle import SourceTree
from toolcrib.codeindex.snapshot import Snapshot
from toolcrib.codeindex.store import Store

Settle = Callable[[], tuple[Snapshot, list[str]]]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def root(workspace: Path) -> Path:
    for number in range(30):
        _write(workspace / f"d{number % 4}/f{number}.py", f"import os\nclass C{number}:\n    def f(self): pass\n")
    _write(workspace / "app.js", "function run() {}\n")
    _write(workspace / ".gitignore", "build/\n")
    return workspace


@pytest.fixture
def kept(root: Path, cache: Path) -> Iterator[Path]:
    """A cache that is good, of files that are old enough to be believed."""
    tree = Process(root, cache)
    before = tree.settle()[0]
    while (now := tree.settle()[0]) is not before:
        before = now
    tree.close()
    yield next(cache.iterdir())


class Process:
    """Knows at first what is in the cache, as a new process does."""

    def __init__(self, root: Path, cache: Path | None) -> None:
        self.fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        self.tree = SourceTree(Store(str(cache), str(root)) if cache else None)

    def settle(self) -> tuple[Snapshot, list[str]]:
        work = self.tree.look(self.fd)
        return self.tree.take(work, examine(self.fd, work.paths, now=work.now)), sorted(work.paths)

    def close(self) -> None:
        os.close(self.fd)


def answers(root: Path, cache: Path | None) -> tuple[Any, list[str]]:
    """All that a new process knows, and what it had to read for it."""
    process = Process(root, cache)
    try:
        snapshot, read = process.settle()
        rows = sorted(
            (row[0], row[2], row[3], sorted(row[4].split()), sorted(row[5].split())) for row in snapshot.rows()
        )
        facts = [segment.facts(n) for path in snapshot.paths for segment, n in [_place(snapshot, path)]]
        return (rows, facts), read
    finally:
        process.close()


def test_a_new_process_reads_nothing_again(root: Path, cache: Path, kept: Path) -> None:
    known, read = answers(root, cache)
    assert read == []
    assert known == answers(root, None)[0]


def test_a_new_process_reads_what_changed_meanwhile(root: Path, cache: Path, kept: Path) -> None:
    _write(root / "d1/f1.py", "def changed(): pass\n")
    (root / "d2/f2.py").unlink()
    _write(root / "new/file.py", "def new(): pass\n")
    known, read = answers(root, cache)
    assert read == ["d1/f1.py", "new/file.py"]
    assert known == answers(root, None)[0]


def test_changes_are_kept_beside_what_was_there(root: Path, cache: Path, kept: Path) -> None:
    """One changed file does not have the whole written again."""
    large = _large(kept)
    before = large.stat().st_mtime_ns
    process = Process(root, cache)
    process.settle()
    _write(root / "d1/f1.py", "def changed(): pass\n")
    (root / "d2/f2.py").unlink()
    process.settle()
    process.close()
    assert _large(kept) == large
    assert large.stat().st_mtime_ns == before
    assert answers(root, cache)[0] == answers(root, None)[0]


def test_many_changes_make_the_large_file_anew(
    root: Path, cache: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcrib.codeindex.snapshot._MOST_RECENT", 3)
    monkeypatch.setattr(storing, "_YOUNG_SECONDS", -1.0)
    old = _large(kept)
    for number in range(8):
        _write(root / f"d{number % 4}/f{number}.py", f"def changed{number}(): pass\n")
    known, _ = answers(root, cache)
    assert _large(kept) != old
    assert known == answers(root, cache)[0] == answers(root, None)[0]


def test_only_the_owner_can_look_at_it(kept: Path) -> None:
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept.iterdir()} == {0o600}


@pytest.mark.parametrize("which", ["recent", "tree-"])
def test_damage_of_any_kind_is_only_lost_time(root: Path, cache: Path, kept: Path, which: str) -> None:
    expected = answers(root, None)[0]
    file = next(each for each in kept.iterdir() if each.name.startswith(which))
    good = file.read_bytes()
    chance = random.Random(11)
    damaged = [b"", b"\0", good[:20], good[:-1], good + b"\0", good[::-1], b"\0" * len(good), os.urandom(500)]
    for _ in range(40):
        broken = bytearray(good)
        broken[chance.randrange(len(good))] ^= 1 << chance.randrange(8)
        damaged.append(bytes(broken))
        damaged.append(good[: chance.randrange(len(good))])
    others = {each.name: each.read_bytes() for each in kept.iterdir()}
    for content in damaged:
        for each in kept.iterdir():
            each.unlink()
        for name, whole in others.items():
            (kept / name).write_bytes(whole)
        file.write_bytes(content)
        known, read = answers(root, cache)
        assert known == expected
        assert read, "what is damaged was believed"


def test_what_another_version_wrote_is_not_read(
    root: Path, cache: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "_FORMAT", b"toolcrib code index 0 of 0.0.0 by cpython-30\n")
    known, read = answers(root, cache)
    assert len(read) == 31
    assert known == answers(root, None)[0]


def test_another_workspace_is_not_mistaken_for_this_one(root: Path, cache: Path, kept: Path, tmp_path: Path) -> None:
    """Even when its files lie where ours should."""
    other = tmp_path / "other"
    _write(other / "d1/f1.py", "def elsewhere(): pass\n")
    answers(other, cache)
    theirs = next(each for each in cache.iterdir() if each != kept)
    for file in theirs.iterdir():
        (theirs / file.name).unlink()
    for file in kept.iterdir():
        (theirs / file.name).write_bytes(file.read_bytes())
    assert Store(str(cache), str(other)).load() is None
    known, read = answers(other, cache)
    assert read == ["d1/f1.py"]
    assert known == answers(other, None)[0]


@pytest.mark.parametrize("error", ["no directory", "full"])
def test_nowhere_to_write_is_no_error(root: Path, tmp_path: Path, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    if error == "no directory":
        cache.write_text("a file")
    else:
        monkeypatch.setattr(os, "rename", _full)
    process = Process(root, cache)
    first, _ = process.settle()
    _write(root / "d1/f1.py", "def changed(): pass\n")
    second, read = process.settle()
    process.close()
    assert "d1/f1.py" in read
    assert "d1/f1.py" in second.paths
    if error == "full":
        assert [file for folder in cache.iterdir() for file in folder.iterdir()] == [], "a draft was left"


def test_two_processes_at_once_are_both_right(root: Path, cache: Path) -> None:
    """Whoever writes last has written; nobody is led astray by the other."""
    one, two = Process(root, cache), Process(root, cache)
    chance = random.Random(3)
    for turn in range(25):
        _write(root / f"d{turn % 4}/f{turn}.py", f"def turn{turn}(): pass\n")
        for process in chance.choices((one, two), k=3):
            snapshot, _ = process.settle()
            names = {each[0] for path in snapshot.paths for each in _facts(snapshot, path)[0]}
            assert f"turn{turn}" in names
        assert answers(root, cache)[0] == answers(root, None)[0]
    one.close()
    two.close()


def test_workspaces_long_not_looked_at_make_room(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "_MOST_WORKSPACES", 3)
    (cache / "keep-me").mkdir(parents=True)
    for number in range(6):
        place = tmp_path / f"work{number}"
        _write(place / "f.py", "def f(): pass\n")
        answers(place, cache)
        folder = max(
            (each for each in cache.iterdir() if each.name != "keep-me"), key=lambda each: each.stat().st_mtime_ns
        )
        os.utime(folder, (number, number))
    assert len(list(cache.iterdir())) == 4
    assert (cache / "keep-me").is_dir()
    assert answers(tmp_path / "work5", cache)[0] == answers(tmp_path / "work5", None)[0]


def _place(snapshot: Snapshot, path: str) -> Any:
    place = snapshot.place(path)
    assert place is not None
    return place


def _facts(snapshot: Snapshot, path: str) -> Any:
    segment, number = _place(snapshot, path)
    return segment.facts(number)


def _large(folder: Path) -> Path:
    (large,) = (file for file in folder.iterdir() if file.name.startswith("tree-"))
    return large


def _full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
