"""What each session knows of files."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.sandbox import readings as module
from toolcrib.sandbox.readings import KEPT_BYTES, LONGEST, Reading, Readings, Stale, Stamp, stamp

Saved = tuple[str, str, Stamp, bytes | None]


class Kept:
    """A memory of readings, which counts how often it is asked."""

    def __init__(self, *known: Saved) -> None:
        self.known = {known[:2]: known[2:] for known in known}
        self.loads: list[tuple[str, str]] = []
        self.saves: list[list[Saved]] = []

    def load(self, session: str, path: str, /) -> tuple[Stamp, bytes | None] | None:
        self.loads.append((session, path))
        return self.known.get((session, path))

    def save(self, readings: Iterable[Saved], /) -> None:
        self.saves.append(list(readings))


@pytest.fixture
def seen(tmp_path: Path) -> os.stat_result:
    (tmp_path / "seen").write_bytes(b"text")
    return (tmp_path / "seen").stat()


@pytest.fixture
def later(tmp_path: Path, seen: os.stat_result) -> os.stat_result:
    """Another file."""
    (tmp_path / "later").write_bytes(b"other text")
    return (tmp_path / "later").stat()


def test_what_was_noted_is_known_to_that_session_and_for_that_path(seen: os.stat_result) -> None:
    readings = Readings()
    readings.note("mine", "/a", seen, b"text")
    assert readings.known("mine", "/a") == Reading(stamp(seen), b"text")
    assert readings.known("other", "/a") is None
    assert readings.known("mine", "/b") is None
    readings.forget("mine", "/a")
    readings.forget("mine", "/a")
    assert readings.known("mine", "/a") is None


def test_a_stamp_tells_one_state_of_a_file_from_another(seen: os.stat_result) -> None:
    assert stamp(seen) == (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


@pytest.mark.parametrize("session", ["", "nameless", "mine"])
def test_calls_of_no_session_may_write_over_what_they_never_read(seen: os.stat_result, session: str) -> None:
    readings = Readings(nameless="nameless")
    assert readings.demands(session) is (session == "mine")
    if session != "mine":
        readings.check(session, "/a", seen, b"text", path="a")
        return
    with pytest.raises(ToolError) as caught:
        readings.check(session, "/a", seen, b"text", path="a")
    assert (caught.value.details, caught.value.before_effect) == ({"path": "a", "unread": True}, True)
    assert not isinstance(caught.value, Stale) and "a was not read" in str(caught.value)


def test_without_a_name_for_the_nameless_every_session_has_to_read(seen: os.stat_result) -> None:
    assert [Readings().demands(session) for session in ("", "mine")] == [False, True]


@pytest.mark.parametrize("session", ["", "mine"])
def test_what_changed_is_stale_for_whoever_read_it(seen: os.stat_result, later: os.stat_result, session: str) -> None:
    """By its content where that is kept: a new time alone is no change."""
    readings = Readings()
    readings.note(session, "/a", seen, b"text")
    readings.check(session, "/a", later, b"text", path="a")
    with pytest.raises(Stale) as caught:
        readings.check(session, "/a", seen, b"TEXT", path="a")
    assert (caught.value.before, caught.value.after) == (b"text", b"TEXT")
    assert (caught.value.details, caught.value.before_effect) == ({"path": "a", "changed": True}, True)
    assert "a changed" in str(caught.value) and "read it again" in str(caught.value)


@pytest.mark.parametrize("content", [None, b"x" * (LONGEST + 1)])
def test_where_the_content_is_not_kept_the_stamp_tells(
    seen: os.stat_result, later: os.stat_result, content: bytes | None
) -> None:
    readings = Readings()
    readings.note("mine", "/a", seen, content)
    assert readings.known("mine", "/a") == Reading(stamp(seen))
    readings.check("mine", "/a", seen, b"whatever", path="a")
    with pytest.raises(Stale) as caught:
        readings.check("mine", "/a", later, b"text", path="a")
    assert (caught.value.before, caught.value.after) == (None, b"text")


def test_the_longest_content_that_is_kept(seen: os.stat_result) -> None:
    readings = Readings()
    readings.note("mine", "/a", seen, b"x" * LONGEST)
    assert readings.known("mine", "/a") == Reading(stamp(seen), b"x" * LONGEST)
    readings.note("mine", "/empty", seen, b"")
    assert readings.known("mine", "/empty") == Reading(stamp(seen), b"")


def test_what_is_removed_must_be_as_it_was_read_if_it_was(seen: os.stat_result, later: os.stat_result) -> None:
    readings = Readings()
    readings.check_unchanged("mine", "/never read", seen, path="a")
    readings.note("mine", "/a", seen, b"text")
    with pytest.raises(Stale) as caught:
        readings.check_unchanged("mine", "/a", later, path="a")
    assert (caught.value.details["path"], caught.value.before, caught.value.after) == ("a", None, None)
    assert readings.known("mine", "/a") is not None
    readings.check_unchanged("mine", "/a", seen, path="a")
    assert readings.known("mine", "/a") is None  # whatever has its name next was not read


# So much and no more


def test_content_is_let_go_when_there_is_too_much_of_it_the_longest_unused_first(seen: os.stat_result) -> None:
    readings, count = Readings(), KEPT_BYTES // LONGEST
    for number in range(count):
        readings.note("mine", f"/{number}", seen, b"x" * LONGEST)
    assert all(readings.known("mine", f"/{number}") == Reading(stamp(seen), b"x" * LONGEST) for number in range(count))
    readings.note("mine", "/0", seen, b"y" * LONGEST)  # again, so that it is the latest
    readings.note("mine", "/none", seen)
    readings.note("other", "/one more", seen, b"x")
    assert readings.known("mine", "/1") == Reading(stamp(seen))
    assert readings.known("mine", "/2") == Reading(stamp(seen), b"x" * LONGEST)
    assert readings.known("mine", "/0") == Reading(stamp(seen), b"y" * LONGEST)


def test_what_is_forgotten_or_read_again_makes_room(seen: os.stat_result) -> None:
    """However often: what counts is what is held."""
    readings, count = Readings(), KEPT_BYTES // LONGEST
    for _ in range(2 * count):
        readings.note("mine", "/a", seen, b"x" * LONGEST)
        readings.note("mine", "/b", seen, b"x" * LONGEST)
        readings.forget("mine", "/b")
    assert readings.known("mine", "/a") == Reading(stamp(seen), b"x" * LONGEST)
    for number in range(count - 1):
        readings.note("mine", f"/{number}", seen, b"x" * LONGEST)
    assert readings.known("mine", "/a") == Reading(stamp(seen), b"x" * LONGEST)
    for number in range(3):
        readings.note("mine", f"/again {number}", seen, b"x" * LONGEST)
    held = [readings.known("mine", f"/{name}") for name in ("a", "0", "1", "2")]
    assert [reading and len(reading.content or b"") for reading in held] == [0, 0, 0, LONGEST]


def test_of_too_many_files_the_longest_unused_are_forgotten(
    seen: os.stat_result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST", 3)
    readings = Readings()
    for name in "abc":
        readings.note("mine", name, seen)
    readings.note("mine", "a", seen)
    readings.note("mine", "d", seen)
    assert [name for name in "abcd" if readings.known("mine", name)] == ["a", "c", "d"]


# From one process to the next


def test_named_sessions_know_what_they_read_in_another_process(seen: os.stat_result) -> None:
    kept = Kept(("mine", "/a", stamp(seen), b"text"), ("nameless", "/a", stamp(seen), b"text"))
    readings = Readings(kept, nameless="nameless")
    for _ in range(2):
        assert readings.known("mine", "/a") == Reading(stamp(seen), b"text")
    assert readings.known("nameless", "/a") is None
    assert readings.known("", "/a") is None
    assert kept.loads == [("mine", "/a")]
    assert readings.known("mine", "/b") is None
    with pytest.raises(Stale):
        readings.check("mine", "/a", seen, b"TEXT", path="a")


def test_what_named_sessions_read_is_kept_for_the_next_process(seen: os.stat_result) -> None:
    kept = Kept(("mine", "/old", stamp(seen), b"old"))
    readings = Readings(kept, nameless="nameless")
    readings.note("mine", "/b", seen, b"text")
    readings.note("mine", "/a", seen)
    readings.note("mine", "/gone", seen, b"text")
    readings.note("nameless", "/a", seen, b"text")
    readings.note("", "/a", seen, b"text")
    readings.known("mine", "/old")  # that is kept already
    readings.forget("mine", "/gone")
    readings.close()
    assert kept.saves == [[("mine", "/a", stamp(seen), None), ("mine", "/b", stamp(seen), b"text")]]
    readings.close()
    assert len(kept.saves) == 1


def test_what_is_not_new_is_not_kept_again(seen: os.stat_result) -> None:
    kept = Kept()
    Readings(kept).close()
    alone = Readings()
    alone.note("mine", "/a", seen, b"text")
    alone.close()
    assert (kept.saves, alone.known("mine", "/a")) == ([], Reading(stamp(seen), b"text"))
