"""The index as it is asked: several at once, by processes, with whatever may go wrong."""

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from toolcrib.codeindex import index, listing, reading, settle, stamps, store
from toolcrib.codeindex.index import CodeIndex
from toolcrib.codeindex.settle import SourceTree, Work
from toolcrib.codeindex.view import View
from toolcrib.codeindex.worker import answer, command, question
from toolcrib.core.errors import ToolError
from toolcrib.sandbox.guard import GuardedFiles

FILES = 90


@pytest.fixture
def files(workspace: Path) -> GuardedFiles:
    for number in range(FILES):
        place = workspace / f"d{number % 7}" / f"f{number}.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"import os\nclass C{number}:\n    def f{number}(self): return f{number // 2}\n")
    for number in range(10):
        (workspace / f"app{number}.js").write_text(f"export function js{number}() {{}}\n")
    return GuardedFiles(workspace)


async def started(argv: tuple[str, ...], stdin: bytes) -> bytes:
    """A program, as the sandbox would start it."""
    process = await asyncio.create_subprocess_exec(*argv, stdin=-1, stdout=-1, env={}, cwd="/")
    said, _ = await process.communicate(stdin)
    return said


def known(view: View) -> Any:
    return [(p, view.language(p), view.definitions(p), view.imports(p), view.exports(p)) for p in view.paths()], set(
        view.names()
    )


def settled(files: GuardedFiles, run: Callable[..., Awaitable[bytes]] | None = None, *, workers: int = 2) -> View:
    return asyncio.run(CodeIndex(cache=None, run=run, workers=workers).settled(files))


def test_processes_find_what_we_find(files: GuardedFiles) -> None:
    starts: list[tuple[str, ...]] = []

    async def run(argv: tuple[str, ...], stdin: bytes) -> bytes:
        starts.append(argv)
        return await started(argv, stdin)

    assert known(settled(files, run)) == known(settled(files))
    assert starts == [command()]


def test_much_is_divided_among_processes(files: GuardedFiles, workspace: Path) -> None:
    for number in range(40):
        (workspace / f"large{number}.py").write_text(f"def large{number}(): pass\n" + "# words\n" * 20_000)
    starts: list[bytes] = []

    async def run(argv: tuple[str, ...], stdin: bytes) -> bytes:
        starts.append(stdin)
        return await started(argv, stdin)

    assert known(settled(files, run, workers=3)) == known(settled(files))
    assert len(starts) == 3


def test_little_is_done_here(workspace: Path) -> None:
    async def never(argv: tuple[str, ...], stdin: bytes) -> bytes:
        raise AssertionError("a process for one file")

    (workspace / "f.py").write_text("def f(): pass\n")
    assert settled(GuardedFiles(workspace), never).names() == {"f"}


@pytest.mark.parametrize("said", [b"", b"\0\0\0\0", b"no answer at all", b"\xff" * 1000, None])
def test_a_process_that_comes_to_no_good_end(files: GuardedFiles, said: bytes | None) -> None:
    """The answer is the same."""

    async def run(argv: tuple[str, ...], stdin: bytes) -> bytes:
        if said is None:
            raise ToolError("nothing can be started here", before_effect=True)
        return said

    assert known(settled(files, run)) == known(settled(files))


def test_a_process_that_is_killed_half_way(files: GuardedFiles) -> None:
    async def run(argv: tuple[str, ...], stdin: bytes) -> bytes:
        process = await asyncio.create_subprocess_exec(*argv, stdin=-1, stdout=-1, env={}, cwd="/")
        assert process.stdin is not None
        process.stdin.write(stdin[: len(stdin) // 2])
        await process.stdin.drain()
        process.kill()
        return (await process.communicate())[0]

    assert known(settled(files, run)) == known(settled(files))


def test_an_answer_that_was_cut_is_none(files: GuardedFiles, workspace: Path) -> None:
    root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    try:
        asked = question(str(workspace), root, ["app1.js", "d1/f1.py"], now=2**62)
    finally:
        os.close(root)
    said = asyncio.run(started(command(), asked))
    assert [row[0] for row in answer(said) or ()] == ["app1.js", "d1/f1.py"]
    assert all(answer(said[:length]) is None for length in range(0, len(said), 7))


def test_a_process_does_not_enter_another_directory(workspace: Path, tmp_path: Path) -> None:
    """The workspace was moved away, and another one lies in its place."""
    (workspace / "f.py").write_text("def mine(): pass\n")
    root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    try:
        asked = question(str(workspace), root, ["f.py"], now=0)
    finally:
        os.close(root)
    os.rename(workspace, tmp_path / "moved")
    workspace.mkdir()
    (workspace / "f.py").write_text("def secret(): pass\n")
    assert asyncio.run(started(command(), asked)) == b""


def test_nothing_of_the_workspace_runs(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that lie in the workspace under the names of those that a worker imports."""
    marker = workspace / "it-ran"
    for name in (
        "re",
        "os",
        "marshal",
        "zlib",
        "gc",
        "typing",
        "sitecustomize",
        "usercustomize",
        "toolcrib",
        "tree_sitter",
    ):
        (workspace / f"{name}.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    (workspace / "pyvenv.cfg").write_text("home = .\n")
    (workspace / "app.js").write_text("function run() {}\n")  # brings the parsers
    monkeypatch.syspath_prepend(workspace)

    async def run(argv: tuple[str, ...], stdin: bytes) -> bytes:
        env = {"PYTHONPATH": str(workspace), "PYTHONSTARTUP": str(workspace / "re.py"), "HOME": str(workspace)}
        process = await asyncio.create_subprocess_exec(*argv, stdin=-1, stdout=-1, env=env, cwd=workspace)
        return (await process.communicate(stdin))[0]

    root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    try:
        asked = question(str(workspace), root, ["re.py", "app.js"], now=0)
    finally:
        os.close(root)
    rows = answer(asyncio.run(run(command(), asked)))
    assert rows is not None
    assert [row[:1] + row[2:5] for row in rows][1] == ("app.js", "javascript", "", b"\nrun\n")
    assert not marker.exists()


def test_many_at_once_are_served_together(files: GuardedFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = _counted(monkeypatch)

    async def all_at_once() -> list[View]:
        made = CodeIndex(cache=None, run=None)
        return await asyncio.gather(*(made.settled(files) for _ in range(50)))

    views = asyncio.run(all_at_once())
    assert {len(view.paths()) for view in views} == {FILES + 10}
    assert len(looks) == 1


def test_who_asks_after_a_change_sees_it(files: GuardedFiles, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when somebody else's look was under way, which may have been before the change."""
    looked, go_on = threading.Event(), threading.Event()
    real = SourceTree.look

    def slow(tree: SourceTree, root: int, *, words: bool) -> Work:
        work = real(tree, root, words=words)
        looked.set()
        assert go_on.wait(30)
        return work

    monkeypatch.setattr(SourceTree, "look", slow)

    async def ask() -> tuple[View, View]:
        made = CodeIndex(cache=None, run=None)
        early = asyncio.create_task(made.settled(files))
        await asyncio.to_thread(looked.wait, 30)
        (workspace / "late.py").write_text("def late(): pass\n")
        after = [asyncio.create_task(made.settled(files)) for _ in range(5)]
        await asyncio.sleep(0)
        go_on.set()
        return await early, (await asyncio.gather(*after))[-1]

    early, after = asyncio.run(ask())
    assert "late" not in early.names()
    assert "late" in after.names()


def test_giving_up_is_nobody_elses_loss(files: GuardedFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = _counted(monkeypatch)

    async def ask() -> View:
        made = CodeIndex(cache=None, run=None)
        first, second = asyncio.create_task(made.settled(files)), asyncio.create_task(made.settled(files))
        await asyncio.sleep(0)
        first.cancel()
        view = await second
        with pytest.raises(asyncio.CancelledError):
            await first
        return view

    assert len(asyncio.run(ask()).paths()) == FILES + 10
    assert len(looks) == 1


def test_the_end_of_the_loop_waits_for_what_uses_the_directory(
    files: GuardedFiles, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A descriptor that is closed too early may be another directory's a moment later."""
    looked, places = threading.Event(), []
    real = SourceTree.look

    def slow(tree: SourceTree, root: int, *, words: bool) -> Work:
        looked.set()
        for _ in range(50):
            work = real(SourceTree(), root, words=words)
            places.append(os.readlink(f"/proc/self/fd/{root}") if os.path.isdir("/proc/self/fd") else "")
        return work

    monkeypatch.setattr(SourceTree, "look", slow)

    async def leave() -> None:
        task = asyncio.create_task(CodeIndex(cache=None, run=None).settled(files))
        await asyncio.to_thread(looked.wait, 30)
        assert not task.done()

    asyncio.run(leave())
    assert len(places) == 50
    assert len(set(places)) == 1
    gc.collect()
    assert not caplog.records  # whoever gave up needs not hear of how it ended


def test_a_workspace_that_cannot_be_read_is_an_error_for_all_who_asked(tmp_path: Path) -> None:
    class Closed(GuardedFiles):
        asked = 0

        @contextmanager
        def directory(self, path: str = ".") -> Any:
            self.asked += 1
            if self.asked > 3:
                raise ToolError("gone", code="FILE_NOT_FOUND")
            with super().directory(path) as place:
                yield place

    async def ask() -> list[Any]:
        made, files = CodeIndex(cache=None, run=None), Closed(tmp_path)
        return await asyncio.gather(*(made.settled(files) for _ in range(3)), return_exceptions=True)

    assert [getattr(each, "code", each) for each in asyncio.run(ask())] == ["FILE_NOT_FOUND"] * 3


def test_the_next_run_reads_nothing(files: GuardedFiles, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")

    async def rested() -> None:
        made = CodeIndex(cache=cache, run=started)
        while (await made.settled(files)).reread:
            pass

    async def again() -> View:
        return await CodeIndex(cache=cache, run=None).settled(files)

    asyncio.run(rested())
    view = asyncio.run(again())
    assert view.reread == 0
    assert known(view) == known(settled(files))


@pytest.mark.parametrize("run", [None, started])
def test_words_may_be_left_for_later(files: GuardedFiles, tmp_path: Path, run: Any) -> None:
    """Until somebody wants them, every file that lacks them may mention everything."""
    cache = str(tmp_path / "cache")

    async def ask(*, words: bool) -> View:
        return await CodeIndex(cache=cache, run=run).settled(files, words=words)

    first = asyncio.run(ask(words=False))
    assert first.mentioning("f7") == list(first.paths())
    assert [path for path, _ in first.defined("f7")] == ["d0/f7.py"]
    assert asyncio.run(ask(words=False)).mentioning("f7") == list(first.paths())
    then = asyncio.run(ask(words=True))
    assert then.reread == FILES + 10
    assert then.mentioning("f7") == ["d0/f14.py", "d0/f7.py", "d1/f15.py"]
    assert known(then) == known(first)


def test_who_wants_the_words_gets_them_among_others_who_do_not(files: GuardedFiles) -> None:
    async def ask() -> list[View]:
        made = CodeIndex(cache=None, run=None)
        return await asyncio.gather(*(made.settled(files, words=number == 3) for number in range(5)))

    assert {tuple(view.mentioning("f7")) for view in asyncio.run(ask())} == {("d0/f14.py", "d0/f7.py", "d1/f15.py")}


def test_starting_up_imports_little() -> None:
    """A worker starts in some 30 ms, and pays for the parsers only when there is something for them."""
    code = "import sys; sys.path.append(sys.argv[1]); import toolcrib.codeindex.worker; print(*sys.modules)"
    argv = (*command()[:3], "-c", code, command()[-1])
    loaded = set(asyncio.run(started(argv, b"")).decode().split())
    assert loaded.isdisjoint(
        {"asyncio", "tree_sitter", "tree_sitter_language_pack", "dataclasses", "site", "toolcrib.core"}
    )
    assert command()[0] == sys.executable


def test_the_page_says_what_is_so() -> None:
    page = " ".join((Path(__file__).parents[2] / "docs" / "code-index.md").read_text().split())
    assert reading.LARGEST == 1024 * 1024
    assert "files of more than 1 MiB" in page
    assert (
        f"more than {reading._SMALLEST_MINIFIED // 1024} KiB whose lines have more than {reading._LONG_LINE} bytes"
        in page
    )
    assert f"beyond {listing.MOST_FILES:,} files, or beyond {settle.MOST_BYTES // 1024**3} GiB" in page
    assert f"at most {store._MOST_WORKSPACES} workspaces" in page
    assert f"more than {index._MANY_FILES} files or {index._MANY_BYTES // 1024**2} MiB" in page
    assert stamps._SLACK_NS == 1e9 / 10
    assert "within the last tenth of a second" in page
    assert all(f"`{why}`" in page for why in (stamps.TOO_LARGE, stamps.MINIFIED, stamps.BINARY, stamps.UNREADABLE))


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    looks: list[int] = []
    real = SourceTree.look

    def look(tree: SourceTree, root: int, *, words: bool) -> Work:
        looks.append(root)
        return real(tree, root, words=words)

    monkeypatch.setattr(SourceTree, "look", look)
    return looks
