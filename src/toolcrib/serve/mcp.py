"""The Model Context Protocol: one client's messages in, answers out.

No transport is in here. One handler serves one connection: it is given each message in a task of its own, in the
order of arrival, and what it sends unasked goes through an `Outlet`. Both eras live side by side: an `initialize`
opens a session of a revision up to 2025-11-25, and a request that carries its revision in `_meta` stands for itself.
"""

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ..backends.view import view
from ..core.call import ProgressSink, Result, explain, settle
from ..core.errors import ToolcribError
from ..core.jsontext import JSON
from . import elicit, rpc
from .catalog import Catalog
from .content import answer
from .crib import Crib, Outlet, Pause
from .listen import Listeners
from .revision import DATES, LATEST_HANDSHAKE, SERVER_KEY, VERSION_KEY, Revision, agreed, declared
from .rpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, JsonObject, RequestId, RpcFault

BATCH_MESSAGES = 256
PROGRESS_BYTES = 1024
DISCOVERY_MS = 3_600_000

_STALE = ("TOOL_NOT_FOUND", "TOOL_PIN_MISMATCH")


def is_stale(result: Result) -> bool:
    """Whether nothing ran because what the crib knows of the tool is no longer so: read again, and try once more.

    A tool can say the same of another, after it ran; what ran is not run again.
    """
    return result.error is not None and result.error.code in _STALE and not result.metadata.get("attempts")


class Request(NamedTuple):
    """A request that is understood."""

    id: RequestId
    params: JsonObject
    meta: JsonObject
    revision: Revision


class Running:
    """A request under way."""

    def __init__(self, task: "asyncio.Task[object] | None") -> None:
        self.task = task
        self.cancelled = False
        self.over = False


Method = Callable[[Request, Running], Awaitable[JsonObject]]


