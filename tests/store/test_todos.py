"""The lists of what sessions have to do."""

import json
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolcrib.core.errors import ConfigError
from toolcrib.store import todos as module
from toolcrib.store.home import Home
from toolcrib.store.state import DAY
from toolcrib.store.todos import Todos

ONE = [{"content": "one", "status": "pending"}]
WRITER = """
import sys
from toolcrib.store.home import Home
from toolcrib.store.todos import Todos
todos, name = Todos(Home(sys.argv[1])), sys.argv[2]
for turn in range(25):
    todos.write("shared", [f"{name} {turn} {at}" for at in range(100)])
"""


def test_a_list_is_there_for_the_next_process(home: Path) -> None:
    assert Todos(Home(home)).read("a") == []
    assert not (home / "state.db").exists()  # looking makes no file
    Todos(Home(home)).write("a", ONE)
    assert Todos(Home(home)).read("a") == ONE


def test_sessions_do_not_see_each_other(home: Path) -> None:
    todos = Todos(Home(home))
    todos.write("a", ONE)
    todos.write("b", [])
    assert (todos.read("a"), todos.read("b"), todos.read("c")) == (ONE, [], [])


def test_a_list_takes_the_place_of_the_one_before(home: Path) -> None:
    todos = Todos(Home(home))
    todos.write("a", [*ONE, *ONE])
    todos.write("a", ONE)
    assert todos.read("a") == ONE


@pytest.mark.parametrize("odd", ["ä\U0001f600", "\ud800", "\0", "' OR 1=1 --"])
def test_odd_names_and_texts_are_kept(home: Path, odd: str) -> None:
    todos = Todos(Home(home))
    todos.write(odd, [odd])
    assert todos.read(odd) == [odd]


def test_of_many_writers_the_last_ones_list_is_there_whole(home: Path) -> None:
    todos = Todos(Home(home))
    lists = [[f"{writer} {at}" for at in range(50)] for writer in range(100)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: todos.write("a", each), lists))
    assert todos.read("a") in lists


def test_so_it_is_across_processes(home: Path) -> None:
    argv = [sys.executable, "-c", WRITER, str(home)]
    writers = [subprocess.Popen([*argv, name]) for name in ("a", "b", "c", "d")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    found = Todos(Home(home)).read("shared")
    assert len(found) == 100 and len({each.rsplit(" ", 1)[0] for each in found}) == 1
    assert found[0].split()[1] == "24"  # each one's last list was written after its others


def test_of_too_many_lists_the_one_goes_that_nobody_changed_for_longest(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_LISTS", 3)
    todos = Todos(Home(home))
    for name in ("a", "b", "c", "a", "d"):
        todos.write(name, ONE)
    assert [todos.read(name) for name in ("a", "b", "c", "d")] == [ONE, [], ONE, ONE]


def test_a_clock_that_is_set_ahead_makes_no_list_old(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    todos = Todos(Home(home))
    todos.write("a", ONE)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 20 * 365 * DAY)
    todos.write("b", ONE)
    todos.write("c", ONE)
    assert [todos.read(name) for name in ("a", "b", "c")] == [ONE] * 3


@pytest.mark.parametrize("text", ["{}", "no json", "null"])
def test_what_we_did_not_write_is_named_and_not_taken_for_a_list(home: Path, text: str) -> None:
    todos = Todos(Home(home))
    todos.write("a", ONE)
    with sqlite3.connect(home / "state.db") as db:
        db.execute("UPDATE todos SET items = ?", (text,))
    db.close()
    with pytest.raises(ConfigError, match=r"state\.db"):
        todos.read("a")


def test_a_file_that_is_no_database_is_named(home: Path) -> None:
    (home / "state.db").write_text(json.dumps(ONE) * 100)
    with pytest.raises(ConfigError, match=r"state\.db"):
        Todos(Home(home)).write("a", ONE)
