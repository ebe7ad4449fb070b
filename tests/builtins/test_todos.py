"""`todo_write` and `todo_read`, alone, through the gate and from many sides at once."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins.todo_read import todo_read
from toolcrib.builtins.todo_write import todo_write
from toolcrib.testing import fake_context

ITEMS: list[dict[str, Any]] = [
    {"content": "Find the bug", "status": "completed"},
    {"content": "Fix it", "status": "in_progress", "activeForm": "Fixing it", "priority": "high", "id": "2"},
    {"content": "Tell people", "status": "pending"},
]
COUNTS = {"pending": 1, "in_progress": 1, "completed": 1}
WRITER = """
import asyncio, sys, toolcrib
async def main():
    async with toolcrib.open(workspace=sys.argv[1], home=sys.argv[2], session="shared") as crib:
        async def write(turn):
            todos = [{"content": f"{sys.argv[3]} {turn} {at}", "status": "pending"} for at in range(20)]
            result = await crib.call("todo_write", {"todos": todos})
            assert result.success, result.error
        await asyncio.gather(*map(write, range(25)))
asyncio.run(main())
"""


def calls(home: Path, workspace: Path, *each: tuple[str, dict[str, Any]], session: str | None = None) -> list[Any]:
    """The results of some calls; there is nobody to ask."""

    async def one_by_one() -> list[toolcrib.Result]:
        async with toolcrib.open(workspace=workspace, home=home, session=session) as crib:
            return [await crib.call(name, args) for name, args in each]

    return asyncio.run(one_by_one())


def test_alone_they_keep_the_list_in_memory() -> None:
    """C46"""
    ctx = fake_context()
    told = asyncio.run(todo_write.backend.run({"todos": ITEMS}, ctx))
    assert told == {"todos": ITEMS, "counts": COUNTS}
    assert asyncio.run(todo_read.backend.run({}, ctx)) == told
    empty = {"todos": [], "counts": {"pending": 0, "in_progress": 0, "completed": 0}}
    assert asyncio.run(todo_write.backend.run({"todos": []}, ctx)) == empty
    assert asyncio.run(todo_read.backend.run({}, ctx)) == empty


def test_nobody_is_asked_and_nothing_in_the_workspace_changes(home: Path, workspace: Path) -> None:
    """C46: they touch our own store alone."""
    written, read = calls(home, workspace, ("todo_write", {"todos": ITEMS}), ("todo_read", {}))
    assert written.data == read.data == {"todos": ITEMS, "counts": COUNTS}
    assert written.metadata["approval"] == "preApproved"
    assert list(workspace.iterdir()) == []


def test_a_named_session_finds_its_list_again(home: Path, workspace: Path) -> None:
    calls(home, workspace, ("todo_write", {"todos": ITEMS}), session="mine")
    (again,) = calls(home, workspace, ("todo_read", {}), session="mine")
    (other,) = calls(home, workspace, ("todo_read", {}), session="other")
    (nameless,) = calls(home, workspace, ("todo_read", {}))
    assert (again.data["todos"], other.data["todos"], nameless.data["todos"]) == (ITEMS, [], [])


def test_the_command_line_keeps_it_by_session(run_cli: Any) -> None:
    args = json.dumps({"todos": ITEMS})
    assert run_cli("call", "todo_write", "--input", args, "--session", "mine").returncode == 0
    done = run_cli("call", "todo_read", "--session", "mine", "--json")
    assert json.loads(done.stdout)["data"]["todos"] == ITEMS


@pytest.mark.parametrize(
    "todos",
    [
        None,
        "Fix it",
        {},
        ["Fix it"],
        [{}],
        [{"content": "x"}],
        [{"status": "pending"}],
        [{"content": "", "status": "pending"}],
        [{"content": 1, "status": "pending"}],
        [{"content": "x", "status": "done"}],
        [{"content": "x", "status": "pending", "priority": "urgent"}],
        [{"content": "x", "status": "pending", "owner": "me"}],
        [{"content": "x" * 2001, "status": "pending"}],
        [{"content": "x", "status": "pending"}] * 201,
    ],
)
def test_what_is_no_list_of_todos_changes_nothing(home: Path, workspace: Path, todos: Any) -> None:
    before = ("todo_write", {"todos": ITEMS})
    _, wrong, after = calls(home, workspace, before, ("todo_write", {"todos": todos}), ("todo_read", {}))
    assert wrong.error.code == "VALIDATION_ERROR"
    assert after.data["todos"] == ITEMS


def test_the_longest_list_is_kept(home: Path, workspace: Path) -> None:
    longest = [{"content": "ä\0\n😀" * 500, "status": "pending", "activeForm": "x" * 2000, "id": "y" * 64}] * 200
    written, read = calls(home, workspace, ("todo_write", {"todos": longest}), ("todo_read", {}))
    assert written.success and read.data["todos"] == longest


def test_of_a_hundred_writers_at_once_the_last_is_there_whole(home: Path, workspace: Path) -> None:
    lists = [[{"content": f"{writer} {at}", "status": "pending"} for at in range(20)] for writer in range(100)]

    async def story() -> Any:
        async with toolcrib.open(workspace=workspace, home=home) as crib:
            results = await asyncio.gather(*(crib.call("todo_write", {"todos": each}) for each in lists))
            assert [result.error for result in results] == [None] * 100
            return (await crib.call("todo_read")).data["todos"]

    assert asyncio.run(story()) in lists


def test_so_it_is_across_processes(home: Path, workspace: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, workspace, home, name], stderr=subprocess.PIPE)
        for name in "abcd"
    ]
    said = [writer.communicate(timeout=60)[1] for writer in writers]
    assert (said, [writer.returncode for writer in writers]) == ([b""] * 4, [0] * 4)
    (read,) = calls(home, workspace, ("todo_read", {}), session="shared")
    words = [item["content"].split() for item in read.data["todos"]]
    assert len({(writer, turn) for writer, turn, _ in words}) == 1
    assert [int(at) for _, _, at in words] == list(range(20))


def test_a_store_that_cannot_be_used_is_named(home: Path, workspace: Path) -> None:
    (home / "state.db").write_text("this is no database" * 100)
    for result in calls(home, workspace, ("todo_write", {"todos": ITEMS}), ("todo_read", {})):
        assert result.error.code == "CONFIG_INVALID"
        assert "state.db" in result.error.message


def test_a_secret_is_not_given_back(home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "a-very-secret-value")
    (home / "config.yaml").write_text("tools: {run_command: {secrets: [API_KEY]}}\n")
    items = [{"content": "use a-very-secret-value", "status": "pending"}]
    results = calls(home, workspace, ("todo_write", {"todos": items}), ("todo_read", {}))
    assert not any("a-very-secret-value" in json.dumps(result.to_dict()) for result in results)
