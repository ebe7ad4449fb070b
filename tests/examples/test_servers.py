"""The example tools that stay running, called as an agent would call them."""

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolcrib

SERVERS = Path(__file__).parents[2] / "examples" / "servers"
NAMES = ["sort_lines", "word_index"]

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture
def calls(home: Path, workspace: Path) -> Callable[..., list[toolcrib.Result]]:
    """`calls(name, args, …)`: one call after the other, in one crib; a function among them is called between them."""
    shutil.copytree(SERVERS, home / "tools")

    async def all_of_them(name: str, several: tuple[Any, ...]) -> list[toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            return [await crib.call(f"custom_tool_{name}", args) for args in several if not callable(args) or args()]

    return lambda name, *several: asyncio.run(all_of_them(name, several))


def test_the_examples_are_there() -> None:
    assert sorted(file.name for file in SERVERS.iterdir()) == NAMES


@needs_node
def test_they_pass_check(run_cli) -> None:
    done = run_cli("check", *(str(SERVERS / name) for name in NAMES), "--json")
    report = json.loads(done.stdout)
    assert (report["faults"], report["warnings"]) == (0, 0), report


def test_word_index_reads_again_only_what_changed(calls, workspace: Path) -> None:
    (workspace / "a.txt").write_text("To be\nor not to be\n")
    (workspace / "b.bin").write_bytes(b"\xff\xfe be")
    (workspace / "below").mkdir()
    (workspace / "below" / "c.txt").write_text("Let it be.\n")

    def changed() -> None:
        (workspace / "a.txt").write_text("gone\n")
        (workspace / "d.txt").write_text("BE, again\n")

    first, few, second, wrong = calls(
        "word_index", {"word": "be"}, {"word": "to", "limit": 1}, changed, {"word": "be"}, {"word": "no such"}
    )
    assert first.data == {
        "found": 3,
        "lines": [
            {"path": "a.txt", "line": 1, "text": "To be"},
            {"path": "a.txt", "line": 2, "text": "or not to be"},
            {"path": "below/c.txt", "line": 1, "text": "Let it be."},
        ],
    }
    assert few.data == {"found": 2, "lines": [{"path": "a.txt", "line": 1, "text": "To be"}]}
    assert [line["path"] for line in second.data["lines"]] == ["below/c.txt", "d.txt"]
    assert wrong.error.code == "VALIDATION_ERROR"
    assert [each.metadata["serve"] for each in (first, few, second)] == ["started", "running", "running"]


@needs_node
def test_sort_lines_sorts_for_a_language(calls) -> None:
    text = "item 10\nitem 9\nÄrger\nZebra\nApfel\nApfel\n"
    german, swedish, wrong = calls(
        "sort_lines",
        {"text": text, "language": "de"},
        {"text": text, "language": "sv", "unique": True},
        {"text": text, "language": "no such language"},
    )
    assert german.data == "Apfel\nApfel\nÄrger\nitem 9\nitem 10\nZebra\n"
    assert swedish.data == "Apfel\nitem 9\nitem 10\nZebra\nÄrger\n"
    assert wrong.error.message == "the lines could not be sorted"
    assert [each.metadata["serve"] for each in (german, swedish, wrong)] == ["started", "running", "running"]


@pytest.mark.parametrize("name", ["word_index", pytest.param("sort_lines", marks=needs_node)])
def test_they_can_be_run_as_well(run_cli, home: Path, name: str) -> None:
    """The user's configuration switches off that they stay."""
    shutil.copytree(SERVERS, home / "tools")
    (home / "config.yaml").write_text(f"tools: {{custom_tool_{name}: {{warm: false}}}}\n")
    args = {"word_index": {"word": "none"}, "sort_lines": {"text": "b\na"}}[name]
    result = json.loads(run_cli("call", name, "--input", json.dumps(args), "--yes", "--json").stdout)
    answers = {"word_index": '{"found": 0, "lines": []}\n', "sort_lines": "a\nb\n"}
    assert (result["data"], result["metadata"]["exit_code"], "serve" in result["metadata"]) == (answers[name], 0, False)
