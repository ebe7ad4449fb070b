"""What is asked and what is not: memory in front of a person, and calls that wait for one."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib.backends.function import tool
from toolcrib.core.call import Call
from toolcrib.core.errors import Refused
from toolcrib.core.policy import Answer, Question
from toolcrib.core.tool import Subject
from toolcrib.policy.approvers import Pending, Remembering, SaysYes, Standing, keep
from toolcrib.policy.remember import project_key
from toolcrib.policy.request import FullQuestion, Surroundings, describe
from toolcrib.store.home import Home
from toolcrib.store.pending import PendingCalls
from toolcrib.store.state import State

LOG, STATUS, PUSH = (Subject("command", ("git", each)) for each in ("log", "status", "push"))


@tool
def act(what: str = "") -> str:
    """Act."""
    return what


def question(
    *subjects: Subject, session: str = "s-1", about: Any = act, message: str | None = None, **args: Any
) -> Question:
    return Question(Call("act", args, "c-1", session), about, "a rule", message, subjects or (Subject(),))


class Person:
    """Gives the answers it was given, and keeps what it was asked."""

    def __init__(self, *answers: Answer | str) -> None:
        self.answers = list(answers)
        self.asked: list[FullQuestion] = []

    async def approve(self, question: Question) -> Answer:
        assert isinstance(question, FullQuestion)
        self.asked.append(question)
        answer = self.answers.pop(0)
        return Standing(True, "person", answer.rstrip("="), answer.endswith("=")) if isinstance(answer, str) else answer


class Place:
    """One home, and approvers in it."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home, self.workspace = home, workspace
        self.state, self.calls = State(Home(home)), PendingCalls(Home(home))

    def remembering(self, inner: Any, *, workspace: Path | None = None, typed: bool = False) -> Remembering:
        at = str(workspace or self.workspace)
        return Remembering(
            inner,
            self.state,
            session=lambda: "s-0",
            project=project_key(at),
            describe=lambda question, subjects: describe(question, subjects, Surroundings(at, "off")),
            typed=typed,
        )

    def ask(self, inner: Any, asked: Question, **more: Any) -> Answer:
        return asyncio.run(self.remembering(inner, **more).approve(asked))


@pytest.fixture
def place(home: Path, workspace: Path) -> Place:
    return Place(home, workspace)


def test_a_yes_for_this_time_is_for_this_time(place: Place) -> None:
    person = Person("once", "once")
    assert [place.ask(person, question()).by for _ in range(2)] == ["person", "person"]
    assert place.state.approvals() == []
    assert place.state.knew(act.id, act.digest) == act.digest


@pytest.mark.parametrize(
    ("inner", "asked", "allowed"),
    [
        (Person("once"), question(), True),
        (SaysYes(), question(), True),
        (SaysYes("client", blind=True), question(), False),
        (Person(Standing(False, "person")), question(), False),
        (Person("once"), question(message="the running tool asks"), False),
        (Person("once"), replace(question(), call=Call("act", {}, "c-1", "s-1", dry_run=True)), False),
    ],
)
def test_who_saw_what_a_tool_declares_and_said_yes_to_the_call_allowed_it(
    place: Place, inner: Any, asked: Question, allowed: bool
) -> None:
    approver = place.remembering(inner)
    assert not approver.allowed(act)
    asyncio.run(approver.approve(asked))
    assert (approver.allowed(act), approver.allowed(act._replace(digest="sha256:another"))) == (allowed, False)
    assert not place.remembering(inner).allowed(act)


def test_what_lasts_is_allowed_everywhere_until_it_is_taken_back(place: Place) -> None:
    place.ask(Person("session"), question())
    anybody = place.remembering(None)
    asyncio.run(anybody.approve(question()))  # by memory
    assert anybody.allowed(act)
    place.state.revoke()
    assert not anybody.allowed(act)


