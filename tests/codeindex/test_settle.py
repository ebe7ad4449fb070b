"""Keeping up with a source tree: whatever happens to the files, the answer is that of an index made from nothing."""

import os
import random
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.soak import turns

from toolcrib.codeindex import listing, settle
from toolcrib.codeindex.examine import examine
from toolcrib.codeindex.segment import STAMP, UNSURE
from toolcrib.codeindex.settle import SourceTree, Work
from toolcrib.codeindex.snapshot import Snapshot
from toolcrib.codeindex.view import View
from toolcrib.sandbox.guard import GuardedFiles

SECRET = "def secret_of_somebody_else(): pass\n"
EDITS = turns(1000, 300)


class Tree:
    """A workspace and an index that keeps up with it."""

    def __init__(self, root: Path) -> None:
        self.root, self.source = root, SourceTree()
        self.fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        self.work: Work | None = None

    def look(self) -> Work:
        return self.source.look(self.fd)

    def settle(self) -> Snapshot:
        self.work = self.look()
        return self.source.take(self.work, examine(self.fd, self.work.paths, now=self.work.now))

    def view(self) -> View:
        return View(self.settle(), GuardedFiles(self.root))

    def names(self) -> set[str]:
        return set(self.view().names())

    def reread(self) -> list[str]:
        """What has to be read again."""
        self.settle()
        assert self.work is not None
        return sorted(self.work.paths)

    def rest(self) -> None:
        """Settle until all is old enough to be believed, which is a tenth of a second."""
        while any(is_unsure(stamps) for known in [self.settle()] for stamps in (known.stamps, known.watched.stamps)):
            pass


def is_unsure(stamps: "array[int]") -> bool:
    return any(tuple(stamps[at : at + STAMP]) == UNSURE for at in range(0, len(stamps), STAMP))


@pytest.fixture
def tree(workspace: Path) -> Iterator[Tree]:
    made = Tree(workspace)
    before = _descriptors()
    yield made
    assert _descriptors() == before
    os.close(made.fd)


def test_what_is_there_is_found(tree: Tree) -> None:
    _write(tree.root / "a/b.py", "class Box: pass\n")
    _write(tree.root / "c.js", "function open() {}\n")
    _write(tree.root / "script", "#!/usr/bin/env python3\ndef run(): pass\n")
    _write(tree.root / "notes.txt", "def no(): pass\n")
    _write(tree.root / "LICENSE", "def no(): pass\n")
    view = tree.view()
    assert view.paths() == ("a/b.py", "c.js", "script")
    assert [view.language(path) for path in view.paths()] == ["python", "javascript", "python"]
    assert view.names() == {"Box", "open", "run"}
    assert view.skipped == {}


def test_only_what_changed_is_read_again(tree: Tree) -> None:
    for number in range(20):
        _write(tree.root / f"d{number % 3}/f{number}.py", f"def f{number}(): pass\n")
    assert len(tree.reread()) == 20
    tree.rest()
    _write(tree.root / "d1/f4.py", "def another(): pass\n")
    assert tree.reread() == ["d1/f4.py"]
    assert "another" in tree.names()
    assert "f4" not in tree.names()


def test_an_atomic_save_reads_one_file(tree: Tree) -> None:
    """As editors do it: the directory changes, too."""
    for number in range(5):
        _write(tree.root / f"d/f{number}.py", "def f(): pass\n")
    tree.rest()
    _write(tree.root / "d/.f3.py.swp", "def saved(): pass\n")
    os.rename(tree.root / "d/.f3.py.swp", tree.root / "d/f3.py")
    assert tree.reread() == ["d/f3.py"]
    assert "saved" in tree.names()


def test_a_second_change_in_the_same_moment_is_seen(tree: Tree) -> None:
    """Same size, and often the same time: what is so young is not believed."""
    file = tree.root / "f.py"
    for number in range(100, 160):
        file.write_text(f"def f{number}(): pass\n")
        assert tree.names() == {f"f{number}"}


