"""`glob`: by pattern, in order, bounded, and never outside the workspace."""

import asyncio
import os
import random
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins.glob import glob
from toolcrib.codeindex.glob_pattern import braces
from toolcrib.core.call import Call
from toolcrib.core.context import Context, Host
from toolcrib.core.limits import Limits
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.testing import FakeHands, ScriptedSandbox


@pytest.fixture
def place(workspace: Path, tmp_path: Path) -> Path:
    plant(
        workspace, "a.py", "b.txt", "src/main.py", "src/util.pyi", "src/deep/er/x.py", "src/deep/er/y.ts", "docs/index.md",
        "docs/api/a.md", ".github/workflows/ci.yml", ".env", "build/out.py", "src/.hidden.py", "weird [x].txt", "-e",
    )  # fmt: skip
    (workspace / ".gitignore").write_text("build/\n")
    (tmp_path / "secret.py").write_text("SECRET")
    (workspace / "out").symlink_to(tmp_path)
    return workspace


def plant(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def called(home: Path, workspace: Path, pattern: str, **args: Any) -> toolcrib.Result:
    async def ask() -> toolcrib.Result:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            return await crib.call("glob", {"pattern": pattern, **args})

    return asyncio.run(ask())


def alone(root: Path) -> Context:
    """A context of its own, with real files."""
    host = Host(str(root), ScriptedSandbox(), lambda report, judged, session: GuardedFiles(root, report, judged))
    return Context(host, Call("glob", {}, host.next_id(), "test"), Limits(), FakeHands())


@pytest.mark.parametrize(
    "pattern, paths",
    [
        ("*.py", ["a.py"]),
        ("**/*.py", ["a.py", "src/main.py", "src/deep/er/x.py"]),
        ("src/**", ["src/main.py", "src/util.pyi", "src/deep/er/x.py", "src/deep/er/y.ts"]),
        ("src/*.{py,pyi}", ["src/main.py", "src/util.pyi"]),
        ("{src,docs}/*.{py,md}", ["docs/index.md", "src/main.py"]),
        ("**/er/?.*", ["src/deep/er/x.py", "src/deep/er/y.ts"]),
        ("**/[xy].ts", ["src/deep/er/y.ts"]),
        ("**/[!x].py", ["a.py"]),
        ("src/**/**/x.py", ["src/deep/er/x.py"]),
        ("./a.py", ["a.py"]),
        ("src//main.py", ["src/main.py"]),
        ("src/../docs/*.md", ["docs/index.md"]),
        (".github/**", [".github/workflows/ci.yml"]),
        ("**/.*", [".env", ".gitignore", "src/.hidden.py"]),
        ("**/ci.yml", []),
        ("weird \\[x\\].txt", ["weird [x].txt"]),
        ("-e", ["-e"]),
        ("nothing/here/*", []),
        ("a.py/x", []),
        ("src/*/", ["src/deep/"]),
        ("**/", ["docs/", "docs/api/", "src/", "src/deep/", "src/deep/er/"]),
    ],
)
def test_what_patterns_mean(home, place, pattern, paths) -> None:
    """C46, A1"""
    result = called(home, place, pattern)
    assert (sorted(result.data["paths"]), result.data["left_out"]) == (sorted(paths), 0), result.error
    assert result.metadata["approval"] == "preApproved"


def test_alone_with_a_context(place) -> None:
    assert asyncio.run(glob.backend.run({"pattern": "*.txt"}, alone(place))) == {
        "paths": ["b.txt", "weird [x].txt"],
        "left_out": 0,
    }


def test_from_a_directory_down(home, place) -> None:
    assert called(home, place, "*.py", path="src").data["paths"] == ["src/main.py"]
    assert called(home, place, "../docs/*.md", path="src").data["paths"] == ["docs/index.md"]
    assert called(home, place, "*.py", path=str(place / "src")).data["paths"] == ["src/main.py"]
    assert called(home, place, f"{place}/src/*.py").data["paths"] == ["src/main.py"]


def test_hidden_and_ignored_files_on_request(home, place) -> None:
    assert called(home, place, "**/*.py", hidden=True).data["paths"] == [
        "a.py", "src/.hidden.py", "src/main.py", "src/deep/er/x.py",
    ]  # fmt: skip
    assert "build/out.py" in called(home, place, "**/*.py", ignored=True).data["paths"]
    assert called(home, place, "build/*").data["paths"] == ["build/out.py"]


def test_what_is_ignored_above_is_ignored_below(home, place) -> None:
    (place / ".gitignore").write_text("src/deep\n*.pyi\n")
    assert called(home, place, "**", path="src").data["paths"] == ["src/main.py"]


def test_the_order_is_by_name_or_the_newest_first(home, place) -> None:
    for age, name in enumerate(["src/deep/er/x.py", "a.py", "src/main.py"]):
        os.utime(place / name, (1_000_000 - age, 1_000_000 - age))
    assert called(home, place, "**/*.py").data["paths"] == ["a.py", "src/main.py", "src/deep/er/x.py"]
    assert called(home, place, "**/*.py", sort="modified", limit=2).data == {
        "paths": ["src/deep/er/x.py", "a.py"],
        "left_out": 1,
    }


def test_it_is_bounded_and_says_what_was_left_out(home, workspace) -> None:
    for number in range(1200):
        (workspace / f"f{number:04}").touch()
    result = called(home, workspace, "*").data
    assert (len(result["paths"]), result["left_out"]) == (1000, 200)
    assert called(home, workspace, "*", limit=1).data == {"paths": ["f0000"], "left_out": 1199}


@pytest.mark.parametrize(
    "pattern",
    [
        "../*",
        "../../**/*.py",
        "/etc/*",
        "/etc/passwd",
        "out/*",
        "out/**/*",
        "src/../../*",
        "*/../../*",
        "/**/passwd",
        "../{a,b}",
    ],
)
def test_nothing_outside_is_named(home, place, tmp_path, pattern) -> None:
    result = called(home, place, pattern)
    assert result.error.code == "PATH_OUTSIDE_WORKSPACE", result.data
    assert "secret" not in str(result.to_dict()["data"])


def test_a_link_is_named_and_not_entered(home, place) -> None:
    assert called(home, place, "**/*").data["paths"].count("out") == 1
    assert not any("secret" in path for path in called(home, place, "**/*", hidden=True, ignored=True).data["paths"])


def test_faults_come_before_anything_is_read(home, place) -> None:
    assert called(home, place, "").error.code == "VALIDATION_ERROR"
    assert called(home, place, "*", limit=0).error.code == "VALIDATION_ERROR"
    assert called(home, place, "*", sort="size").error.code == "VALIDATION_ERROR"
    assert called(home, place, "{a,b}" * 12).error.code == "VALIDATION_ERROR"
    assert called(home, place, "*", path="missing").error.code == "FILE_NOT_FOUND"


def test_names_as_strange_as_they_come(home, workspace) -> None:
    for name in (b"two\nlines", b"\xff\xfe", "ünï".encode(), b"*", b"[", b"{a,b}"):
        os.close(os.open(os.path.join(os.fsencode(workspace), name), os.O_CREAT | os.O_WRONLY))
    result = called(home, workspace, "*")
    assert (result.success, len(result.data["paths"])) == (True, 6)
    assert called(home, workspace, "\\*").data["paths"] == ["*"]
    assert called(home, workspace, "[[]").data["paths"] == ["["]


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 500 + "b",
        "**/" * 300 + "b",
        "[a-z]*" * 300,
        "**/*a*/" * 200 + "x",
        "?" * 4000,
        "{a,b}" * 8 + "*",
        "{" * 2000,
    ],
)
def test_no_pattern_takes_long(home, workspace, pattern) -> None:
    folder = workspace
    for _ in range(12):
        folder = folder / ("a" * 120)
    folder.mkdir(parents=True)
    for number in range(50):
        (folder / ("a" * 100 + str(number))).touch()
    began = time.process_time()
    assert called(home, workspace, pattern).success
    assert time.process_time() - began < 4