@pytest.mark.parametrize("scope", ["session", "project", "user"])
def test_who_asked_notices_that_it_was_taken_back(place: Place, scope: str) -> None:
    """In a process that goes on: it was revoked in another terminal."""
    approver = place.remembering(Person(scope))
    asyncio.run(approver.approve(question()))
    assert approver.allowed(act)
    Place(place.home, place.workspace).state.revoke()
    assert not approver.allowed(act)


def test_what_was_answered_elsewhere_so_that_it_lasts_can_be_taken_back_too(place: Place) -> None:
    class Elsewhere(Person):
        """As `toolcrib approve` in another terminal: that stores what lasts, and here is heard only a yes."""

        async def approve(self, question: Question) -> Answer:
            assert isinstance(question, FullQuestion)
            keep(place.state, question.request, Standing(True, "person", "project"))
            return Answer(True, "approved x")

    approver = place.remembering(Elsewhere())
    asyncio.run(approver.approve(question()))
    assert approver.allowed(act)
    place.state.revoke()
    assert not approver.allowed(act)


@pytest.mark.parametrize("last", [Standing(False, "person"), Refused("nobody came")])
def test_a_yes_for_this_time_does_not_outlive_another_answer(place: Place, last: Answer | Exception) -> None:
    class Changing(Person):
        async def approve(self, question: Question) -> Answer:
            answer = await super().approve(question)
            if isinstance(answer, Exception):
                raise answer
            return answer

    approver = place.remembering(Changing("once", last))
    asyncio.run(approver.approve(question()))
    assert approver.allowed(act)
    with contextlib.suppress(Refused):
        asyncio.run(approver.approve(question()))
    assert not approver.allowed(act)


def test_a_memory_that_cannot_be_read_allows_nothing(place: Place) -> None:
    place.ask(Person("user"), question())
    Path(place.home, "state.db").write_bytes(b"no database" * 100)
    assert not Place(place.home, place.workspace).remembering(None).allowed(act)


@pytest.mark.parametrize("scope", ["session", "project", "user"])
def test_a_lasting_yes_is_not_asked_again(place: Place, scope: str) -> None:
    person = Person(scope)
    place.ask(person, question(what="a"))
    assert place.ask(person, question(what="b")) == Answer(allowed=True, by="remembered")
    assert [(row.scope, row.shown) for row in place.state.approvals()] == [(scope, "this tool, with any arguments")]


