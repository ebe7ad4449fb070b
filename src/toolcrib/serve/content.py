"""What MCP shows of a tool, and of what became of a call."""

from ..backends.view import view
from ..core.call import ErrorInfo, Result
from ..core.jsontext import JSON, dump
from ..core.tool import Tool
from .revision import Revision
from .rpc import JsonObject

META_KEY = "toolcrib/call"
_META = (
    "version",
    "digest",
    "call_id",
    "execution_time_ms",
    "approval",
    "sandbox",
    "attempts",
    "exit_code",
    "truncated",
    "stdout_bytes",
    "stderr_bytes",
)
_STREAMS = ("stdout", "stderr")


def declaration(tool: Tool, revision: Revision) -> JsonObject:
    """One entry of `tools/list`."""
    shown: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        # Arguments are always an object, and the protocol wants that said at the root.
        "inputSchema": {**tool.input_schema, "type": "object"},
    }
    if _structured(tool, revision):
        shown["outputSchema"] = tool.output_schema
    if revision.hints:
        shown["annotations"] = annotations(tool)
    return shown


def annotations(tool: Tool) -> JsonObject:
    """What the tool may do, as hints. Only of a built-in is the absence of a claim known to mean anything; for all
    others the protocol's own cautious defaults are spelled out, because some clients take silence for harmlessness."""
    can, ours = tool.capabilities, tool.source == "builtin"
    harmless = ours and not (can.writes_files or can.executes_commands)
    return {
        "readOnlyHint": harmless,
        "destructiveHint": not harmless,
        "idempotentHint": can.idempotent,
        "openWorldHint": can.accesses_network or not ours,
    }


def answer(result: Result, tool: Tool | None, revision: Revision) -> JsonObject:
    """The result of `tools/call`."""
    text = _text(result)
    shown: JsonObject = {
        # An empty text is no content: some model APIs refuse an empty block.
        "content": [{"type": "text", "text": text}] if text else [],
        "isError": result.error is not None,
        "_meta": {META_KEY: _meta(result)},
    }
    fits = revision.structured == "any" or isinstance(result.data, dict)
    if fits and result.error is None and tool is not None and _structured(tool, revision):
        shown["structuredContent"] = result.data
    return shown


def _structured(tool: Tool, revision: Revision) -> bool:
    """Whether results carry `structuredContent`. Up to 2025-11-25 that is an object, or nothing."""
    if tool.output_schema is None or revision.structured == "no":
        return False
    return revision.structured == "any" or tool.output_schema.get("type") == "object"


def _text(result: Result) -> str:
    text = view(_success(result) if result.error is None else _failure(result.error))
    return "\n".join(filter(None, [text, *_artifacts(result)]))


def _success(result: Result) -> str:
    text = result.data if isinstance(result.data, str) else dump(result.data).decode()
    complaint = result.metadata.get("stderr")
    if not text.strip() and isinstance(complaint, str) and complaint.strip():
        # A program that could not do its work and yet exited with 0 says so here, and nowhere else.
        return f"{text}[nothing on stdout; stderr:]\n{complaint}"
    return text


def _failure(error: ErrorInfo) -> str:
    lines = [f"{error.code}: {error.message}"]
    details = error.details
    if isinstance(details, dict):
        lines += [f"{key}: {_inline(value)}" for key, value in details.items() if _is_news(key, value, error)]
        lines += [f"{key}:\n{details[key]}" for key in _STREAMS if _worth_saying(details.get(key), error)]
    elif isinstance(details, list):
        lines += [f"- {_inline(fault)}" for fault in details]
    elif details is not None:
        lines.append(_inline(details))
    return "\n".join(lines)


def _is_news(key: str, value: JSON, error: ErrorInfo) -> bool:
    return key not in _STREAMS and not (isinstance(value, str) and "\n" in value and value in error.message)


def _worth_saying(stream: JSON, error: ErrorInfo) -> bool:
    return isinstance(stream, str) and bool(stream.strip()) and stream.strip() not in error.message


def _inline(value: JSON) -> str:
    said = value.get("message") if isinstance(value, dict) else value
    return said if isinstance(said, str) else dump(value).decode()


def _artifacts(result: Result) -> list[str]:
    """Where the whole is, for what was cut: nothing is lost."""
    return [
        f"[all {item['bytes']} bytes of {item['stream']}: read_artifact {item['id']}]"
        for item in result.metadata.get("artifacts", ())
    ]


def _meta(result: Result) -> JsonObject:
    chosen = {key: result.metadata[key] for key in _META if result.metadata.get(key) is not None}
    if artifacts := result.metadata.get("artifacts"):
        chosen["artifacts"] = [item["id"] for item in artifacts]
    if result.error is not None:
        chosen["code"] = result.error.code
    return chosen
