"""The door of the gRPC service: before anything of a request is read, it is known whether its caller may ask."""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any

import grpc

from ..core.errors import ToolcribError
from .grpc_refusals import Refusals
from .grpc_status import abort
from .grpc_token import Metadata, bears

TOKEN_KEY = "authorization"
_BROWSER = frozenset(("origin", "referer", "cookie", "sec-fetch-site", "sec-fetch-mode", "x-grpc-web"))
"""What no program sends that was told to speak gRPC, and a page in somebody's browser cannot leave out."""


class Collected:
    """Takes the handlers of services, as a server would."""

    def __init__(self) -> None:
        self.methods: dict[str, grpc.RpcMethodHandler] = {}

    def add_generic_rpc_handlers(self, handlers: object) -> None:
        """The generated code registers everything twice; by name is enough."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, grpc.RpcMethodHandler]) -> None:
        self.methods |= {f"/{service}/{name}": handler for name, handler in handlers.items()}


class Door(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Looks at every request, of every service, known or not."""

    def __init__(self, methods: Mapping[str, grpc.RpcMethodHandler], *, token: str, refusals: Refusals) -> None:
        self._methods, self._token, self._refusals = methods, token, refusals
        self.closing = False

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if why := self._stranger(details.invocation_metadata):
            self._refusals.note(f"{why} for {details.method[:100]}", "")
            return _TURNED_AWAY
        return _CLOSED if self.closing else self._methods.get(details.method)

    def _stranger(self, metadata: Metadata) -> str:
        """Why a caller gets nothing; empty for one who may ask."""
        if any(name in _BROWSER for name, _ in metadata):
            return "a browser's request"
        if bears(metadata, TOKEN_KEY, self._token):
            return ""
        return "a wrong token" if any(name == TOKEN_KEY for name, _ in metadata) else "no token"


def _answering(status: grpc.StatusCode, message: str) -> grpc.RpcMethodHandler:
    """Ends a request of any form without reading it."""

    async def refuse(request: object, context: grpc.aio.ServicerContext) -> None:
        await context.abort(status, message)

    return grpc.stream_stream_rpc_method_handler(refuse)


_TURNED_AWAY = _answering(
    grpc.StatusCode.UNAUTHENTICATED, "send the metadata `authorization: Bearer TOKEN`; the server's user has the token"
)
_CLOSED = _answering(grpc.StatusCode.UNAVAILABLE, "the server is ending")

Method = Callable[[Any, Any, grpc.aio.ServicerContext], Awaitable[Any]]


def explained(method: Method) -> Method:
    """A method of a service that says what is wrong in the protocol's own way."""

    @wraps(method)
    async def answer(self: Any, request: Any, context: grpc.aio.ServicerContext) -> Any:
        try:
            return await method(self, request, context)
        except ToolcribError as exc:
            return await abort(context, exc)

    return answer
