"""Talks over a WebSocket, by `websockets`, on a connection to an address that was looked at. No proxy, no redirect."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, WebSocketException

from ..core.context import Context
from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, dump, parse
from ..core.process import Captured
from .network import Network
from .spill import Spill
from .websocket import Talk
from .websocket_collect import document

_CONNECT_SECONDS = 10.0
_CLOSE_SECONDS = 0.5
_TOO_BIG = 1009
_SHOWN = 2000


async def talk(talk: Talk, network: Network, ctx: Context) -> JSON:
    """The messages that came. Raises: `ToolError`."""
    url = talk.url
    seconds = min(ctx.limits.seconds, _CONNECT_SECONDS)
    made = await network.connect(url.host, url.port, secure=url.secure, timeout=seconds)
    try:
        opening = connect(
            str(url), sock=made, additional_headers=talk.headers, user_agent_header="toolcrib", proxy=None,
            compression=None, max_size=talk.collect.max_bytes, open_timeout=None, ping_interval=None,
            close_timeout=_CLOSE_SECONDS, create_connection=_Connection,
        )  # fmt: skip
    except WebSocketException as exc:
        made.close()  # from here on it is the library's
        raise ToolError(f"{url.subject} cannot be asked: {exc}", before_effect=True) from None
    try:
        with _readable(talk):
            connection = await opening
    except ValueError as exc:  # which is how the library says that it will not go there with our connection
        message = f"{url.subject} led elsewhere; a redirect is not followed: declare its address ({exc})"
        raise ToolError(message) from None
    collected = _Collected(talk, ctx)
    try:
        with _readable(talk):
            return await collected.all(connection)
    finally:
        collected.close()
        connection.transport.abort()  # also when the other side does not take part in ending it


class _Connection(ClientConnection):
    """Hangs up at once on who breaks the protocol or sends too much, and does not wait for a farewell."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.protocol.parser_exc is not None:
            self.transport.abort()


class _Collected:
    """The messages of one connection, and why no more are waited for."""

    def __init__(self, talk: Talk, ctx: Context) -> None:
        self._talk, self._ctx = talk, ctx
        self._spill = Spill(ctx, "messages")
        self._count = self._bytes = 0
        ctx.evidence = lambda: {"messages": _whole(self._spill.so_far()), "message_count": self._count}

    async def all(self, connection: ClientConnection) -> JSON:
        closed, reason = None, ""
        try:
            for message in self._talk.send:
                await connection.send(message)
            stopped = await self._until_enough(connection)
        except ConnectionClosed as exc:
            if exc.sent is not None and exc.sent.code == _TOO_BIG and not exc.rcvd_then_sent:
                stopped = "max_bytes"
            else:
                stopped = "closed"
                closed, reason = (exc.rcvd.code, exc.rcvd.reason) if exc.rcvd else (None, "the connection was lost")
        else:
            await connection.close()
        kept = self._spill.end()
        self._ctx.report.update({"message_count": self._count, "message_bytes": self._bytes})
        answer: dict[str, JSON] = {
            "messages": _whole(kept), "closed": closed, "reason": reason, "stopped_by": stopped,
        }  # fmt: skip
        if kept.omitted:
            where = (
                f"all are in artifact {kept.artifact[0]}, one JSON document a line"
                if kept.artifact
                else "no more are kept"
            )
            answer["note"] = f"the first {len(answer['messages'])} of {self._count} messages are shown{where}"
        return answer

    def close(self) -> None:
        self._spill.close()

    async def _until_enough(self, connection: ClientConnection) -> str:
        limits, until = self._talk.collect, self._talk.until
        while True:
            try:
                async with asyncio.timeout(limits.idle):
                    raw = await connection.recv()
            except TimeoutError:
                return "idle"
            size = len(raw.encode()) if isinstance(raw, str) else len(raw)
            if self._bytes + size > limits.max_bytes:
                return "max_bytes"
            message = document(raw)
            self._note(message, raw, size)
            if until.met(message, raw, self._count):
                return "until"
            if self._count >= limits.max_messages:
                return "max_messages"

    def _note(self, message: JSON, raw: str | bytes, size: int) -> None:
        self._count += 1
        self._bytes += size
        self._spill.add(dump(message) + b"\n")
        shown = raw if isinstance(raw, str) else f"a binary message of {len(raw)} bytes"
        self._ctx.progress(self._count, None, shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…")


def _whole(kept: Captured) -> list[JSON]:
    """The messages that were kept whole, from the first on."""
    found = []
    for line in kept.head.split(b"\n")[:-1]:
        try:
            found.append(parse(line))
        except InvalidJson:  # a secret was taken out of the middle of it
            found.append(line.decode("utf-8", "backslashreplace"))
    return found


@contextmanager
def _readable(talk: Talk) -> Iterator[None]:
    """What goes wrong on the way, for whoever calls."""
    host = talk.url.subject
    try:
        yield
    except InvalidStatus as exc:
        status = exc.response.status_code
        more = "; a redirect is not followed: declare the address it leads to" if 300 <= status < 400 else ""
        raise ToolError(
            f"{host} answered with HTTP status {status} and no WebSocket{more}", details={"status": status}
        ) from None
    except InvalidHandshake as exc:
        raise ToolError(f"{host} does not speak WebSocket: {exc}") from None
    except (WebSocketException, OSError, EOFError) as exc:
        raise ToolError(f"the connection to {host} failed: {str(exc) or type(exc).__name__}") from None
