"""`grep`: what it shows, in which order, within which bounds, and that nothing outside is ever read."""

import asyncio
import os
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins import _engine
from toolcrib.builtins.grep import grep
from toolcrib.core.call import Call
from toolcrib.core.context import Context, Host
from toolcrib.core.limits import Limits
from toolcrib.core.process import Captured, Completed
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.testing import FakeHands, ScriptedSandbox

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc to see processes in")


def plant(root: Path, files: dict[str, str | bytes]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)


def swell(root: Path) -> None:
    """So many files that a program does the work."""
    (root / "many").mkdir()
    for number in range(300):
        (root / "many" / f"z{number}").touch()


@pytest.fixture(params=["own", "ripgrep", "python"])
def engine(request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each engine in turn."""
    if request.param == "python":
        monkeypatch.setattr(_engine, "ripgrep", lambda ctx: None)
    if request.param == "ripgrep" and not any(
        os.access(os.path.join(folder, "rg"), os.X_OK) for folder in os.environ["PATH"].split(":")
    ):
        pytest.skip("ripgrep is not installed")
    if request.param != "own":
        swell(workspace)
    yield request.param


def called(home: Path, workspace: Path, pattern: str, *, timeout: float | None = None, **args: Any) -> toolcrib.Result:
    async def ask() -> toolcrib.Result:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            return await crib.call("grep", {"pattern": pattern, **args}, timeout=timeout)

    return asyncio.run(ask())


def alone(root: Path, *answers: Completed | bytes, environ: dict[str, str] | None = None) -> Context:
    """A context of its own, with real files and a sandbox that starts nothing."""
    sandbox = ScriptedSandbox(*answers)
    host = Host(str(root), sandbox, lambda report, judged, session: GuardedFiles(root, report, judged), environ or {})
    return Context(host, Call("grep", {}, host.next_id(), "test"), Limits(), FakeHands())


def running_in(workspace: Path) -> list[str]:
    """The processes that were started for calls in a workspace."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"TOOLCRIB_WORKSPACE={workspace}\0".encode() in file.read():
                    found.append(pid)
        except OSError:
            continue
    return found


def test_alone_with_a_context(workspace) -> None:
    plant(workspace, {"a.txt": "one\ntwo\nthree\n"})
    ctx = alone(workspace)
    assert asyncio.run(grep.backend.run({"pattern": "t"}, ctx)) == "a.txt\n2:two\n3:three"
    assert ctx.report["search"] == {"engine": "own", "files": 1, "lines": 2, "left_out": 0, "complete": True}


def test_what_is_shown(home, workspace, engine) -> None:
    """C46, A1: files in their order, lines with their numbers, and those around them on request."""
    plant(
        workspace,
        {
            "uses.py": "x = total(1)\n" + "pass\n" * 5 + "y = total(2)\nz = total(3)\n",
            "define.py": "import os\n\n\ndef total(values):\n    return sum(values)\n",
            "lib/other.py": "total()\n",
            "notes.txt": "nothing\n",
        },
    )
    result = called(home, workspace, "total")
    assert result.data == (
        "define.py\n4:def total(values):\n\nuses.py\n1:x = total(1)\n7:y = total(2)\n8:z = total(3)\n\nlib/other.py\n1:total()"
    )
    assert (result.metadata["search"]["engine"], result.metadata["approval"]) == (engine, "preApproved")
    assert called(home, workspace, "total", context=1, glob="*s.py").data == (
        "uses.py\n1:x = total(1)\n2-pass\n--\n6-pass\n7:y = total(2)\n8:z = total(3)"
    )
    assert called(home, workspace, "total", output="files").data == "define.py\nuses.py\nlib/other.py"
    assert called(home, workspace, "total", output="count").data == "define.py: 1\nuses.py: 3\nlib/other.py: 1"
    assert called(home, workspace, "TOTAL", ignore_case=True, path="lib").data == "lib/other.py\n1:total()"
    assert called(home, workspace, "absent", path="lib").data.startswith("no matches")


def test_it_is_bounded_and_says_what_was_left_out(home, workspace, engine) -> None:
    plant(workspace, {f"f{number:02}.txt": "hit\n" * 20 for number in range(30)})
    result = called(home, workspace, "hit", limit=50)
    assert result.data.count(":hit") == 50
    assert result.data.endswith("[550 more matching lines left out; narrow the pattern or the path, or raise limit]")
    assert "[15 more in this file]" in result.data
    assert result.metadata["search"] == {
        "engine": engine, "files": 30, "lines": 600, "left_out": 550, "complete": True,
    }  # fmt: skip
    files = called(home, workspace, "hit", limit=10, output="files").data.splitlines()
    assert (len(files), files[-1][:19]) == (11, "[20 more files left")


def test_a_long_line_is_cut_around_the_hit_and_says_so(home, workspace, engine) -> None:
    plant(workspace, {"a.txt": "é" * 4000 + "needle" + "ü" * 4000 + "\nneedle\n"})
    lines = called(home, workspace, "needle").data.splitlines()
    assert "needle" in lines[1]
    assert len(lines[1].encode()) < 400
    assert lines[1].startswith("1:…é") and lines[1].endswith("ü… [cut: a long line]")
    assert lines[2] == "2:needle"


def test_a_binary_is_named_and_not_shown(home, workspace, engine) -> None:
    plant(workspace, {"a.bin": b"\0\1\2needle\0\xff" * 10, "b.txt": "needle\n"})
    assert called(home, workspace, "needle").data == "b.txt\n1:needle"
    assert called(home, workspace, "needle", binary=True).data == "a.bin: a binary file, matches\n\nb.txt\n1:needle"
    assert called(home, workspace, "needle", path="a.bin").data == "a.bin: a binary file, matches"


def test_encodings(home, workspace, engine) -> None:
    """UTF-8 and UTF-16 that say so; what is neither is shown byte by byte."""
    plant(
        workspace,
        {
            "a.txt": "\ufeffcafé\n".encode(),
            "b.txt": "x\ncafé\n".encode("utf-16"),
            "c.txt": "x\r\ncafé\r\n",
            "d.txt": b"caf\xe9 cafe\n",
        },
    )
    assert called(home, workspace, "café").data == "a.txt\n1:café\n\nb.txt\n2:café\n\nc.txt\n2:café"
    assert (
        called(home, workspace, "^café$", context=1, glob="[bc].txt").data == "b.txt\n1-x\n2:café\n\nc.txt\n1-x\n2:café"
    )
    assert called(home, workspace, "cafe", glob="d.txt").data == "d.txt\n1:caf\\xe9 cafe"


def test_which_files_are_searched(home, workspace, engine) -> None:
    plant(
        workspace,
        {
            "a.py": "hit\n", "src/b.py": "hit\n", "src/c.ts": "hit\n", "src/gen/d.py": "hit\n", ".env": "hit\n",
            ".github/ci.yml": "hit\n", "build/e.py": "hit\n", "f.log": "hit\n", ".git/config": "hit\n",
            ".gitignore": "/build/\n*.log\nsrc/gen\n",
        },
    )  # fmt: skip

    def files(**args: Any) -> set[str]:
        return set(called(home, workspace, "hit", output="files", **args).data.splitlines())

    assert files() == {"a.py", "src/b.py", "src/c.ts"}
    assert files(path="src") == {"src/b.py", "src/c.ts"}
    assert files(path="src/gen") == {"src/gen/d.py"}
    assert files(glob="*.py") == {"a.py", "src/b.py"}
    assert files(glob="src/**/*.{py,ts}") == {"src/b.py", "src/c.ts"}
    assert files(glob="!*.py") == {"src/c.ts"}
    assert files(glob="*.log") == {"f.log"}
    assert files(glob=".github/**") == {".github/ci.yml"}
    assert files(hidden=True) == {"a.py", "src/b.py", "src/c.ts", ".env", ".github/ci.yml"}
    assert files(ignored=True) == {"a.py", "src/b.py", "src/c.ts", "src/gen/d.py", "build/e.py", "f.log"}
    assert files(ignored=True, hidden=True, glob="con*") == {".git/config"}


def test_one_file(home, workspace, engine) -> None:
    plant(workspace, {"src/a.py": "one\ntwo\n", "big.txt": "filler line\n" * 100_000 + "needle\n"})
    assert called(home, workspace, "two", path="src/a.py").data == "src/a.py\n2:two"
    assert (
        called(home, workspace, "needle", path="big.txt", context=1).data
        == "big.txt\n100000-filler line\n100001:needle"
    )
    assert called(home, workspace, "absent", path="big.txt").data == "no matches"


def test_faults(home, workspace) -> None:
    plant(workspace, {"a.txt": "x"})
    for args in ({"limit": 0}, {"context": -1}, {"output": "all"}, {"path": ""}, {"extra": 1}, {"glob": "{a,b}" * 12}):
        assert called(home, workspace, "x", **args).error.code == "VALIDATION_ERROR"
    assert called(home, workspace, "x", path="missing").error.code == "FILE_NOT_FOUND"


@pytest.mark.parametrize("path", ["..", "../secret.txt", "/etc", "/etc/passwd", "out", "out/secret.txt", "src/../.."])
def test_nothing_outside_is_read(home, workspace, tmp_path, path) -> None:
    plant(tmp_path, {"secret.txt": "SECRET root:\n"})
    plant(workspace, {"src/a": "x"})
    (workspace / "out").symlink_to(tmp_path)
    result = called(home, workspace, "SECRET|root:", path=path)
    assert (result.error.code, result.data) == ("PATH_OUTSIDE_WORKSPACE", None)


def test_links_pipes_and_devices_in_a_tree_are_passed_by(home, workspace, tmp_path, engine) -> None:
    plant(tmp_path, {"secret.txt": "SECRET\n"})
    plant(workspace, {"a.txt": "a SECRET of its own\n"})
    (workspace / "out").symlink_to(tmp_path)
    (workspace / "out.txt").symlink_to(tmp_path / "secret.txt")
    (workspace / "loop").symlink_to(workspace)
    os.mkfifo(workspace / "pipe")
    assert called(home, workspace, "SECRET", hidden=True, ignored=True).data == "a.txt\n1:a SECRET of its own"
    assert called(home, workspace, "SECRET", path="pipe").error.code == "PATH_NOT_REGULAR"
    if os.geteuid() == 0:
        os.mknod(workspace / "zero", 0o644 | stat.S_IFCHR, os.makedev(1, 5))
        assert called(home, workspace, "SECRET").success


def test_what_a_program_found_is_read_again_by_ourselves(workspace, tmp_path) -> None:
    """A program says it found something in a file that is a link by now: nothing of it is shown."""
    plant(tmp_path, {"secret.txt": "SECRET\n", "outside/b.txt": "SECRET\n"})
    plant(workspace, {"real.txt": "a SECRET\n"})
    swell(workspace)
    (workspace / "a.txt").symlink_to(tmp_path / "secret.txt")
    (workspace / "in").symlink_to(tmp_path / "outside")
    said = b"./a.txt\0001:1:0:SECRET\n\n./in/b.txt\0001:1:0:SECRET\n\n./../secret.txt\0001:1:0:SECRET\n\n./real.txt\0001:3:0:a SECRET\n"
    rg = tmp_path / "bin" / "rg"
    plant(tmp_path, {"bin/rg": "#!/bin/sh\n"})
    rg.chmod(0o755)
    ctx = alone(workspace, said, environ={"PATH": str(rg.parent)})
    text = asyncio.run(grep.backend.run({"pattern": "SECRET"}, ctx))
    assert text.startswith("real.txt\n1:a SECRET\n[3 more matching lines left out")
    assert len(ctx.sandbox.commands) == 1  # type: ignore[attr-defined]


def test_nothing_outside_is_shown_while_directories_are_swapped(home, workspace, tmp_path) -> None:
    """Links take the place of directories and go again, all the time, while a program searches."""
    outside = tmp_path / "outside"
    plant(outside, {"a.txt": "SECRET\n"})
    plant(workspace, {f"d{number:02}/a.txt": "inside\n" for number in range(20)})
    swell(workspace)
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for number in range(20):
                folder, aside = workspace / f"d{number:02}", workspace / f"aside{number:02}"
                folder.rename(aside)
                folder.symlink_to(outside)
                folder.unlink()
                aside.rename(folder)

    async def ask() -> list[str]:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            return [str((await crib.call("grep", {"pattern": "SECRET|inside"})).data) for _ in range(30)]

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        texts = asyncio.run(ask())
    finally:
        over.set()
        thread.join()
    assert not any("SECRET" in text for text in texts)
    assert any("inside" in text for text in texts)


@pytest.mark.parametrize("pattern", ["--pre=touch", "-f/etc/passwd", "--files", "-e", "--", "-"])
@pytest.mark.parametrize("where", ["pattern", "glob", "path"])
def test_no_argument_is_taken_for_an_option(home, workspace, pattern, where) -> None:
    plant(workspace, {"x.txt": f"the text {pattern}\n"})
    swell(workspace)
    if where == "pattern":
        result = called(home, workspace, pattern, literal=True)
        assert f"1:the text {pattern}" in result.data
    elif where == "glob":
        assert called(home, workspace, "text", glob=pattern).data.startswith("no matches")
    else:
        assert called(home, workspace, "text", path=pattern).error.code == "FILE_NOT_FOUND"


def test_no_program_of_the_workspace_is_started(home, workspace, tmp_path, monkeypatch) -> None:
    """Though the PATH leads there: not even by way of a link from outside."""
    plant(workspace, {"bin/rg": f"#!/bin/sh\ntouch {tmp_path}/started\n", "a.txt": "hit\n"})
    (workspace / "bin" / "rg").chmod(0o755)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "rg").symlink_to(workspace / "bin" / "rg")
    swell(workspace)
    monkeypatch.setenv("PATH", f"{workspace}/bin:{tmp_path}/links:bin:.:{os.environ['PATH']}")
    assert "1:hit" in called(home, workspace, "hit").data
    assert not (tmp_path / "started").exists()


