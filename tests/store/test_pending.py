"""Calls that wait: answered once, used once, bound to what they are, and soon over."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from toolcrib.core.errors import ConfigError, ToolError
from toolcrib.store import pending as module
from toolcrib.store.home import Home
from toolcrib.store.pending import LONGEST_REQUEST, MOST_WAITING, TTL_SECONDS, PendingCalls


@pytest.fixture
def calls(home: Path) -> PendingCalls:
    return PendingCalls(Home(home))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    class Clock:
        now = 1_800_000_000.0

        def time(self) -> float:
            return self.now

    held = Clock()
    monkeypatch.setattr(module, "time", held)
    return held


def request(id: str = "one", **more: Any) -> dict[str, Any]:
    """As much of a request as is needed to keep it."""
    call = {"session": "s-1", "tool_id": "t:a", "digest": "sha256:1", "call_digest": "sha256:c"}
    return {"id": id, **call, **more}


def test_a_call_waits_until_it_is_answered_and_its_answer_is_used_once(calls: PendingCalls) -> None:
    assert calls.ask(request()).state == "waiting"
    assert calls.ask(request("two")).id == "one", "the same call is the same question"
    assert calls.answer("one", allowed=True, by="me")
    row = calls.ask(request("three"))
    assert (row.id, row.state, row.by) == ("one", "approved", "me")
    assert calls.ask(request("four")).state == "waiting"
    used = calls.get("one")
    assert used is not None and used.state == "used"


def test_a_no_is_told_once_and_then_asked_anew(calls: PendingCalls) -> None:
    calls.ask(request())
    assert calls.answer("one", allowed=False, by="me")
    assert calls.ask(request("two")).state == "denied"
    assert (calls.ask(request("three")).id, calls.ask(request("four")).state) == ("three", "waiting")


def test_it_is_answered_once(calls: PendingCalls) -> None:
    calls.ask(request())
    assert calls.answer("one", allowed=False, by="me")
    assert not calls.answer("one", allowed=True, by="me")
    assert not calls.answer("nothing", allowed=True, by="me")
    assert calls.ask(request("two")).state == "denied"


@pytest.mark.parametrize("other", ["session", "tool_id", "digest", "call_digest"])
def test_nobody_else_uses_the_answer(calls: PendingCalls, other: str) -> None:
    """Another session, a changed tool, other arguments."""
    calls.ask(request())
    calls.answer("one", allowed=True, by="me")
    assert calls.ask(request("two", **{other: "another"})).state == "waiting"
    assert calls.ask(request("three")).state == "approved"


def test_what_waits_too_long_is_over(calls: PendingCalls, clock) -> None:
    calls.ask(request())
    clock.now += TTL_SECONDS
    assert not calls.answer("one", allowed=True, by="me")
    assert calls.waiting() == []
    assert calls.ask(request("two")).id == "two"


def test_a_yes_waits_for_its_call_as_long_again_and_no_longer(calls: PendingCalls, clock) -> None:
    calls.ask(request())
    clock.now += TTL_SECONDS - 1
    calls.answer("one", allowed=True, by="me")
    clock.now += TTL_SECONDS - 1
    row = calls.get("one")
    assert row is not None and row.state == "approved"
    clock.now += 1
    assert calls.ask(request("two")).state == "waiting"


def test_a_clock_that_goes_back_ends_the_waiting(calls: PendingCalls, clock) -> None:
    calls.ask(request())
    calls.answer("one", allowed=True, by="me")
    clock.now -= 1
    assert calls.ask(request("two")).state == "waiting"


def test_a_yes_can_be_taken_back_before_it_is_used(calls: PendingCalls) -> None:
    calls.ask(request())
    calls.answer("one", allowed=True, by="me")
    assert calls.withdraw("one") and not calls.withdraw("one")
    assert calls.ask(request("two")).state == "waiting"


def test_a_session_cannot_bury_a_person_in_questions(calls: PendingCalls) -> None:
    for number in range(MOST_WAITING):
        calls.ask(request(str(number), call_digest=str(number)))
    with pytest.raises(ToolError, match="wait for a person already") as caught:
        calls.ask(request("more", call_digest="more"))
    assert caught.value.code == "RESOURCE_EXHAUSTED"
    assert calls.ask(request("same", call_digest="0")).id == "0"
    assert calls.ask(request("theirs", session="s-2")).id == "theirs"


def test_a_call_that_is_too_long_to_keep_is_refused(calls: PendingCalls) -> None:
    with pytest.raises(ToolError, match="too long"):
        calls.ask(request(arguments={"text": "x" * LONGEST_REQUEST}))
    assert calls.waiting() == []


def test_old_ones_are_forgotten(calls: PendingCalls, clock) -> None:
    calls.ask(request())
    clock.now += 2 * 86_400
    assert calls.get("one") is None


def test_it_is_private_and_looking_makes_no_file(calls: PendingCalls, home: Path) -> None:
    assert calls.waiting() == [] and calls.get("one") is None
    assert list(home.iterdir()) == []
    calls.ask(request())
    assert os.stat(home / "state.db").st_mode & 0o777 == 0o600


def test_a_corrupt_file_is_an_error_and_no_answer(calls: PendingCalls, home: Path) -> None:
    (home / "state.db").write_bytes(b"no database " * 500)
    with pytest.raises(ConfigError, match="move the file away"):
        calls.ask(request())


class Answers(RuleBasedStateMachine):
    """Whatever happens in whatever order: a call goes on at most once for each yes, and only while that yes holds."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.calls = PendingCalls(Home(self.place.name))
        self.now = 1_800_000_000.0
        self.asked = 0
        self.waiting: dict[str, tuple[str, float]] = {}
        self.allowed: dict[str, tuple[str, float]] = {}
        self.denied: dict[str, tuple[str, float]] = {}
        self._real, module.time = module.time, self  # type: ignore[assignment, misc]  # the clock is this machine's

    def time(self) -> float:
        return self.now

    def teardown(self) -> None:
        module.time = self._real  # type: ignore[misc]
        self.place.cleanup()

    def held(self, among: dict[str, tuple[str, float]], call: str) -> list[str]:
        return [id for id, (its_call, expires) in among.items() if its_call == call and self.now < expires]

    @rule(call=st.sampled_from("abc"))
    def ask(self, call: str) -> None:
        self.asked += 1
        row = self.calls.ask(request(f"q{self.asked}", call_digest=call))
        if row.state == "approved":
            assert row.id in self.held(self.allowed, call)
            del self.allowed[row.id]
        elif row.state == "denied":
            assert row.id in self.held(self.denied, call) and not self.held(self.allowed, call)
            del self.denied[row.id]
        else:
            assert not self.held(self.allowed, call) and not self.held(self.denied, call)
            if row.id == f"q{self.asked}":
                self.waiting[row.id] = (call, self.now + TTL_SECONDS)
            assert self.held(self.waiting, call) == [row.id]

    @precondition(lambda self: self.asked)
    @rule(which=st.integers(0, 50), yes=st.booleans())
    def answer(self, which: int, yes: bool) -> None:
        id = f"q{which % self.asked + 1}"
        call, expires = self.waiting.get(id, ("", 0.0))
        assert self.calls.answer(id, allowed=yes, by="me") == (self.now < expires)
        if self.now < expires:
            del self.waiting[id]
            (self.allowed if yes else self.denied)[id] = (call, self.now + TTL_SECONDS)

    @rule(seconds=st.sampled_from([1, 100, 299, 300]))
    def wait(self, seconds: float) -> None:
        self.now += seconds


