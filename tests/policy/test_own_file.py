"""What lies in the place of a file of ours is read only if it is a file."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.policy._own_file import own_file


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\0\xff\r\n")
    (tmp_path / "link").symlink_to("file")
    assert own_file(str(tmp_path / "file")) == own_file(str(tmp_path / "link")) == b"\0\xff\r\n"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, make: Callable[[str], None]) -> None:
    path = str(tmp_path / "it")
    make(path)
    before = os.listdir("/dev/fd")
    with pytest.raises(OSError, match="is not a regular file") as caught:
        own_file(path)
    assert (caught.value.errno, caught.value.filename) == (errno.EINVAL, path)
    assert os.listdir("/dev/fd") == before


def test_what_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    with pytest.raises(FileNotFoundError) as caught:
        own_file(path)
    assert caught.value.filename == path
    os.symlink(path, path)
    with pytest.raises(OSError) as caught:
        own_file(path)
    assert (caught.value.errno, caught.value.filename) == (errno.ELOOP, path)