def test_nothing_of_the_environment_changes_the_search(home, workspace, tmp_path, monkeypatch) -> None:
    plant(tmp_path, {"config": "--files\n", "home/.gitignore": "*"})
    plant(workspace, {"a.txt": "hit\n"})
    swell(workspace)
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "config"))
    assert called(home, workspace, "hit").data == "a.txt\n1:hit"


def test_names_as_strange_as_they_come(home, workspace, engine) -> None:
    for name in (b"two\nlines", b"two\n\nmore", b"\xff\xfe", b"-e", b"a:1:b", b"tab\t"):
        path = os.path.join(os.fsencode(workspace), name)
        with open(path, "wb") as file:
            file.write(b"needle\n")
    text = called(home, workspace, "needle").data
    names = [line for line in text.splitlines() if line and line != "1:needle"]
    assert sorted(names) == sorted(["two\\nlines", "two\\n\\nmore", "\\xff\\xfe", "-e", "a:1:b", "tab\\t"])


@needs_proc
def test_a_pattern_that_runs_away_is_ended(home, workspace) -> None:
    """With look-around only Python can do it, and Python takes for ever: so a process does, which is ended."""
    plant(workspace, {"a.txt": "first hit\n", "b.txt": "a" * 60 + "!\n"})
    pattern = r"first|(?=a)(a+)+(a+)+(a+)+$unmistakable"

    async def ask() -> tuple[int, toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            ticks, search = 0, asyncio.ensure_future(crib.call("grep", {"pattern": pattern}, timeout=1.5))
            while not search.done():
                await asyncio.sleep(0.01)
                ticks += 1
            return ticks, await search

    ticks, result = asyncio.run(ask())
    assert result.data.startswith("a.txt\n1:first hit\n[the search was ended after 1.2 s; there may be more")
    assert result.metadata["search"]["complete"] is False
    assert ticks > 30
    assert running_in(workspace) == []


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|a)*b", r"(a?){30}a{30}$", r"(\w+\s?)+x$", "a*a*a*a*a*a*b", ".*.*.*.*=.*"]
)
def test_patterns_that_are_slow_elsewhere_are_not_here(home, workspace, pattern) -> None:
    plant(workspace, {"a.txt": "a" * 30_000 + "!\n", "b.txt": "x = 1\n"})

    async def ask() -> tuple[float, toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            loop, longest = asyncio.get_running_loop(), 0.0
            search = asyncio.ensure_future(crib.call("grep", {"pattern": pattern}, timeout=20))
            while not search.done():
                before = loop.time()
                await asyncio.sleep(0)
                longest = max(longest, loop.time() - before)
            return longest, await search

    longest, result = asyncio.run(ask())
    assert result.success
    assert longest < 1


@needs_proc
def test_a_search_that_is_cancelled_leaves_nothing_running(home, workspace) -> None:
    plant(workspace, {"b.txt": "a" * 60 + "!\n"})

    async def ask() -> None:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            search = asyncio.ensure_future(crib.call("grep", {"pattern": r"(?=a)(a+)+(a+)+$unmistakable"}))
            while not running_in(workspace):
                await asyncio.sleep(0.01)
            search.cancel()
            with pytest.raises(asyncio.CancelledError):
                await search

    asyncio.run(ask())
    assert running_in(workspace) == []


def test_many_at_once(home, workspace) -> None:
    plant(workspace, {f"d{number}/a.txt": f"hit {number}\n" for number in range(40)})
    swell(workspace)

    async def ask() -> list[toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            return await asyncio.gather(*(crib.call("grep", {"pattern": f"hit {number}$"}) for number in range(40)))

    before = len(os.listdir("/dev/fd"))
    results = asyncio.run(ask())
    assert [result.data for result in results] == [f"d{number}/a.txt\n1:hit {number}" for number in range(40)]
    assert len(os.listdir("/dev/fd")) <= before


def test_a_program_that_fails_is_reported(workspace, tmp_path) -> None:
    plant(tmp_path, {"bin/rg": "#!/bin/sh\n"})
    (tmp_path / "bin" / "rg").chmod(0o755)
    swell(workspace)
    plant(workspace, {"a.txt": "hit\n"})
    broken = Completed(134, Captured(), Captured(b"memory allocation failed\n", total=25))
    ctx = alone(workspace, broken, environ={"PATH": str(tmp_path / "bin")})
    with pytest.raises(toolcrib.ToolError, match="memory allocation failed") as raised:
        asyncio.run(grep.backend.run({"pattern": "hit"}, ctx))
    assert raised.value.code == "SEARCH_ERROR"
    early = Completed(134, Captured(b"./a.txt\0001:1:0:hit\n\n./b", total=24), Captured())
    ctx = alone(workspace, early, environ={"PATH": str(tmp_path / "bin")})
    text = asyncio.run(grep.backend.run({"pattern": "hit"}, ctx))
    assert text == "a.txt\n1:hit\n[ripgrep ended early (exit status 134); there may be more: narrow the path]"


def test_only_python_itself_is_needed(home, workspace, monkeypatch) -> None:
    """No ripgrep anywhere, and a PATH with nothing on it."""
    plant(workspace, {"a.txt": "hit\n"})
    swell(workspace)
    monkeypatch.setattr(sys, "prefix", str(workspace.parent / "nowhere"))
    monkeypatch.setenv("PATH", str(workspace.parent / "nowhere"))
    result = called(home, workspace, "hit")
    assert (result.data, result.metadata["search"]["engine"]) == ("a.txt\n1:hit", "python")
