"""What is remembered between runs."""

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolcrib.store.home import Home
from toolcrib.store.state import State


@pytest.fixture
def state(home) -> State:
    return State(Home(home))


def test_a_yes_counts_for_this_tool_this_digest_and_this_scope(state) -> None:
    state.remember("executable:a", "sha256:1", "terminal")
    assert state.remembers("executable:a", "sha256:1", "terminal")
    assert not state.remembers("executable:b", "sha256:1", "terminal")
    assert not state.remembers("executable:a", "sha256:2", "terminal")
    assert not state.remembers("executable:a", "sha256:1", "mcp")


def test_a_changed_tool_was_known_before(state) -> None:
    assert not state.knew("executable:a", "terminal")
    state.remember("executable:a", "sha256:1", "terminal")
    assert state.knew("executable:a", "terminal")
    assert not state.knew("executable:a", "mcp")


def test_it_is_kept_in_a_private_file_with_a_version(state, home) -> None:
    state.remember("a", "1", "s")
    assert os.stat(home / "state.db").st_mode & 0o777 == 0o600
    with sqlite3.connect(home / "state.db") as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()
    assert State(Home(home)).remembers("a", "1", "s")


def test_many_at_once_make_it_once(home) -> None:
    def use(number: int) -> bool:
        own = State(Home(home))
        own.remember("a", str(number), "s")
        return own.remembers("a", str(number), "s")

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(32)))


@pytest.mark.parametrize("text", ["'; DROP TABLE approvals; --", "\x00", "\u202e", "a" * 10_000])
def test_any_text_is_only_text(state, text) -> None:
    state.remember(text, text, text)
    assert state.remembers(text, text, text)
