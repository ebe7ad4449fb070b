"""Files and directories that are too much for anybody: each tool answers soon, in little room, and says what it left out."""

import asyncio
import fcntl
import os
import resource
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import toolcrib

GIB = 1024**3
MOST_MEMORY = 128 * 1024 * 1024
MOST_ANSWER = 2 * 1024 * 1024
MOST_SECONDS = 28.0
"""Generous: a machine may be slow. Without bounds, each of these takes minutes or for ever."""


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that is odd, in one workspace; made once, however many processes run these tests."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    work = shared / "extremes" / "work"
    work.parent.mkdir(exist_ok=True)
    with open(work.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not work.exists():
            draft = work.with_name("draft")
            draft.mkdir()
            _fill(draft)
            draft.rename(work)
    return work


def _fill(work: Path) -> None:
    with open(work / "gigabyte", "wb") as file:  # lines of a kilobyte, then one line that is a long hole
        file.write(b"".join(b"%06d %s\n" % (number, b"x" * 1000) for number in range(1000)))
        file.seek(GIB - 6)
        file.write(b"\nlast\n")
    with open(work / "lines", "wb") as file:
        block = b"".join(b"%06d %s\n" % (number, b"y" * 1016) for number in range(1024))
        for _ in range(40):
            file.write(block)
    with open(work / "line", "wb") as file:
        for _ in range(100):
            file.write(b"z" * 1024 * 1024)
        file.write(b"\nneedle\n")
    (work / "binary").write_bytes(b"\x7fELF\0\1" * 100_000)
    os.mkfifo(work / "fifo")
    many = work / "many"
    many.mkdir()
    fd = os.open(many, os.O_RDONLY)
    os.close(os.open("000000", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd))
    for number in range(1, 200_000):
        os.close(os.open(f"{number:06}", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd))
    os.close(fd)


def bounded(home: Path, workspace: Path, tool: str, args: dict[str, Any]) -> toolcrib.Result:
    """One call, held to its bounds."""

    async def one() -> tuple[toolcrib.Result, float]:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            await crib.call("file_exists", {"path": "."})
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            began = time.monotonic()
            result = await crib.call(tool, args)
            assert time.monotonic() - began < MOST_SECONDS
            return result, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024

    result, memory = asyncio.run(one())
    assert memory < MOST_MEMORY, f"{memory} bytes"
    assert len(str(result.to_dict())) < MOST_ANSWER
    return result


CASES: list[tuple[str, dict[str, Any], str]] = [
    ("read_file", {"path": "gigabyte"}, "go on with offset=1000"),
    ("read_file", {"path": "gigabyte", "limit": 3}, "000002 xxx"),
    ("read_file", {"path": "gigabyte", "offset": 1001}, "last"),
    ("read_file", {"path": "gigabyte", "offset": 10**9}, ""),
    ("read_file", {"path": "lines"}, "go on with offset="),
    ("read_file", {"path": "lines", "offset": 40_958, "limit": 1}, "001022 yyy"),
    ("read_file", {"path": "line"}, "the rest of this line is left out"),
    ("read_file", {"path": "line", "offset": 1}, "needle"),
    ("read_file", {"path": "line", "limit": 1}, "the rest of this line is left out"),
    ("read_file", {"path": "binary"}, "binary file: application/x-executable, 600000 bytes"),
    ("read_file", {"path": "fifo"}, "PATH_NOT_REGULAR"),
    ("read_file", {"path": "many"}, "PATH_NOT_REGULAR"),
    ("edit_file", {"path": "gigabyte", "old_string": "a", "new_string": "b"}, "too many"),
    ("edit_file", {"path": "line", "old_string": "needle", "new_string": "pin"}, "too many"),
    ("edit_file", {"path": "binary", "old_string": "ELF", "new_string": "pin"}, "binary"),
    ("edit_file", {"path": "fifo", "old_string": "a", "new_string": "b"}, "PATH_NOT_REGULAR"),
    ("write_file", {"path": "fifo", "content": "x"}, "PATH_NOT_REGULAR"),
    ("write_file", {"path": "gigabyte", "content": "x"}, "too many"),
    ("delete_file", {"path": "many"}, "PATH_NOT_REGULAR"),
    ("file_info", {"path": "gigabyte"}, "1073741824"),
    ("file_info", {"path": "fifo"}, "other"),
    ("file_info", {"path": "line"}, "text"),
    ("list_directory", {"path": "many"}, "198000 more left out"),
    ("list_files", {"path": "many"}, "198000 more left out"),
    ("glob", {"pattern": "many/*"}, "199000"),
    ("glob", {"pattern": "**/19999?"}, "many/199990"),
    ("grep", {"pattern": "needle"}, "line"),
    ("grep", {"pattern": "zzzneedle|needle", "path": "line"}, "needle"),
    ("grep", {"pattern": "^zzz", "path": "line"}, "zzz"),
    ("grep", {"pattern": "001022 y", "path": "lines"}, "001022"),
    ("grep", {"pattern": "x", "path": "fifo"}, "PATH_NOT_REGULAR"),
    ("grep", {"pattern": "ELF", "path": "binary"}, "binary"),
    ("search_code", {"query": "anything"}, ""),
    ("detect_project_type", {}, ""),
    ("extract_conventions", {}, ""),
    ("get_project_overview", {}, ""),
    ("get_codebase_map", {}, ""),
]


@pytest.mark.parametrize(("tool", "args", "says"), CASES)
def test_the_answer_is_bounded(home: Path, place: Path, tool: str, args: dict[str, Any], says: str) -> None:
    result = bounded(home, place, tool, args)
    assert says in str(result.to_dict())
    assert (place / "gigabyte").stat().st_size == GIB


def test_a_file_that_grows_is_read_as_it_was(home: Path, workspace: Path) -> None:
    """A writer that never stops cannot keep a reader busy."""
    file = workspace / "growing"
    file.write_text("first\n" * 2000)
    stop = threading.Event()

    def grow() -> None:
        size = file.stat().st_size
        while not stop.is_set():
            os.truncate(file, size := min(size + 1_000_000, 1 << 40))

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        for _ in range(4):
            result = bounded(home, workspace, "read_file", {"path": "growing"})
            assert result.success
            assert result.data.startswith("first\n")
    finally:
        stop.set()
        writer.join()


def test_the_loop_goes_on_meanwhile(home: Path, place: Path) -> None:
    """While a gigabyte is read and a huge directory is listed, others are served."""

    async def story() -> float:
        async with toolcrib.open(workspace=place, home=home) as crib:
            work = asyncio.gather(
                crib.call("read_file", {"path": "gigabyte", "offset": 1_001}),
                crib.call("list_directory", {"path": "many"}),
            )
            longest, last = 0.0, time.monotonic()
            while not work.done():
                await asyncio.sleep(0)
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
            await work
            return longest

    assert asyncio.run(story()) < 5.0