class McpHandler:
    """Answers one client."""

    def __init__(self, crib: Crib, *, outlet: Outlet, version: str) -> None:
        self._crib, self._outlet = crib, outlet
        self._server: JsonObject = {"name": "toolcrib", "version": version}
        self._session: Revision | None = None
        self._under_way: dict[RequestId, Running] = {}
        self._asked: dict[RequestId, asyncio.Future[JsonObject]] = {}
        """Requests of our own that the client has not answered."""
        self._asks = itertools.count(1)
        self._can_be_asked = False
        self.refusing = False
        """The server is about to end: what is under way may finish, and nothing new begins."""
        self._listeners = Listeners(outlet.send)
        self._catalog = Catalog(crib, changed=self._listeners.tell)
        both: dict[str, Method] = {"tools/list": self._list, "tools/call": self._call}
        self._handshake: dict[str, Method] = {**both, "initialize": self._initialize, "ping": self._ping}
        self._stateless: dict[str, Method] = {
            **both,
            "server/discover": self._discover,
            "subscriptions/listen": self._listen,
        }

    async def handle(self, message: JSON) -> JsonObject | list[JsonObject] | None:
        """The answer to one message, or None where none is due."""
        return await (self._batch(message) if isinstance(message, list) else self._single(message))

    async def watch(self, seconds: float, pause: Pause = asyncio.sleep) -> None:
        """Look for changed tools after each pause, while somebody wants to be told. Runs until cancelled."""
        while True:
            await pause(seconds)
            if self._listeners:
                await settle(self._catalog.refresh())  # what is wrong, the next request is told

    def close(self) -> None:
        """End what would otherwise stay open until the client ends it."""
        self._listeners.close()
        for waiting in self._asked.values():
            waiting.cancel()

    def can_be_asked(self) -> bool:
        """Whether the client shows questions to a person."""
        return self._can_be_asked

    async def request(self, method: str, params: JsonObject) -> JsonObject:
        """Ask the client for something. Raises: `RpcFault`, when it answers with an error."""
        id = f"toolcrib-{next(self._asks)}"
        waiting: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._asked[id] = waiting
        try:
            self._outlet.send(rpc.request(id, method, params))
            return await waiting
        except asyncio.CancelledError:
            self._outlet.offer(rpc.notification("notifications/cancelled", {"requestId": id}))
            raise
        finally:
            del self._asked[id]

    async def _batch(self, messages: list[JSON]) -> JsonObject | list[JsonObject] | None:
        if self._session is None or not self._session.batches:
            return rpc.error(None, INVALID_REQUEST, "a message is a JSON object; only 2025-03-26 has batches")
        if not 0 < len(messages) <= BATCH_MESSAGES:
            return rpc.error(None, INVALID_REQUEST, f"a batch has 1 to {BATCH_MESSAGES} messages")
        answers = await asyncio.gather(*(self._single(message, batched=True) for message in messages))
        return [answer for answer in answers if answer is not None] or None

    async def _single(self, message: JSON, *, batched: bool = False) -> JsonObject | None:
        try:
            incoming = rpc.read(message)
            if incoming is None:
                self._answered(message)
                return None
            if incoming.id is None:
                self._notice(incoming.method, incoming.params)
                return None
            if batched and incoming.method == "initialize":
                raise RpcFault(INVALID_REQUEST, "initialize stands alone, not in a batch", id=incoming.id)
            if incoming.id in self._under_way:
                raise RpcFault(INVALID_REQUEST, "this id belongs to a request that is under way", id=incoming.id)
        except RpcFault as fault:
            return rpc.error(fault.id, fault.code, str(fault), fault.data)
        return await self._request(incoming.id, incoming.method, incoming.params)

    def _answered(self, message: JSON) -> None:
        """An answer to a question of ours; one that nobody waits for is passed over."""
        id = message.get("id") if isinstance(message, dict) else None
        waiting = self._asked.get(id) if rpc.is_id(id) else None
        if waiting is None or waiting.done():
            return
        result = message.get("result")
        if isinstance(result, dict):
            waiting.set_result(result)
        else:
            waiting.set_exception(RpcFault(INTERNAL_ERROR, "the client answered with an error"))

    async def _request(self, id: RequestId, method: str, params: JsonObject) -> JsonObject | None:
        running = self._under_way[id] = Running(asyncio.current_task())
        try:
            request = self._understood(id, method, params)
            methods = self._stateless if request.revision.stateless else self._handshake
            if method not in methods:
                raise RpcFault(METHOD_NOT_FOUND, f"{request.revision.date} has no {method}")
            said = rpc.result(id, await methods[method](request, running))
        except RpcFault as fault:
            said = rpc.error(id, fault.code, str(fault), fault.data)
        except ToolcribError as exc:
            said = rpc.error(id, INTERNAL_ERROR, str(exc), {"code": exc.code})
        except asyncio.CancelledError:
            if not running.cancelled or running.task is None:
                raise
            running.task.uncancel()
            return None
        finally:
            running.over = True
            del self._under_way[id]
        return None if running.cancelled else said

    def _understood(self, id: RequestId, method: str, params: JsonObject) -> Request:
        """In which revision a request speaks."""
        if method not in self._handshake and method not in self._stateless:
            raise RpcFault(METHOD_NOT_FOUND, f"Method not found: {view(method, 100)}")
        meta = params.get("_meta")
        if meta is None:
            meta = {}
        if not isinstance(meta, dict):
            raise RpcFault(INVALID_PARAMS, "_meta is an object")
        if method == "initialize":
            revision = agreed(params)
        elif VERSION_KEY in meta or method not in self._handshake:
            revision = declared(meta)
        elif self._session is not None:
            revision = self._session
        elif method == "ping":
            revision = LATEST_HANDSHAKE
        else:
            said = f"say initialize first, or {VERSION_KEY} in _meta"
            raise RpcFault(INVALID_PARAMS, said, data={"supported": DATES})
        return Request(id, params, meta, revision)

    def _notice(self, method: str, params: JsonObject) -> None:
        """A notification. Those that are unknown, late or malformed are passed over in silence."""
        wanted = params.get("requestId")
        if method != "notifications/cancelled" or not rpc.is_id(wanted):
            return
        running = self._under_way.get(wanted)
        if running is not None and running.task is not None and not running.cancelled:
            running.cancelled = True
            running.task.cancel()

    async def _initialize(self, request: Request, running: Running) -> JsonObject:
        self._session = request.revision
        self._listeners.session = True
        capabilities = request.params.get("capabilities") or {}
        self._can_be_asked = request.revision.date >= elicit.SINCE and isinstance(capabilities.get("elicitation"), dict)
        return {
            "protocolVersion": request.revision.date,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": self._server,
            **self._instructions(),
        }

    async def _discover(self, request: Request, running: Running) -> JsonObject:
        capabilities = {"tools": {"listChanged": True}}
        found: JsonObject = {"supportedVersions": DATES, "capabilities": capabilities, **self._instructions()}
        return self._complete(request, {**found, "ttlMs": DISCOVERY_MS, "cacheScope": "public"})

    def _instructions(self) -> JsonObject:
        """Words for the client's model, where there is something that the tools themselves do not say."""
        if all(tool.name != "create_custom_tool" for tool in self._crib.tools()):
            return {}
        from ..builtins.guidance import SHORT  # late, with the built-ins that it is about

        return {"instructions": SHORT}

    async def _ping(self, request: Request, running: Running) -> JsonObject:
        return {}

    async def _list(self, request: Request, running: Running) -> JsonObject:
        if request.params.get("cursor") is not None:
            raise RpcFault(INVALID_PARAMS, "no such cursor: the list is one page")
        tools = await self._catalog.declarations(request.revision)
        if not request.revision.stateless:
            return {"tools": tools}
        # The list is one stat per tool away and may change at any time: stale at once, and this user's own.
        return self._complete(request, {"tools": tools, "ttlMs": 0, "cacheScope": "private"})

    async def _call(self, request: Request, running: Running) -> JsonObject:
        name, args = request.params.get("name"), request.params.get("arguments")
        if not isinstance(name, str):
            raise RpcFault(INVALID_PARAMS, "name is a string")
        if not isinstance(args, dict | None):
            raise RpcFault(INVALID_PARAMS, "arguments is an object")
        if self.refusing:
            message = "the server is ending and takes no new calls; nothing ran. Start it again, and call then"
            raise ToolcribError(message, code="ENGINE_NOT_AVAILABLE")
        progress = self._progress(request, running)
        try:
            tool = await self._catalog.tool(name)
        except ToolcribError as exc:
            return self._complete(request, answer(Result(error=explain(exc)), None, request.revision))
        result = await self._crib.call(name, args or {}, progress=progress)
        if is_stale(result) and await self._catalog.refresh():
            tool = await self._catalog.tool(name)
            result = await self._crib.call(name, args or {}, progress=progress)
        if result.error is not None and result.error.code == "TOOL_NOT_FOUND" and tool is None:
            raise RpcFault(INVALID_PARAMS, f"Unknown tool: {view(name, 100)}")
        return self._complete(request, answer(self._crib.viewable(result), tool, request.revision))

    async def _listen(self, request: Request, running: Running) -> JsonObject:
        return self._complete(request, await self._listeners.stream(request.id, request.params.get("notifications")))

    def _complete(self, request: Request, result: JsonObject) -> JsonObject:
        """A result as the revision wants it: without a handshake it says what it is and who made it."""
        if not request.revision.stateless:
            return result
        return {"resultType": "complete", **result, "_meta": {**result.get("_meta", {}), SERVER_KEY: self._server}}

    def _progress(self, request: Request, running: Running) -> ProgressSink | None:
        token = request.meta.get("progressToken")
        if token is None:
            return None
        if not rpc.is_id(token):
            raise RpcFault(INVALID_PARAMS, "progressToken is a string or an integer")
        reached = -math.inf

        def tell(done: float, total: float | None, words: str | None) -> None:
            nonlocal reached
            # The protocol wants every notification to be further than the last, and none after the answer.
            if running.over or running.cancelled or not math.isfinite(done) or done <= reached:
                return
            reached = done
            params: JsonObject = {"progressToken": token, "progress": done}
            if total is not None and math.isfinite(total):
                params["total"] = total
            if words is not None and request.revision.hints:
                params["message"] = view(words, PROGRESS_BYTES)
            self._outlet.offer(rpc.notification("notifications/progress", params))

        return tell
