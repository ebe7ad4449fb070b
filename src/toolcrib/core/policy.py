"""Deciding (pure) and asking (not pure), kept apart."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

from .call import Call
from .tool import Subject, Tool


class Decision(IntEnum):
    """Ordered by strictness, so that combining decisions is `max`."""

    PRE_APPROVED = 0
    ASK = 1
    BLOCKED = 2

    wire: str
    """As people and files write it."""

    @classmethod
    def parse(cls, value: object) -> "Decision":
        """From exactly `preApproved`, `ask` or `blocked`.

        Raises:
            ValueError: for anything else; a boolean is not a decision.
        """
        for decision in cls:
            if isinstance(value, str) and value == decision.wire:
                return decision
        raise ValueError(f"{value!r} is not one of preApproved, ask, blocked")


for _decision, _wire in zip(Decision, ("preApproved", "ask", "blocked"), strict=True):
    _decision.wire = _wire  # an attribute of each member: it stands on the hot path


@dataclass(frozen=True, slots=True)
class Verdict:
    decision: Decision
    reason: str
    code: str = "BLOCKED_BY_POLICY"
    """Of the refusal, when it is blocked."""
    asked: tuple[Subject, ...] = (Subject(),)
    """What a person is asked about, when the decision is to ask."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Where each path of the call led when it was judged; elsewhere it is not opened."""
    veil: Callable[[str], bool] | None = None
    """Says of a real path that rules keep it from being read, for calls that look through all that lies below one."""


SILENT = Verdict(Decision.ASK, "no rule covers this call")


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """The strictest of what speaks. Silence is not consent."""
    return max(verdicts, key=lambda verdict: verdict.decision, default=SILENT)


class Policy(Protocol):
    """Pure: the same call and tool give the same verdict, with no I/O."""

    def judge(self, call: Call, tool: Tool) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Question:
    """What an approver is asked: may this call run? With a `message`, it is the running tool that asks."""

    call: Call
    tool: Tool
    reason: str
    message: str | None = None
    subjects: tuple[Subject, ...] = (Subject(),)


@dataclass(frozen=True, slots=True)
class Answer:
    allowed: bool
    by: str
    """Who answered: `terminal`, `remembered`, `flag`, `client`, …"""


class Approver(Protocol):
    """Asks a person, or a stand-in, about one call."""

    async def approve(self, question: Question) -> Answer: ...
