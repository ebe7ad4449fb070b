"""The revisions of MCP that are spoken, and what each one has that another has not."""

from typing import Literal, NamedTuple

from .rpc import INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION, JsonObject, RpcFault

PREFIX = "io.modelcontextprotocol/"
VERSION_KEY = PREFIX + "protocolVersion"
CAPABILITIES_KEY = PREFIX + "clientCapabilities"
SERVER_KEY = PREFIX + "serverInfo"
SUBSCRIPTION_KEY = PREFIX + "subscriptionId"


class Revision(NamedTuple):
    date: str
    stateless: bool = False
    """No handshake: every request says its revision in `_meta`, every result says its type."""
    batches: bool = False
    hints: bool = True
    """Annotations on tools, and words with progress."""
    structured: Literal["no", "object", "any"] = "object"
    """What a tool may return besides text."""


REVISIONS = (
    Revision("2026-07-28", stateless=True, structured="any"),
    Revision("2025-11-25"),
    Revision("2025-06-18"),
    Revision("2025-03-26", batches=True, structured="no"),
    Revision("2024-11-05", hints=False, structured="no"),
)
DATES = [revision.date for revision in REVISIONS]
_STATELESS = {revision.date: revision for revision in REVISIONS if revision.stateless}
_HANDSHAKE = {revision.date: revision for revision in REVISIONS if not revision.stateless}
LATEST_HANDSHAKE = next(iter(_HANDSHAKE.values()))


def agreed(params: JsonObject) -> Revision:
    """What `initialize` settles on: the client's wish, or else the newest that has a handshake.

    Raises:
        RpcFault: the wish is not a version, or what comes with it is not an object.
    """
    wish = params.get("protocolVersion")
    if not isinstance(wish, str):
        raise RpcFault(INVALID_PARAMS, "protocolVersion is a string", data={"supported": DATES})
    for key in ("capabilities", "clientInfo"):
        if not isinstance(params.get(key, {}), dict):
            raise RpcFault(INVALID_PARAMS, f"{key} is an object")
    return _HANDSHAKE.get(wish, LATEST_HANDSHAKE)


def declared(meta: JsonObject) -> Revision:
    """What a request without a handshake says of itself in `_meta`.

    Raises:
        RpcFault: it says too little, or a revision that is not spoken this way.
    """
    date = meta.get(VERSION_KEY)
    if not isinstance(date, str):
        raise RpcFault(INVALID_PARAMS, f"_meta needs {VERSION_KEY}, a string")
    revision = _STATELESS.get(date)
    if revision is None:
        hint = f": {date} begins with initialize" if date in _HANDSHAKE else ""
        data = {"supported": DATES, "requested": date}
        raise RpcFault(UNSUPPORTED_PROTOCOL_VERSION, f"Unsupported protocol version{hint}", data=data)
    if not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise RpcFault(INVALID_PARAMS, f"_meta needs {CAPABILITIES_KEY}, an object")
    return revision
