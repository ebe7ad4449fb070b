"""Which gRPC status stands for which of our codes, where the service itself cannot do what it is asked."""

import grpc

from ..backends.view import view
from ..core.errors import ToolcribError

CODE_KEY = "toolcrib-code"
"""The trailing metadata that holds our own code."""
RETRY_KEY = "retry-after"
"""And in how many seconds it is worth asking again, where the server is only crowded."""
MESSAGE_BYTES = 2000
"""Longest message: it travels as a header, and those are short."""

_S = grpc.StatusCode
STATUS: dict[str, grpc.StatusCode] = {
    "TOOL_NOT_FOUND": _S.NOT_FOUND,
    "SESSION_NOT_FOUND": _S.NOT_FOUND,
    "FILE_NOT_FOUND": _S.NOT_FOUND,
    "VALIDATION_ERROR": _S.INVALID_ARGUMENT,
    "TOOL_NAME_INVALID": _S.INVALID_ARGUMENT,
    "SCHEMA_REJECTED": _S.INVALID_ARGUMENT,
    "PATH_NOT_REGULAR": _S.INVALID_ARGUMENT,
    "COMMAND_NOT_ANALYSABLE": _S.INVALID_ARGUMENT,
    "ARCHIVE_UNSAFE": _S.INVALID_ARGUMENT,
    "INPUT_TOO_LARGE": _S.INVALID_ARGUMENT,
    "TOOL_NAME_CONFLICT": _S.ALREADY_EXISTS,
    "TIMEOUT": _S.DEADLINE_EXCEEDED,
    "CANCELLED": _S.CANCELLED,
    "RESOURCE_EXHAUSTED": _S.RESOURCE_EXHAUSTED,
    "BLOCKED_BY_POLICY": _S.PERMISSION_DENIED,
    "APPROVAL_DENIED": _S.PERMISSION_DENIED,
    "WORKSPACE_UNTRUSTED": _S.PERMISSION_DENIED,
    "PATH_OUTSIDE_WORKSPACE": _S.PERMISSION_DENIED,
    "PATH_PROTECTED": _S.PERMISSION_DENIED,
    "ENV_NOT_ALLOWED": _S.PERMISSION_DENIED,
    "NETWORK_DENIED": _S.PERMISSION_DENIED,
    "DOWNLOAD_UNVERIFIED": _S.PERMISSION_DENIED,
    "APPROVAL_REQUIRED": _S.FAILED_PRECONDITION,
    "TOOL_PIN_MISMATCH": _S.FAILED_PRECONDITION,
    "DIGEST_MISMATCH": _S.FAILED_PRECONDITION,
    "SANDBOX_UNAVAILABLE": _S.FAILED_PRECONDITION,
    "ENGINE_NOT_AVAILABLE": _S.FAILED_PRECONDITION,
    "CONFIG_INVALID": _S.FAILED_PRECONDITION,
    "READ_ERROR": _S.INTERNAL,
    "SEARCH_ERROR": _S.INTERNAL,
    "EXECUTION_ERROR": _S.INTERNAL,
    "OUTCOME_UNKNOWN": _S.UNKNOWN,
}
"""Every code has one. What became of a tool is no status, but a result."""


async def abort(context: grpc.aio.ServicerContext, failure: ToolcribError) -> None:
    """End a request with what is wrong. Does not return."""
    status = STATUS.get(failure.code, _S.INTERNAL)
    trailing = [(CODE_KEY, failure.code)]
    if isinstance(failure.details, dict) and (seconds := failure.details.get("retry_after")):
        trailing.append((RETRY_KEY, f"{seconds:g}"))
    await context.abort(status, header_text(str(failure)), trailing_metadata=tuple(trailing))


def header_text(text: str) -> str:
    """As much of a text as fits into a header."""
    return view(text, MESSAGE_BYTES).encode("utf-8", "backslashreplace").decode()
