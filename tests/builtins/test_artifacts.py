"""`read_artifact` and `grep_artifact`: what a limit cut can be read to its end, and searched."""

import asyncio
import itertools
from pathlib import Path

import pytest

import toolcrib


def story(home: Path, workspace: Path, command: str, *reads: dict[str, object]) -> list[toolcrib.Result]:
    """A command, then parts of what it printed to its standard output."""

    async def told() -> list[toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            ran = await crib.call("run_command", {"command": command})
            ident = ran.metadata["artifacts"][0]["id"] if ran.metadata.get("artifacts") else "none"
            tools = ["grep_artifact" if "pattern" in read else "read_artifact" for read in reads]
            return [
                ran,
                *[await crib.call(tool, {"id": ident, **read}) for tool, read in zip(tools, reads, strict=True)],
            ]

    return asyncio.run(told())


def test_what_was_cut_is_read_by_its_handle(home: Path, workspace: Path) -> None:
    ran, first, middle, last = story(
        home,
        workspace,
        "seq 1 400000",
        {"limit": 2},
        {"offset": 199_999, "limit": 2, "line_numbers": True},
        {"offset": 399_998},
    )
    assert ran.metadata["truncated"] is True
    assert first.data == "1\n2"
    assert middle.data == "200000\t200000\n200001\t200001"
    assert last.data == "399999\n400000\n"
    assert first.metadata["approval"] == "preApproved"


@pytest.mark.parametrize("ident", ["nothing", "../config.yaml", "..", ".", "/etc/passwd", "a/b", "x" * 101, "a\0b"])
def test_an_id_is_never_a_path(home: Path, workspace: Path, ident: str) -> None:
    (home / "config.yaml").write_text("sandbox: auto\n")
    (home / "artifacts").mkdir()
    (home / "artifacts" / "link").symlink_to(home / "config.yaml")
    for each, more in itertools.product((ident, "link"), ({}, {"pattern": "sandbox"})):
        tool = "grep_artifact" if more else "read_artifact"
        result = toolcrib.call_sync(tool, {"id": each, **more}, workspace=workspace, home=home)
        assert result.error is not None
        assert result.error.code in ("FILE_NOT_FOUND", "VALIDATION_ERROR")
        assert "sandbox" not in str(result.to_dict()["data"])


def test_a_secret_is_not_in_it(home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """I6: what is kept whole went through the same filter as what is shown."""
    monkeypatch.setenv("API_TOKEN", "hunter2-hunter2")
    (home / "config.yaml").write_text("tools: {run_command: {env: [API_TOKEN]}}\n")
    ran, read = story(home, workspace, 'seq 1 400000; echo "$API_TOKEN"', {"offset": 400_000})
    assert ran.success
    assert read.success
    assert read.data
    assert "hunter2" not in read.data


def test_what_was_cut_is_searched(home: Path, workspace: Path) -> None:
    ran, found, none, wrong = story(
        home,
        workspace,
        "seq 1 400000",
        {"pattern": "^39999[89]$", "context": 1},
        {"pattern": "nothing like it"},
        {"pattern": "("},
    )
    assert ran.metadata["truncated"] is True
    assert [line.strip() for line in found.data.splitlines()[1:]] == [
        "399997-399997", "399998:399998", "399999:399999", "400000-400000"
    ]  # fmt: skip
    assert found.metadata["approval"] == "preApproved"
    assert none.data.startswith("no matches")
    assert wrong.error is not None


def test_the_terms_of_searching(home: Path, workspace: Path) -> None:
    for args in ({}, {"id": "a"}, {"pattern": "a"}, {"id": "a", "pattern": ""}):
        result = toolcrib.call_sync("grep_artifact", args, workspace=workspace, home=home)
        assert result.error is not None
        assert result.error.code == "VALIDATION_ERROR"
