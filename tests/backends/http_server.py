"""A server on loopback that writes whatever bytes a test wants, and remembers what it was sent; and HTTP tools to call."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import toolcrib
from toolcrib.backends.declared import Declared, Place, Surroundings
from toolcrib.backends.http import make
from toolcrib.core.call import Result
from toolcrib.core.context import Context
from toolcrib.core.errors import Refused
from toolcrib.core.schema import Schema
from toolcrib.core.tool import Tool
from toolcrib.policy.approvers import SaysYes

OPEN = {"type": "object", "additionalProperties": True}


class Seen(NamedTuple):
    """One request, as it came."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    reader: asyncio.StreamReader

    def header(self, name: str) -> str | None:
        found = [value for key, value in self.headers if key.lower() == name]
        assert len(found) < 2, f"{name} came {len(found)} times"
        return found[0] if found else None


Answer = Callable[[Seen, asyncio.StreamWriter], "bytes | Awaitable[None]"]


class Server:
    """Answers each request with what `answer` gives or writes, and closes the connection."""

    def __init__(self, answer: Answer | bytes, host: str) -> None:
        self.answer, self.host, self.port = answer, host, 0
        self.seen: list[Seen] = []
        self.connections = 0
        self.closed = asyncio.Event()
        """The last connection ended."""
        self._open = 0

    @property
    def netloc(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.netloc}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open += 1
        self.closed.clear()
        try:
            seen = await _request(reader)
            if seen is not None:
                self.seen.append(seen)
                said = self.answer if isinstance(self.answer, bytes) else self.answer(seen, writer)
                if isinstance(said, bytes):
                    writer.write(said)
                else:
                    await said
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # whoever asked is gone
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            self._open -= 1
            if not self._open:
                self.closed.set()


async def _request(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head[:-4].split("\r\n")
    method, target, version = first.split(" ")
    assert version == "HTTP/1.1"
    headers = [(name, value.strip(" \t")) for name, _, value in (line.partition(":") for line in lines)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    assert not any(name.lower() == "transfer-encoding" for name, _ in headers)
    return Seen(method, target, headers, await reader.readexactly(length), reader)


@asynccontextmanager
async def serving(answer: Answer | bytes, host: str = "127.0.0.1") -> AsyncIterator[Server]:
    """A server for as long as it is needed."""
    server = Server(answer, host)
    listening = await asyncio.start_server(server.serve, host, 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        if server.connections:
            await asyncio.wait_for(server.closed.wait(), 10)


def answered(body: bytes | str = b"", *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    """A plain answer; `length` may be wrong."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(data) if length is None else length}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + data


def as_json(body: str) -> bytes:
    return answered(body, "Content-Type: application/json")


class NoDownloads:
    async def obtained(self, url: str, sha256: str, member: str, ctx: Context) -> str:
        raise AssertionError("nothing is downloaded here")


class Vault:
    """Secrets that a test sets, for any tool; it remembers where each was to be sent."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.asked: list[tuple[str, str, str, str | None]] = []

    def __call__(self, tool: str, name: str, *, host: str, own: str | None) -> str:
        self.asked.append((tool, name, host, own))
        if name not in self.values:
            raise Refused(f"{tool} may not have the secret {name}", code="ENV_NOT_ALLOWED")
        return self.values[name]


def declared(
    fields: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    *,
    allow: tuple[str, ...] = (),
    secret: Vault | None = None,
) -> Declared:
    """What an HTTP tool's declaration comes to."""
    around = Surroundings(secret or Vault(), NoDownloads(), allow)
    return make(fields, OPEN if parameters is None else parameters, Place("", "sha256:test"), around)


def http_tool(
    fields: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    *,
    allow: tuple[str, ...] = (),
    secret: Vault | None = None,
) -> Tool:
    """An HTTP tool called `ask`."""
    made = declared(fields, parameters, allow=allow, secret=secret)
    schema = Schema(dict(OPEN if parameters is None else parameters))
    return Tool(
        "ask", "Asks a server.", schema, made.backend, "skill", "SKILL.md", digest=made.backend.digest(),
        capabilities=made.capabilities, limits=made.limits, hooks=made.hooks,
    )  # fmt: skip


Call = Callable[..., Awaitable[Result]]


@asynccontextmanager
async def calling(root: Path, tool: Tool, approver: Any = None) -> AsyncIterator[Call]:
    """`call(args)` calls a tool through the whole gate."""
    (root / "work").mkdir(exist_ok=True)
    async with toolcrib.open(
        workspace=root / "work", home=root / "home", tools=[tool], approver=approver or SaysYes()
    ) as crib:

        async def call(args: Mapping[str, Any] | None = None, **about: Any) -> Result:
            return await crib.call("ask", dict(args or {}), **about)

        yield call


def ask(
    root: Path,
    answer: Answer | bytes,
    args: Mapping[str, Any] | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    secret: Vault | None = None,
    path: str = "/",
    call: Mapping[str, Any] | None = None,
    **fields: Any,
) -> tuple[Result, Server]:
    """One call of a tool with these fields, against a server that answers so. The server is listed, unless it is not."""

    async def run() -> tuple[Result, Server]:
        async with serving(answer) as server:
            tool = http_tool(
                {"url": server.url(path), **fields}, parameters, allow=(server.netloc,), secret=secret
            )  # fmt: skip
            async with calling(root, tool) as door:
                return await door(args, **(call or {})), server

    return asyncio.run(run())
