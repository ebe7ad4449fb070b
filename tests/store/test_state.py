"""The answers that last: for one version of one tool, in one place, for a while."""

import errno
import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolcrib.core.errors import ConfigError
from toolcrib.store import state as module
from toolcrib.store.home import Home
from toolcrib.store.state import DAY, SPANS, State

ANY = {"any": True}
OLD = """
CREATE TABLE approvals (
  tool TEXT NOT NULL, digest TEXT NOT NULL, scope TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (tool, digest, scope)
) WITHOUT ROWID
"""
HERE = {"session": "s-1", "project": "/ws 1:2"}


@pytest.fixture
def state(home: Path) -> State:
    return State(Home(home))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    """A clock that stands until it is set."""

    class Clock:
        now = 1_800_000_000.0

        def time(self) -> float:
            return self.now

    held = Clock()
    monkeypatch.setattr(module, "time", held)
    return held


def allow(state: State, scope: str = "user", key: str = "", tool: str = "t:a", digest: str = "sha256:1") -> str:
    return state.add(tool, digest, ANY, shown="anything", scope=scope, key=key)


def found(state: State, *, tool: str = "t:a", digest: str = "sha256:1", **here: str) -> list[str]:
    return [row.scope for row in state.find(tool, digest, **{**HERE, **here})]


def test_a_yes_counts_for_this_tool_this_digest_and_this_place(state: State) -> None:
    allow(state, "session", "s-1")
    allow(state, "project", "/ws 1:2")
    assert sorted(found(state)) == ["project", "session"]
    assert found(state, session="s-2") == ["project"]
    assert found(state, project="/ws 1:3") == ["session"]
    assert found(state, session="", project="") == []
    assert found(state, tool="t:b") == []
    assert found(state, digest="sha256:2") == []


def test_what_is_typed_at_a_terminal_counts_there_and_nowhere_else(state: State) -> None:
    state.remember("t:a", "sha256:1", "terminal")
    assert state.remembers("t:a", "sha256:1", "terminal")
    assert not state.remembers("t:a", "sha256:2", "terminal")
    assert found(state) == []
    allow(state, "user", tool="t:b")
    assert not state.remembers("t:b", "sha256:1", "terminal")


@pytest.mark.parametrize(("scope", "key"), [("session", ""), ("project", ""), ("user", "x"), ("forever", ""), ("", "")])
def test_a_scope_without_its_place_is_not_stored(state: State, scope: str, key: str) -> None:
    with pytest.raises(ValueError):
        allow(state, scope, key)
    assert state.approvals() == []


@pytest.mark.parametrize(
    ("scope", "key", "days"), [("session", "s-1", 1), ("project", "/ws 1:2", 90), ("user", "", 90)]
)
def test_an_answer_lasts_its_span(state: State, clock, scope: str, key: str, days: int) -> None:
    allow(state, scope, key)
    clock.now += days * DAY - 1
    assert found(state) == [scope]
    clock.now += 1
    assert found(state) == []
    assert SPANS[scope] == days * DAY


def test_an_expired_answer_does_not_come_back_with_a_clock_that_is_set_back(state: State, clock) -> None:
    allow(state)
    clock.now += 91 * DAY
    assert found(state) == []
    clock.now -= 90 * DAY
    assert found(state) == []


def test_an_answer_from_the_future_does_not_count(state: State, clock) -> None:
    allow(state)
    clock.now -= 1
    assert found(state) == []
    assert state.approvals() == []


def test_the_same_answer_again_is_one_that_lasts_from_now_on(state: State, clock) -> None:
    allow(state)
    clock.now += 89 * DAY
    allow(state)
    clock.now += 10 * DAY
    assert [row.expires for row in state.approvals()] == [clock.now + 80 * DAY]


def test_expired_answers_are_gone_from_the_list_and_from_the_file(state: State, clock, home: Path) -> None:
    allow(state)
    clock.now += 90 * DAY
    assert state.approvals() == []
    with sqlite3.connect(home / "state.db") as db:
        assert db.execute("SELECT count(*) FROM approvals").fetchone() == (0,)
    db.close()


