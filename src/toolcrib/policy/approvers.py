"""Stand-ins for a person, and the memory of what a person said. The terminal's own approver is in `cli`."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..core.errors import ConfigError, Refused
from ..core.policy import Answer, Approver, Question
from ..core.tool import Subject, Tool
from .remember import Remembered, covers, shown
from .request import FullQuestion, Request, short_id

TERMINAL = "terminal"
"""The scope of what is remembered for a person who types the call, and for nobody else."""


class SaysYes:
    """Says yes to every `ask`, for those who said so beforehand: `--yes`, `--ask client`, a test."""

    def __init__(self, by: str = "flag", *, blind: bool = False) -> None:
        """`blind`: who says yes was not shown what the tool declares, so that this yes does not give it."""
        self._by, self.blind = by, blind

    async def approve(self, question: Question) -> Answer:
        return Answer(allowed=True, by=self._by)


@dataclass(frozen=True, slots=True)
class Standing(Answer):
    """An answer by a person who also said how long it lasts."""

    scope: str = "once"
    """`once`, `session`, `project`, `user`; or `terminal`, for a call that a person typed."""
    exactly: bool = False
    """For these very subjects, and nothing like them."""


class Kept(Protocol):
    """One remembered answer."""

    @property
    def pattern(self) -> Remembered: ...


class Memory(Protocol):
    """Where lasting answers are kept, by tool and digest. Every method may raise `ConfigError`."""

    def find(self, tool: str, digest: str, *, session: str, project: str) -> Sequence[Kept]: ...

    def add(
        self, tool: str, digest: str, pattern: Remembered, *, shown: str, scope: str, key: str = "", version: str
    ) -> str: ...

    def note(self, tool: str, digest: str) -> None:
        """A person said yes to this version, whether or not that lasts."""
        ...

    def remember(self, tool: str, digest: str, scope: str, *, version: str) -> None: ...

    def remembers(self, tool: str, digest: str, scope: str = "") -> bool:
        """Whether an answer of this scope, or of any, still holds for this version."""
        ...


class Remembering:
    """Asks only about what no remembered answer covers, and keeps the answers that are to last.

    A no is not remembered. Where the memory cannot be read, everything is asked. `project` names the very directory
    (`remember.project_key`). `typed`: a person typed the call, and is asked once for each version of a tool.
    """

    def __init__(
        self,
        inner: Approver | None,
        memory: Memory,
        *,
        session: Callable[[], str],
        project: str,
        describe: Callable[[Question, tuple[Subject, ...]], Request],
        typed: bool = False,
    ) -> None:
        self._inner, self._memory, self._describe = inner, memory, describe
        self._session, self._project, self._typed = session, project, typed
        self._for_now: set[tuple[str, str]] = set()
        """Tools, by id and digest, to whose last question somebody who saw what they declare said yes, for that time
        only. A yes that lasts is not kept here: it would outlive its being taken back."""

    def is_person(self) -> bool:
        """Whether whoever answers sits at a terminal and sees what is asked."""
        return bool(getattr(self._inner, "is_person", False))

    def allowed(self, tool: Tool) -> bool:
        """Whether a person who saw what this version of a tool declares said yes to it: here, or so that it lasts."""
        return (tool.id, tool.digest) in self._for_now or self._lasts(tool)

    async def approve(self, question: Question) -> Answer:
        if question.message is not None or question.call.dry_run:  # no word on what the tool may have
            return await self._answer(question)
        tool, for_now = question.tool, False
        try:
            answer = await self._answer(question)
            for_now = answer.allowed and self._is_for_now(answer, tool)
            return answer
        finally:  # the last answer counts, and nobody's is a no
            (self._for_now.add if for_now else self._for_now.discard)((tool.id, tool.digest))

    def _is_for_now(self, answer: Answer, tool: Tool) -> bool:
        if answer.by == "remembered" or getattr(self._inner, "blind", False):
            return False
        if isinstance(answer, Standing):
            return answer.scope == "once"
        return isinstance(self._inner, SaysYes) or not self._lasts(tool)  # an answer from elsewhere is stored there

    def _lasts(self, tool: Tool) -> bool:
        try:
            return self._memory.remembers(tool.id, tool.digest)
        except ConfigError:
            return False

    async def _answer(self, question: Question) -> Answer:
        if isinstance(self._inner, SaysYes):  # said beforehand, and for this time only: no memory is needed
            return await self._inner.approve(question)
        # The running tool's own question is about that moment alone, and no memory answers it.
        subjects, trouble = self._uncovered(question) if question.message is None else (question.subjects, "")
        if not subjects and question.message is None:
            return Answer(allowed=True, by="remembered")
        if self._inner is None:
            raise Refused(nobody(question, trouble), code="APPROVAL_REQUIRED")
        request = self._describe(question, subjects)
        if trouble:
            request = replace(request, reason=f"{request.reason}; what was remembered cannot be read: {trouble}")
        call, tool, message = question.call, question.tool, question.message
        answer = await self._inner.approve(FullQuestion(call, tool, request.reason, message, subjects, request=request))
        if answer.allowed and isinstance(answer, Standing):
            keep(self._memory, request, answer)
        return answer

    def _uncovered(self, question: Question) -> tuple[tuple[Subject, ...], str]:
        """The subjects that nobody answered yet, and why the memory could not be asked, if it could not."""
        tool = question.tool
        subjects = question.subjects or (Subject(),)
        try:
            if self._typed and self._memory.remembers(tool.id, tool.digest, TERMINAL):
                return (), ""
            session = question.call.session or self._session()
            kept = self._memory.find(tool.id, tool.digest, session=session, project=self._project)
        except ConfigError as exc:
            return subjects, str(exc)
        return tuple(each for each in subjects if not any(covers(row.pattern, each, question) for row in kept)), ""


def keep(memory: Memory, request: Request, answer: Standing) -> None:
    """Store what a person said yes to: the very patterns that the request showed.

    Raises:
        ConfigError: it could not be stored.
    """
    tool, digest, scope = request.tool_id, request.digest, answer.scope
    if scope == TERMINAL:
        memory.remember(tool, digest, TERMINAL, version=request.version)
        return
    if scope == "once" or request.message is not None:
        try:
            memory.note(tool, digest)
        except ConfigError:  # nothing was to last; only the next prompt knows less
            pass
        return
    key = {"session": request.session, "project": request.project, "user": ""}[scope]
    if not key and scope != "user":
        raise ConfigError(f"there is no {scope} by which this could be remembered", path=request.cwd)
    for each in request.subjects:
        pattern = each.kept(exactly=answer.exactly)
        memory.add(tool, digest, pattern, shown=shown(pattern), scope=scope, key=key, version=request.version)


def nobody(question: Question, trouble: str = "") -> str:
    """What to say where there is no person to ask: how one can allow it."""
    name = question.tool.name
    unread = f" What was remembered cannot be read: {trouble}." if trouble else ""
    return (
        f"{name} needs approval ({question.reason}), and there is nobody to ask.{unread} A person can allow it: with a "
        f"rule in policy.yaml, with `approval: {{tools: {{{name}: preApproved}}}}` in config.yaml, with --yes where it "
        "is typed, or with `toolcrib serve mcp --ask client` where the client asks"
    )


class Answered(Protocol):
    """A call that waits, or its answer."""

    @property
    def id(self) -> str: ...

    @property
    def state(self) -> str: ...

    @property
    def created(self) -> float: ...

    @property
    def expires(self) -> float: ...


class Waiting(Protocol):
    """Where calls wait for an answer from elsewhere (`store.pending`)."""

    def ask(self, request: Mapping[str, Any]) -> Answered: ...

    def get(self, id: str) -> Answered | None: ...


class Pending:
    """For doors that cannot ask: the call waits, a person answers it elsewhere, and it goes on or is called again."""

    def __init__(
        self,
        store: Waiting,
        *,
        wait_seconds: float,
        poll_seconds: float = 0.2,
        notify: Callable[[str], None] | None = None,
        config: str = "config.yaml",
    ) -> None:
        """`notify` is told of each new question, in one line. `config` is where the user's configuration lies."""
        self._store, self._wait, self._poll, self._notify = store, wait_seconds, poll_seconds, notify
        self._config = config

    async def approve(self, question: Question) -> Answer:
        if not isinstance(question, FullQuestion):
            raise Refused(nobody(question), code="APPROVAL_REQUIRED")
        until = time.monotonic() + self._wait
        while True:
            request = replace(question.request, id=short_id())
            row = self._store.ask(request.to_dict())
            if row.state != "waiting":
                return Answer(allowed=row.state == "approved", by=f"{row.state} {row.id}")
            if row.id == request.id and self._notify is not None:
                self._notify(f"{question.tool.name} waits for a person's approval: toolcrib approve {row.id}")
            while (current := self._store.get(row.id)) is not None and current.state == "waiting":
                left = until - time.monotonic()
                if left <= 0:
                    raise self._refusal(question, row)
                await asyncio.sleep(min(self._poll, left))

    def _refusal(self, question: Question, row: Answered) -> Refused:
        name, left = question.tool.name, max(0, round(row.expires - time.time()))
        return Refused(
            f"{name} waits for a person's approval; the person types: toolcrib approve {row.id}; then call it again "
            f"(within {left} s). To allow it for good, the person writes a rule into policy.yaml, or "
            f"`approval: {{tools: {{{name}: preApproved}}}}` into {self._config}",
            code="APPROVAL_REQUIRED",
            details={"approval_id": row.id, "expires_in": left},
        )
