"""The kernel's own way to stay below a directory, and whether it can be used."""

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has it", allow_module_level=True)

from toolcrib.sandbox import _openat2

pytestmark = pytest.mark.skipif(not _openat2.AVAILABLE, reason="this kernel has no openat2")


class Kernel:
    """Answers a call with these errors, one after the other, and then as the real one does."""

    def __init__(self, *errors: int) -> None:
        self.errors, self.asked = list(errors), 0
        self._real = _openat2._libc

    def syscall(self, *args: object) -> int:
        self.asked += 1
        if self.errors:
            _openat2.ctypes.set_errno(self.errors.pop(0))
            return -1
        return int(self._real.syscall(*args))


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "file").write_text("text")
    (tmp_path / "folder").mkdir()
    (tmp_path / "magic").symlink_to("/proc/self/root")
    (tmp_path / "out").symlink_to("..")
    fd = os.open(tmp_path, os.O_PATH)
    yield fd
    os.close(fd)


def test_it_opens_with_the_flags_it_is_given(root: int) -> None:
    fd = _openat2.open_beneath(root, "file", os.O_RDONLY | os.O_CLOEXEC)
    assert (os.read(fd, 9), os.get_inheritable(fd)) == (b"text", False)
    os.close(fd)
    fd = _openat2.open_beneath(root, "file", os.O_WRONLY)
    assert (os.write(fd, b"TEXT"), os.get_inheritable(fd)) == (4, True)
    os.close(fd)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("..", errno.EXDEV),
        ("out/x", errno.EXDEV),
        ("magic", errno.EXDEV),
        ("/", errno.EXDEV),
        ("nothing", errno.ENOENT),
        ("file/x", errno.ENOTDIR),
    ],
)
def test_what_it_refuses_is_said_with_the_path(root: int, path: str, code: int) -> None:
    with pytest.raises(OSError) as caught:
        _openat2.open_beneath(root, path, os.O_RDONLY)
    assert (caught.value.errno, caught.value.strerror, caught.value.filename) == (code, os.strerror(code), path)


def test_no_magic_link_is_followed() -> None:
    """Not even where it would lead to what is below: what it is another moment is not ours to know."""
    proc = os.open("/proc/self", os.O_PATH)
    try:
        with pytest.raises(OSError) as caught:
            _openat2.open_beneath(proc, "exe", os.O_RDONLY)
        assert caught.value.errno == errno.ELOOP
    finally:
        os.close(proc)


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.EINTR])
def test_a_rename_meanwhile_is_tried_again(root: int, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    kernel = Kernel(*[code] * 63)
    monkeypatch.setattr(_openat2, "_libc", kernel)
    os.close(_openat2.open_beneath(root, "file", os.O_RDONLY))
    assert kernel.asked == 64


def test_it_is_not_tried_for_ever_and_not_after_a_plain_error(root: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for errors, asked in (([errno.EAGAIN] * 1000, 64), ([errno.EAGAIN, errno.EACCES, errno.EAGAIN], 2)):
        kernel = Kernel(*errors)
        monkeypatch.setattr(_openat2, "_libc", kernel)
        with pytest.raises(OSError) as caught:
            _openat2.open_beneath(root, "file", os.O_RDONLY)
        assert (caught.value.errno, kernel.asked) == (errors[asked - 1], asked)


def test_a_descriptor_of_number_zero_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Zero:
        def syscall(self, *args: object) -> int:
            return 0

    monkeypatch.setattr(_openat2, "_libc", Zero())
    assert _openat2.open_beneath(0, "file", os.O_RDONLY) == 0


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EPERM])
def test_where_the_kernel_refuses_it_is_not_used(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """An old kernel does not know it, and some containers forbid it."""
    before = len(os.listdir("/dev/fd"))
    assert _openat2._works()
    monkeypatch.setattr(_openat2, "_libc", Kernel(code))
    assert not _openat2._works()
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("said", ["/elsewhere", None])
def test_where_proc_does_not_tell_paths_it_is_not_used(monkeypatch: pytest.MonkeyPatch, said: str | None) -> None:
    def readlink(path: str) -> str:
        if said is None:
            raise FileNotFoundError(path)
        return said

    monkeypatch.setattr(_openat2.os, "readlink", readlink)
    assert not _openat2._works()
