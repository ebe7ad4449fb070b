"""Names that callers gave to calls: taken once, kept through a crash, bounded."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.store import named_calls
from toolcrib.store.home import Home
from toolcrib.store.named_calls import ANSWER_BYTES, Earlier, NamedCalls


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
    (path,) = _files(tmp_path)
    for damage in (b"", b"\xff" * 200_000, b"ended\n", b"ended digest\n"):
        path.write_bytes(damage)
        earlier = kept.begin("s", "a", "digest")
        assert earlier is not None and earlier.answer is None


@pytest.fixture
def in_order(tmp_path: Path) -> Callable[..., None]:
    """`in_order(kept, range(9), over=range(5, 9))` takes these names, and ends some; each is older than the next."""

    def keep(kept: NamedCalls, numbers: range, *, over: range = range(0), answer: bytes = b"") -> None:
        seen: set[Path] = set()
        for number in numbers:
            assert kept.begin("s", str(number), "digest") is None
            (fresh,) = set(_files(tmp_path)) - seen
            if number in over:
                kept.end("s", str(number), "digest", answer=answer)
            os.utime(fresh, (number, number))  # several are made within one tick of the clock
            seen.add(fresh)

    return keep


def test_old_names_go_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_order: Any) -> None:
    monkeypatch.setattr(named_calls, "MOST", 10)
    kept = NamedCalls(Home(tmp_path))
    in_order(kept, range(25))
    kept.prune()
    free = [number for number in range(25) if kept.begin("s", str(number), "digest") is None]
    assert free == list(range(15)), "the oldest"


def test_what_is_over_goes_before_what_was_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_order: Any
) -> None:
    """A call that is still running, or whose end nobody knows, keeps its name however many end after it."""
    monkeypatch.setattr(named_calls, "MOST", 10)
    kept = NamedCalls(Home(tmp_path))
    in_order(kept, range(25), over=range(5, 25), answer=b"x")
    kept.prune()
    left = [earlier for number in range(25) if (earlier := kept.begin("s", str(number), "digest"))]
    assert left[:5] == [Earlier("digest", is_over=False, answer=None)] * 5
    assert left[5:] == [Earlier("digest", is_over=True, answer=b"x")] * 5


def test_of_too_many_bytes_the_oldest_answers_go_and_no_name_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_order: Any
) -> None:
    monkeypatch.setattr(named_calls, "MOST_BYTES", 3500)
    kept = NamedCalls(Home(tmp_path))
    in_order(kept, range(20), over=range(10, 20), answer=b"x" * 1000)
    for _ in range(2):  # what lost its answer is as old as before
        kept.prune()
        found = [kept.begin("s", str(number), "digest") for number in range(20)]
        assert found[:10] == [Earlier("digest", is_over=False, answer=None)] * 10
        assert found[10:17] == [Earlier("digest", is_over=True, answer=None)] * 7
        assert found[17:] == [Earlier("digest", is_over=True, answer=b"x" * 1000)] * 3


def test_an_answer_that_there_is_no_room_for_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = NamedCalls(Home(tmp_path))
    kept.begin("s", "a", "digest")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        kept.end("s", "a", "digest", answer=b"x")
    assert len(_files(tmp_path)) == 1
    assert kept.begin("s", "a", "digest") == Earlier("digest", is_over=False, answer=None)


def _files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]
