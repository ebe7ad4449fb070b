"""`write_file`, alone with a fake context, and through the gate."""

import asyncio
from pathlib import Path

import pytest

import toolcrib
from toolcrib.builtins.write_file import write_file
from toolcrib.testing import ScriptedApprover, fake_context


def call(home: Path, workspace: Path, args: dict[str, str], approver: toolcrib.Approver | None) -> toolcrib.Result:
    return toolcrib.call_sync("write_file", args, workspace=workspace, home=home, approver=approver)


def test_it_writes() -> None:
    ctx = fake_context()
    assert "3 bytes" in asyncio.run(write_file.backend.run({"path": "a", "content": "abc"}, ctx))
    assert ctx.workspace.read("a") == b"abc"


def test_writing_is_asked_about(home: Path, workspace: Path) -> None:
    """G9, G36, F35: a no means that nothing is written."""
    approver = ScriptedApprover(False, True)
    args = {"path": "new/a.txt", "content": "abc"}
    assert call(home, workspace, args, None).error.code == "APPROVAL_REQUIRED"  # type: ignore[union-attr]
    assert call(home, workspace, args, approver).error.code == "APPROVAL_DENIED"  # type: ignore[union-attr]
    assert list(workspace.iterdir()) == []
    assert call(home, workspace, args, approver).success
    assert (workspace / "new/a.txt").read_text() == "abc"
    assert [str(question.subjects[0].kind) for question in approver.asked] == ["write", "write"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../out", "PATH_OUTSIDE_WORKSPACE"),
        (".git/config", "PATH_PROTECTED"),
        (".toolcrib/tools/x", "PATH_PROTECTED"),
        (".toolcrib/policy.yaml", "PATH_PROTECTED"),
        (".vscode/tasks.json", "PATH_PROTECTED"),
        ("out/x", "PATH_OUTSIDE_WORKSPACE"),
    ],
)
def test_some_places_are_never_written(home: Path, workspace: Path, tmp_path: Path, path: str, code: str) -> None:
    """No answer helps."""
    (workspace / "out").symlink_to(tmp_path)
    approver = ScriptedApprover(True, True)
    before = sorted(str(each) for each in tmp_path.rglob("*") if home not in each.parents)
    result = call(home, workspace, {"path": path, "content": "x"}, approver)
    assert result.error is not None
    assert result.error.code == code
    assert approver.asked == []
    assert sorted(str(each) for each in tmp_path.rglob("*") if home not in each.parents) == before


def test_a_dry_run_shows_the_difference(home: Path, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")

    async def preview() -> toolcrib.Result:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            return await crib.call("write_file", {"path": "a.txt", "content": "one\nthree\n"}, dry_run=True)

    assert asyncio.run(preview()).data == "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+three\n "
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"


def test_more_roots_come_only_from_the_configuration(home: Path, workspace: Path, tmp_path: Path) -> None:
    """F32: the directory of tools becomes writable when the user names it; every other restriction stays."""
    notes, tools = tmp_path / "notes", home / "tools"
    notes.mkdir()
    yes = toolcrib.SaysYes()
    for path in (notes / "a", tools / "a"):
        assert not call(home, workspace, {"path": str(path), "content": "x"}, yes).success
    (home / "config.yaml").write_text(f"toolsets: {{filesystem: {{roots: {{{notes}: read, {tools}: write}}}}}}\n")
    assert call(home, workspace, {"path": str(tools / "a"), "content": "x"}, yes).success
    assert (tools / "a").read_text() == "x"
    refused = call(home, workspace, {"path": str(notes / "a"), "content": "x"}, yes)
    assert refused.error is not None
    assert refused.error.code == "PATH_PROTECTED"
    assert not call(home, workspace, {"path": str(home / "config.yaml"), "content": "x"}, yes).success
    assert list(notes.iterdir()) == []


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"one\r\ntwo\r\n", "1\n2\n", b"1\r\n2\r\n"),
        (b"one\r\ntwo\r\n", "1\r\n2\n", b"1\r\n2\n"),
        (b"one\ntwo\n", "1\r\n2\r\n", b"1\r\n2\r\n"),
        ("é\n".encode("utf-8-sig"), "è\n", "è\n".encode("utf-8-sig")),
        ("é\n".encode("utf-16"), "è\n", "è\n".encode("utf-16")),
        (b"\x7fELF\0", "text\n", b"text\n"),
        (b"", "text\n", b"text\n"),
    ],
)
def test_line_ends_and_encoding_stay(before: bytes, content: str, after: bytes) -> None:
    """A content that has line ends of its own kind keeps them."""
    ctx = fake_context({"a": before})
    asyncio.run(write_file.backend.run({"path": "a", "content": content}, ctx))
    assert ctx.workspace.read("a") == after


def test_the_mode_stays(home: Path, workspace: Path) -> None:
    (workspace / "run.sh").write_text("#!/bin/sh\n")
    (workspace / "run.sh").chmod(0o750)
    result = call(home, workspace, {"path": "run.sh", "content": "#!/bin/sh\necho\n"}, toolcrib.SaysYes())
    assert result.success
    assert (workspace / "run.sh").stat().st_mode & 0o777 == 0o750
    assert (result.metadata["bytes_written"], result.metadata["files_accessed"]) == (15, ["run.sh"])


def test_a_session_does_not_write_over_what_it_has_not_read(home: Path, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("precious")

    async def story() -> tuple[toolcrib.Result, toolcrib.Result, toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes(), session="s") as crib:
            write = {"path": "a.txt", "content": "mine"}
            blind = await crib.call("write_file", write)
            fresh = await crib.call("write_file", {"path": "new.txt", "content": "x"})
            await crib.call("file_info", {"path": "a.txt"})
            glanced = await crib.call("write_file", write)
            return blind, fresh, glanced

    blind, fresh, glanced = asyncio.run(story())
    assert blind.error is not None
    assert "was not read in this session" in blind.error.message
    assert fresh.success
    assert not glanced.success
    assert file.read_text() == "precious"


@pytest.mark.parametrize("args", [{}, {"path": "a"}, {"path": "", "content": ""}, {"path": "a", "content": 1}])
def test_wrong_arguments(home: Path, workspace: Path, args: dict[str, str]) -> None:
    result = call(home, workspace, args, toolcrib.SaysYes())
    assert result.error is not None
    assert result.error.code == "VALIDATION_ERROR"
    assert list(workspace.iterdir()) == []
