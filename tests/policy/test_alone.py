"""One writer at a time: whoever has to wait does so for a bounded time."""

import errno
import fcntl
import os
import threading
from pathlib import Path

import pytest

from toolcrib.policy import _alone
from toolcrib.policy._alone import alone


@pytest.fixture
def held(tmp_path: Path) -> int:
    """The lock of `tmp_path / "file"`, which somebody else has."""
    fd = os.open(tmp_path / "file.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def test_whoever_comes_second_waits_until_the_first_lets_go(tmp_path: Path, held: int) -> None:
    asked, entered = threading.Event(), threading.Event()

    def second() -> None:
        asked.set()
        with alone(str(tmp_path / "file")):
            entered.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert asked.wait(10) and not entered.wait(0.05)
    os.close(held)
    thread.join(10)
    assert entered.is_set()


def test_a_lock_that_is_not_let_go_of_is_an_error_that_names_it(
    tmp_path: Path, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_alone, "LOCK_SECONDS", 0.1)
    with pytest.raises(BlockingIOError, match="has held the lock for 0.1 s") as caught, alone(str(tmp_path / "file")):
        pytest.fail("two at a time")
    assert (caught.value.errno, caught.value.filename) == (errno.EAGAIN, str(tmp_path / "file.lock"))
    os.close(held)


def test_it_is_free_again_when_the_block_ends(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyError), alone(str(tmp_path / "new" / "file")):
            raise KeyError
    assert os.listdir(tmp_path / "new") == ["file.lock"]
