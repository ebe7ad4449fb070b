"""Walking a tree by descriptor: everything once, in order, nothing outside, however deep, wide or strange it is."""

import os
import resource
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolcrib.codeindex.walk import Walk, walk


@contextmanager
def opened(root: Path) -> Iterator[int]:
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


def shown(root: Path, **how: object) -> list[str]:
    with opened(root) as fd:
        return [os.path.join(here.path, file.name) for here in walk(fd, **how) for file in here.files]  # type: ignore[arg-type]


def plant(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def test_each_directory_before_those_in_it_and_all_by_name(tmp_path: Path) -> None:
    plant(tmp_path, "b/z", "b/a/1", "a", "c/x", "B")
    with opened(tmp_path) as fd:
        steps = [(here.path, [file.name for file in here.files]) for here in walk(fd)]
    assert steps == [("", ["B", "a"]), ("b", ["z"]), ("b/a", ["1"]), ("c", ["x"])]


def test_what_is_hidden_and_what_is_history(tmp_path: Path) -> None:
    plant(tmp_path, "a", ".b", ".git/config", ".c/.d", ".c/e", "f/.svn/entries", "f/g")
    assert shown(tmp_path) == ["a", "f/g"]
    assert shown(tmp_path, hidden=True) == [".b", "a", ".c/.d", ".c/e", "f/g"]
    assert shown(tmp_path, hidden=True, ignore=False) == [
        ".b", "a", ".c/.d", ".c/e", ".git/config", "f/g", "f/.svn/entries",
    ]  # fmt: skip


def test_a_directory_can_be_pruned(tmp_path: Path) -> None:
    plant(tmp_path, "a/x", "b/x", "b/c/x")
    asked: list[str] = []

    def prune(path: str) -> bool:
        asked.append(path)
        return path == "b"

    assert shown(tmp_path, prune=prune) == ["a/x"]
    assert asked == ["a", "b"]


def test_links_pipes_and_strange_names_are_shown_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    plant(outside, "secret")
    root = tmp_path / "root"
    plant(root, "in/file")
    (root / "out").symlink_to(outside)
    (root / "loop").symlink_to(root)
    (root / "nowhere").symlink_to("nothing")
    os.mkfifo(root / "pipe")
    (root / "two\nlines").touch()
    os.close(os.open(os.fsencode(root) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))
    assert shown(root) == ["loop", "nowhere", "out", "pipe", "two\nlines", "\udcff\udcfe", "in/file"]


def test_a_link_that_takes_a_directory_s_place_is_not_entered(tmp_path: Path) -> None:
    """Somebody swaps it between the listing and the opening."""
    outside = tmp_path / "outside"
    plant(outside, "secret")
    root = tmp_path / "root"
    plant(root, "a", "b/inside")
    with opened(root) as fd:
        steps = walk(fd)
        seen = []
        for here in steps:
            seen += [file.name for file in here.files]
            if not here.path:
                (root / "b").rename(root / "moved")
                (root / "b").symlink_to(outside)
    assert (seen, steps.skipped) == (["a"], 1)


def test_nothing_outside_is_seen_while_a_directory_is_swapped_all_the_time(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    plant(outside, "secret", "deep/secret")
    root = tmp_path / "root"
    for number in range(20):
        plant(root, f"d{number:02}/x", f"d{number:02}/deep/x")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for number in range(20):
                folder, aside = root / f"d{number:02}", root / f".aside{number:02}"
                folder.rename(aside)
                folder.symlink_to(outside)
                folder.unlink()
                aside.rename(folder)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = {name.rpartition("/")[2] for _ in range(60) for name in shown(root)}
    finally:
        over.set()
        thread.join()
    assert "secret" not in seen
    assert "x" in seen


def test_a_directory_that_was_moved_away_leads_nowhere_else(tmp_path: Path) -> None:
    """So deep that its parents were closed: from the one that moved there is no way back into what lies above it now."""
    names = [f"n{number}" for number in range(40)]
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    plant(elsewhere, "n99/secret")
    (elsewhere / "n99x").mkdir()
    deep = root.joinpath(*names)
    deep.mkdir(parents=True)
    for depth in range(1, 41):
        plant(root.joinpath(*names[:depth]), "zz/after")
    with opened(root) as fd:
        steps, seen = walk(fd), []
        for here in steps:
            seen += [file.name for file in here.files]
            if here.path.count("/") == 39 and here.path.endswith("n39"):
                root.joinpath(*names[:10]).rename(elsewhere / "n99x" / "moved")
    assert "secret" not in seen
    assert steps.skipped > 0


def deepen(root: Path, levels: int) -> int:
    """A chain of directories, each with a file and a second directory beside the next one."""
    fd, made = os.open(root, os.O_RDONLY | os.O_DIRECTORY), 0
    try:
        for _ in range(levels):
            os.mkdir("d", dir_fd=fd)
            os.mkdir("z", dir_fd=fd)
            os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
            below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd, made = below, made + 1
    finally:
        os.close(fd)
    return made


def test_two_thousand_levels_take_a_handful_of_descriptors(tmp_path: Path) -> None:
    """As far as a path can be written; what lies deeper is counted. With 24 descriptors, and no recursion."""
    root = tmp_path / "root"
    root.mkdir()
    deepen(root, 2200)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/dev/fd"))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 24, hard))
        with opened(root) as fd:
            steps = walk(fd)
            depths = [here.path.count("d") for here in steps]
        assert steps.skipped == 2
        assert max(depths) == 2048
        assert len(depths) == 1 + 2 * 2048
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        subprocess.run(["rm", "-rf", str(root)], check=True)  # shutil would go too deep


def test_no_descriptor_is_left_open_whenever_one_stops(tmp_path: Path) -> None:
    deepen(tmp_path, 40)
    before = set(os.listdir("/dev/fd"))
    with opened(tmp_path) as fd:
        for stop in range(0, 80, 7):
            for number, _ in enumerate(walk(fd)):
                if number == stop:
                    break
    assert set(os.listdir("/dev/fd")) == before


def test_no_more_is_looked_at_than_was_said(tmp_path: Path) -> None:
    for number in range(50):
        plant(tmp_path, f"d{number:02}/x")
    with opened(tmp_path) as fd:
        whole, part = walk(fd), walk(fd, most=60)
        assert sum(len(here.files) for here in whole) == 50
        assert sum(len(here.files) for here in part) == 10
    assert (whole.cut, part.cut) == (False, True)


def test_a_directory_that_cannot_be_read_is_counted(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    plant(tmp_path, "a/x", "b/x")
    (tmp_path / "a").chmod(0)
    try:
        with opened(tmp_path) as fd:
            steps: Walk = walk(fd)
            assert [file.name for here in steps for file in here.files] == ["x"]
        assert steps.skipped == 1
    finally:
        (tmp_path / "a").chmod(0o700)
