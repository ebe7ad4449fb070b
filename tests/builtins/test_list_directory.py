"""`list_directory`, and `list_files`, which is the same by another name."""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins.list_directory import MOST, list_directory
from toolcrib.builtins.list_files import list_files
from toolcrib.core.context import Context
from toolcrib.core.errors import ToolError
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.testing import fake_context


@pytest.fixture
def ctx(workspace: Path, tmp_path: Path) -> Context:
    (workspace / "src" / "deep").mkdir(parents=True)
    (workspace / "b.txt").write_text("b")
    (workspace / ".hidden").write_text("h")
    (workspace / "inner").symlink_to("src")
    (workspace / "outer").symlink_to(tmp_path)
    (workspace / "nowhere").symlink_to("nothing")
    os.mkfifo(workspace / "pipe")
    return fake_context(partial(GuardedFiles, workspace))


def listed(ctx: Context, **args: Any) -> Any:
    return asyncio.run(list_directory.backend.run(args, ctx))


def test_names_in_order_directories_with_a_slash(ctx: Context) -> None:
    """C46, G2"""
    assert listed(ctx) == [".hidden", "b.txt", "inner/", "nowhere", "outer", "pipe", "src/"]
    assert listed(ctx, path="src") == ["deep/"]
    assert asyncio.run(list_files.backend.run({"path": "src"}, ctx)) == ["deep/"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("b.txt", "FILE_NOT_FOUND"),
        ("no", "FILE_NOT_FOUND"),
        ("..", "PATH_OUTSIDE_WORKSPACE"),
        ("outer", "PATH_OUTSIDE_WORKSPACE"),
    ],
)
def test_what_is_no_directory_of_the_workspace(ctx: Context, path: str, code: str) -> None:
    with pytest.raises(ToolError) as caught:
        listed(ctx, path=path)
    assert caught.value.code == code


def test_more_than_anybody_reads_is_counted(workspace: Path) -> None:
    for number in range(MOST + 5):
        (workspace / f"{number:05}").touch()
    ctx = fake_context(partial(GuardedFiles, workspace))
    names = listed(ctx)
    assert names[:2] == ["00000", "00001"]
    assert names[-1] == "[… 5 more left out; use glob with a pattern …]"
    assert (len(names), ctx.report["left_out"]) == (MOST + 1, 5)


@pytest.mark.skipif(sys.platform == "darwin", reason="this file system keeps only names in UTF-8")
def test_a_name_that_is_not_utf8_is_shown(workspace: Path) -> None:
    (Path(os.fsdecode(os.fsencode(workspace) + b"/a\xff"))).touch()
    assert listed(fake_context(partial(GuardedFiles, workspace))) == ["a\\xff"]


@pytest.mark.parametrize("name", ["list_directory", "list_files"])
def test_through_the_gate(home: Path, workspace: Path, name: str) -> None:
    (workspace / "a").touch()
    result = toolcrib.call_sync(name, {}, workspace=workspace, home=home)
    assert (result.data, result.metadata["approval"]) == (["a"], "preApproved")
    wrong = toolcrib.call_sync(name, {"path": 1}, workspace=workspace, home=home)
    assert wrong.error is not None
    assert wrong.error.code == "VALIDATION_ERROR"
