"""What can be asked about a source tree at one moment."""

import asyncio
import os
from pathlib import Path

import pytest

from toolcrib.codeindex.facts import Definition, Import
from toolcrib.codeindex.index import CodeIndex
from toolcrib.codeindex.reading import LARGEST
from toolcrib.codeindex.view import View
from toolcrib.core.errors import ToolError
from toolcrib.sandbox.guard import GuardedFiles

SHAPES = "from os import path\n__all__ = ['Shape']\nclass Shape:\n    def area(self): return path\n"


def view_of(root: Path, files: dict[str, str | bytes]) -> View:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return asyncio.run(CodeIndex(cache=None, run=None).settled(GuardedFiles(root)))


def test_one_file(workspace: Path) -> None:
    """C13: the definitions, imports and exports of a file."""
    view = view_of(workspace, {"shapes.py": SHAPES})
    assert view.definitions("shapes.py") == (
        Definition("__all__", "variable", 2, 0, exported=False),
        Definition("Shape", "class", 3, 6),
        Definition("area", "method", 4, 8, scope="Shape"),
    )
    assert view.imports("shapes.py") == (Import("os", 1, (("path", "path"),)),)
    assert view.exports("shapes.py") == (("Shape", 2),)
    assert view.language("shapes.py") == "python"


@pytest.mark.parametrize("path", ["", "nowhere.py", "../shapes.py", "\0", "a\nb", "\udcff"])
def test_a_file_that_is_not_there_has_nothing(workspace: Path, path: str) -> None:
    view = view_of(workspace, {"shapes.py": SHAPES})
    assert view.language(path) == ""
    assert (view.definitions(path), view.imports(path), view.exports(path)) == ((), (), ())


def test_all_of_one_name(workspace: Path) -> None:
    view = view_of(workspace, {"b.py": "def f(): pass\n", "a.py": "x = 1\ndef f(): pass\ndef ff(): pass\nf = 2\n"})
    assert [(path, each.kind, each.line) for path, each in view.defined("f")] == [
        ("a.py", "function", 2),
        ("a.py", "variable", 4),
        ("b.py", "function", 1),
    ]
    assert view.names() == {"f", "ff", "x"}


@pytest.mark.parametrize("name", ["", "\n", "f\nf", "nothing", "\0", "\ud800", "f" * 1_000_000, "x = 1"])
def test_a_name_that_nobody_has(workspace: Path, name: str) -> None:
    assert view_of(workspace, {"a.py": "def f(): pass\n"}).defined(name) == []


def test_who_mentions_a_word(workspace: Path) -> None:
    files = {
        "a.py": "call(word)\n",
        "b.py": "# word in a comment\n",
        "c.py": "words = 1\n",
        "d.js": "let $word = x.word\n",
        "e.py": "'größe'\n",
        "sub/f.py": "x = 'a-word'\n",
    }
    view = view_of(workspace, dict(files))
    assert view.mentioning("word") == ["a.py", "b.py", "d.js", "sub/f.py"]
    assert view.mentioning("größe") == ["e.py"]
    assert view.mentioning("x.word") == ["d.js", "sub/f.py"]
    assert view.mentioning("nobody") == []
    assert view.mentioning("") == ()
    assert set(view.mentioning("->")) == set(files)
    assert set(view.mentioning("w" * 1_000_000)) == set(files)


def test_asking_a_thousand_times_gives_the_same(workspace: Path) -> None:
    """From some point on there is a table, and it says what the search has said."""
    files: dict[str, str | bytes] = {f"f{n}.py": f"def f{n}(): return f{n // 2}\n" for n in range(100)}
    view = view_of(workspace, files)
    for _ in range(2):
        for n in range(100):
            users = {f"f{n}.py", *(f"f{m}.py" for m in (2 * n, 2 * n + 1) if m < 100)}
            assert view.mentioning(f"f{n}") == sorted(users)
            assert [path for path, _ in view.defined(f"f{n}")] == [f"f{n}.py"]
    assert view.mentioning("f") == []
    assert view.defined("") == []


def test_other_encodings(workspace: Path) -> None:
    files: dict[str, str | bytes] = {
        "latin.py": "# -*- coding: latin-1 -*-\ndef größe(): pass\n".encode("latin-1"),
        "wide.cs": "class Größe { void Öffne() {} }\n".encode("utf-16"),
        "odd.py": b"# coding: zip_codec\ndef plain(): pass\n",
        "unknown.py": b"# coding: cp99999\ndef unknown(): pass\n",
        "broken.py": b"def broken(): pass\nx = '\xff\xfe'\n",
    }
    view = view_of(workspace, files)
    assert [path for path, _ in view.defined("größe")] == ["latin.py"]
    assert [path for path, _ in view.defined("Größe")] == ["wide.cs"]
    assert view.mentioning("Öffne") == ["wide.cs"]
    assert {"plain", "unknown", "broken"} <= set(view.names())
    assert "größe".encode() in view.read("latin.py")


def test_reading_is_bounded_and_is_nobodys_reading(workspace: Path) -> None:
    view = view_of(workspace, {"f.py": "def f(): pass\n"})
    files = GuardedFiles(workspace)
    assert View(view._snapshot, files).read("f.py") == b"def f(): pass\n"
    assert files.report == {}, "a session would be free to overwrite what it has not seen"
    (workspace / "f.py").write_bytes(b"#" * (2 * LARGEST))
    assert len(view.read("f.py")) == LARGEST


def test_reading_leads_nowhere_else(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/f.py").write_text("secret = 1\n")
    view = view_of(workspace, {"d/f.py": "f = 1\n", "g.py": "g = 1\n"})
    os.rename(workspace / "d", tmp_path / "moved")
    os.symlink(tmp_path / "outside", workspace / "d")
    (workspace / "g.py").unlink()
    os.symlink(tmp_path / "outside/f.py", workspace / "g.py")
    os.mkfifo(workspace / "pipe.py")
    paths = (
        "d/f.py",
        "g.py",
        "../outside/f.py",
        str(tmp_path / "outside/f.py"),
        "pipe.py",
        "nowhere.py",
        ".",
        "",
        "\0",
    )
    for path in paths:
        with pytest.raises(ToolError):
            view.read(path)
    assert list(view.read_all(paths)) == []


def test_reading_many(workspace: Path) -> None:
    files: dict[str, str | bytes] = {f"{'d/' * (n % 40)}f{n}.py": f"f = {n}\n" for n in range(80)}
    view = view_of(workspace, dict(files))
    wanted = sorted(files, key=lambda path: path[::-1])
    assert list(view.read_all(wanted)) == [(path, view.read(path)) for path in wanted]


def test_a_view_stays_as_it_is(workspace: Path) -> None:
    index = CodeIndex(cache=None, run=None)

    async def twice() -> tuple[View, View]:
        first = await index.settled(GuardedFiles(workspace))
        (workspace / "f.py").write_text("def new(): pass\n")
        return first, await index.settled(GuardedFiles(workspace))

    (workspace / "f.py").write_text("def old(): pass\n")
    first, second = asyncio.run(twice())
    assert (first.names(), second.names()) == ({"old"}, {"new"})
    assert second.reread == 1
    assert second.settled_ms > 0
