"""Ignore files: read as git reads them, and in bounded time whatever stands in them."""

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from toolcrib.codeindex.ignore import Rules, from_lines, lines_above, read_rules
from toolcrib.codeindex.walk import walk

NAMES = ["a", "b", "ab", "abc", "x.py", "y.txt", "build", "lib", "a b", "c#", "!n", "[z]", "x.pyc", "-", "a-c", "Z"]
PIECES = ["a", "b", "c", "x", ".py", "*", "?", "[abc]", "[!ab]", "[a-c]", "[^x-z]", "\\*", "[[:alpha:]]", "[]-]", "."]


def seen(root: Path, **how: bool) -> set[str]:
    """The files that a walk shows, as paths from the root."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return {os.path.join(here.path, file.name) for here in walk(fd, **how) for file in here.files}
    finally:
        os.close(fd)


def plant(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def verdict(text: str, path: str, *, folder: bool = False) -> bool | None:
    return Rules(read_rules(text)).says(path.rpartition("/")[2], path, folder=folder)


def random_name(chance: random.Random) -> str:
    if chance.random() < 0.5:
        return chance.choice(NAMES).replace("[", "\\[")
    made = ""
    for _ in range(chance.randint(1, 4)):
        piece = chance.choice(PIECES)
        made += "" if piece == "*" and made.endswith("*") else piece
    return made


def random_line(chance: random.Random) -> str:
    parts = [random_name(chance) for _ in range(chance.choice((1, 1, 1, 2, 2, 3)))]
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        parts.insert(chance.randint(0, len(parts)), "**")
    line = "/".join(parts)
    line = ("/" if chance.random() < 0.2 else "") + line + ("/" if chance.random() < 0.25 else "")
    line = ("!" if chance.random() < 0.3 else "") + line
    return line + chance.choice(("", "", "", "  ", "\\ ", "\r", "\t"))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("seed", range(8))
def test_the_same_files_are_ignored_as_by_git(tmp_path: Path, seed: int) -> None:
    """20 trees each, 40 files in every one: 6,400 decisions in all."""
    chance = random.Random(seed)
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
    for number in range(20):
        root = tmp_path / str(number)
        root.mkdir()
        subprocess.run(["git", "init", "-q", "."], cwd=root, env=clean, check=True)
        folders = [""]
        for _ in range(12):
            folder = os.path.join(chance.choice(folders), chance.choice(NAMES))
            if len(folder) < 40 and folder not in folders:
                folders.append(folder)
                (root / folder).mkdir()
        for _ in range(40):
            path = root / chance.choice(folders) / chance.choice(NAMES)
            if not path.exists():
                path.write_text("x")
        texts = {}
        for where in (".git/info/exclude", *(os.path.join(each, ".gitignore") for each in chance.sample(folders, 3))):
            if (root / where).parent.is_dir():
                texts[where] = "\n".join(random_line(chance) for _ in range(chance.randint(1, 6)))
                (root / where).parent.mkdir(exist_ok=True)
                (root / where).write_bytes(texts[where].encode())
        command = ["git", "ls-files", "-z", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, env=clean, check=True, capture_output=True).stdout.decode()
        assert seen(root, hidden=True) == set(listed.split("\0")) - {""}, texts


@pytest.mark.parametrize(
    "line, path, folder, ignored",
    [
        ("*.log", "a/b.log", False, True),
        ("/a", "b/a", False, None),
        ("a/", "x/a", True, True),
        ("a/", "x/a", False, None),
        ("a/b", "x/a/b", False, None),
        ("**/b", "x/a/b", False, True),
        ("a/**", "a", True, None),
        ("a/**", "a/b/c", False, True),
        ("a/**/b", "a/b", False, True),
        ("a/**/b", "a/x/y/b", False, True),
        ("[", "[", False, None),
        ("a\\", "a", False, None),
        ("\\#a", "#a", False, True),
        ("\\!a", "!a", False, True),
        ("a\\ ", "a ", False, True),
        ("a  ", "a", False, True),
        ("[[:nonsense:]]", "n", False, None),
        ("\ufeffa", "a", False, True),
    ],
)
def test_single_lines(line: str, path: str, folder: bool, ignored: bool | None) -> None:
    assert verdict(line, path, folder=folder) is ignored


def test_the_last_rule_that_fits_decides() -> None:
    assert verdict("*.log\n!keep.log", "keep.log") is False
    assert verdict("!keep.log\n*.log", "keep.log") is True


def test_what_one_kind_of_file_says_goes_before_another(tmp_path: Path) -> None:
    plant(tmp_path, "a", "b", "c", "d/a", "d/b")
    (tmp_path / ".gitignore").write_text("a\nb\nc\n")
    (tmp_path / ".ignore").write_text("!a\n!b\n")
    (tmp_path / ".rgignore").write_text("b\n")
    (tmp_path / "d" / ".gitignore").write_text("a\n")
    assert seen(tmp_path) == {"a", "d/a"}
    assert seen(tmp_path, ignore=False) == {"a", "b", "c", "d/a", "d/b"}


def test_a_repository_within_begins_anew(tmp_path: Path) -> None:
    plant(tmp_path, "x.o", "inner/x.o", "inner/y.o", "inner/.git/info/exclude", "inner/sub/x.o")
    (tmp_path / ".gitignore").write_text("*.o\n")
    (tmp_path / "inner" / ".git" / "info" / "exclude").write_text("y.o\n")
    assert seen(tmp_path) == {"inner/x.o", "inner/sub/x.o"}


def test_an_ignore_file_that_is_none_says_nothing(tmp_path: Path) -> None:
    """A pipe is not waited for, a link is not followed, a directory is no file."""
    plant(tmp_path, "a/x", "b/x", "c/x", "d/x")
    os.mkfifo(tmp_path / "a" / ".gitignore")
    (tmp_path / "rules").write_text("x\n")
    (tmp_path / "b" / ".gitignore").symlink_to(tmp_path / "rules")
    (tmp_path / "c" / ".gitignore").mkdir()
    (tmp_path / "d" / ".gitignore").write_bytes(b"\xff\xfe\0\nx\n")
    assert seen(tmp_path) == {"rules", "a/x", "b/x", "c/x"}


@pytest.mark.parametrize(
    "start, lines",
    [
        ("a", ["*.o", "/b/c", "/**/z/"]),
        ("a/b", ["*.o", "/c", "/**/z/"]),
        ("x/y", ["*.o", "/**/z/"]),
        ("a/own", ["*.o", "/**/z/"]),
    ],
)
def test_what_is_said_above_the_start_counts_below_it(tmp_path: Path, start: str, lines: list[str]) -> None:
    (tmp_path / ".gitignore").write_text("*.o\na/b/c\n**/z/\n")
    (tmp_path / start).mkdir(parents=True)
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert lines_above(fd, start.split("/")) == lines
    finally:
        os.close(fd)
    assert from_lines(lines).ignored("q.o", "q.o", folder=False)


@pytest.mark.parametrize("seed", range(4))
def test_a_walk_that_starts_further_down_sees_the_same_files(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed + 100)
    for number in range(30):
        root = tmp_path / str(number)
        plant(root, *("/".join(chance.choice(NAMES[:6]) for _ in range(3)) + f"/{name}" for name in NAMES))
        (root / ".gitignore").write_text("\n".join(random_line(chance) for _ in range(5)))
        whole = seen(root, hidden=True)
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for start in sorted({path.split("/")[0] for path in whole if "/" in path}):
                above = from_lines(lines_above(fd, [start]))
                below = os.open(start, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
                try:
                    found = {
                        f"{start}/{here.path}/{file.name}"
                        for here in walk(below, hidden=True, above=above)
                        for file in here.files
                    }
                finally:
                    os.close(below)
                assert {path.replace("//", "/") for path in found} == {
                    path for path in whole if path.startswith(f"{start}/")
                }
        finally:
            os.close(fd)


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 60 + "b",
        "**/" * 60 + "b",
        "a*" * 60 + "[!a]",
        "?*" * 60 + "b",
        "*/**/" * 40 + "b",
        "[a-z]*" * 60 + "b",
        "**/*a*" * 30,
    ],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    """Naive matchers take longer than the age of the world for these."""
    rules, path = Rules(read_rules(pattern)), "/".join(["a" * 200] * 15)
    began = time.process_time()
    for _ in range(10):
        assert rules.says("a" * 200, path, folder=False) in (None, True)
    assert time.process_time() - began < 2


def test_a_huge_file_of_rules_is_bounded(tmp_path: Path) -> None:
    plant(tmp_path, *(f"d{number}/f{number}" for number in range(50)))
    (tmp_path / ".gitignore").write_text("".join(f"x{number}*y?[ab]\n" for number in range(200_000)))
    began = time.process_time()
    assert len(seen(tmp_path)) == 50
    assert time.process_time() - began < 10
