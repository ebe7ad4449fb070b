"""Results and tools as the messages of the gRPC service, and back."""

from typing import Any

from ..backends.view import view
from ..core.call import ErrorInfo, Result
from ..core.errors import InvalidJson
from ..core.jsontext import JSON, dump, dump_ascii, parse
from ..core.tool import Tool
from .v1 import tool_service_pb2 as pb

ANSWER_BYTES = 3 * 1024 * 1024
"""Longest answer that is sent whole: clients take four mebibytes unless they are told otherwise."""
EXTRA_BYTES = 256 * 1024
"""Longest details, and longest metadata."""


def is_long(result: Result) -> bool:
    """Whether the answer does not fit, so that its whole is to be kept elsewhere."""
    return result.error is None and len(_json(result.data)) > ANSWER_BYTES


def to_message(result: Result) -> pb.ToolResult:
    data, error = _json(result.data), result.error
    output = view(result.output)
    message = pb.ToolResult(
        success=error is None,
        data_json=data if len(data) <= ANSWER_BYTES else "",
        metadata_json=_bounded(result.metadata),
        exit_code=result.exit_code,
        output=output if output.isascii() else plain(output),
    )
    if error is not None:
        details = "" if error.details is None else _bounded(error.details)
        message.error.CopyFrom(pb.ToolError(code=error.code, message=plain(view(error.message)), details_json=details))
    return message


def from_message(message: pb.ToolResult) -> Result:
    """Raises: `InvalidJson`, for what no server of ours sends."""
    error = None
    if message.HasField("error"):
        said = message.error
        error = ErrorInfo(said.code, said.message, parse(said.details_json) if said.details_json else None)
    metadata = parse(message.metadata_json or "{}")
    return Result(parse(message.data_json) if message.data_json else None, error, metadata)


def tool_message(tool: Tool, approval: str) -> pb.Tool:
    return pb.Tool(
        name=tool.name,
        description=plain(tool.description),
        input_schema_json=_json(tool.input_schema),
        output_schema_json="" if tool.output_schema is None else _json(tool.output_schema),
        source=tool.source,
        origin=plain(tool.origin),
        version=plain(tool.version),
        approval=approval,
        digest=tool.digest,
    )


def plain(text: str) -> str:
    """The text, if it can cross the wire; half a character is spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _json(value: JSON) -> str:
    try:
        return dump(value).decode()
    except InvalidJson:  # half a character in a text
        return dump_ascii(value).decode()


def _bounded(value: JSON) -> str:
    """As JSON; of an object that is too long only what is short in it, and which parts were left out."""
    text = _json(value)
    if len(text) <= EXTRA_BYTES:
        return text
    if not isinstance(value, dict):
        return _json({"left_out": len(text)})
    kept: dict[str, Any] = {key: each for key, each in value.items() if len(_json(each)) <= EXTRA_BYTES // 64}
    return _json({**dict(list(kept.items())[:32]), "left_out": sorted(set(value) - set(kept))[:32]})
