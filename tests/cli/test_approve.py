"""`toolcrib approve`: a call that waits is looked at and answered from another terminal, once."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.core.call import Result
from toolcrib.policy.approvers import Pending
from toolcrib.store.home import Home
from toolcrib.store.pending import PendingCalls
from toolcrib.store.state import State

LAST = "Allow? [y/s/p/u, v, ?, N] "


class Door:
    """A door that cannot ask: calls through it wait."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home, self.workspace = home, workspace
        self.calls, self.state = PendingCalls(Home(home)), State(Home(home))

    def call(self, session: str = "s-1", **args: Any) -> Result:
        async def work() -> Result:
            pending = Pending(self.calls, wait_seconds=0)
            opened = toolcrib.open(
                home=self.home, workspace=self.workspace, approver=pending, session=session, asker="mcp"
            )
            async with opened as crib:
                return await crib.call("custom_tool_repeat", args)

        return asyncio.run(work())

    def waits(self, **args: Any) -> str:
        """The id of a call that was refused because nobody has answered yet."""
        error = self.call(**args).error
        assert error is not None and error.code == "APPROVAL_REQUIRED", error
        return str(error.details["approval_id"])

    @property
    def ran(self) -> bool:
        return (self.workspace / "ran").exists()


@pytest.fixture
def door(home: Path, workspace: Path, repeat: Path) -> Door:
    return Door(home, workspace)


def test_yes_lets_this_call_run_once(door: Door, cli: Callable[..., Any]) -> None:
    id = door.waits(name="Bob")
    done = cli("approve", id, "--yes")
    assert (done.returncode, done.stdout) == (0, "")
    assert "custom_tool_repeat may run" in done.stderr
    result = door.call(name="Bob")
    assert (result.data, result.metadata["approved_by"]) == ('{"name":"Bob"}', f"approved {id}")
    assert door.waits(name="Bob") != id
    assert door.state.approvals() == []


def test_and_no_other_call(door: Door, cli: Callable[..., Any]) -> None:
    cli("approve", door.waits(name="Bob"), "--yes")
    door.waits(name="Eve")
    door.waits(name="Bob", session="s-2")
    assert not door.ran


def test_deny_is_told_to_the_caller_once(door: Door, cli: Callable[..., Any]) -> None:
    id = door.waits()
    assert cli("approve", id, "--deny").returncode == 0
    error = door.call().error
    assert error is not None and (error.code, id in error.message) == ("APPROVAL_DENIED", True)
    assert door.waits() != id
    assert not door.ran


@pytest.mark.parametrize(
    ("scope", "words"), [("session", ()), ("project", ()), ("user", ()), ("user", ("--exactly",))], ids=str
)
def test_a_yes_can_last(door: Door, cli: Callable[..., Any], scope: str, words: tuple[str, ...]) -> None:
    done = cli("approve", door.waits(name="Bob"), "--yes", "--scope", scope, *words, "--json")
    report = json.loads(done.stdout)
    assert (report["approved"], report["scope"]) == (True, scope)
    assert door.call(name="Bob").success
    assert door.call(name="Bob").metadata["approved_by"] == "remembered"
    (row,) = door.state.approvals()
    assert (row.scope, [dict(row.pattern)]) == (scope, report["remembered"])
    other = door.call(name="Eve")
    assert other.success is not bool(words)


def test_without_an_id_it_lists_what_waits(door: Door, cli: Callable[..., Any]) -> None:
    assert (cli("approve").stdout, json.loads(cli("approve", "--json").stdout)) == ("", {"waiting": []})
    id = door.waits()
    assert id in cli("approve").stdout
    (row,) = json.loads(cli("approve", "--json").stdout)["waiting"]
    assert (row["id"], row["tool"], row["asker"], row["session"]) == (id, "custom_tool_repeat", "mcp", "s-1")


def test_without_a_terminal_it_shows_everything_and_answers_nothing(door: Door, cli: Callable[..., Any]) -> None:
    id = door.waits(name="z" * 2000)
    done = cli("approve", id)
    assert (done.returncode, done.stdout) == (3, "")
    assert "--yes or --deny" in done.stderr and "more bytes" not in done.stderr
    assert door.waits(name="z" * 2000) == id


@pytest.mark.parametrize("answered", ["--yes", "--deny"])
def test_it_is_answered_once(door: Door, cli: Callable[..., Any], answered: str) -> None:
    id = door.waits()
    assert cli("approve", id, answered).returncode == 0
    again = cli("approve", id, "--yes")
    assert (again.returncode, "already" in again.stderr) == (3, True)


def test_one_that_was_used_or_never_was_is_refused(door: Door, cli: Callable[..., Any]) -> None:
    id = door.waits()
    cli("approve", id, "--yes")
    door.call()
    used, unknown = cli("approve", id, "--yes"), cli("approve", "00000000", "--yes", "--json")
    assert (used.returncode, "used already" in used.stderr) == (3, True)
    assert unknown.returncode == 3
    assert json.loads(unknown.stdout)["error"]["code"] == "APPROVAL_REQUIRED"