@pytest.mark.parametrize(("later", "again"), [(50, ["d/f.py"]), (99, ["d/f.py"]), (1000, [])])
def test_what_is_young_is_read_again(tree: Tree, monkeypatch: pytest.MonkeyPatch, later: int, again: list[str]) -> None:
    """A change that is as old as a clock is coarse may be followed by one that leaves no trace."""
    _write(tree.root / "d/f.py", "def f(): pass\n")
    changed = (tree.root / "d/f.py").stat().st_ctime_ns
    monkeypatch.setattr(settle.time, "time_ns", lambda: changed + later * 10**6)
    tree.settle()
    assert tree.reread() == again


@pytest.mark.parametrize("how", ["in place", "another file"])
def test_the_same_size_and_time_do_not_hide_a_change(tree: Tree, how: str) -> None:
    file = tree.root / "f.py"
    _write(file, "def one(): pass\n")
    tree.rest()
    about = file.stat()
    target = file if how == "in place" else tree.root / "other.txt"
    target.write_text("def two(): pass\n")
    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))
    os.rename(target, file)
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (about.st_size, about.st_mtime_ns)
    assert tree.names() == {"two"}


def test_a_file_that_changes_between_the_look_and_the_reading(tree: Tree) -> None:
    file = tree.root / "f.py"
    _write(file, "def one(): pass\n")
    work = tree.look()
    file.write_text("def two(): pass\n")
    rows = examine(tree.fd, work.paths, now=work.now)
    file.write_text("def six(): pass\n")
    assert View(tree.source.take(work, rows), GuardedFiles(tree.root)).names() == {"two"}
    assert tree.names() == {"six"}


def test_a_file_that_vanishes_between_the_look_and_the_reading(tree: Tree) -> None:
    _write(tree.root / "gone.py", "def gone(): pass\n")
    _write(tree.root / "kept.py", "def kept(): pass\n")
    work = tree.look()
    (tree.root / "gone.py").unlink()
    snapshot = tree.source.take(work, examine(tree.fd, work.paths, now=work.now))
    assert snapshot.paths == ("kept.py",)
    assert tree.names() == {"kept"}


def test_what_comes_while_we_look_is_found_next_time(tree: Tree) -> None:
    _write(tree.root / "d/old.py", "def old(): pass\n")
    work = tree.look()
    _write(tree.root / "d/new.py", "def new(): pass\n")
    _write(tree.root / "e/newer.py", "def newer(): pass\n")
    tree.source.take(work, examine(tree.fd, work.paths, now=work.now))
    assert tree.names() == {"old", "new", "newer"}


def test_a_directory_swapped_for_a_link_leads_nowhere(tree: Tree, tmp_path: Path) -> None:
    """Nothing outside is read, at whatever moment the link comes."""
    _write(tmp_path / "outside/f.py", SECRET)
    _write(tree.root / "d/f.py", "def inside(): pass\n")
    work = tree.look()
    os.rename(tree.root / "d", tree.root / "moved.txt")
    os.symlink(tmp_path / "outside", tree.root / "d")
    rows = examine(tree.fd, work.paths, now=work.now)
    assert not any(row[4] for row in rows)
    view = View(tree.source.take(work, rows), GuardedFiles(tree.root))
    assert "secret_of_somebody_else" not in view.names()
    assert "secret_of_somebody_else" not in tree.names()
    assert not any(path.startswith("d/") for path in tree.view().paths())


def test_links_are_not_followed(tree: Tree, tmp_path: Path) -> None:
    _write(tmp_path / "outside/f.py", SECRET)
    _write(tree.root / "real.py", "def real(): pass\n")
    os.symlink(tmp_path / "outside/f.py", tree.root / "link.py")
    os.symlink(tmp_path / "outside", tree.root / "folder")
    os.symlink(tree.root, tree.root / "loop")
    assert tree.view().paths() == ("real.py",)
    (tree.root / "real.py").unlink()
    os.symlink(tmp_path / "outside/f.py", tree.root / "real.py")
    assert tree.names() == set()


