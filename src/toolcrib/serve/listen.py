"""Who wants to hear that the tools changed: a session of the old kind, and open `subscriptions/listen` streams."""

import asyncio
from collections.abc import Callable

from ..core.jsontext import JSON
from . import rpc
from .revision import SUBSCRIPTION_KEY
from .rpc import INTERNAL_ERROR, INVALID_PARAMS, JsonObject, RequestId, RpcFault

STREAMS = 16
_CHANGED = "notifications/tools/list_changed"


class Listeners:
    def __init__(self, send: Callable[[JsonObject], None]) -> None:
        self._send = send
        self._streams: dict[RequestId, bool] = {}
        self._closing = asyncio.Event()
        self.session = False
        """After `initialize` every change is told, unasked."""

    def __bool__(self) -> bool:
        return self.session or any(self._streams.values())

    async def stream(self, id: RequestId, wish: JSON) -> JsonObject:
        """One subscription, from its acknowledgement until the client cancels it or the server closes."""
        if not isinstance(wish, dict):
            raise RpcFault(INVALID_PARAMS, "notifications is an object")
        if len(self._streams) >= STREAMS:
            raise RpcFault(INTERNAL_ERROR, f"{STREAMS} subscriptions are open; cancel one first")
        tools = wish.get("toolsListChanged") is True
        honoured = {"toolsListChanged": True} if tools else {}
        meta = {SUBSCRIPTION_KEY: id}
        acknowledged = {"_meta": meta, "notifications": honoured}
        self._send(rpc.notification("notifications/subscriptions/acknowledged", acknowledged))
        self._streams[id] = tools
        try:
            await self._closing.wait()
        finally:
            del self._streams[id]
        return {"_meta": meta}

    def tell(self) -> None:
        if self.session:
            self._send(rpc.notification(_CHANGED))
        for id, tools in self._streams.items():
            if tools:
                self._send(rpc.notification(_CHANGED, {"_meta": {SUBSCRIPTION_KEY: id}}))

    def close(self) -> None:
        self._closing.set()