def test_answers_are_taken_back_by_id_by_tool_and_all(state: State) -> None:
    one, _, other = allow(state), allow(state, "session", "s-1"), allow(state, tool="t:b")
    assert state.revoke(id="nothing") == 0
    assert state.revoke(id=one) == 1
    assert state.revoke(tool="t:a") == 1
    assert [row.id for row in state.approvals()] == [other]
    allow(state, tool="t:c")
    assert state.revoke() == 2
    assert state.approvals() == []


def test_ids_are_short_typable_and_different(state: State) -> None:
    ids = [allow(state, tool=f"t:{number}") for number in range(50)]
    assert len(set(ids)) == 50
    assert all(len(each) == 8 and each.isascii() and each.isalnum() and each == each.lower() for each in ids)


def test_the_version_approved_last_is_known_also_when_its_answer_is_gone(state: State, clock) -> None:
    assert state.knew("t:a", "sha256:1") is None
    allow(state)
    assert state.knew("t:a", "sha256:1") == "sha256:1"
    assert state.knew("t:a", "sha256:2") == "sha256:1"
    clock.now += 1
    state.note("t:a", "sha256:2")
    assert state.knew("t:a", "sha256:1") == "sha256:2"
    state.revoke()
    assert state.knew("t:a", "sha256:3") == "sha256:2"
    assert state.knew("t:b", "sha256:3") is None


def test_an_answer_says_for_which_version_it_was(state: State) -> None:
    """K71: what the tool called itself, beside the digest that counts."""
    state.add("t:a", "sha256:1", ANY, shown="anything", scope="user", version="1.2.3")
    state.remember("t:a", "sha256:2", version="1.3.0")
    allow(state, tool="t:b")
    assert [row.version for row in state.approvals()] == ["1.2.3", "1.3.0", None]


def test_looking_makes_no_file(state: State, home: Path) -> None:
    assert found(state) == [] and state.approvals() == [] and state.revoke() == 0
    assert state.knew("t:a", "x") is None and not state.remembers("t:a", "x")
    assert list(home.iterdir()) == []


def test_it_is_kept_in_a_private_file_and_is_there_the_next_time(state: State, home: Path) -> None:
    allow(state)
    assert os.stat(home / "state.db").st_mode & 0o777 == 0o600
    assert found(State(Home(home))) == ["user"]


def test_what_an_older_version_remembered_still_counts_at_the_terminal(state: State, home: Path) -> None:
    with sqlite3.connect(home / "state.db") as db:
        db.execute(OLD)
        db.execute("INSERT INTO approvals VALUES ('t:a', 'sha256:1', 'terminal', 1700000000)")
        db.execute("INSERT INTO approvals VALUES ('t:a', 'sha256:0', 'terminal', 1600000000)")
        db.execute("PRAGMA user_version = 1")
    db.close()
    assert state.remembers("t:a", "sha256:1")
    assert not state.remembers("t:a", "sha256:2")
    assert state.knew("t:a", "sha256:2") == "sha256:1"
    assert found(state) == []
    assert [(row.scope, row.digest) for row in state.approvals()] == [
        ("terminal", "sha256:0"),
        ("terminal", "sha256:1"),
    ]


def test_a_file_of_a_newer_version_is_left_alone(state: State, home: Path) -> None:
    allow(state)
    with sqlite3.connect(home / "state.db") as db:
        db.execute("PRAGMA user_version = 1000")
    db.close()
    with pytest.raises(ConfigError, match="newer version"):
        found(state)


def test_many_at_once_make_it_once(home: Path) -> None:
    def use(number: int) -> list[str]:
        own = State(Home(home))
        allow(own, tool=f"t:{number}")
        return found(own, tool=f"t:{number}")

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(use, range(32))) == [["user"]] * 32


@pytest.mark.parametrize("text", ["'; DROP TABLE approvals; --", "\x00", "\u202e", "a" * 10_000, "\udc80"])
def test_any_text_is_only_text(state: State, text: str) -> None:
    state.add(text, text, {"path": text}, shown=text, scope="session", key=text)
    (row,) = state.find(text, text, session=text, project="")
    assert row.pattern == {"path": text}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(b"this is no database, and not a short text either" * 30, id="not a database"),
        pytest.param(b"SQLite format 3\x00" + b"\xff" * 4000, id="only its beginning"),
    ],
)
def test_a_corrupt_file_is_an_error_that_says_what_to_do(state: State, home: Path, damage: bytes) -> None:
    (home / "state.db").write_bytes(damage)
    for use in (lambda: found(state), state.approvals, lambda: allow(state), lambda: state.remembers("t:a", "1")):
        with pytest.raises(ConfigError, match="state.db: .*; (move the file away|see that)"):
            use()


