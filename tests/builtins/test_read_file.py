"""`read_file`, alone with a fake context, and through the gate."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins._reading import ANSWER_BYTES
from toolcrib.builtins.read_file import read_file
from toolcrib.core.context import Context
from toolcrib.core.errors import ToolError
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.testing import fake_context

FIVE = "zero\none\ntwo\nthree\nfour\n"


def read(ctx: Context, **args: Any) -> Any:
    return asyncio.run(read_file.backend.run(args, ctx))


def through_the_gate(home: Path, workspace: Path, **args: Any) -> toolcrib.Result:
    return toolcrib.call_sync("read_file", args, workspace=workspace, home=home)


def test_it_returns_the_text() -> None:
    """C4, C52"""
    ctx = fake_context({"a.txt": "héllo\n"})
    assert read(ctx, path="a.txt") == "héllo\n"
    assert ctx.report["bytes_read"] >= 7


@pytest.mark.parametrize(
    ("args", "lines"),
    [
        ({}, FIVE),
        ({"offset": 0, "limit": 2}, "zero\none"),
        ({"offset": 1, "limit": 1}, "one"),
        ({"offset": 3}, "three\nfour\n"),
        ({"offset": 3, "limit": 100}, "three\nfour\n"),
        ({"offset": 5}, ""),
        ({"offset": 50}, ""),
        ({"limit": 5}, "zero\none\ntwo\nthree\nfour"),
        ({"offset": 2, "limit": 2, "line_numbers": True}, "     3\ttwo\n     4\tthree"),
    ],
)
def test_part_of_the_lines(args: dict[str, Any], lines: str) -> None:
    """C41: offset counts from 0; the lines are joined."""
    assert read(fake_context({"a.txt": FIVE}), path="a.txt", **args) == lines


def test_a_part_is_what_splitting_at_line_ends_gives() -> None:
    """C41"""
    for text in ("", "\n", "a", "a\n", "a\nb", "a\n\n\nb\n", "\r\n\r\n", "a\x0cb\u2028c\n"):
        ctx = fake_context({"a": text})
        for offset in range(4):
            for limit in range(1, 5):
                expected = "\n".join(text.split("\n")[offset : offset + limit])
                assert read(ctx, path="a", offset=offset, limit=limit) == expected, (text, offset, limit)


def test_a_byte_that_is_not_utf8_is_shown() -> None:
    assert read(fake_context({"a.bin": b"a\xffb"}), path="a.bin") == "a\\xffb"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("Grüße, 日本".encode("utf-8-sig"), "utf-8-sig"),
        (b"\xff\xfe" + "Grüße, 日本".encode("utf-16-le"), "utf-16-le"),
        (b"\xfe\xff" + "Grüße, 日本".encode("utf-16-be"), "utf-16-be"),
        (b"\xff\xfe\0\0" + "Grüße, 日本".encode("utf-32-le"), "utf-32-le"),
    ],
)
def test_a_mark_of_the_encoding_is_followed(data: bytes, encoding: str) -> None:
    ctx = fake_context({"a": data})
    assert read(ctx, path="a") == "Grüße, 日本"
    assert ctx.report["encoding"] == encoding


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Der Käse ist für mich größer als die Bäume, schön.\n", "cp1252"),
        ("Съешь же ещё этих мягких французских булок, да выпей чаю.\n", "cp1251"),
        ("いろはにほへと ちりぬるを わかよたれそ つねならむ\n", "shift_jis"),
        ("plain text, but two bytes each\n", "utf-16-le"),
    ],
)
def test_an_encoding_without_a_mark_is_recognised(text: str, encoding: str) -> None:
    assert read(fake_context({"a": (text * 4).encode(encoding)}), path="a") == text * 4


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary image: image/png, 16 bytes"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "binary image: image/jpeg, 10 bytes"),
        (b"\x7fELF\2\1\1\0", "binary file: application/x-executable, 8 bytes"),
        (b"%PDF-1.7\n%\xe2\xe3", "binary file: application/pdf, 12 bytes"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "binary image: image/webp, 16 bytes"),
        (b"abc\0def", "binary file: application/octet-stream, 7 bytes"),
        (bytes(range(256)), "binary file: application/octet-stream, 256 bytes"),
    ],
)
def test_what_is_no_text_is_named(data: bytes, said: str) -> None:
    ctx = fake_context({"a": data})
    assert read(ctx, path="a") == said
    assert ctx.report["binary"] is True


@pytest.mark.parametrize("text", ["BM is how this begins", "MZ too", "PKs", "ID", "%PD", "GIF", "\x1b[31mred\x1b[0m\n"])
def test_text_that_begins_like_something_else_is_text(text: str) -> None:
    assert read(fake_context({"a": text}), path="a") == text


def test_what_is_not_there_says_so() -> None:
    """C42"""
    with pytest.raises(ToolError, match="File not found: nope") as caught:
        read(fake_context(), path="nope")
    assert (caught.value.code, caught.value.details) == ("FILE_NOT_FOUND", {"path": "nope"})


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({}, "path is required and must be a string"),
        ({"path": ""}, "path is required and must be a string"),
        ({"path": 1}, "path is required and must be a string"),
        ({"path": "a", "offset": "1"}, "offset must be a number"),
        ({"path": "a", "limit": "1"}, "limit must be a number"),
        ({"path": "a", "limit": True}, "limit must be a number"),
        ({"path": "a", "offset": -1}, "offset must be non-negative"),
        ({"path": "a", "limit": 0}, "limit must be positive"),
    ],
)
def test_wrong_arguments(home: Path, workspace: Path, args: dict[str, Any], fault: str) -> None:
    """C21, C34, C43, C52: the tool alone says what is wrong, and so does the gate."""
    assert read_file.hooks.validate is not None
    assert list(read_file.hooks.validate(args)) == [fault]
    result = through_the_gate(home, workspace, **args)
    assert result.error is not None
    assert (result.error.code, result.error.message) == ("VALIDATION_ERROR", "Invalid parameters")
    assert fault in result.error.details


def test_right_arguments() -> None:
    """C52"""
    assert read_file.hooks.validate is not None
    assert list(read_file.hooks.validate({"path": "test.txt", "offset": 0, "limit": 10})) == []


def test_it_reads_the_workspace_without_a_question(home: Path, workspace: Path) -> None:
    """G9, G36, C11, C44: reading in the workspace is pre-approved."""
    (workspace / "a.txt").write_text("here")
    result = through_the_gate(home, workspace, path="a.txt")
    assert (result.data, result.metadata["approval"]) == ("here", "preApproved")
    assert (result.metadata["bytes_read"], result.metadata["files_accessed"]) == (4, ["a.txt"])


def test_it_reads_nothing_else(home: Path, workspace: Path, tmp_path: Path) -> None:
    """A35, A36, K47"""
    (tmp_path / "secret").write_text("SECRET")
    (workspace / "link").symlink_to(tmp_path / "secret")
    for path in ("../secret", str(tmp_path / "secret"), "link", "/proc/self/root" + str(tmp_path / "secret")):
        result = toolcrib.call_sync(
            "read_file", {"path": path}, workspace=workspace, home=home, approver=toolcrib.SaysYes()
        )
        assert result.error is not None
        assert result.error.code == "PATH_OUTSIDE_WORKSPACE"
        assert "SECRET" not in str(result.to_dict())


def test_what_cannot_be_read_says_so(workspace: Path) -> None:
    """C42"""
    with pytest.raises(ToolError, match="too long") as caught:
        read(fake_context(partial(GuardedFiles, workspace)), path="x" * 300)
    assert (caught.value.code, caught.value.details) == ("READ_ERROR", {"path": "x" * 300})


def test_a_long_file_is_read_in_parts_that_make_up_the_whole(home: Path, workspace: Path) -> None:
    text = "".join(f"line {number} {'é' * (number % 700)}\n" for number in range(12_000))
    (workspace / "long").write_text(text)
    parts, offset = [], 0
    while True:
        result = through_the_gate(home, workspace, path="long", offset=offset)
        assert result.success
        if not result.metadata.get("truncated"):
            parts.append(result.data)
            break
        body, _, note = result.data.rpartition("\n[… ")
        assert f"offset={result.metadata['next_offset']}" in note
        assert len(body.encode()) <= ANSWER_BYTES
        parts.append(body + "\n")
        offset = result.metadata["next_offset"]
    assert len(parts) > 3
    assert "".join(parts) == text


@pytest.mark.parametrize("size", [ANSWER_BYTES - 1, ANSWER_BYTES, ANSWER_BYTES + 1])
def test_at_the_limit(size: int) -> None:
    ctx = fake_context({"a": b"x" * (size - 2) + b"\ny"})
    text = read(ctx, path="a")
    assert text.startswith("x" * (ANSWER_BYTES - 3))
    assert ("truncated" in ctx.report) == (size > ANSWER_BYTES)
    if "truncated" in ctx.report:
        assert read(ctx, path="a", offset=ctx.report["next_offset"]) == "y"
