"""A call that its caller named runs once: who asks again, after a lost answer or a crash, hears what became of it."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

from google.protobuf.message import DecodeError

from ..core.call import ErrorInfo, Result
from ..core.errors import ToolcribError
from ..store.home import Home
from ..store.named_calls import Earlier, NamedCalls
from .grpc_messages import to_message
from .v1 import tool_service_pb2 as pb

_OFTEN = 1000
"""After so many names, those that are too many are removed."""


class Once:
    """The named calls of a home."""

    def __init__(self, home: Home) -> None:
        self._kept = NamedCalls(home)
        self._begun = 0

    async def run(
        self, session: str, request: pb.CallToolRequest, call: Callable[[], Awaitable[Result]]
    ) -> pb.ToolResult:
        """The answer to a call; or, where one of this name was begun before, what is known of that.

        Raises:
            ToolcribError: the name was another call's, or cannot be kept; or what `call` raises.
        """
        name = request.call_id
        if not name or request.dry_run:
            return to_message(await call())
        asked = _digest(request)
        if (earlier := await self._begin(session, name, asked)) is not None:
            return _told(earlier, name, asked)
        try:
            result = await call()
        except ToolcribError:  # what the service itself refuses, it refuses before anything runs
            self._kept.forget(session, name)
            raise
        message = to_message(result)
        if _ran(result):
            self._kept.end(session, name, asked, answer=message.SerializeToString())
        else:
            self._kept.forget(session, name)
        return message

    def forget(self, session: str) -> None:
        """The session is over, and its names with it."""
        self._kept.forget_session(session)

    async def _begin(self, session: str, name: str, asked: str) -> Earlier | None:
        if self._begun % _OFTEN == 0:
            await asyncio.to_thread(self._kept.prune)
        self._begun += 1
        try:
            return self._kept.begin(session, name, asked)
        except OSError as exc:
            message = f"nothing ran, because the name of the call could not be kept ({exc}); make room in the home"
            raise ToolcribError(message, code="RESOURCE_EXHAUSTED") from None


def _told(earlier: Earlier, name: str, asked: str) -> pb.ToolResult:
    if earlier.request not in ("", asked):
        message = f"call_id {name} belongs to another call of this session; give each call a name of its own"
        raise ToolcribError(message, code="VALIDATION_ERROR")
    if earlier.answer is not None:
        try:
            answer = pb.ToolResult()
            answer.ParseFromString(earlier.answer)
            return answer
        except DecodeError:  # somebody changed the file
            pass
    if earlier.is_over:
        words = f"the call {name} ran and is over, and its answer was not kept; it was not run again"
    else:
        words = f"the call {name} was begun, and its end was not kept: it may have run in part; it was not run again"
    advice = "see what it did (toolcrib audit show), and call under another call_id if it is to run once more"
    return to_message(Result(error=ErrorInfo("OUTCOME_UNKNOWN", f"{words}; {advice}")))


def _ran(result: Result) -> bool:
    """Whether anything may have run: then it is not run again under this name."""
    return result.error is None or result.error.code == "CANCELLED" or bool(result.metadata.get("attempts"))


def _digest(request: pb.CallToolRequest) -> str:
    return hashlib.sha256(f"{request.tool_name}\n{request.arguments_json}".encode()).hexdigest()