def test_the_loop_goes_on_and_a_search_can_be_given_up(home, workspace) -> None:
    """It runs in a thread, which stops when nobody waits any more."""
    for number in range(3000):
        (workspace / f"d{number}").mkdir()

    async def ask() -> tuple[int, toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            ticks, search = 0, asyncio.ensure_future(crib.call("glob", {"pattern": "**/*.x"}))
            while not search.done():
                await asyncio.sleep(0)
                ticks += 1
            return ticks, await crib.call("glob", {"pattern": "**/*.x"}, timeout=0.001)

    ticks, late = asyncio.run(ask())
    assert ticks > 20
    assert late.error.code == "TIMEOUT"
    assert threading.active_count() < 10


def test_braces() -> None:
    assert braces("a{b,c{d,e}}f") == ["abf", "acdf", "acef"]
    assert braces("{a") == ["{a"]
    assert braces("a}") == ["a}"]
    assert braces("{a,}b") == ["ab", "b"]
    assert braces("\\{a,b}") == ["\\{a,b}"]


def test_the_same_paths_as_a_plain_reading_of_the_pattern(home, workspace) -> None:
    """Random patterns against a slow and simple matcher."""
    chance = random.Random(7)
    names = ["a", "b", "ab", "ba", "c.py", "d.txt"]
    for _ in range(60):
        path = workspace.joinpath(
            *(chance.choice(names) + "/" for _ in range(chance.randint(0, 3))), chance.choice(names)
        )
        if not path.exists() and not any(parent.is_file() for parent in path.parents):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    files = [str(path.relative_to(workspace)) for path in workspace.rglob("*") if path.is_file()]
    pieces = ["a", "b", "*", "?", "**", "*.py", "[ab]", "[!a]*", "*a", "a*", "c.py", "*b*"]

    async def ask() -> None:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            for _ in range(400):
                pattern = "/".join(chance.choice(pieces) for _ in range(chance.randint(1, 4)))
                expected = sorted(path for path in files if slow(pattern.split("/"), path.split("/")))
                assert sorted((await crib.call("glob", {"pattern": pattern})).data["paths"]) == expected, pattern

    asyncio.run(ask())


def slow(parts: list[str], names: list[str]) -> bool:
    if not parts or not names:
        return not parts and not names
    if parts[0] == "**":
        rest = parts[1:]
        return slow(rest, names) or slow(parts, names[1:]) or (not rest and bool(names))
    expression = parts[0].replace(".", "\\.").replace("*", "[^/]*").replace("?", "[^/]").replace("[!", "[^")
    return bool(re.fullmatch(expression, names[0])) and slow(parts[1:], names[1:])
