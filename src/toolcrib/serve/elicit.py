"""Asking the person at the other end of an MCP connection, where the client can show a question."""

from collections.abc import Callable
from typing import Protocol

from ..core.policy import Answer, Approver, Question
from ..policy.approvers import Standing
from ..policy.request import FullQuestion, Request
from .rpc import JsonObject, RpcFault

SINCE = "2025-06-18"
"""The first revision in which a server may ask."""
_ONCE = {"no": "No", "once": "Yes, this once"}
_LASTING = {
    "session": "Yes, and not again in this session (24 hours)",
    "project": "Yes, and not again in this project (90 days)",
    "user": "Yes, and not again anywhere (90 days)",
}


class Client(Protocol):
    """The other end of the connection."""

    def can_be_asked(self) -> bool: ...

    async def request(self, method: str, params: JsonObject) -> JsonObject:
        """The client's answer. Raises: `RpcFault`, when it is an error."""
        ...


class AsksClient:
    """Asks through the client; where that cannot ask, another approver does. Anything but a clear yes is a no."""

    def __init__(self, otherwise: Approver, *, words: Callable[[Request], str]) -> None:
        self._otherwise, self._words = otherwise, words
        self.client: Client | None = None
        """Set when one connects."""

    async def approve(self, question: Question) -> Answer:
        client = self.client
        if client is None or not client.can_be_asked() or not isinstance(question, FullQuestion):
            return await self._otherwise.approve(question)
        choices = _ONCE if question.message is not None else _ONCE | _LASTING
        try:
            said = await client.request("elicitation/create", _form(self._words(question.request), choices))
        except RpcFault:  # it said it could, and cannot
            return await self._otherwise.approve(question)
        content = said.get("content")
        choice = content.get("answer") if said.get("action") == "accept" and isinstance(content, dict) else "no"
        if not isinstance(choice, str) or choice == "no" or choice not in choices:
            return Answer(allowed=False, by="client")
        return Standing(allowed=True, by="client", scope=choice)


def _form(message: str, choices: dict[str, str]) -> JsonObject:
    answer: JsonObject = {"type": "string", "title": "Allow it?", "enum": [*choices], "enumNames": [*choices.values()]}
    schema: JsonObject = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    return {"message": message, "requestedSchema": schema}
