"""`glob` and `grep` where everything is far too large: bounded answers, in bounded time and memory."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import toolcrib

MIB = 1024 * 1024


@pytest.fixture
def extremes(workspace: Path) -> Path:
    """A file of 1 GiB that takes no room, one line of 100 MiB, and small files beside them."""
    with open(workspace / "sparse", "wb") as file:
        file.truncate(1024 * MIB)
    with open(workspace / "line.txt", "wb") as file:
        for _ in range(100):
            file.write(b"x" * MIB)
        file.write(b"needle" + b"y" * 1000 + b"\nlast needle\n")
    (workspace / "small.txt").write_text("needle\n")
    return workspace


def held_to(megabytes: int, home: Path, workspace: Path, name: str, args: dict[str, object]) -> dict[str, object]:
    """A call by the command, which with all it starts may use so much memory."""
    words = [sys.executable, "-m", "toolcrib", "call", name, "--json", "--input", json.dumps(args)]
    done = subprocess.run(
        ["/bin/sh", "-c", f'ulimit -v {megabytes * 1024} && exec "$@"', "sh", *words],
        cwd=workspace,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "TOOLCRIB_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does it")
def test_a_file_of_a_gibibyte_and_a_line_of_100_mebibytes(home, extremes) -> None:
    result = held_to(1200, home, extremes, "grep", {"pattern": "needle"})
    text = str(result["data"])
    assert len(text) < 1000
    assert "needleyyy" in text
    assert "[cut: a long line]" in text
    assert "2:last needle" in text
    assert "small.txt\n1:needle" in text
    single = str(
        held_to(1200, home, extremes, "grep", {"pattern": "(n|e)eedle$", "path": "line.txt", "context": 2})["data"]
    )
    assert single.endswith("2:last needle")
    assert len(single) < 2000
    assert held_to(1200, home, extremes, "grep", {"pattern": "needle", "path": "sparse"})["data"] == "no matches"


def test_two_hundred_thousand_files_in_one_directory(home, workspace) -> None:
    fd = os.open(workspace, os.O_RDONLY)
    for number in range(200_000):
        os.mknod(f"f{number}", dir_fd=fd)
    os.close(fd)
    (workspace / "f777").write_text("needle\n")

    async def ask() -> tuple[toolcrib.Result, toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            return await crib.call("glob", {"pattern": "*7"}), await crib.call("grep", {"pattern": "needle"})

    globbed, grepped = asyncio.run(ask())
    assert (len(globbed.data["paths"]), globbed.data["left_out"]) == (1000, 19_000)
    assert grepped.data == "f777\n1:needle"


@pytest.mark.parametrize("others", [0, 300])
def test_a_file_that_grows_while_it_is_searched(home, workspace, others) -> None:
    for number in range(others):
        (workspace / f"z{number}").touch()
    (workspace / "log").write_text("needle\n")
    over, grown = threading.Event(), threading.Event()

    def grow() -> None:
        with open(workspace / "log", "a", buffering=1) as file:
            for _ in range(200_000):
                if over.is_set():
                    return
                file.write("more and more\n")
                grown.set()

    async def ask() -> list[toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            return [await crib.call("grep", {"pattern": "needle"}, timeout=20) for _ in range(5)]

    thread = threading.Thread(target=grow)
    thread.start()
    grown.wait()
    try:
        results = asyncio.run(ask())
    finally:
        over.set()
        thread.join()
    assert [result.data for result in results] == ["log\n1:needle"] * 5


def test_so_many_hits_that_not_all_can_be_counted(home, workspace) -> None:
    """20 files with 20,000 hits each: the answer is small, and says that there may be more."""
    for number in range(20):
        (workspace / f"f{number:02}").write_text("hit and hit and hit again\n" * 20_000)
    result = toolcrib.call_sync("grep", {"pattern": "hit", "limit": 10}, workspace=workspace, home=home)
    assert "[at least " in result.data
    assert len(result.data) < 1000
    assert result.metadata["search"]["complete"] is False
