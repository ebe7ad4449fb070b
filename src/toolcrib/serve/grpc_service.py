"""The methods of `toolcrib.v1.ToolService`: each reads a message, asks the crib, and answers with a message."""

import asyncio
import math
from functools import partial
from typing import NamedTuple

from grpc.aio import ServicerContext

from ..core.call import ErrorInfo, Result
from ..core.context import new_id
from ..core.errors import Refused, ToolcribError
from ..core.jsontext import JSON, parse
from .catalog import CALL_SECONDS, Catalog
from .grpc_approvals import APPROVER_KEY, Approvals, standing
from .grpc_calls import Calls, UnderWay
from .grpc_crib import Session, SessionCrib
from .grpc_door import explained
from .grpc_feed import Feed
from .grpc_messages import is_long, plain, tool_message
from .grpc_once import Once
from .grpc_refusals import Refusals
from .grpc_status import abort
from .grpc_token import bears
from .mcp import is_stale
from .v1 import tool_service_pb2 as pb
from .v1 import tool_service_pb2_grpc as pb_grpc

_NO_SESSION = "name a session; CreateSession begins one"
_CANCELLED = Result(error=ErrorInfo("CANCELLED", "the call was cancelled by CancelCall"))


class Rights(NamedTuple):
    """What callers may do here beyond calling tools."""

    upload: bool
    """Bring skills of their own."""
    approver_token: str | None = None
    """Who knows it, may answer calls that wait for a person."""