def test_one_that_is_too_old_is_refused(door: Door, cli: Callable[..., Any], monkeypatch) -> None:
    from toolcrib.store import pending

    class Earlier:
        @staticmethod
        def time() -> float:
            return time.time() - 301

    with monkeypatch.context() as patched:
        patched.setattr(pending, "time", Earlier)
        id = door.waits()
    done = cli("approve", id, "--yes")
    assert (done.returncode, "too old" in done.stderr) == (3, True)


def test_a_tool_that_changed_since_is_refused(door: Door, cli: Callable[..., Any], repeat: Path) -> None:
    id = door.waits()
    repeat.write_text(repeat.read_text() + "# changed\n")
    done = cli("approve", id, "--yes", "--scope", "user")
    assert (done.returncode, done.stderr.startswith("TOOL_PIN_MISMATCH")) == (3, True)
    assert door.state.approvals() == []
    assert door.waits() != id
    assert not door.ran


@pytest.mark.confined  # nothing is remembered in its home
@pytest.mark.parametrize(
    "words",
    [("--yes",), ("--deny",), ("id", "--yes", "--deny"), ("id", "--scope", "user"), ("id", "--exactly")],
    ids=" ".join,
)
def test_words_that_make_no_sense_are_refused(cli: Callable[..., Any], home: Path, words: tuple[str, ...]) -> None:
    assert cli("approve", *words).returncode == 2
    assert list(home.iterdir()) == []


def test_a_memory_that_cannot_be_read_is_an_error(cli: Callable[..., Any], home: Path) -> None:
    (home / "state.db").write_bytes(b"no database " * 500)
    done = cli("approve", "id", "--yes", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, "CONFIG_INVALID")


def test_a_tool_does_not_answer_for_the_person(door: Door, cli: Callable[..., Any]) -> None:
    """ "A tool that approves itself"."""
    id = door.waits()
    done = cli("approve", id, "--yes", "--scope", "user", env={"TOOLCRIB_CALL_ID": "tc1-1"})
    assert (done.returncode, "a person answers" in done.stderr) == (3, True)
    assert door.waits() == id
    assert door.state.approvals() == [] and not door.ran


@pytest.mark.parametrize(
    ("typed", "scope", "pattern"),
    [
        ("y", None, None),
        ("Y", None, None),
        ("yes", None, None),
        ("y=", None, None),
        ("s", "session", "any"),
        ("p", "project", "any"),
        ("u", "user", "any"),
        ("u=", "user", "arguments"),
    ],
)
def test_a_person_answers(door: Door, terminal: Any, typed: str, scope: str | None, pattern: str | None) -> None:
    at = terminal("approve", door.waits(name="Bob"), columns=80)
    assert "custom_tool_repeat is new here" in at.read_until(LAST)
    at.send(f"{typed}\n")
    assert at.finish() == 0
    assert door.call(name="Bob").success
    assert [(row.scope, *row.pattern) for row in door.state.approvals()] == ([(scope, pattern)] if scope else [])


@pytest.mark.parametrize(
    "typed", ["\n", "\x04", "n\n", "ye\n", "yy\n", "=\n", "s =\n", "sp\n", "\u0443\n", "v v\n"], ids=ascii
)
def test_anything_else_is_no(door: Door, terminal: Any, typed: str) -> None:
    at = terminal("approve", door.waits())
    at.read_until(LAST)
    at.send(typed)
    assert at.finish() == 0
    error = door.call().error
    assert error is not None and error.code == "APPROVAL_DENIED"
    assert door.state.approvals() == [] and not door.ran


def test_v_and_help_ask_again(door: Door, terminal: Any) -> None:
    at = terminal("approve", door.waits(name="z" * 2000 + "end"), columns=80)
    assert "zend" not in at.read_until(LAST)
    for typed, shown in (("v", "zend"), ("?", "A no is not remembered")):
        at.screen = ""
        at.send(f"{typed}\n")
        assert shown in at.read_until(LAST)
    at.send("y\n")
    assert at.finish() == 0


def test_ctrl_c_answers_nothing(door: Door, terminal: Any) -> None:
    id = door.waits()
    at = terminal("approve", id)
    at.read_until(LAST)
    at.send("\x03")
    assert at.finish() == 130
    assert "Traceback" not in at.screen
    assert door.waits() == id


def test_what_is_typed_before_the_last_line_is_no_answer(door: Door, terminal: Any) -> None:
    at = terminal("approve", door.waits(), typed="y\nu\n")
    at.read_until(LAST)
    at.send("\n")
    assert at.finish() == 0
    assert door.state.approvals() == []
    assert door.call().success is False and not door.ran


def test_an_answer_that_comes_too_late_allows_nothing(door: Door, terminal: Any) -> None:
    id = door.waits()
    at = terminal("approve", id)
    at.read_until(LAST)
    door.calls.withdraw(id)
    at.send("u\n")
    assert at.finish() == 3
    assert door.state.approvals() == []


def test_a_tool_that_changes_while_a_person_looks_is_refused(door: Door, terminal: Any, repeat: Path) -> None:
    at = terminal("approve", door.waits())
    at.read_until(LAST)
    repeat.write_text(repeat.read_text() + "# changed\n")
    at.send("u\n")
    assert at.finish() == 3
    assert "changed since the call was made" in at.screen
    assert door.state.approvals() == [] and not door.ran
