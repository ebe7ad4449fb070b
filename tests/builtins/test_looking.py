"""`list_files`, `file_exists`, `file_info` and `delete_file`, alone with a fake context, and through the gate."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins.delete_file import delete_file
from toolcrib.builtins.file_exists import file_exists
from toolcrib.builtins.list_files import list_files
from toolcrib.testing import ScriptedApprover, fake_context


@pytest.fixture
def place(home: Path, workspace: Path, tmp_path: Path) -> Path:
    (workspace / "src").mkdir()
    (workspace / "src" / "a.py").write_text("print(1)\n")
    (workspace / "notes.txt").write_text("here")
    (workspace / "out").symlink_to(tmp_path)
    (tmp_path / "secret").write_text("SECRET")
    os.utime(workspace / "notes.txt", (0, 0))
    (workspace / "notes.txt").chmod(0o640)
    return workspace


def called(home: Path, workspace: Path, name: str, approver: Any = None, **args: Any) -> toolcrib.Result:
    return toolcrib.call_sync(name, args, workspace=workspace, home=home, approver=approver)


def test_alone_with_a_context() -> None:
    ctx = fake_context({"a.txt": "x", "b.txt": "y"})
    assert asyncio.run(list_files.backend.run({}, ctx)) == ["a.txt", "b.txt"]
    assert asyncio.run(file_exists.backend.run({"path": "a.txt"}, ctx)) is True
    assert asyncio.run(delete_file.backend.run({"path": "a.txt"}, ctx)) == "deleted a.txt"
    assert asyncio.run(file_exists.backend.run({"path": "a.txt"}, ctx)) is False


def test_looking_around_is_free(home, place) -> None:
    """G2, G36"""
    listed = called(home, place, "list_files")
    assert (listed.data, listed.metadata["approval"]) == (["notes.txt", "out", "src/"], "preApproved")
    assert called(home, place, "list_files", path="src").data == ["a.py"]
    assert [called(home, place, "file_exists", path=path).data for path in ("notes.txt", "src", "no")] == [
        True,
        True,
        False,
    ]
    assert called(home, place, "file_info", path="notes.txt").data == {
        "path": "notes.txt",
        "type": "file",
        "size": 4,
        "modified": "1970-01-01T00:00:00Z",
        "mode": "0640",
        "content": "text",
    }
    assert called(home, place, "file_info", path="src").data["type"] == "directory"
    assert called(home, place, "file_info", path="no").error.code == "FILE_NOT_FOUND"


@pytest.mark.parametrize("name", ["list_files", "file_exists", "file_info", "delete_file"])
@pytest.mark.parametrize("path", ["..", "../secret", "out", "out/secret", "/etc/passwd"])
def test_nothing_outside_is_seen_or_touched(home, place, tmp_path, name, path) -> None:
    """A35, A36; of a link that leads out, the link itself may be removed."""
    result = called(home, place, name, toolcrib.SaysYes(), path=path)
    assert (tmp_path / "secret").read_text() == "SECRET"
    assert "secret" not in str(result.data)
    if (name, path) != ("delete_file", "out"):
        assert result.error.code in ("PATH_OUTSIDE_WORKSPACE", "PATH_NOT_REGULAR")


def test_deleting_is_asked_about(home, place) -> None:
    """G2, G36, F35: and a no removes nothing."""
    refused = called(home, place, "delete_file", ScriptedApprover(False), path="notes.txt")
    assert (refused.error.code, (place / "notes.txt").exists()) == ("APPROVAL_DENIED", True)
    assert called(home, place, "delete_file", toolcrib.SaysYes(), path="notes.txt").data == "deleted notes.txt"
    assert not (place / "notes.txt").exists()
    assert called(home, place, "delete_file", toolcrib.SaysYes(), path="src").error.code == "PATH_NOT_REGULAR"
    (place / ".git").mkdir()
    (place / ".git" / "config").write_text("x")
    protected = called(home, place, "delete_file", toolcrib.SaysYes(), path=".git/config")
    assert (protected.error.code, (place / ".git" / "config").exists()) == ("PATH_PROTECTED", True)