def test_whatever_happens_a_yes_is_used_at_most_once() -> None:
    run_state_machine_as_test(Answers, settings=settings(max_examples=25, stateful_step_count=20, deadline=None))


CALLERS = """
import json, sys, threading
from toolcrib.store.home import Home
from toolcrib.store.pending import PendingCalls

got = []
sys.stdin.readline()  # all start together
def use(name):
    got.append(PendingCalls(Home(sys.argv[1])).ask({**json.loads(sys.argv[2]), "id": name}).state)
threads = [threading.Thread(target=use, args=(f"{sys.argv[3]}-{n}",)) for n in range(10)]
for each in threads: each.start()
for each in threads: each.join()
print(json.dumps(got))
"""


def test_of_a_hundred_callers_in_ten_processes_one_gets_the_answer(calls: PendingCalls, home: Path) -> None:
    calls.ask(request())
    calls.answer("one", allowed=True, by="me")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CALLERS, str(home), json.dumps(request()), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(10)
    ]
    for each in started:
        assert each.stdin
        each.stdin.write("go\n")
        each.stdin.flush()
    answers = [state for each in started for state in json.loads(each.communicate(timeout=60)[0])]
    assert sorted(answers) == ["approved"] + ["waiting"] * 99
    assert len(calls.waiting()) == 1, "and all others wait for one and the same question"
