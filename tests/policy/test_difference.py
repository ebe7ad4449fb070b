"""What a person sees of a folder that changed since it was last approved: which files, and how."""

import asyncio
import os
from pathlib import Path

import pytest

import toolcrib
from toolcrib.cli._prompt import drawn
from toolcrib.policy.approvers import Standing

MANIFEST = 'name: one\ndescription: Is one.\nversion: "1.0.0"\nentrypoint: run.sh\n'


class Curious:
    """Says yes, and remembers the last question."""

    async def approve(self, question):
        self.seen = question.request
        return Standing(allowed=True, by="test", scope="once")


@pytest.fixture
def folder(home: Path) -> Path:
    place = home / "tools" / "one"
    (place / "lib").mkdir(parents=True)
    (place / "tool.yaml").write_text(MANIFEST)
    (place / "run.sh").write_text("#!/bin/sh\necho one\n")
    (place / "run.sh").chmod(0o755)
    (place / "lib" / "words").write_text("hello\nworld\n")
    (place / "lib" / "data").write_bytes(b"\0\1")
    (place / "words").symlink_to("lib/words")
    (home / "config.yaml").write_text("toolsets: {}\n")
    return place


@pytest.fixture
def asked(home: Path, workspace: Path):
    """`asked()` calls the tool; the answer is what the person was shown."""

    def call():
        async def visit():
            curious = Curious()
            async with toolcrib.open(workspace=workspace, home=home, approver=curious) as crib:
                result = await crib.call("custom_tool_one")
                assert result.error is None, result.error
            return curious.seen

        return asyncio.run(visit())

    return call


def test_the_first_time_there_is_nothing_to_compare(folder, asked) -> None:
    request = asked()
    assert (request.previous, request.difference) == (None, "")
    assert asked().difference == ""


def test_a_changed_file_is_shown_line_by_line(folder, asked) -> None:
    asked()
    (folder / "lib" / "words").write_text("hello\nmoon\n")
    request = asked()
    assert request.changed
    assert request.difference.splitlines() == [
        "changed: lib/words",
        "--- last approved/lib/words",
        "+++ now/lib/words",
        "@@ -1,2 +1,2 @@",
        " hello",
        "-world",
        "+moon",
    ]


def test_files_that_came_and_went(folder, asked) -> None:
    asked()
    (folder / "new.sh").write_text("echo new\n")
    (folder / "lib" / "data").unlink()
    lines = asked().difference.splitlines()
    assert lines[:2] == ["added: new.sh", "removed: lib/data"]
    assert lines[2:] == ["--- nothing", "+++ now/new.sh", "@@ -0,0 +1 @@", "+echo new"]


def test_what_is_no_text_is_named(folder, asked) -> None:
    asked()
    (folder / "lib" / "data").write_bytes(b"\0\2")
    lines = asked().difference.splitlines()
    assert lines[0] == "changed: lib/data" and lines[1].startswith("lib/data is no text")


def test_modes_and_links(folder, asked) -> None:
    asked()
    (folder / "lib" / "words").chmod(0o755)
    (folder / "words").unlink()
    (folder / "words").symlink_to("lib/data")
    assert asked().difference.splitlines() == [
        "changed: lib/words, words",
        "lib/words was a file and is a program",
        "words leads to lib/data",
    ]


def test_the_manifest_counts(folder, asked) -> None:
    asked()
    (folder / "tool.yaml").write_text(MANIFEST + "network: true\n")
    assert "+network: true" in asked().difference


def test_a_difference_is_bounded(folder, asked) -> None:
    asked()
    for number in range(120):
        (folder / f"f{number:03}").write_text("x\n" * 2000)
    request = asked()
    assert len(request.difference) < 70_000
    assert request.difference.endswith("more characters are not shown …]")


def test_many_files_are_not_all_compared(folder, asked) -> None:
    asked()
    for number in range(80):
        (folder / f"f{number:03}").write_text("x\n")
    text = asked().difference
    assert "and 30 more\n" in text and text.endswith("the difference of 30 more files is not shown")


def test_a_name_that_would_draw_is_spelled_out(folder, asked) -> None:
    asked()
    (folder / "a\n+++ now").write_text("x\n")
    assert "added: 'a\\n+++ now'" in asked().difference


def unsealed(copy: Path) -> None:
    for path in (copy, *copy.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)


@pytest.mark.parametrize("damage", ["changed", "gone"])
def test_an_earlier_version_that_is_not_whole_is_not_shown(folder, asked, home, damage) -> None:
    """What is compared with is what was approved, to the byte, or nothing."""
    digest = asked().digest.removeprefix("sha256:")
    copy = home / "cache" / "programs" / digest / "one"
    unsealed(copy)
    (copy / "lib" / "words").unlink()
    if damage == "changed":
        (copy / "lib" / "words").write_text("harmless\n")
    (folder / "lib" / "words").write_text("hello\nmoon\n")
    request = asked()
    assert request.changed and request.difference == ""


def test_the_terminal_draws_it(folder, asked) -> None:
    asked()
    (folder / "run.sh").write_text("#!/bin/sh\necho \x1b[31mred\n")
    os.chmod(folder / "run.sh", 0o755)
    request = asked()
    page = drawn(request, width=100, now=request.created)
    assert "| changed: run.sh" in page and "| +echo \\x1b[31mred" in page and "\x1b" not in page
