"""Many writers and one file: nothing that was reported as written is lost, and nobody ever sees half a file."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import toolcrib

WRITER = """
import asyncio, sys, toolcrib

async def main(home, workspace, session, path, first, count):
    async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes(), session=session) as crib:
        for number in range(first, first + count):
            while True:
                text = await crib.call("read_file", {"path": path})
                done = await crib.call("write_file", {"path": path, "content": f"{text.data}{number}\\n"})
                if done.success:
                    break
                if not done.error.details or "changed" not in done.error.details:
                    sys.exit(f"unexpected: {done.error}")

asyncio.run(main(*sys.argv[1:5], int(sys.argv[5]), int(sys.argv[6])))
"""

KILLED = """
import asyncio, sys, toolcrib

async def main(home, workspace):
    async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
        number = 0
        while True:
            number += 1
            for name in range(8):
                content = f"{number % 10}" * 300_000
                await crib.call("write_file", {"path": f"f{name}", "content": content})
            if number == 1:
                print("begun", flush=True)

asyncio.run(main(*sys.argv[1:3]))
"""


def numbers(file: Path) -> list[int]:
    return sorted(map(int, file.read_text().split()))


def test_a_hundred_writers_of_one_session_each(home: Path, workspace: Path) -> None:
    """Each reads, adds a line and writes the whole: whoever comes late is refused, reads again and tries again."""
    file = workspace / "list"
    file.write_text("")

    async def writer(crib: toolcrib.Crib, number: int) -> int:
        tries = 0
        while True:
            tries += 1
            text = await crib.call("read_file", {"path": "list"})
            await asyncio.sleep(0)  # the others get their turn between reading and writing
            if (await crib.call("write_file", {"path": "list", "content": f"{text.data}{number}\n"})).success:
                return tries

    async def story() -> list[int]:
        opened = [
            toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes(), session=f"s{number}")
            for number in range(100)
        ]
        cribs = [await each.__aenter__() for each in opened]
        tries = await asyncio.gather(*(writer(crib, number) for number, crib in enumerate(cribs)))
        for each in opened:
            await each.__aexit__(None, None, None)
        return tries

    tries = asyncio.run(story())
    assert numbers(file) == list(range(100))
    assert max(tries) > 1, "they never met"


def test_a_hundred_edits_at_once_of_one_session(home: Path, workspace: Path) -> None:
    """An edit is made in what is there now, so none needs to be tried again."""
    file = workspace / "list"
    file.write_text("".join(f"<{number}>\n" for number in range(100)))

    async def story() -> list[toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes(), session="s") as crib:
            await crib.call("read_file", {"path": "list"})
            edits = [
                crib.call("edit_file", {"path": "list", "old_string": f"<{number}>", "new_string": f"{number}"})
                for number in range(100)
            ]
            return await asyncio.gather(*edits)

    assert all(result.success for result in asyncio.run(story()))
    assert numbers(file) == list(range(100))


def test_writers_in_several_processes(home: Path, workspace: Path) -> None:
    file = workspace / "list"
    file.write_text("")
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, home, workspace, f"s{each}", "list", str(each * 25), "25"], env=environ
        )
        for each in range(4)
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0, 0]
    assert numbers(file) == list(range(100))


def test_threads_with_cribs_of_their_own(home: Path, workspace: Path) -> None:
    file = workspace / "list"
    file.write_text("".join(f"<{number}>\n" for number in range(60)))
    failures: list[object] = []

    def work(first: int) -> None:
        for number in range(first, first + 15):
            args = {"path": "list", "old_string": f"<{number}>", "new_string": f"{number}"}
            result = toolcrib.call_sync("edit_file", args, workspace=workspace, home=home, approver=toolcrib.SaysYes())
            if not result.success:
                failures.append(result.error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 60, 15)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert numbers(file) == list(range(60))


def test_a_killed_writer_leaves_the_old_file_or_the_new_one(home: Path, workspace: Path) -> None:
    """kill -9 at 25 moments, with eight files being written all the time: 200 chances for half a file."""
    chance = random.Random(17)
    for name in range(8):
        (workspace / f"f{name}").write_text("0" * 300_000)
    for _ in range(25):
        writer = subprocess.Popen([sys.executable, "-c", KILLED, home, workspace], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"begun\n"
        time.sleep(chance.random() * 0.02)  # not to wait for something: the moment is to be any
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        for name in range(8):
            content = (workspace / f"f{name}").read_text()
            assert len(content) == 300_000
            assert content == content[0] * 300_000
        drafts = [each for each in workspace.iterdir() if each.name.startswith(".toolcrib-")]
        assert all(len(set(each.read_text())) == 1 and each.stat().st_size == 300_000 for each in drafts)


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_a_reader_never_sees_half_a_file(home: Path, workspace: Path, tool: str) -> None:
    file = workspace / "data.json"
    file.write_text(json.dumps({"n": 0, "pad": "x" * 200_000}))
    stop = threading.Event()
    torn: list[str] = []

    def look() -> None:
        while not stop.is_set():
            try:
                json.loads(file.read_text())
            except ValueError as exc:
                torn.append(str(exc))

    async def write() -> None:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            for number in range(1, 40):
                if tool == "write_file":
                    content = json.dumps({"n": number, "pad": "x" * (200_000 - number)})
                    result = await crib.call("write_file", {"path": "data.json", "content": content})
                else:
                    swap = {"old_string": f'"n": {number - 1},', "new_string": f'"n": {number},'}
                    result = await crib.call("edit_file", {"path": "data.json", **swap})
                assert result.success, result.error

    reader = threading.Thread(target=look)
    reader.start()
    asyncio.run(write())
    stop.set()
    reader.join()
    assert torn == []
    assert json.loads(file.read_text())["n"] == 39
