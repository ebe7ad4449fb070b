"""One at a time in a directory, and nobody waits for ever for who was stopped in it."""

import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib.store import lock
from toolcrib.store.lock import alone_in


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A directory that somebody else holds, and waits of a moment."""
    monkeypatch.setattr(lock, "LOCK_SECONDS", 0.1)
    fd = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    yield str(tmp_path)
    os.close(fd)


def test_a_lock_that_is_not_let_go_of_is_an_error_that_names_it(held: str) -> None:
    with pytest.raises(BlockingIOError, match="another process has held the lock") as caught, alone_in(held):
        raise AssertionError("two at a time")
    assert caught.value.filename == held


def test_it_is_free_again_when_the_block_ends(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyError), alone_in(str(tmp_path)):
            raise KeyError


def test_what_was_waited_for_in_vain_is_not_waited_for_again(held: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "LOCK_SECONDS", 1.0)
    stalled: set[str] = set()
    began = time.monotonic()
    for _ in range(15):
        with pytest.raises(BlockingIOError), alone_in(held, stalled=stalled):
            raise AssertionError("two at a time")
        assert stalled == {held}
    assert time.monotonic() - began < 10


def test_what_is_to_be_had_again_is_waited_for_again(tmp_path: Path) -> None:
    stalled = {str(tmp_path)}
    with alone_in(str(tmp_path), stalled=stalled):
        assert stalled == set()


def test_no_link_is_followed_where_none_should_be(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with alone_in(str(tmp_path / "link")):
        pass
    with pytest.raises(NotADirectoryError), alone_in(str(tmp_path / "link"), follow=False):
        raise AssertionError("it was followed")
