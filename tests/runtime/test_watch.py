"""Hearing of changed files: at once, wherever they come to lie, and without leaving anything behind."""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

pytest.importorskip("watchfiles", reason="watchfiles is not installed")

from toolcrib.runtime import watch as module
from toolcrib.runtime.watch import Watch, look

LONG = 20.0
"""Far longer than it takes to hear of anything: whoever waits that long in vain has missed it."""


def watched(paths: list[Path], use: Callable[[Watch], Awaitable[None]]) -> list[str]:
    """Use a watch over these; what it said."""
    said: list[str] = []

    async def main() -> None:
        async with Watch(lambda: map(str, paths), say=said.append) as watch:
            await asyncio.wait_for(use(watch), 60)

    asyncio.run(main())
    return said


def test_every_kind_of_change_is_heard(tmp_path: Path) -> None:
    """K69"""
    tools = tmp_path / "tools"
    tools.mkdir()
    file = tools / "file"

    async def use(watch: Watch) -> None:
        for change in (
            lambda: file.write_text("one"),
            lambda: file.write_text("two"),
            lambda: file.chmod(0o755),
            lambda: file.rename(tools / "renamed"),
            lambda: (tools / "renamed").unlink(),
            lambda: (tools / "folder").mkdir(),
        ):
            change()
            assert await watch.wait(LONG)

    assert watched([tools], use) == []


def test_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    """Heard of when it comes, step by step, and watched from then on."""
    tools = tmp_path / "project" / ".toolcrib" / "tools"

    async def use(watch: Watch) -> None:
        for made in (tools.parent.parent, tools.parent, tools):
            made.mkdir()
            assert await watch.wait(LONG)
        (tools / "file").write_text("one")
        assert await watch.wait(LONG)
        shutil.rmtree(tools.parent)
        assert await watch.wait(LONG)
        tools.mkdir(parents=True)
        assert await watch.wait(LONG)
        (tools / "file").write_text("two")
        assert await watch.wait(LONG)

    assert watched([tools, tools / "file"], use) == []


def test_another_directory_in_the_place_of_one_that_was_watched(tmp_path: Path) -> None:
    tools, other = tmp_path / "tools", tmp_path / "other"
    tools.mkdir()
    other.mkdir()

    async def use(watch: Watch) -> None:
        tools.rename(tmp_path / "old")
        other.rename(tools)
        assert await watch.wait(LONG)
        (tools / "file").write_text("x")
        assert await watch.wait(LONG)

    assert watched([tools], use) == []


def test_a_file_that_a_link_leads_to(tmp_path: Path) -> None:
    tools, elsewhere = tmp_path / "tools", tmp_path / "elsewhere"
    tools.mkdir()
    elsewhere.mkdir()
    (elsewhere / "real").write_text("one")
    (tools / "link").symlink_to(elsewhere / "real")

    async def use(watch: Watch) -> None:
        (elsewhere / "real").write_text("two")
        assert await watch.wait(LONG)

    assert watched([tools, tools / "link"], use) == []


def test_what_changes_between_two_waits_is_heard_by_the_second(tmp_path: Path) -> None:
    """Also when whoever waited first gave up."""

    async def use(watch: Watch) -> None:
        waiting = asyncio.create_task(watch.wait(LONG))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        (tmp_path / "file").write_text("x")
        assert await watch.wait(LONG)

    assert watched([tmp_path], use) == []


def test_other_paths_count_once_it_is_renewed(tmp_path: Path) -> None:
    """Also while somebody who gave up has left it listening."""
    paths = [tmp_path / "a"]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()

    async def use(watch: Watch) -> None:
        assert not await watch.wait(0.001)
        paths[:] = [tmp_path / "b"]
        await watch.renew()
        (tmp_path / "b" / "file").write_text("x")
        assert await watch.wait(LONG)

    assert watched(paths, use) == []


def test_only_what_is_meant_counts(tmp_path: Path) -> None:
    """A workspace and a home are busy places; what lies beside the files that count does not."""
    (tmp_path / "tools").mkdir()
    seen = look([str(tmp_path / "config.yaml"), str(tmp_path / "tools"), str(tmp_path / "a" / "b" / "c")])
    assert seen.directories == {str(tmp_path), str(tmp_path / "tools")}
    assert [
        name for name in ("config.yaml", "tools", "tools/x", "a", "a/b") if not seen.concerns([f"{tmp_path}/{name}"])
    ] == []
    for other in ("state.db", "config.yaml.tmp", ".git", "node_modules", "tools.old", "a/x", "tools/x/y"):
        assert not seen.concerns([f"{tmp_path}/{other}"]), other


def test_a_name_that_is_not_utf8_does_not_make_it_deaf(tmp_path: Path) -> None:
    async def use(watch: Watch) -> None:
        with open(bytes(tmp_path) + b"/\xff", "w"):
            pass
        assert await watch.wait(LONG)
        (tmp_path / "file").write_text("x")
        assert await watch.wait(LONG)

    assert watched([tmp_path, Path(os.fsdecode(bytes(tmp_path) + b"/\xff/x"))], use) == []


def test_too_much_to_watch_is_looked_at_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DIRECTORIES", 2)
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()

    async def use(watch: Watch) -> None:
        assert await watch.wait(LONG)
        await watch.renew()
        assert await watch.wait(LONG)

    (said,) = watched([tmp_path / "a", tmp_path / "b"], use)
    assert "more than 2 directories" in said and "instead" in said


LIMITED = """
import asyncio, sys
from toolcrib.runtime.watch import Watch

async def main():
    async with Watch(lambda: sys.argv[1:], say=print) as watch:
        print(await watch.wait(0.05))

asyncio.run(main())
"""


@pytest.mark.parametrize(("limit", "most"), [("max_inotify_watches", 1), ("max_inotify_instances", 0)])
def test_where_the_systems_limit_is_reached(tmp_path: Path, limit: str, most: int) -> None:
    """In a user namespace of its own, where the limit can be set."""
    (tmp_path / "a").mkdir()
    script = f'echo {most} > /proc/sys/user/{limit} && exec "$@"'
    here = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]
    if shutil.which("unshare") is None or subprocess.run([*here, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace can be made here")
    argv = [*here, sys.executable, "-c", LIMITED, str(tmp_path), str(tmp_path / "a")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    said, heard = done.stdout.splitlines()
    assert said.startswith("files cannot be watched here (") and said.endswith("every 1 s instead")
    assert heard == "True"


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
def test_nothing_is_left_when_it_is_left(tmp_path: Path) -> None:
    """I7: no thread, no descriptor."""

    async def use(watch: Watch) -> None:
        (tmp_path / "file").write_text("x")
        assert await watch.wait(LONG)
        await asyncio.sleep(0)

    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

    watched([tmp_path], use)
    over = threading.Event()
    before = held()  # the library's own thread may still be ending; it can only be fewer from here on
    for _ in range(5):
        watched([tmp_path], use)
    for _ in range(1000):
        if held() <= before:
            break
        over.wait(0.01)
    assert held()[0] <= before[0] and held()[1] <= before[1]
