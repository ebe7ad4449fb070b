"""Ordinary days of a coding agent: how often is the person asked, and does anything run that nobody allowed?

The traces in `tests/traces` say of each call what must become of it. The person in them answers every question that a
lasting answer could cover with one for the project, and everything else with a yes for that once. Nothing is really
started: what would be is counted.
"""

import asyncio
import os
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from toolcrib.builtins import TOOLS
from toolcrib.core.call import Call
from toolcrib.core.context import Host
from toolcrib.core.executor import Executor
from toolcrib.core.policy import Answer, Question
from toolcrib.core.process import Captured, Command, Completed, Ended
from toolcrib.core.registry import Registry
from toolcrib.policy.approvers import Remembering, Standing
from toolcrib.policy.remember import project_key
from toolcrib.policy.request import Surroundings, describe
from toolcrib.runtime.build import trust_in
from toolcrib.runtime.config import Config
from toolcrib.runtime.gate import gate
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.store.home import Home
from toolcrib.store.state import State

TRACES = Path(__file__).parents[1] / "traces"
KINDS = {"R": "read_file", "W": "write_file", "$": "run_command", "@": "run_command"}
MOST_PER_HUNDRED = 5
REFUSED = ("BLOCKED_BY_POLICY", "PATH_OUTSIDE_WORKSPACE", "PATH_PROTECTED")


class Line(NamedTuple):
    mark: str
    tool: str
    args: dict[str, Any]
    text: str


def trace(name: str) -> Iterator[Line]:
    for line in (TRACES / name).read_text().splitlines():
        if line.startswith("#"):
            continue
        mark, kind, what = line.split(" ", 2)
        args: dict[str, Any] = {"path": what} if kind in "RW" else {"command": what}
        if kind == "W":
            args["content"] = "x"
        if kind == "@":
            args = {"argv": shlex.split(what)}
        yield Line(mark, KINDS[kind], args, line)


class Person:
    """Answers as the traces say, and keeps what was asked."""

    def __init__(self) -> None:
        self.lasting = True
        self.asked: list[str] = []

    async def approve(self, question: Question) -> Answer:
        self.asked.append(str(question.subjects))
        if self.lasting:
            return Standing(allowed=True, by="person", scope="project", exactly=False)
        return Answer(allowed=True, by="person")


class Nothing:
    """A sandbox that starts nothing, and keeps what it would have started."""

    name = "nothing"

    def __init__(self) -> None:
        self.started: list[tuple[str, ...]] = []

    async def exec(self, command: Command, *, ended: Ended | None = None) -> Completed:
        self.started.append(command.argv)
        done = Completed(0, Captured(), Captured())
        if ended:
            ended(done)
        return done


class Day(NamedTuple):
    calls: int
    first: int
    """Questions about something like which nothing had been asked before."""
    others: int


class Life:
    """One person's home and workspace, over several days."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home, self.workspace = Home(home), str(workspace)
        self.person, self.sandbox = Person(), Nothing()
        self._state = State(self.home)

    def executor(self, session: str) -> Executor:
        environ = {"PATH": os.environ["PATH"]}
        policy, places, problems = gate(self.workspace, self.home, Config(), environ=environ, trust=trust_in(self.home))
        assert problems == ()
        registry = Registry()
        for tool in TOOLS:
            registry.register(tool)
        around = Surroundings(self.workspace, "nothing")
        approver = Remembering(
            self.person,
            self._state,
            session=lambda: session,
            project=project_key(self.workspace),
            describe=lambda question, subjects: describe(question, subjects, around),
        )
        host = Host(self.workspace, self.sandbox, partial(GuardedFiles, places), environ)
        return Executor(registry, policy, host, approver=approver)

    def day(self, name: str) -> Day:
        return asyncio.run(self._day(name))

    async def _day(self, name: str) -> Day:
        executor, person = self.executor(name), self.person
        calls = first = others = 0
        for line in trace(name):
            person.lasting, person.asked = line.mark == "a", []
            started = len(self.sandbox.started)
            result = await executor.call(Call(line.tool, line.args, f"{name}-{calls}", name, "mcp"))
            calls += 1
            code = result.error.code if result.error else None
            if line.mark == "x" or (line.mark == "?" and code in REFUSED):
                assert code in REFUSED, (line.text, result)
                assert (person.asked, len(self.sandbox.started)) == ([], started), line.text
                continue
            assert code in (None, "FILE_NOT_FOUND"), (line.text, result)
            if line.mark == ".":
                assert person.asked == [], f"asked without need: {line.text}"
            elif line.mark == "?":
                assert len(person.asked) == 1, f"went through without a question: {line.text}"
                others += 1
            else:
                first += len(person.asked)
        return Day(calls, first, others)


@pytest.fixture
def life(home: Path, workspace: Path) -> Life:
    (home / "policy.yaml").write_text((TRACES / "policy.yaml").read_text())
    (workspace / "web").mkdir()
    (workspace / ".git").mkdir()
    (workspace / "README.md").write_text("hello\n")
    return Life(home, workspace)


def test_a_person_is_rarely_asked_twice(life: Life) -> None:
    """ "asking again and again", "don't ask again that is too narrow": 400 calls on two days."""
    one, two = life.day("first-day.txt"), life.day("second-day.txt")
    assert (one.calls, two.calls) == (200, 200)
    assert one.others < MOST_PER_HUNDRED * one.calls / 100
    assert two.first + two.others < MOST_PER_HUNDRED * two.calls / 100
    assert one.first <= 20  # the answers that are given once


def test_nothing_runs_that_nobody_allowed(life: Life) -> None:
    """With all the answers of an ordinary day at hand, nothing of a strange one passes without a question."""
    life.day("first-day.txt")
    strange = life.day("strange-day.txt")
    assert strange.first == 0
    assert strange.others > 60
