"""The guard while somebody swaps files, directories and links under its hands."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.sandbox import _beneath, _openat2
from toolcrib.sandbox.guard import GuardedFiles

SECRET = b"top secret of somebody else"
SWAPPER = r"""
import ctypes, os, sys

kind, outside = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)

def exchange(one, other):
    if libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2):
        raise OSError(ctypes.get_errno(), "renameat2")

def quietly(act, *args):
    try: act(*args)
    except OSError: pass

def regular(path):
    with open(path, "wb") as file: file.write(b"inside")

def directory():                      # the directory itself and a link to the outside change places
    exchange("d", "out")
def rename_over():                    # a link to the inside is replaced by one to the outside
    for target in ("real", outside):
        quietly(os.symlink, target, "draft")
        os.rename("draft", "d")
def unlink_symlink():                 # the file goes, a link comes
    quietly(os.unlink, "d/file"); quietly(os.symlink, outside + "/file", "d/file")
    quietly(os.unlink, "d/file"); quietly(regular, "d/file")
def parent():                         # as everybody can do it, with renames alone
    os.rename("d", "aside")
    rename("out"); os.rename("d", "out"); rename("aside")
def rename(name):
    while True:
        try: return os.rename(name, "d")
        except OSError: os.rename("d", "stray" + os.urandom(8).hex())   # made by a write while there was none
def final():                          # the file and a link to the outside change places
    quietly(exchange, "d/file", "d/out")
    if not os.path.islink("d/out") and not os.path.islink("d/file"):        # a write took the link's place
        os.symlink(outside + "/file", "draft"); os.rename("draft", "d/out")
def nested():                         # somewhere in the middle of a longer path
    exchange("d/a/b", "d/a/out")

swap = globals()[kind]
if kind == "rename_over": os.rename("d", "real")
swap()
print("ready", flush=True)
while True: swap()
"""
KINDS = {
    "directory": "d/file",
    "rename_over": "d/file",
    "unlink_symlink": "d/file",
    "parent": "d/file",
    "final": "d/file",
    "nested": "d/a/b/c/file",
}
"""The ways to swap, and the path that is used meanwhile."""


@contextmanager
def swapping(kind: str, top: Path) -> Iterator[str]:
    """A workspace in which another process swaps as fast as it can. Gives the path of the workspace."""
    outside, work = top / "outside", top / "work"
    for place in (outside, work / "d"):
        (place / "a" / "b" / "c").mkdir(parents=True)
        for name in ("file", "a/b/c/file", "extra", "a/b/c/extra", "c/file", "c/extra"):
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_bytes(SECRET if place == outside else b"inside")
    os.symlink(outside, work / "out")
    os.symlink(outside / "file", work / "d" / "out")
    os.symlink(outside, work / "d" / "a" / "out")
    with subprocess.Popen(
        [sys.executable, "-c", SWAPPER, kind, str(outside)], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            if process.stdout.readline() != b"ready\n":
                why = process.stderr.read().decode()
                if "AttributeError" in why or "renameat2" in why:
                    pytest.skip("this system cannot exchange two names")
                pytest.fail(why)
            yield str(work)
            assert process.poll() is None, process.stderr.read().decode()
        finally:
            process.kill()


def attempts(path: str, read: Callable[[str], bytes], write: Callable[[str], None], unlink: Callable[[str], None]):
    """The things that are tried, again and again."""
    extra = os.path.join(os.path.dirname(path), "extra")
    return [
        *[lambda: read(path), lambda: read(extra)] * 5,  # most of what can be done in the time, since it is quick
        lambda: write(path),
        lambda: write(extra),
        lambda: unlink(extra),
        lambda: write(os.path.join(os.path.dirname(path), "new", "er")),
    ]


def tree(root: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(root.rglob("*"))}


def race(kind: str, top: Path, *, seconds: float, opens: int) -> Counter[str]:
    """What came of at least so many attempts in at least so many seconds."""
    seen: Counter[str] = Counter()
    with swapping(kind, top) as work:
        before = tree(top / "outside")
        files = GuardedFiles(work)
        tries = attempts(KINDS[kind], files.read, lambda path: files.write(path, b"inside"), files.unlink)
        until = time.monotonic() + seconds
        while time.monotonic() < until or seen.total() < opens:
            for attempt in tries:
                try:
                    seen["leak" if SECRET in (attempt() or b"") else "done"] += 1
                except ToolError as exc:
                    seen[exc.code] += 1
    seen["changed outside"] = int(tree(top / "outside") != before)
    seen["drafts"] = len(list(top.rglob(".toolcrib-*")))
    return seen


@pytest.mark.parametrize(("mode", "seconds", "opens"), [("kernel", 7.5, 51_000), ("walk", 2.5, 6_000)])
def test_a_swap_never_wins_the_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, seconds: float, opens: int
) -> None:
    """I5: six ways to swap, tens of thousands of attempts to read, write and remove, and nothing outside was touched."""
    if mode == "walk":
        monkeypatch.setattr(_beneath, "BY_KERNEL", False)
    elif not _openat2.AVAILABLE:
        pytest.skip("this kernel has no openat2")
    if not sys.platform.startswith("linux"):
        pytest.skip("exchanging two names is Linux's")
    total: Counter[str] = Counter()
    for kind in KINDS:
        seen = race(kind, tmp_path / kind, seconds=seconds / len(KINDS), opens=opens // len(KINDS))
        assert (seen["leak"], seen["changed outside"], seen["drafts"]) == (0, 0, 0), (kind, seen)
        total += seen
    assert total.total() >= opens
    assert total["done"] and total["PATH_OUTSIDE_WORKSPACE"], f"nothing was swapped: {total}"


def test_the_race_is_one_that_can_be_lost(tmp_path: Path) -> None:
    """A guard that compares what a path resolves to, and then opens it, gives the secret away."""
    if not sys.platform.startswith("linux"):
        pytest.skip("exchanging two names is Linux's")

    def naive(path: str) -> bytes:
        spelled = os.path.join(work, path)
        if not os.path.realpath(spelled).startswith(work + os.sep):
            raise PermissionError(path)
        with open(spelled, "rb") as file:
            return file.read()

    with swapping("directory", tmp_path) as work:
        work = os.path.realpath(work)
        until = time.monotonic() + 8
        tried = 0
        while time.monotonic() < until:
            tried += 1
            try:
                if naive("d/file") == SECRET:
                    return
            except OSError:
                pass
    pytest.skip(f"this machine did not manage to swap in the right moment in {tried} attempts")