@pytest.mark.parametrize("pattern", ["", "no json", "[]", "null"])
def test_a_row_that_we_did_not_write_is_an_error_and_no_approval(state: State, home: Path, pattern: str) -> None:
    allow(state)
    with sqlite3.connect(home / "state.db") as db:
        db.execute("UPDATE approvals SET pattern = ?", (pattern,))
    db.close()
    with pytest.raises(ConfigError, match="what it holds is not"):
        found(state)


def test_a_file_that_cannot_be_written_is_an_error(state: State, home: Path) -> None:
    (home / "state.db").mkdir()
    with pytest.raises(ConfigError, match="state.db"):
        allow(state)
    with pytest.raises(ConfigError, match="state.db"):
        found(state)


def test_a_file_that_another_holds_is_an_error_and_no_approval(state: State, home: Path, monkeypatch) -> None:
    allow(state)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **more: connect(path, **{**more, "timeout": 0}))
    holder = connect(home / "state.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(ConfigError, match="locked"):
        found(state)
    holder.close()


def test_a_file_that_is_held_for_long_is_waited_for_once(home: Path, monkeypatch) -> None:
    """Whoever asks: all that a server does stands still while one of them waits."""
    monkeypatch.setattr(module, "LOCK_SECONDS", 1.0)
    place = Home(home)
    states = [State(place), State(place)]
    allow(states[0])
    holder = sqlite3.connect(home / "state.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    began = time.monotonic()
    for _ in range(15):
        for each in states:
            with pytest.raises(ConfigError, match="locked"):
                found(each)
    assert time.monotonic() - began < 15
    holder.close()
    assert all(map(found, states))
    assert place.stalled == set()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EPERM, errno.EOPNOTSUPP])
def test_a_file_that_cannot_be_put_in_its_place_leaves_no_draft(state: State, home: Path, monkeypatch, error) -> None:
    """Where there are no links it is put there without one."""

    def fails(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", fails)
        if error in (errno.ENOSPC, errno.EIO):
            with pytest.raises(ConfigError, match="state.db"):
                allow(state)
            assert list(home.iterdir()) == []
        else:
            allow(state)
    assert allow(state) and [each.name for each in home.iterdir()] == ["state.db"]


KILLED = """
import os, signal, sys
from toolcrib.store import state
from toolcrib.store.home import Home

held = state.State(Home(sys.argv[1]))
held.add("t:a", "1", {"any": True}, shown="", scope="user")
with held._database.use() as db:
    for number in range(2000):  # more than SQLite keeps in memory before it writes
        pattern = '{"argv": ["' + "x" * 2000 + str(number) + '"]}'
        values = (str(number), "t:b", "1", pattern, "", "user", "", 1.0, None, "1.0.0")
        db.execute("INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_who_is_killed_in_the_middle_has_approved_nothing(state: State, home: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(home)], timeout=60, check=False)
    assert done.returncode == -9
    assert [row.tool for row in state.approvals()] == ["t:a"]


FULL = """
import os, resource, sys
from toolcrib.core.errors import ConfigError
from toolcrib.store.home import Home
from toolcrib.store.state import State

held = State(Home(sys.argv[1]))
held.add("t:a", "1", {"any": True}, shown="", scope="user")
size = os.path.getsize(sys.argv[1] + "/state.db")
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # no file grows any more
try:
    held.add("t:b", "1", {"argv": ["x" * 100_000]}, shown="", scope="user")
except ConfigError as exc:
    print(exc)
"""


def test_a_full_disk_is_an_error_and_no_approval(state: State, home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(home)], timeout=60, check=True, capture_output=True, text=True
    )
    assert "state.db: " in done.stdout and "has room" in done.stdout
    assert [row.tool for row in state.approvals()] == ["t:a"]


def test_a_home_that_cannot_be_written_is_an_error(state: State, home: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    home.chmod(0o500)
    try:
        with pytest.raises(ConfigError, match="state.db"):
            allow(state)
        assert found(state) == []
    finally:
        home.chmod(0o700)
