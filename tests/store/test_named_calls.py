"""Names that callers gave to calls: taken once, kept through a crash, bounded."""

import os
from pathlib import Path

import pytest

from toolcrib.store import named_calls
from toolcrib.store.home import Home
from toolcrib.store.named_calls import ANSWER_BYTES, NamedCalls


def test_names_are_kept_whatever_they_are(tmp_path: Path) -> None:
    kept = NamedCalls(Home(tmp_path))
    names = ["a", "../../escape", "a/b", "\0", "x" * 4000, "", "\udcff"]
    assert [kept.begin("s", name, "digest") for name in names] == [None] * len(names)
    assert [kept.begin("s", name, "digest").is_over for name in names] == [False] * len(names)
    kept.end("s", "a", "digest", answer=b"x" * ANSWER_BYTES)
    assert kept.begin("s", "a", "digest").answer == b"x" * ANSWER_BYTES
    kept.end("s", "a/b", "digest", answer=b"x" * (ANSWER_BYTES + 1))
    assert kept.begin("s", "a/b", "digest") == ("digest", True, None)
    assert {path.parts[len(tmp_path.parts)] for path in tmp_path.rglob("*")} == {"calls"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.rglob("*"))


def test_a_name_whose_writer_died_at_once_counts_as_begun(tmp_path: Path) -> None:
    kept = NamedCalls(Home(tmp_path))
    kept.begin("s", "a", "digest")
    (path,) = [each for each in tmp_path.rglob("*") if each.is_file()]
    for damage in (b"", b"\xff" * 200_000, b"ended\n", b"ended digest\n"):
        path.write_bytes(damage)
        earlier = kept.begin("s", "a", "digest")
        assert earlier is not None and earlier.answer is None


def test_old_names_go_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_calls, "MOST", 10)
    kept = NamedCalls(Home(tmp_path))
    seen: set[Path] = set()
    for number in range(25):
        kept.begin("s", str(number), "digest")
        (fresh,) = {path for path in tmp_path.rglob("*") if path.is_file()} - seen
        os.utime(fresh, (number, number))  # several are made within one tick of the clock
        seen.add(fresh)
    kept.prune()
    free = [number for number in range(25) if kept.begin("s", str(number), "digest") is None]
    assert free == list(range(15)), "the oldest"
