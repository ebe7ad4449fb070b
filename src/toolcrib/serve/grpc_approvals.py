"""Calls that wait for a person, as the gRPC service shows and answers them."""

from ..backends.process import file_digest
from ..core.errors import Refused, ToolcribError
from ..core.jsontext import dump_ascii
from ..policy.approvers import Standing, keep
from ..policy.request import Request
from ..store.home import Home
from ..store.pending import PendingCall, PendingCalls
from ..store.state import State
from .v1 import tool_service_pb2 as pb

APPROVER_KEY = "approver-authorization"
SCOPES = ("once", "session", "project", "user")


class Approvals:
    """What waits in a home. Every method reads a file and may raise `ToolcribError`."""

    def __init__(self, home: Home) -> None:
        self._home, self._pending = home, PendingCalls(home)

    def waiting(self, session: str) -> list[pb.PendingApproval]:
        return [_shown(row) for row in self._pending.waiting() if row.session == session and row.state == "waiting"]

    def answer(self, session: str, id: str, answer: Standing) -> None:
        """First the one call, then what lasts: whoever is killed in between has allowed less, not more.

        Raises:
            ToolcribError: nothing of this id waits in this session.
            Refused: the tool is no longer what the call was about.
        """
        row = self._pending.get(id)
        if row is None or row.session != session or row.state != "waiting":
            message = f"nothing of the id {id[:40]} waits in this session; see PendingApprovals"
            raise ToolcribError(message, code="APPROVAL_REQUIRED")
        try:
            request = Request.from_dict(dict(row.request))
        except ValueError as exc:
            raise ToolcribError(f"{row.id} cannot be read: {exc}", code="CONFIG_INVALID") from None
        if answer.allowed and request.source == "executable" and file_digest(request.program) != request.digest:
            message = f"{request.program} changed since the call was made; nothing was approved. Make the call again"
            raise Refused(message, code="TOOL_PIN_MISMATCH")
        if not self._pending.answer(row.id, allowed=answer.allowed, by=answer.by):
            raise ToolcribError(f"{row.id} is too old; make the call again", code="APPROVAL_REQUIRED")
        if answer.allowed:
            keep(State(self._home), request, answer)


def standing(request: pb.ApproveRequest) -> Standing:
    """The answer in a message. Raises: `ToolcribError`, where it is none."""
    if request.decision not in (pb.DECISION_ALLOW, pb.DECISION_DENY):
        raise ToolcribError("decision is DECISION_ALLOW or DECISION_DENY", code="VALIDATION_ERROR")
    scope = request.scope or SCOPES[0]
    if scope not in SCOPES:
        raise ToolcribError(f"scope is one of {', '.join(SCOPES)}", code="VALIDATION_ERROR")
    return Standing(request.decision == pb.DECISION_ALLOW, "grpc", scope, exactly=request.exactly)


def _shown(row: PendingCall) -> pb.PendingApproval:
    return pb.PendingApproval(
        approval_id=row.id,
        tool_name=str(row.request.get("tool")),
        reason=str(row.request.get("reason")),
        request_json=dump_ascii(dict(row.request)).decode(),
        created_at=row.created,
        expires_at=row.expires,
    )
