"""What every approver keeps to: `core.policy.Approver`."""

import asyncio
from pathlib import Path

import pytest

from toolcrib.backends.function import tool
from toolcrib.core.call import Call
from toolcrib.core.errors import Refused
from toolcrib.core.policy import Answer, Approver, Question
from toolcrib.core.tool import Subject
from toolcrib.policy.approvers import Pending, Remembering, SaysYes
from toolcrib.policy.request import Request, Surroundings, describe
from toolcrib.store.home import Home
from toolcrib.store.pending import PendingCalls
from toolcrib.store.state import State
from toolcrib.testing import ScriptedApprover


@tool
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


QUESTION = Question(Call("greet", {"name": "Bob"}, "c-1", "s-1"), greet, "nothing is configured")
OWN = Question(QUESTION.call, greet, "the tool asks", "Delete it all?")


def ask(approver: Approver, question: Question = QUESTION) -> Answer:
    return asyncio.run(approver.approve(question))


class Answered(PendingCalls):
    """Where a person answers at once."""

    def __init__(self, home: Home, *, allowed: bool) -> None:
        super().__init__(home)
        self._allowed = allowed

    def ask(self, request):  # type: ignore[no-untyped-def]
        row = super().ask(request)
        self.answer(row.id, allowed=self._allowed, by="test")
        return row


def made(kind: str, home: Path, *, allowed: bool) -> Approver:
    """An approver of a kind, that will give this answer twice."""

    def described(question: Question, subjects: tuple[Subject, ...]) -> Request:
        return describe(question, subjects, Surroundings(str(home), "off"))

    def remembering(inner: Approver) -> Approver:
        return Remembering(inner, State(Home(home)), session=lambda: "s", project="", describe=described)

    if kind == "pending":
        return remembering(Pending(Answered(Home(home), allowed=allowed), wait_seconds=10, poll_seconds=0.01))
    scripted = ScriptedApprover(allowed, allowed)
    return remembering(scripted) if kind == "remembering" else scripted


@pytest.fixture(params=["says yes", "scripted", "remembering", "pending"])
def approver(request: pytest.FixtureRequest, home: Path) -> Approver:
    """One that will say yes."""
    return SaysYes() if request.param == "says yes" else made(request.param, home, allowed=True)


def test_it_answers_and_says_who_did(approver: Approver) -> None:
    answer = ask(approver)
    assert isinstance(answer, Answer)
    assert (answer.allowed, bool(answer.by)) == (True, True)


def test_it_answers_a_running_tool_s_own_question(approver: Approver) -> None:
    assert ask(approver, OWN).allowed is True


@pytest.mark.parametrize("kind", ["scripted", "remembering", "pending"])
def test_a_no_is_a_no_each_time(kind: str, home: Path) -> None:
    approver = made(kind, home, allowed=False)
    assert [ask(approver).allowed, ask(approver).allowed] == [False, False]


def test_says_yes_says_who_said_so_beforehand() -> None:
    assert ask(SaysYes("client")) == Answer(allowed=True, by="client")


def test_one_that_has_nothing_to_show_does_not_ask(home: Path) -> None:
    with pytest.raises(Refused):
        ask(Pending(PendingCalls(Home(home)), wait_seconds=0))
