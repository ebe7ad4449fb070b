"""`edit_file`, alone with a fake context, and through the gate."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins.edit_file import edit_file
from toolcrib.core.errors import ToolError
from toolcrib.testing import ScriptedApprover, fake_context

SOURCE = "import os\n\ndef area(width, height):\n    if width:\n\treturn 0\n    return width * height\n"


def edited(data: bytes | str, **args: Any) -> bytes:
    """A file, after one call with a fake context."""
    ctx = fake_context({"a": data})
    asyncio.run(edit_file.backend.run({"path": "a", **args}, ctx))
    return ctx.workspace.read("a")


def refusal(data: bytes | str, **args: Any) -> str:
    """What is said when nothing can be done; and nothing is."""
    ctx = fake_context({"a": data})
    with pytest.raises(ToolError) as caught:
        asyncio.run(edit_file.backend.run({"path": "a", **args}, ctx))
    assert ctx.workspace.read("a") == (data.encode() if isinstance(data, str) else data)
    assert "bytes_written" not in ctx.report
    assert caught.value.code == "EXECUTION_ERROR"
    return str(caught.value)


def swap(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"old_string": old, "new_string": new, **more}


def through_the_gate(home: Path, workspace: Path, approver: Any = None, **args: Any) -> toolcrib.Result:
    approver = approver or toolcrib.SaysYes()
    return toolcrib.call_sync("edit_file", args, workspace=workspace, home=home, approver=approver)


def test_one_place_is_replaced() -> None:
    assert edited("a b c", **swap("b", "x")) == b"a x c"


def test_it_shows_what_it_did() -> None:
    ctx = fake_context({"a.py": SOURCE})
    said = asyncio.run(edit_file.backend.run({"path": "a.py", **swap("import os", "import sys")}, ctx))
    assert said.startswith("edited a.py at 1 place\n--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,4 @@\n-import os\n+import sys\n")


def test_all_places_only_when_asked() -> None:
    assert edited("a b a", **swap("a", "x", replace_all=True)) == b"x b x"
    said = refusal("a\nb\na a", **swap("a", "x"))
    assert "3 times, at lines 1, 3, 3" in said
    assert "replace_all" in said


def test_several_edits_are_made_one_after_the_other_or_none() -> None:
    edits = [swap("one", "1"), swap("1 two", "1 2"), swap("three", "3")]
    assert edited("one two three", edits=edits) == b"1 2 3"
    said = refusal("one two three", edits=[*edits, swap("four", "4")])
    assert "edit 4 of 4" in said
    assert "nothing was written" in said


def test_a_miss_shows_what_differs_in_white_space_first() -> None:
    said = refusal(SOURCE, **swap("    if width:\n        return 0", "x"))
    assert "only its white space differs" in said
    assert "lines 4 to 5" in said
    assert "line 5 is '\\treturn 0'" in said
    assert "you gave '        return 0'" in said


def test_a_miss_shows_the_closest_lines() -> None:
    said = refusal(SOURCE, **swap("def area(width, depth):\n    if width:", "x"))
    assert "the closest in the file" in said
    assert "lines 3 to 4" in said
    assert "line 3 is 'def area(width, height):'" in said
    assert "you gave 'def area(width, depth):'" in said


def test_a_miss_without_anything_like_it_says_so() -> None:
    assert "nothing in the file is like it" in refusal(SOURCE, **swap("zebra", "x"))


@pytest.mark.parametrize(("old", "new", "said"), [("", "x", "is empty"), ("same", "same", "are the same")])
def test_an_edit_that_means_nothing_is_refused(old: str, new: str, said: str) -> None:
    assert said in refusal("same", **swap(old, new))


def test_special_characters_are_nothing_special() -> None:
    assert edited(r"a.*b \1 $1", **swap(".*b \\1", "\\g<0>\\2")) == rb"a\g<0>\2 $1"
    assert edited("a.*b\r\nc", **swap(".*b\nc", "\\1")) == b"a\\1"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\r\ntwo\r\nthree\r\n", "two\nthree", "2\n3\n4", b"one\r\n2\r\n3\r\n4\r\n"),
        (b"one\r\ntwo\r\n", "two", "2\n3", b"one\r\n2\r\n3\r\n"),
        (b"one\r\ntwo\r\n", "one\r\ntwo", "1\r\n2", b"1\r\n2\r\n"),
        (b"one\ntwo\n", "one\r\ntwo", "1\r\n2", b"1\n2\n"),
        (b"one\r\ntwo\nthree\nfour\n", "three\nfour", "3\n4", b"one\r\ntwo\n3\n4\n"),
        (b"one\r\ntwo\nthree\nfour\n", "one\ntwo", "1\n2", b"1\r\n2\nthree\nfour\n"),
        (b"old mac\rline", "mac\rline", "x", b"old x"),
    ],
)
def test_line_ends_stay(before: bytes, old: str, new: str, after: bytes) -> None:
    """What is not replaced keeps every byte; what is new ends as its surroundings do."""
    assert edited(before, **swap(old, new)) == after


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_the_encoding_stays(encoding: str) -> None:
    text = "Der Käse ist für mich größer als die Bäume, schön.\n" * 3
    after = edited(text.encode(encoding), **swap("größer als", "grösser als", replace_all=True))
    assert after == text.replace("größer", "grösser").encode(encoding)


def test_bytes_in_no_encoding_stay() -> None:
    assert edited(b"one \xff\xfe\xc3 two", **swap("two", "2")) == b"one \xff\xfe\xc3 2"


def test_what_the_encoding_cannot_say_is_refused() -> None:
    text = "Der Käse ist für mich größer als die Bäume, schön.\n" * 3
    said = refusal(text.encode("cp1252"), edits=[swap("größer", "日本", replace_all=True)])
    assert "cp1252" in said


def test_a_binary_file_is_not_edited() -> None:
    assert "binary" in refusal(b"\x7fELF\0\1\2", **swap("ELF", "x"))


def test_what_is_not_there_says_so() -> None:
    with pytest.raises(ToolError, match="use write_file") as caught:
        asyncio.run(edit_file.backend.run({"path": "no", **swap("a", "b")}, fake_context()))
    assert caught.value.code == "FILE_NOT_FOUND"


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"path": "a"},
        {"path": "a", "old_string": "x"},
        {"path": "a", "edits": []},
        {"path": "a", "edits": [{"old_string": "x"}]},
        {"path": "a", "old_string": "x", "new_string": "y", "edits": [{"old_string": "x", "new_string": "y"}]},
        {"path": "a", "old_string": 1, "new_string": "y"},
    ],
)
def test_wrong_arguments(home: Path, workspace: Path, args: dict[str, Any]) -> None:
    (workspace / "a").write_text("x")
    result = through_the_gate(home, workspace, **args)
    assert result.error is not None
    assert result.error.code == "VALIDATION_ERROR"
    assert (workspace / "a").read_text() == "x"


def test_editing_is_asked_about(home: Path, workspace: Path) -> None:
    """C46, G9: a no changes nothing."""
    (workspace / "a.txt").write_text("one")
    refused = through_the_gate(home, workspace, ScriptedApprover(False), path="a.txt", **swap("one", "two"))
    assert refused.error is not None
    assert (refused.error.code, (workspace / "a.txt").read_text()) == ("APPROVAL_DENIED", "one")
    done = through_the_gate(home, workspace, path="a.txt", **swap("one", "two"))
    assert (workspace / "a.txt").read_text() == "two"
    assert (done.metadata["bytes_written"], done.metadata["files_accessed"]) == (3, ["a.txt"])


def test_a_dry_run_shows_the_difference_and_writes_nothing(home: Path, workspace: Path) -> None:
    """C24"""
    (workspace / "a.txt").write_text("".join(f"{number}\n" for number in range(100)))

    async def preview() -> toolcrib.Result:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            return await crib.call("edit_file", {"path": "a.txt", **swap("50\n", "fifty\n")}, dry_run=True)

    shown = "--- a/a.txt\n+++ b/a.txt\n@@ -48,7 +48,7 @@\n 47\n 48\n 49\n-50\n+fifty\n 51\n 52\n 53"
    assert asyncio.run(preview()).data == shown
    assert "50\n" in (workspace / "a.txt").read_text()


def test_in_a_session_what_changed_is_not_edited_and_the_difference_is_shown(home: Path, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("one\ntwo\n")

    async def story() -> list[toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes(), session="s") as crib:
            edit = {"path": "a.txt", **swap("two", "2")}
            results = [await crib.call("edit_file", edit), await crib.call("read_file", {"path": "a.txt"})]
            file.write_text("one\ntwo\nthree\n")
            results += [await crib.call("edit_file", edit), await crib.call("read_file", {"path": "a.txt"})]
            return [*results, await crib.call("edit_file", edit)]

    unread, _, stale, _, done = asyncio.run(story())
    assert unread.error is not None
    assert unread.error.details == {"path": "a.txt", "unread": True}
    assert stale.error is not None
    assert "changed since it was last read" in stale.error.message
    assert stale.error.details["difference"] == "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n two\n+three\n "
    assert stale.error.details["difference"] in stale.error.message
    assert done.success
    assert file.read_text() == "one\n2\nthree\n"


def test_a_session_goes_on_in_another_process(home: Path, workspace: Path) -> None:
    """What it read is remembered; what others did since is noticed."""
    file = workspace / "a.txt"
    file.write_text("one")

    def call(name: str, args: dict[str, Any], session: str = "s") -> toolcrib.Result:
        async def one() -> toolcrib.Result:
            async with toolcrib.open(
                workspace=workspace, home=home, approver=toolcrib.SaysYes(), session=session
            ) as crib:
                return await crib.call(name, args)

        return asyncio.run(one())

    call("read_file", {"path": "a.txt"})
    assert not call("edit_file", {"path": "a.txt", **swap("one", "x")}, session="other").success
    assert call("edit_file", {"path": "a.txt", **swap("one", "two")}).success
    assert call("edit_file", {"path": "a.txt", **swap("two", "three")}).success
    file.write_text("by hand")
    stale = call("edit_file", {"path": "a.txt", **swap("hand", "foot")})
    assert stale.error is not None
    assert "-three\n+by hand" in stale.error.message
    assert file.read_text() == "by hand"


@pytest.mark.parametrize("old", ["x" * 100_000, "x\n" * 20_000, " \n" * 1000, "a" * 10 + "\n" + "b" * 5000])
def test_a_miss_in_a_long_file_is_explained_in_bounded_words(old: str) -> None:
    text = "".join(f"some words {number} and a few more\n" for number in range(30_000)) + "y" * 300_000
    assert len(refusal(text, **swap(old, "z"))) < 30_000