def test_a_pipe_is_not_waited_for(tree: Tree) -> None:
    _write(tree.root / "f.py", "def f(): pass\n")
    os.mkfifo(tree.root / "pipe.py")
    assert tree.view().paths() == ("f.py",)
    work = tree.look()
    (tree.root / "f.py").unlink()
    os.mkfifo(tree.root / "f.py")
    tree.source.take(work, examine(tree.fd, ["f.py"], now=work.now))
    assert tree.names() == set()


def test_somebody_elses_file_by_another_name_is_not_read(tree: Tree, tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a file away")
    _write(tmp_path / "theirs.py", SECRET)
    os.chown(tmp_path / "theirs.py", 12345, 12345)
    os.link(tmp_path / "theirs.py", tree.root / "mine.py")
    view = tree.view()
    assert view.names() == frozenset()
    assert view.skipped == {"unreadable": 1}


def test_names_that_are_no_text(tree: Tree) -> None:
    folder = os.path.join(os.fsencode(tree.root), b"caf\xe9\n'\"")
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("this file system takes no such names")
    for name in (b"\xff.py", b"a\nb.py", b" .py"):
        with open(os.path.join(folder, name), "w") as file:
            file.write("def f(): pass\n")
    view = tree.view()
    assert sorted(map(os.fsencode, view.paths())) == [
        b"caf\xe9\n'\"/" + name for name in (b" .py", b"a\nb.py", b"\xff.py")
    ]
    assert [path for path, _ in view.defined("f")] == list(view.paths())
    assert view.read(view.paths()[0]) == b"def f(): pass\n"


def test_what_is_left_out_is_counted(tree: Tree) -> None:
    _write(tree.root / "large.py", "x = 1\n" * 200_000)
    _write(tree.root / "binary.py", "x = 1\n\0\n")
    _write(tree.root / "small.min.js", "var a=1;" * 5000)
    _write(tree.root / "fine.py", "fine = 1\n")
    view = tree.view()
    assert view.paths() == ("fine.py",)
    assert view.skipped == {"binary": 1, "minified": 1, "too large": 1}
    tree.rest()
    assert tree.reread() == []


def test_a_file_that_cannot_be_read_is_tried_when_it_can(tree: Tree) -> None:
    if not os.geteuid():
        pytest.skip("root can read everything")
    _write(tree.root / "f.py", "def f(): pass\n")
    (tree.root / "f.py").chmod(0)
    assert tree.view().skipped == {"unreadable": 1}
    (tree.root / "f.py").chmod(0o600)
    assert tree.names() == {"f"}


def test_a_directory_that_cannot_be_read_is_tried_when_it_can(tree: Tree) -> None:
    if not os.geteuid():
        pytest.skip("root can read everything")
    _write(tree.root / "d/f.py", "def f(): pass\n")
    (tree.root / "d").chmod(0)
    tree.rest()
    assert tree.names() == set()
    (tree.root / "d").chmod(0o700)
    assert tree.names() == {"f"}


def test_ignore_files_count_also_when_they_change(tree: Tree) -> None:
    for place in ("a/x.py", "a/y.py", "build/z.py", "a/deep/w.py"):
        _write(tree.root / place, f"def {place[-4]}(): pass\n")
    _write(tree.root / ".gitignore", "build/\n")
    _write(tree.root / "a/.gitignore", "y.py\n")
    tree.rest()
    assert tree.names() == {"x", "w"}
    (tree.root / "a/.gitignore").write_text("x.py\n")
    assert tree.names() == {"y", "w"}
    (tree.root / ".gitignore").write_text("deep\n")
    assert tree.names() == {"y", "z"}
    (tree.root / "a/.gitignore").unlink()
    assert tree.names() == {"x", "y", "z"}
    _write(tree.root / "a/x.py", "def xx(): pass\n")
    _write(tree.root / "a/deep/new.py", "def new(): pass\n")
    assert tree.names() == {"xx", "y", "z"}


def test_what_comes_to_an_ignored_place_costs_no_walk(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tree.root / "a/x.py", "def x(): pass\n")
    _write(tree.root / ".gitignore", "*.gen.py\n__pycache__/\n")
    tree.rest()
    monkeypatch.setattr(listing, "walked", _never)
    _write(tree.root / "a/y.gen.py", "def y(): pass\n")
    _write(tree.root / "a/__pycache__/z.py", "def z(): pass\n")
    assert tree.names() == {"x"}
    _write(tree.root / "a/w.py", "def w(): pass\n")
    assert tree.names() == {"x", "w"}


def test_more_files_than_the_limit_are_counted_and_left(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_FILES", 5)
    for number in range(8):
        _write(tree.root / f"f{number}.py", f"def f{number}(): pass\n")
    view = tree.view()
    assert len(view.paths()) == 5
    assert view.skipped == {"too many": 3}


def test_more_bytes_than_the_limit_are_left(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "MOST_BYTES", 100)
    for number in range(5):
        _write(tree.root / f"f{number}.py", f"def f{number}(): pass\n" + "#" * 30)
    view = tree.view()
    assert view.skipped == {"too many": 5 - len(view.paths())}
    assert 0 < len(view.paths()) < 5


def test_a_thousand_random_edits(tree: Tree) -> None:
    """After each handful, all that is known is what an index made from nothing knows."""
    chance = random.Random(2026)
    made = 0
    while made < EDITS:
        for _ in range(chance.randrange(1, 7)):
            made += _edit(tree.root, chance)
        ours, theirs = tree.view(), Tree(tree.root)
        expected = theirs.view()
        os.close(theirs.fd)
        assert _all(ours) == _all(expected)


def _all(view: View) -> Any:
    words = ("f1", "f2", "alpha", "self", "js1", "import", "nowhere")
    return (
        [(p, view.language(p), view.definitions(p), view.imports(p), view.exports(p)) for p in view.paths()],
        [(word, view.defined(word), view.mentioning(word)) for word in words],
        set(view.names()),
        view.skipped,
    )


def _edit(root: Path, chance: random.Random) -> int:
    """Do one thing to the tree, as it comes."""
    folders = [root, *sorted(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink())]
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    folder = chance.choice(folders)
    number = chance.randrange(5)
    new = folder / chance.choice((f"f{number}.py", f"m{number}.js", f"notes{number}.txt", f"tool{number}", "g.gen.py"))
    content = chance.choice(
        (
            f"def f{chance.randrange(9)}(self): alpha = {number}\n",
            f"import os\nclass C{number}:\n    x = 1\n    def f{number}(self): pass\n",
            f"export function js{number}(a) {{ return a; }}\n",
            f"#!/bin/sh\nf{number}() {{ :; }}\n",
            "",
            "x = '\0'\n",
        )
    )
    what = chance.randrange(12)
    if what < 4 or not files:
        if new.is_dir() or new.is_symlink():
            return 0
        new.write_text(content)
    elif what < 7:
        file = chance.choice(files)
        about = file.stat()
        if chance.random() < 0.5:
            file.write_text(content)
        else:
            with file.open("a") as open_file:
                open_file.write(content)
        if chance.random() < 0.3:
            os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    elif what == 7:
        chance.choice(files).unlink()
    elif what == 8:
        source, target = chance.choice(files), new
        if target.is_dir() or target.is_symlink():
            return 0
        os.rename(source, target)
    elif what == 9:
        target = folder / f"d{number}"
        if target.exists() or target.is_symlink() or len(target.relative_to(root).parts) > 4:
            return 0
        if chance.random() < 0.5:
            target.mkdir()
        else:
            source = chance.choice(folders)
            if source in (root, folder) or source in folder.parents:
                return 0
            os.rename(source, target)
    elif what == 10:
        rules = chance.choice(("*.gen.py\n", "d1/\n", "f*.py\n!f1.py\n", "/d2\n", "tool*\n", ""))
        _write(folder / ".gitignore", rules)
    else:
        target = folder / f"link{number}.py"
        if target.is_symlink():
            target.unlink()
        else:
            os.symlink(chance.choice(files), target)
    return 1


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def _never(*_: object) -> None:
    raise AssertionError("the whole tree was walked")


def _descriptors() -> set[str]:
    return set(os.listdir("/dev/fd"))
