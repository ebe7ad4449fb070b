"""Stand-ins for a person, and the memory of what a person said. The terminal's own approver is in `cli`."""

from typing import Protocol

from ..core.policy import Answer, Approver, Question


class SaysYes:
    """Says yes to every `ask`, for those who said so beforehand: `--yes`, `--ask client`, a test."""

    def __init__(self, by: str = "flag") -> None:
        self._by = by

    async def approve(self, question: Question) -> Answer:
        return Answer(allowed=True, by=self._by)


class Memory(Protocol):
    """Where yeses are kept, by tool and digest."""

    def remember(self, tool: str, digest: str, scope: str) -> None: ...

    def remembers(self, tool: str, digest: str, scope: str) -> bool: ...


class Remembering:
    """Asks once for each tool, and again when the tool has changed. A no is not remembered."""

    def __init__(self, inner: Approver, memory: Memory, *, scope: str) -> None:
        self._inner, self._memory, self._scope = inner, memory, scope

    async def approve(self, question: Question) -> Answer:
        tool = question.tool
        if question.message is not None:  # the running tool's own question is about that moment alone
            return await self._inner.approve(question)
        if self._memory.remembers(tool.id, tool.digest, self._scope):
            return Answer(allowed=True, by="remembered")
        answer = await self._inner.approve(question)
        if answer.allowed:
            self._memory.remember(tool.id, tool.digest, self._scope)
        return answer