class ToolService(pb_grpc.ToolServiceServicer):
    """One crib, for all who come in by the door."""

    def __init__(
        self, crib: SessionCrib, *, approvals: Approvals, rights: Rights, calls: Calls, once: Once, refusals: Refusals
    ) -> None:
        self._crib, self._approvals, self._rights = crib, approvals, rights
        self._calls, self._once, self._refusals = calls, once, refusals
        self._catalog = Catalog(crib, changed=lambda: None)

    @explained
    async def CreateSession(
        self, request: pb.CreateSessionRequest, context: ServicerContext
    ) -> pb.CreateSessionResponse:
        session = await self._crib.sessions.create(request.session_id or None)
        return pb.CreateSessionResponse(session_id=session.id)

    @explained
    async def EndSession(self, request: pb.EndSessionRequest, context: ServicerContext) -> pb.EndSessionResponse:
        ended = await self._crib.sessions.end(request.session_id)
        if ended:
            self._once.forget(request.session_id)
        return pb.EndSessionResponse(ended=ended)

    @explained
    async def UseSkill(self, request: pb.UseSkillRequest, context: ServicerContext) -> pb.UseSkillResponse:
        session = await self._session(request.session_id)
        name, content = request.skill_name, request.skill_content
        if content and not self._rights.upload:
            self._refusals.note("a skill was uploaded", name[:100])
            raise Refused(
                "skills may be uploaded here only if the server was started with --allow-upload; "
                "leave skill_content empty to use one that is installed"
            )
        if not content and (not name or "/" in name or "\\" in name or name[0] in ".~"):
            message = "skill_name is the name of an installed skill, not a path; see: toolcrib skill list"
            raise ToolcribError(message, code="VALIDATION_ERROR")
        return pb.UseSkillResponse(tool_names=await session.use_skill(name, content or None))

    @explained
    async def RemoveSkill(self, request: pb.RemoveSkillRequest, context: ServicerContext) -> pb.RemoveSkillResponse:
        session = await self._session(request.session_id)
        return pb.RemoveSkillResponse(removed_tools=await session.remove_skill(request.skill_name))

    @explained
    async def ListActiveSkills(
        self, request: pb.ListActiveSkillsRequest, context: ServicerContext
    ) -> pb.ListActiveSkillsResponse:
        skills = (await self._session(request.session_id)).active_skills()
        return pb.ListActiveSkillsResponse(
            skills=[
                pb.ActiveSkill(
                    name=each.name,
                    version=plain(each.version),
                    digest=each.digest,
                    origin=plain(each.origin),
                    description=plain(each.description),
                    tool_names=each.tool_names,
                    activated_at=each.at,
                )
                for each in skills
            ]
        )

    @explained
    async def ListTools(self, request: pb.ListToolsRequest, context: ServicerContext) -> pb.ListToolsResponse:
        await self._catalog.refresh()
        session = await self._session(request.session_id)
        tools = [tool_message(tool, session.verdict(tool).decision.wire) for tool in session.tools()]
        problems = [
            pb.Problem(origin=plain(each.origin), code=each.code, message=plain(each.message))
            for each in session.problems()
        ]
        return pb.ListToolsResponse(tools=tools, problems=problems)

    @explained
    async def CallTool(self, request: pb.CallToolRequest, context: ServicerContext) -> pb.ToolResult:
        session = await self._session(request.session_id)
        with self._calls.place(session.id, request.call_id, size=request.ByteSize()) as call:

            async def called() -> Result:
                try:
                    return await self._called(request, session)
                except asyncio.CancelledError:
                    if not call.give_up():
                        raise
                    return _CANCELLED

            return await self._once.run(session.id, request, called)

    async def CallToolStream(self, request: pb.CallToolRequest, context: ServicerContext) -> None:
        try:
            session = await self._session(request.session_id)
            name = request.call_id or new_id()
            with self._calls.place(session.id, name, size=request.ByteSize()) as call:
                await context.write(pb.CallToolEvent(started=pb.Started(call_id=name)))
                told = partial(self._told, request, session, call, context)
                result = await self._once.run(session.id, request, told)
                await context.write(pb.CallToolEvent(result=result))
        except ToolcribError as exc:
            await abort(context, exc)

    @explained
    async def CancelCall(self, request: pb.CancelCallRequest, context: ServicerContext) -> pb.CancelCallResponse:
        session = await self._session(request.session_id)
        return pb.CancelCallResponse(cancelled=self._calls.cancel(session.id, request.call_id))

    @explained
    async def PendingApprovals(
        self, request: pb.PendingApprovalsRequest, context: ServicerContext
    ) -> pb.PendingApprovalsResponse:
        session = await self._session(request.session_id)
        return pb.PendingApprovalsResponse(approvals=await asyncio.to_thread(self._approvals.waiting, session.id))

    @explained
    async def Approve(self, request: pb.ApproveRequest, context: ServicerContext) -> pb.ApproveResponse:
        session = await self._session(request.session_id)
        token = self._rights.approver_token
        if token is None or not bears(context.invocation_metadata(), APPROVER_KEY, token):
            self._refusals.note("an approval without the approver's token", request.approval_id[:100])
            raise Refused(
                f"who asks for calls does not answer them: Approve needs the metadata `{APPROVER_KEY}: Bearer "
                "APPROVER_TOKEN` and a server started with --approver-token-file; "
                f"otherwise a person types: toolcrib approve {request.approval_id[:40]}"
            )
        answer = standing(request)
        await asyncio.to_thread(self._approvals.answer, session.id, request.approval_id, answer)
        return pb.ApproveResponse(approved=answer.allowed)

    async def _session(self, id: str) -> Session:
        if not id:
            raise ToolcribError(_NO_SESSION, code="SESSION_NOT_FOUND")
        return await self._crib.sessions.get(id)

    async def _called(self, request: pb.CallToolRequest, session: Session, feed: Feed | None = None) -> Result:
        """Through the gate; once more, where what is known of the tool was no longer so and nothing ran."""
        name, dry_run = request.tool_name, request.dry_run
        args: JSON = parse(request.arguments_json) if request.arguments_json else {}
        seconds = _seconds(request.timeout_seconds)
        await self._catalog.refresh(within=CALL_SECONDS)
        result = await session.call(name, args, timeout=seconds, dry_run=dry_run, progress=feed)
        if is_stale(result) and await self._catalog.refresh():
            result = await session.call(name, args, timeout=seconds, dry_run=dry_run, progress=feed)
        if is_long(result):
            result = await asyncio.to_thread(self._crib.viewable, result)
        return result

    async def _told(
        self, request: pb.CallToolRequest, session: Session, call: UnderWay, context: ServicerContext
    ) -> Result:
        """The result of a call, after all that it said on the way."""
        feed = Feed()
        work = call.task = asyncio.get_running_loop().create_task(self._called(request, session, feed))
        try:
            async for event in feed.until(work):
                await context.write(event)
        finally:
            if not work.done():  # whoever listened is gone, and with him the reason to go on
                work.cancel()
                await asyncio.wait([work])
        return _CANCELLED if work.cancelled() and call.cancelled else work.result()


def _seconds(said: float) -> float | None:
    if not math.isfinite(said) or said < 0:
        raise ToolcribError(f"a timeout of {said} s is none; 0 means the tool's own", code="VALIDATION_ERROR")
    return said or None
