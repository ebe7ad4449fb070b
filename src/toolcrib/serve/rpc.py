"""JSON-RPC 2.0 as MCP uses it: what a message is, and what an answer looks like."""

from typing import Any, NamedTuple, TypeGuard

from ..core.jsontext import JSON

JsonObject = dict[str, JSON]
RequestId = str | int

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_PROTOCOL_VERSION = -32022


class RpcFault(Exception):
    """Ends one request with an error answer. Never leaves the handler."""

    def __init__(self, code: int, message: str, *, data: JSON = None, id: RequestId | None = None) -> None:
        super().__init__(message)
        self.code, self.data, self.id = code, data, id


class Incoming(NamedTuple):
    """A request, or, without an id, a notification."""

    method: str
    params: JsonObject
    id: RequestId | None = None


def is_id(value: Any) -> TypeGuard[RequestId]:
    """Whether MCP allows it as an id: a string or an integer. Python's `True` is an integer, JSON's is not."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def read(message: JSON) -> Incoming | None:
    """What a message asks for. None for what wants nothing: an answer.

    Raises:
        RpcFault: it is not a message.
    """
    if not isinstance(message, dict):
        raise RpcFault(INVALID_REQUEST, "a message is a JSON object")
    id, method = message.get("id"), message.get("method")
    if "method" not in message and ("result" in message or "error" in message):
        return None
    if "id" in message and not is_id(id):
        raise RpcFault(INVALID_REQUEST, "an id is a string or an integer")
    if message.get("jsonrpc") != "2.0":
        raise RpcFault(INVALID_REQUEST, 'a message says "jsonrpc": "2.0"', id=id)
    if not isinstance(method, str):
        raise RpcFault(INVALID_REQUEST, "a method is a string", id=id)
    params = message.get("params")
    if params is None:
        params = {}
    elif not isinstance(params, dict):
        if id is None:
            return None
        raise RpcFault(INVALID_PARAMS, "params is an object", id=id)
    return Incoming(method, params, id)


def result(id: RequestId, value: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def request(id: RequestId, method: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def notification(method: str, params: JsonObject | None = None) -> JsonObject:
    message: JsonObject = {"jsonrpc": "2.0", "method": method}
    if params:
        message["params"] = params
    return message


def error(id: RequestId | None, code: int, message: str, data: JSON = None) -> JsonObject:
    """An error answer. An id that could not be read is null, as JSON-RPC has it."""
    body: JsonObject = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": body}
