"""A small client of the gRPC service, for programs in Python."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

import grpc

from ..core.call import Result
from ..core.errors import ToolcribError
from ..core.jsontext import JSON, dump, parse
from ..store.home import Home
from .grpc_approvals import APPROVER_KEY
from .grpc_listen import own_address
from .grpc_messages import from_message
from .grpc_status import CODE_KEY, RETRY_KEY
from .grpc_token import FOLDER, TOKEN_FILE, read_token
from .v1 import tool_service_pb2 as pb
from .v1 import tool_service_pb2_grpc as pb_grpc

MESSAGE_BYTES = 16 * 1024 * 1024
_CODES = {
    grpc.StatusCode.UNAUTHENTICATED: "BLOCKED_BY_POLICY",
    grpc.StatusCode.PERMISSION_DENIED: "BLOCKED_BY_POLICY",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "RESOURCE_EXHAUSTED",
    grpc.StatusCode.DEADLINE_EXCEEDED: "TIMEOUT",
    grpc.StatusCode.CANCELLED: "CANCELLED",
    grpc.StatusCode.UNAVAILABLE: "ENGINE_NOT_AVAILABLE",
}
"""Of what the library says by itself, without a code of ours."""


class Progress(NamedTuple):
    """How far a streamed call is."""

    done: float
    total: float | None
    message: str


class Began(NamedTuple):
    """A streamed call is under way; this is how to cancel it."""

    call_id: str


class ToolClient:
    """Speaks with `toolcrib serve grpc`: without arguments, with the one that serves this user's home.

    Use it as `async with ToolClient() as client:`. Every method raises `ToolcribError` with the server's code.
    """

    def __init__(
        self,
        target: str | None = None,
        *,
        token: str | None = None,
        approver_token: str | None = None,
        home: str | os.PathLike[str] | None = None,
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:
        """`target` is `unix:PATH` or `HOST:PORT`; `credentials` are for a server with TLS.

        Raises:
            ConfigError: no token is given, and the home has none that could be read.
        """
        place = Home(home)
        at = target or own_address(place).target
        word = token or read_token(place.file(FOLDER, TOKEN_FILE))
        self._metadata = (("authorization", f"Bearer {word}"),)
        self._approver = ((APPROVER_KEY, f"Bearer {approver_token}"),) if approver_token else ()
        options = [
            ("grpc.max_receive_message_length", MESSAGE_BYTES),
            ("grpc.max_send_message_length", MESSAGE_BYTES),
            ("grpc.enable_http_proxy", 0),
            *([("grpc.default_authority", "localhost")] if at.startswith("unix:") else []),
        ]
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(at, options=options)
        else:
            self._channel = grpc.aio.secure_channel(at, credentials, options=options)
        self._stub: Any = pb_grpc.ToolServiceStub(self._channel)  # type: ignore[no-untyped-call]  # generated

    async def __aenter__(self) -> "ToolClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._channel.close()

    async def create_session(self, session_id: str = "") -> str:
        return str((await self._ask("CreateSession", pb.CreateSessionRequest(session_id=session_id))).session_id)

    async def end_session(self, session_id: str) -> bool:
        return bool((await self._ask("EndSession", pb.EndSessionRequest(session_id=session_id))).ended)

    async def use_skill(self, session_id: str, skill_name: str, content: str = "") -> list[str]:
        """The names of the tools that the skill brings. With `content`, the text of a SKILL.md is uploaded."""
        request = pb.UseSkillRequest(session_id=session_id, skill_name=skill_name, skill_content=content)
        return list((await self._ask("UseSkill", request)).tool_names)

    async def remove_skill(self, session_id: str, skill_name: str) -> list[str]:
        request = pb.RemoveSkillRequest(session_id=session_id, skill_name=skill_name)
        return list((await self._ask("RemoveSkill", request)).removed_tools)

    async def active_skills(self, session_id: str) -> list[pb.ActiveSkill]:
        return list((await self._ask("ListActiveSkills", pb.ListActiveSkillsRequest(session_id=session_id))).skills)

    async def tools(self, session_id: str) -> list[pb.Tool]:
        return list((await self._ask("ListTools", pb.ListToolsRequest(session_id=session_id))).tools)

    async def call(
        self,
        session_id: str,
        name: str,
        args: Mapping[str, JSON] | None = None,
        *,
        call_id: str = "",
        timeout: float = 0.0,
        dry_run: bool = False,
        deadline: float | None = None,
    ) -> Result:
        """Call a tool. Its failures are in the result. `timeout` is the tool's; `deadline` is for the whole request."""
        request = _request(session_id, name, args, call_id, timeout, dry_run)
        return from_message(await self._ask("CallTool", request, deadline=deadline))

    async def stream(
        self,
        session_id: str,
        name: str,
        args: Mapping[str, JSON] | None = None,
        *,
        call_id: str = "",
        timeout: float = 0.0,
        dry_run: bool = False,
    ) -> AsyncIterator[Began | Progress | Result]:
        """Call a tool, and hear of it while it runs; the result is the last thing. Leaving the loop ends the tool."""
        request = _request(session_id, name, args, call_id, timeout, dry_run)
        events = self._stub.CallToolStream(request, metadata=self._metadata)
        try:
            with _readable():
                async for event in events:
                    yield _event(event)
        finally:
            events.cancel()

    async def cancel(self, session_id: str, call_id: str) -> bool:
        request = pb.CancelCallRequest(session_id=session_id, call_id=call_id)
        return bool((await self._ask("CancelCall", request)).cancelled)

    async def pending(self, session_id: str) -> list[dict[str, JSON]]:
        """The calls of a session that wait for a person: `id`, and all there is to show."""
        answer = await self._ask("PendingApprovals", pb.PendingApprovalsRequest(session_id=session_id))
        return [{**parse(each.request_json), "id": each.approval_id} for each in answer.approvals]

    async def approve(
        self, session_id: str, approval_id: str, *, allowed: bool, scope: str = "once", exactly: bool = False
    ) -> bool:
        """Answer one of them, for whoever has the approver's token."""
        decision = pb.DECISION_ALLOW if allowed else pb.DECISION_DENY
        request = pb.ApproveRequest(
            session_id=session_id, approval_id=approval_id, decision=decision, scope=scope, exactly=exactly
        )
        return bool((await self._ask("Approve", request, more=self._approver)).approved)

    async def _ask(
        self, method: str, request: Any, *, deadline: float | None = None, more: tuple[tuple[str, str], ...] = ()
    ) -> Any:
        with _readable():
            return await getattr(self._stub, method)(request, metadata=(*self._metadata, *more), timeout=deadline)


