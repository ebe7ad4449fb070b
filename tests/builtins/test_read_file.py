"""`read_file`, alone with a fake context, and through the gate."""

import asyncio
from pathlib import Path

import pytest

import toolcrib
from toolcrib.builtins.read_file import LONGEST, read_file
from toolcrib.core.errors import ToolError
from toolcrib.testing import fake_context


def test_it_returns_the_text() -> None:
    ctx = fake_context({"a.txt": "héllo\n"})
    assert asyncio.run(read_file.backend.run({"path": "a.txt"}, ctx)) == "héllo\n"
    assert ctx.report["bytes_read"] >= 7


def test_a_byte_that_is_not_utf8_is_shown() -> None:
    ctx = fake_context({"a.bin": b"a\xffb"})
    assert asyncio.run(read_file.backend.run({"path": "a.bin"}, ctx)) == "a\\xffb"


def test_what_is_not_there_says_so() -> None:
    with pytest.raises(ToolError, match="File not found: nope") as caught:
        asyncio.run(read_file.backend.run({"path": "nope"}, fake_context()))
    assert caught.value.code == "FILE_NOT_FOUND"


def test_it_reads_the_workspace_without_a_question(home: Path, workspace: Path) -> None:
    """G9, G36: reading in the workspace is pre-approved."""
    (workspace / "a.txt").write_text("here")
    result = toolcrib.call_sync("read_file", {"path": "a.txt"}, workspace=workspace, home=home)
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


def test_what_is_too_long_is_not_read(home: Path, workspace: Path) -> None:
    with open(workspace / "big", "wb") as file:
        file.truncate(LONGEST + 1)
    result = toolcrib.call_sync("read_file", {"path": "big"}, workspace=workspace, home=home)
    assert result.error is not None
    assert result.error.code == "READ_ERROR"
    assert "run_command" in result.error.message