@pytest.mark.parametrize(
    ("scope", "session", "elsewhere", "asked_again"),
    [
        ("session", "s-2", False, True),
        ("session", "s-1", True, False),
        ("project", "s-2", False, False),
        ("project", "s-1", True, True),
        ("user", "s-2", True, False),
    ],
)
def test_it_lasts_where_it_was_said_to(
    place: Place, tmp_path: Path, scope: str, session: str, elsewhere: bool, asked_again: bool
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    person = Person(scope, "once")
    place.ask(person, question())
    place.ask(person, question(session=session), workspace=other if elsewhere else None)
    assert len(person.asked) == 1 + asked_again


def test_a_changed_tool_and_another_tool_are_asked_about(place: Place) -> None:
    person = Person("user", "once", "once")
    place.ask(person, question())
    place.ask(person, question(about=act._replace(digest="sha256:other")))
    place.ask(person, question(about=act._replace(name="other")))
    assert len(person.asked) == 3
    assert [each.request.previous for each in person.asked] == [None, None, None], "nobody told describe of the past"


def test_exactly_this_is_exactly_this(place: Place) -> None:
    person = Person("user=", "once")
    place.ask(person, question(what="a"))
    assert place.ask(person, question(what="a")).by == "remembered"
    assert place.ask(person, question(what="b")).by == "person"


def test_a_compound_command_is_not_asked_about_when_every_part_is_allowed(place: Place) -> None:
    """ "Asking again and again for a compound command whose every part is allowed"."""
    person = Person("user", "user")
    place.ask(person, question(LOG))
    place.ask(person, question(STATUS))
    assert place.ask(person, question(LOG, STATUS, LOG)).by == "remembered"


def test_only_the_parts_that_nobody_allowed_are_asked_about(place: Place) -> None:
    person = Person("user", "once")
    place.ask(person, question(LOG))
    place.ask(person, question(LOG, PUSH))
    assert person.asked[1].subjects == (PUSH,)
    assert [each.value for each in person.asked[1].request.subjects] == [("git", "push")]


def test_one_allowed_part_does_not_allow_the_others(place: Place) -> None:
    person = Person("user", Standing(allowed=False, by="person"))
    place.ask(person, question(LOG))
    assert not place.ask(person, question(LOG, PUSH)).allowed


def test_what_has_no_wide_form_is_kept_as_it_is(place: Place) -> None:
    shell, person = Subject("shell", ("rm $x",)), Person("user", "once")
    place.ask(person, question(shell))
    assert place.ask(person, question(shell)).by == "remembered"
    assert place.ask(person, question(Subject("shell", ("rm $y",)))).by == "person"


def test_a_no_is_not_remembered_whatever_its_scope(place: Place) -> None:
    person = Person(Standing(allowed=False, by="person", scope="user"), "once")
    assert not place.ask(person, question()).allowed
    assert place.ask(person, question()).allowed
    assert place.state.approvals() == []


def test_an_answer_that_says_nothing_of_lasting_does_not_last(place: Place) -> None:
    place.ask(Person(Answer(allowed=True, by="script")), question())
    assert place.state.approvals() == []


def test_a_running_tools_own_question_is_never_answered_from_memory_nor_kept(place: Place) -> None:
    person = Person("user", "user", Standing(allowed=False, by="person"))
    place.ask(person, question())
    before = place.state.approvals()
    assert place.ask(person, question(message="Delete it?")).by == "person"
    assert not place.ask(person, question(message="Delete it?")).allowed
    assert place.state.approvals() == before
    assert person.asked[1].request.message == "Delete it?"


def test_no_subjects_at_all_are_not_all_allowed(place: Place) -> None:
    person = Person("once")
    empty = Question(Call("act", {}, "c-1", "s-1"), act, "a rule", None, ())
    assert place.ask(person, empty).by == "person"


def test_where_nobody_is_there_to_ask_it_is_refused_with_what_to_do(place: Place) -> None:
    with pytest.raises(Refused, match=r"policy.yaml.*--yes.*--ask client") as caught:
        place.ask(None, question())
    assert caught.value.code == "APPROVAL_REQUIRED"


def test_the_refusal_names_the_tool_the_reason_and_how_to_allow_it(place: Place) -> None:
    with pytest.raises(Refused) as caught:
        place.ask(None, question())
    said = str(caught.value)
    assert said.startswith("act needs approval (a rule), and there is nobody to ask. A person can allow it: ")
    assert "`approval: {tools: {act: preApproved}}`" in said
    with pytest.raises(Refused, match=r"`approval: \{tools: \{act: preApproved\}\}` into /here/config.yaml"):
        place.ask(Pending(place.calls, wait_seconds=0, config="/here/config.yaml"), question())


def test_whoever_says_yes_beforehand_is_told_what_to(place: Place) -> None:
    class Heard(SaysYes):
        def __init__(self) -> None:
            super().__init__("flag")
            self.asked: list[Question] = []

        async def approve(self, question: Question) -> Answer:
            self.asked.append(question)
            return await super().approve(question)

    heard, asked = Heard(), question(LOG)
    place.ask(heard, asked)
    assert heard.asked == [asked]


def test_only_who_sits_at_a_terminal_is_a_person(place: Place) -> None:
    class AtATerminal(Person):
        is_person = True

    asked = (AtATerminal(), Person(), SaysYes("flag"), None)
    assert [place.remembering(inner).is_person() for inner in asked] == [True, False, False, False]


def test_where_there_is_no_session_nothing_is_kept_for_one(place: Place) -> None:
    """As for a project that has no directory: the yes would otherwise count everywhere."""
    from toolcrib.core.errors import ConfigError

    here = str(place.workspace)
    nowhere = Remembering(
        Person("session"), place.state, session=lambda: "", project=project_key(here),
        describe=lambda question, subjects: describe(question, subjects, Surroundings(here, "off")),
    )  # fmt: skip
    with pytest.raises(ConfigError, match="no session"):
        asyncio.run(nowhere.approve(question(session="")))


def test_but_what_was_allowed_before_runs_without_anybody(place: Place) -> None:
    place.ask(Person("user"), question())
    assert place.ask(None, question()).by == "remembered"


def test_says_yes_needs_no_memory_and_leaves_none(place: Place, home: Path) -> None:
    assert place.ask(SaysYes("flag"), question()) == Answer(allowed=True, by="flag")
    assert not [each for each in home.iterdir() if each.name != "cache"]
    place.ask(Person("user"), question())
    assert place.ask(SaysYes("flag"), question()).by == "flag"


def test_a_memory_that_cannot_be_read_means_asking(place: Place, home: Path) -> None:
    place.ask(Person("user"), question())
    (home / "state.db").write_bytes(b"no database " * 500)
    person = Person("once")
    assert place.ask(person, question()).by == "person"
    assert "what was remembered cannot be read" in person.asked[0].request.reason
    with pytest.raises(Refused, match="cannot be read"):
        place.ask(None, question())


def test_a_yes_that_cannot_be_kept_is_an_error_and_not_a_yes(place: Place, home: Path) -> None:
    from toolcrib.core.errors import ConfigError

    (home / "state.db").write_bytes(b"no database " * 500)
    with pytest.raises(ConfigError, match="move the file away"):
        place.ask(Person("user"), question())


def test_a_typed_call_is_asked_about_once_for_each_version(place: Place) -> None:
    person = Person("terminal", "terminal")
    assert place.ask(person, question(LOG), typed=True).by == "person"
    assert place.ask(person, question(PUSH, what="x"), typed=True).by == "remembered"
    place.ask(person, question(about=act._replace(digest="sha256:other")), typed=True)
    assert len(person.asked) == 2


def test_and_counts_for_nobody_who_does_not_type(place: Place) -> None:
    place.ask(Person("terminal"), question(), typed=True)
    with pytest.raises(Refused):
        place.ask(None, question())


def test_what_was_allowed_everywhere_counts_for_typed_calls_too(place: Place) -> None:
    place.ask(Person("user"), question())
    assert place.ask(None, question(), typed=True).by == "remembered"


# Calls that wait


def waits(place: Place, asked: Question, **more: Any) -> str:
    """The id of the call that waits now."""
    with pytest.raises(Refused) as caught:
        place.ask(Pending(place.calls, wait_seconds=0, **more), asked)
    assert caught.value.code == "APPROVAL_REQUIRED"
    return str(caught.value.details["approval_id"])


def retry(place: Place, asked: Question) -> Answer:
    return place.ask(Pending(place.calls, wait_seconds=0), asked)


def test_a_call_that_nobody_answers_is_refused_with_what_to_type(place: Place) -> None:
    with pytest.raises(Refused, match=r"the person types: toolcrib approve [0-9a-z]{8}; then call it again") as caught:
        place.ask(Pending(place.calls, wait_seconds=0), question())
    assert caught.value.details["expires_in"] == 300
    assert [call.id for call in place.calls.waiting()] == [caught.value.details["approval_id"]]


def test_a_question_without_what_there_is_to_show_waits_for_nobody(place: Place) -> None:
    with pytest.raises(Refused) as caught:
        asyncio.run(Pending(place.calls, wait_seconds=0).approve(question()))
    assert caught.value.code == "APPROVAL_REQUIRED"
    assert list(place.calls.waiting()) == []


def test_after_a_yes_it_is_called_again_and_runs_once(place: Place) -> None:
    id = waits(place, question())
    place.calls.answer(id, allowed=True, by="terminal")
    assert retry(place, question()) == Answer(allowed=True, by=f"approved {id}")
    assert waits(place, question()) != id


def test_after_a_no_it_is_denied_once_and_then_asked_anew(place: Place) -> None:
    id = waits(place, question())
    place.calls.answer(id, allowed=False, by="terminal")
    assert retry(place, question()) == Answer(allowed=False, by=f"denied {id}")
    assert waits(place, question()) != id


def test_asking_again_is_the_same_question_and_is_told_once(place: Place) -> None:
    told: list[str] = []
    id = waits(place, question(), notify=told.append)
    assert waits(place, question(), notify=told.append) == id
    assert told == [f"act waits for a person's approval: toolcrib approve {id}"]


@pytest.mark.parametrize(
    "other",
    [
        question(what="b"),
        question(what="a", session="s-2"),
        question(what="a", about=act._replace(digest="sha256:other")),
        question(what="a", about=act._replace(name="other")),
        question(what="a", message="Sure?"),
    ],
)
def test_a_yes_is_for_this_very_call(place: Place, other: Question) -> None:
    """Other arguments, another session, a changed tool, another tool, the tool's own question."""
    id = waits(place, question(what="a"))
    place.calls.answer(id, allowed=True, by="terminal")
    waits(place, other)
    assert retry(place, question(what="a")).allowed


def test_a_running_tools_question_waits_like_a_call(place: Place) -> None:
    asked = question(message="Delete it?")
    id = waits(place, asked)
    call = place.calls.get(id)
    assert call is not None and call.request["message"] == "Delete it?"
    place.calls.answer(id, allowed=True, by="terminal")
    assert retry(place, asked).allowed


def in_time(place: Place, work: Callable[[asyncio.Queue[str], Any], Any]) -> Any:
    """Run a conversation with an approver that waits long; the queue is told of each new question."""

    async def run() -> Any:
        told: asyncio.Queue[str] = asyncio.Queue()
        inner = Pending(place.calls, wait_seconds=30, poll_seconds=0.01, notify=told.put_nowait)
        return await asyncio.wait_for(work(told, place.remembering(inner)), 30)

    return asyncio.run(run())


async def next_id(told: "asyncio.Queue[str]") -> str:
    return (await told.get()).rpartition(" ")[2]


@pytest.mark.parametrize("allowed", [True, False])
def test_a_call_that_waits_goes_on_when_it_is_answered(place: Place, allowed: bool) -> None:
    async def work(told: "asyncio.Queue[str]", approver: Remembering) -> Answer:
        call = asyncio.create_task(approver.approve(question()))
        place.calls.answer(await next_id(told), allowed=allowed, by="terminal")
        return await call

    assert in_time(place, work).allowed is allowed


def test_a_caller_who_gives_up_leaves_the_question(place: Place) -> None:
    async def work(told: "asyncio.Queue[str]", approver: Remembering) -> None:
        call = asyncio.create_task(approver.approve(question()))
        id = await next_id(told)
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled()
        assert place.calls.answer(id, allowed=True, by="terminal")

    in_time(place, work)
    assert retry(place, question()).allowed


def test_of_two_who_wait_for_one_answer_one_gets_it_and_the_other_asks_anew(place: Place) -> None:
    async def work(told: "asyncio.Queue[str]", approver: Remembering) -> list[str]:
        both = {asyncio.create_task(approver.approve(question())) for _ in range(2)}
        first = await next_id(told)
        place.calls.answer(first, allowed=True, by="terminal")
        done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        second = await next_id(told)
        place.calls.answer(second, allowed=False, by="terminal")
        answers = await asyncio.gather(*both)
        assert len(done) == 1 and first != second
        return sorted(each.by.split()[0] for each in answers)

    assert in_time(place, work) == ["approved", "denied"]


def test_a_question_without_a_request_is_refused(place: Place) -> None:
    with pytest.raises(Refused):
        asyncio.run(Pending(place.calls, wait_seconds=0).approve(question()))
    assert place.calls.waiting() == []