def _request(
    session_id: str, name: str, args: Mapping[str, JSON] | None, call_id: str, timeout: float, dry_run: bool
) -> pb.CallToolRequest:
    return pb.CallToolRequest(
        session_id=session_id,
        tool_name=name,
        arguments_json=dump(dict(args or {})).decode(),
        call_id=call_id,
        timeout_seconds=timeout,
        dry_run=dry_run,
    )


def _event(event: pb.CallToolEvent) -> Began | Progress | Result:
    match event.WhichOneof("event"):
        case "started":
            return Began(event.started.call_id)
        case "progress":
            said = event.progress
            return Progress(said.done, said.total if said.HasField("total") else None, said.message)
        case _:
            return from_message(event.result)


@contextmanager
def _readable() -> Iterator[None]:
    """Foreign errors end here."""
    try:
        yield
    except grpc.aio.AioRpcError as exc:
        if exc.code() == grpc.StatusCode.CANCELLED and _is_given_up():
            raise asyncio.CancelledError from None
        said = dict(exc.trailing_metadata() or ())
        code = said.get(CODE_KEY) or _CODES.get(exc.code(), "EXECUTION_ERROR")
        details = {"retry_after": float(said[RETRY_KEY])} if RETRY_KEY in said else None
        raise ToolcribError(exc.details() or exc.code().name, code=str(code), details=details) from None


def _is_given_up() -> bool:
    """Whether whoever waits here was cancelled: at times the library forgets that, and says that the other side did."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
