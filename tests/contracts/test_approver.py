"""What every approver keeps to: `core.policy.Approver`."""

import asyncio

import pytest

from toolcrib.backends.function import tool
from toolcrib.core.call import Call
from toolcrib.core.policy import Answer, Question
from toolcrib.policy.approvers import Remembering, SaysYes
from toolcrib.store.home import Home
from toolcrib.store.state import State
from toolcrib.testing import ScriptedApprover


@tool
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


QUESTION = Question(Call("greet", {"name": "Bob"}, "c-1"), greet, "nothing is configured")


def ask(approver, question: Question = QUESTION) -> Answer:
    return asyncio.run(approver.approve(question))


@pytest.fixture
def state(tmp_path) -> State:
    return State(Home(tmp_path))


@pytest.fixture(params=["says yes", "scripted", "remembering"])
def approver(request, state):
    """One that will say yes."""
    return {
        "says yes": SaysYes(),
        "scripted": ScriptedApprover(True, True),
        "remembering": Remembering(ScriptedApprover(True, True), state, scope="here"),
    }[request.param]


def test_it_answers_and_says_who_did(approver) -> None:
    answer = ask(approver)
    assert isinstance(answer, Answer)
    assert (answer.allowed, bool(answer.by)) == (True, True)


def test_it_answers_a_running_tool_s_own_question(approver) -> None:
    assert ask(approver, Question(QUESTION.call, greet, "the tool asks", "Delete it all?")).allowed is True


@pytest.mark.parametrize("remembering", [False, True])
def test_a_no_is_a_no_each_time(state, remembering) -> None:
    inner = ScriptedApprover(False, False)
    approver = Remembering(inner, state, scope="here") if remembering else inner
    assert [ask(approver).allowed, ask(approver).allowed] == [False, False]
    assert len(inner.asked) == 2


def test_remembering_asks_once_for_each_tool_place_and_version(state) -> None:
    inner = ScriptedApprover(True, True, True)
    assert ask(Remembering(inner, state, scope="here")).by == "script"
    assert ask(Remembering(inner, state, scope="here")).by == "remembered"
    assert ask(Remembering(inner, state, scope="elsewhere")).by == "script"
    changed = Question(QUESTION.call, greet._replace(digest="sha256:other"), "changed")
    assert ask(Remembering(inner, state, scope="here"), changed).by == "script"
    assert len(inner.asked) == 3


def test_a_remembered_yes_does_not_answer_what_a_running_tool_asks(state) -> None:
    inner = ScriptedApprover(True, False)
    approver = Remembering(inner, state, scope="here")
    assert ask(approver).allowed
    assert not ask(approver, Question(QUESTION.call, greet, "the tool asks", "Delete it all?")).allowed


def test_says_yes_says_who_said_so_beforehand() -> None:
    assert ask(SaysYes("client")) == Answer(allowed=True, by="client")
