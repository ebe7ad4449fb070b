"""The sessions of a home, as they are kept."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolcrib.core.errors import ConfigError, ToolcribError
from toolcrib.policy.remember import shown
from toolcrib.store.home import Home
from toolcrib.store.sessions import MOST_SKILLS, KeptSessions, KeptSkill, SessionNotFound
from toolcrib.store.state import State

ONE = KeptSkill("one", "/skills/one/SKILL.md", "", "1.0.0", "sha256:00", "Does one thing.", ("a", "b"), 1.5)


@pytest.fixture
def kept(home: Path) -> KeptSessions:
    return KeptSessions(Home(home))


def test_looking_makes_no_file(home: Path, kept: KeptSessions) -> None:
    assert (kept.get("a"), kept.all(), kept.end("a"), kept.stamp()) == (None, [], False, ())
    assert not (home / "state.db").exists()


def test_what_is_kept_is_there_for_the_next_process(home: Path, kept: KeptSessions) -> None:
    kept.create("a", "/work")
    kept.put("a", ONE)
    kept.put("a", ONE._replace(name="two", only=("read_file",)))
    found = KeptSessions(Home(home)).get("a")
    assert found is not None
    assert found.skills == (ONE, ONE._replace(name="two", only=("read_file",)))
    assert (found.id, found.workspace) == ("a", "/work")


def test_a_name_is_given_once(kept: KeptSessions) -> None:
    kept.create("a", "/work")
    with pytest.raises(ToolcribError) as caught:
        kept.create("a", "/other")
    assert caught.value.code == "VALIDATION_ERROR"
    assert [each.workspace for each in kept.all()] == ["/work"]


def test_a_skill_that_is_put_again_keeps_its_place(kept: KeptSessions) -> None:
    kept.create("a", "/work")
    for skill in (ONE, ONE._replace(name="two"), ONE._replace(version="2.0.0")):
        kept.put("a", skill)
    found = kept.get("a")
    assert found is not None
    assert [(each.name, each.version) for each in found.skills] == [("one", "2.0.0"), ("two", "1.0.0")]
    assert (kept.remove("a", "one"), kept.remove("a", "one")) == (True, False)


def test_nothing_is_put_into_a_session_that_is_not_there(kept: KeptSessions) -> None:
    kept.create("a", "/work")
    kept.end("a")
    for change in (lambda: kept.put("a", ONE), lambda: kept.remove("a", "one")):
        with pytest.raises(SessionNotFound):
            change()
    kept.create("a", "/work")
    assert kept.get("a").skills == ()  # type: ignore[union-attr]


def test_there_is_a_most(kept: KeptSessions) -> None:
    kept.create("a", "/work")
    for number in range(MOST_SKILLS):
        kept.put("a", ONE._replace(name=str(number)))
    with pytest.raises(ToolcribError) as caught:
        kept.put("a", ONE)
    assert caught.value.code == "RESOURCE_EXHAUSTED"
    kept.put("a", ONE._replace(name="0"))


def test_the_end_takes_the_answers_of_the_session_and_no_others(home: Path, kept: KeptSessions) -> None:
    kept.create("a", "/work")
    state, pattern = State(Home(home)), {"any": True}
    for scope, key in (("session", "a"), ("session", "b"), ("project", "a")):
        state.add("t", "d", pattern, shown=shown(pattern), scope=scope, key=key)
    assert kept.end("a")
    assert state.find("t", "d", session="a", project="") == []
    assert len(state.find("t", "d", session="b", project="a")) == 2


def test_many_begin_at_once(home: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: KeptSessions(Home(home)).create(f"s{number}", "/work"), range(40)))
    assert len(KeptSessions(Home(home)).all()) == 40


@pytest.mark.parametrize("column", ["tools", "only_tools"])
@pytest.mark.parametrize("odd", ["{", "3", "[1]"])
def test_what_we_did_not_write_is_refused_with_the_file(odd: str, column: str, home: Path, kept: KeptSessions) -> None:
    kept.create("a", "/work")
    kept.put("a", ONE)
    with sqlite3.connect(home / "state.db") as db:
        db.execute(f"UPDATE session_skills SET {column} = ?", (odd,))
    db.close()
    with pytest.raises(ConfigError, match="state.db"):
        kept.get("a")
