"""The workspace guard: a path is checked by opening it."""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.sandbox import guard
from toolcrib.sandbox.guard import GuardedFiles

SECRET = b"top secret"


@pytest.fixture(params=["openat2", "walk"])
def files(
    request: pytest.FixtureRequest, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GuardedFiles]:
    """The guard as the kernel does it, and as it is done without."""
    if request.param == "walk":
        monkeypatch.setattr(sys, "platform", "other")
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "work-evil").mkdir()
    (tmp_path / "work-evil" / "file").write_bytes(SECRET)
    (workspace / "file").write_bytes(b"inside")
    (workspace / "folder").mkdir()
    (workspace / "folder" / "deep").write_bytes(b"deep")
    yield GuardedFiles(workspace)
    assert (tmp_path / "secret").read_bytes() == SECRET


def refused(code: str, use: object, *args: object) -> None:
    with pytest.raises(ToolError) as caught:
        use(*args)  # type: ignore[operator]
    assert caught.value.code == code, caught.value


def test_reads_writes_lists_and_removes_inside(files: GuardedFiles, workspace: Path) -> None:
    """C12, A35"""
    assert files.read("file") == b"inside"
    assert files.read(str(workspace / "folder" / "deep")) == b"deep"
    files.write("new", "text")
    assert (files.exists("new"), files.exists("nope"), files.stat("new").st_size) == (True, False, 4)
    assert files.list() == ["file", "folder", "new"]
    files.write("file", b"shorter"[:3])
    assert files.read("file") == b"sho"
    files.unlink("new")
    assert not (workspace / "new").exists()
    assert files.report["files_accessed"] == ["file", str(workspace / "folder" / "deep"), "new"]
    assert (files.report["bytes_read"], files.report["bytes_written"]) == (13, 7)


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "folder/../../secret",
        "/etc/passwd",
        "{tmp}/secret",
        "{tmp}/work-evil/file",
        "../work-evil/file",
        "folder/../../work-evil/file",
        "./../secret",
    ],
)
def test_nothing_outside_is_read_or_written(files: GuardedFiles, tmp_path: Path, path: str) -> None:
    """A36, K47; also `/srv/app` against `/srv/app-evil`."""
    path = path.format(tmp=tmp_path)
    for use in (files.read, files.stat, files.unlink, lambda path: files.write(path, "x"), files.exists):
        refused("PATH_OUTSIDE_WORKSPACE", use, path)
    assert (tmp_path / "work-evil" / "file").read_bytes() == SECRET


@pytest.mark.parametrize(
    "target", ["../secret", "{tmp}/secret", "/proc/self/root/etc/passwd", "/proc/self/cwd/../secret"]
)
def test_links_do_not_lead_out(files: GuardedFiles, workspace: Path, tmp_path: Path, target: str) -> None:
    (workspace / "link").symlink_to(target.format(tmp=tmp_path))
    (workspace / "updir").symlink_to("..")
    refused("PATH_OUTSIDE_WORKSPACE", files.read, "link")
    refused("PATH_OUTSIDE_WORKSPACE", files.write, "link", "x")
    with pytest.raises(ToolError):
        files.read("updir/secret")
    files.unlink("link")  # the link itself is the workspace's own
    assert not (workspace / "link").is_symlink()


def test_what_is_no_regular_file_is_refused_without_waiting(files: GuardedFiles, workspace: Path) -> None:
    os.mkfifo(workspace / "fifo")
    refused("PATH_NOT_REGULAR", files.read, "fifo")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(workspace / "socket"))
    server.close()
    for name in ("socket", "folder"):
        with pytest.raises(ToolError):
            files.read(name)


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "folder/deep/under", "file/"])
def test_odd_paths_are_errors_and_not_crashes(files: GuardedFiles, path: str) -> None:
    with pytest.raises(ToolError):
        files.read(path)


@pytest.mark.parametrize("path", ["", ".", "..", "/", "folder/..", "folder/."])
def test_what_names_no_file_is_not_removed(files: GuardedFiles, path: str) -> None:
    refused("PATH_OUTSIDE_WORKSPACE", files.unlink, path)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own check is Linux's")
def test_a_swapped_link_never_wins_the_race(workspace: Path, tmp_path: Path) -> None:
    """I5: while somebody swaps a directory for a link to the outside, not one read leaks."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(SECRET)
    inside = workspace / "inside"
    inside.mkdir()
    (inside / "file").write_bytes(b"inside")
    (workspace / "link").symlink_to(outside)
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            os.rename(workspace / "inside", workspace / "aside")
            os.rename(workspace / "link", workspace / "inside")
            os.rename(workspace / "inside", workspace / "link")
            os.rename(workspace / "aside", workspace / "inside")

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = set()
    try:
        for _ in range(3000):
            try:
                seen.add(GuardedFiles(workspace).read("inside/file"))
            except ToolError as exc:
                seen.add(exc.code.encode())
    finally:
        over.set()
        swapper.join()
    assert b"inside" in seen and SECRET not in seen


def test_the_walk_is_there_for_kernels_without_openat2(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolcrib.sandbox import _openat2

    monkeypatch.setattr(_openat2, "open_beneath", lambda *args: None)
    (workspace / "file").write_bytes(b"x")
    assert guard.GuardedFiles(workspace).read("file") == b"x"
