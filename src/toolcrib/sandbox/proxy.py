"""The one way to the network for programs that may reach some hosts and no others.

A confined program has a network of its own that leads nowhere, and in it a socket that leads here (`bridge.py`). It
says which host it wants, as to any HTTP proxy: `CONNECT host:443`, or a plain request for `http://host/`. A host not
on its list is refused before anything is looked up; to one that is on it, the connection is made by a function that is
handed in and applies the network's own rules to the address.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from ..core.errors import Refused, ToolError
from ._request import Request, Unreadable, read_request

HEAD_BYTES = 16 * 1024
HEAD_SECONDS = 10.0
CONNECT_SECONDS = 30.0
IDLE_SECONDS = 600.0
MOST_CONNECTIONS = 64
"""For one list of hosts, at a time."""
_LINGER_SECONDS = 5.0
_CHUNK = 64 * 1024
_LONGEST_NAME = 100  # of a socket; the kernel takes 107 bytes
_PORTS = (80, 443)

Connect = Callable[[str, int], Awaitable[socket.socket]]
"""Connects to a host, if the network's rules let it. Raises: `ToolError`; `Refused`, when they do not."""
Parse = Callable[[str], str]
"""A host as it is compared. Raises: `ValueError`, for what is not plainly written."""


class Allowed:
    """A list of hosts: names, `*.` and a domain for all that lies below it, each perhaps with a port."""

    def __init__(self, hosts: Sequence[str], parse: Parse) -> None:
        """Raises: `ValueError`, for one that is none of these."""
        self.hosts = tuple(hosts)
        self._exact: set[tuple[str, int]] = set()
        self._below: set[tuple[str, int]] = set()
        for each in hosts:
            name, port = _split(each.removeprefix("*."))
            to = self._below if each.startswith("*.") else self._exact
            to |= {(parse(name), number) for number in ((port,) if port else _PORTS)}

    def __contains__(self, wanted: tuple[str, int]) -> bool:
        host, port = wanted
        if wanted in self._exact:
            return True
        labels = host.split(".")
        return any((".".join(labels[at:]), port) in self._below for at in range(1, len(labels)))


class Proxy:
    """Sockets for programs to reach hosts by, one for each list of hosts. It works in a thread of its own."""

    def __init__(self, directory: str, connect: Connect, parse: Parse) -> None:
        """`directory` is where the sockets are made; nobody else may enter it."""
        self._directory, self._connect, self._parse = directory, connect, parse
        self._sockets: dict[tuple[str, ...], str] = {}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._servers: list[asyncio.Server] = []
        self._busy: set[asyncio.Task[None]] = set()
        self._closed = False

    def socket_for(self, hosts: tuple[str, ...]) -> str:
        """The path of a socket behind which these hosts can be reached. Made once, and there until this is closed.

        Raises:
            ValueError: one of them is not a host.
            ToolError: no socket can be made.
        """
        with self._lock:
            if self._closed:
                raise ToolError("the runtime is closed", code="SANDBOX_UNAVAILABLE", before_effect=True)
            path = self._sockets.get(hosts)
            if path is None:
                allowed = Allowed(hosts, self._parse)
                path = f"{self._directory}/{len(self._sockets) + 1}"
                try:
                    loop = self._running()
                    listening = _listening(self._directory, path)
                except (OSError, RuntimeError) as exc:
                    message = f"no socket for a proxy could be made in {self._directory}: {exc}"
                    raise ToolError(message, code="SANDBOX_UNAVAILABLE", before_effect=True) from None
                asyncio.run_coroutine_threadsafe(self._listen(listening, allowed), loop).result()
                self._sockets[hosts] = path
            return path

    def close(self) -> None:
        """End every connection, and take the sockets away."""
        with self._lock:
            self._closed = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
            if loop is not None and thread is not None:
                asyncio.run_coroutine_threadsafe(self._end(), loop).result()
                loop.call_soon_threadsafe(loop.stop)
                thread.join()
                loop.close()
            for path in self._sockets.values():
                with suppress(OSError):
                    os.unlink(path)
            if self._sockets:
                with suppress(OSError):
                    os.rmdir(self._directory)
            self._sockets.clear()

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="toolcrib proxy", daemon=True)
            try:
                thread.start()
            except BaseException:
                loop.close()
                raise
            self._loop, self._thread = loop, thread
        return self._loop

    async def _listen(self, listening: socket.socket, allowed: Allowed) -> None:
        at_once: set[asyncio.Task[None]] = set()

        def came(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if len(at_once) >= MOST_CONNECTIONS:
                _answer(writer, 503, f"more than {MOST_CONNECTIONS} connections at once")
                writer.close()
                return
            task = asyncio.get_running_loop().create_task(self._serve(reader, writer, allowed))
            for held in (at_once, self._busy):
                held.add(task)
                task.add_done_callback(held.discard)

        self._servers.append(await asyncio.start_unix_server(came, sock=listening, limit=HEAD_BYTES))

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        busy = list(self._busy)
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, allowed: Allowed) -> None:
        """One connection, which is for one host."""
        try:
            try:
                async with asyncio.timeout(HEAD_SECONDS):
                    request = await _asked(reader, self._parse)
                upstream = await self._reached(request, allowed)
            except _No as no:
                _answer(writer, no.status, str(no))
                await _flushed(writer)
                return
            except TimeoutError:
                _answer(writer, 408, f"no request within {HEAD_SECONDS:g} s")
                return
            await _join(reader, writer, upstream, request)
        except OSError:  # either side is gone
            pass
        finally:
            writer.transport.abort()

    async def _reached(self, request: Request, allowed: Allowed) -> socket.socket:
        if (request.host, request.port) not in allowed:
            listed = ", ".join(allowed.hosts) or "none"
            raise _No(403, f"{request.host}:{request.port} is not among the hosts that may be reached: {listed}")
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self._connect(request.host, request.port)
        except TimeoutError:
            raise _No(504, f"{request.host}:{request.port} did not answer within {CONNECT_SECONDS:g} s") from None
        except Refused as exc:
            raise _No(403, str(exc)) from None
        except (ToolError, OSError) as exc:
            raise _No(502, str(exc)) from None


class _No(Exception):
    """What is answered instead of a connection."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def _asked(reader: asyncio.StreamReader, parse: Parse) -> Request:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        return read_request(head, parse)
    except asyncio.LimitOverrunError:
        raise _No(431, f"a request whose head has more than {HEAD_BYTES} bytes") from None
    except asyncio.IncompleteReadError:
        raise _No(400, "a request that ends before its head does") from None
    except Unreadable as exc:
        raise _No(400, str(exc)) from None


async def _join(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: socket.socket, request: Request
) -> None:
    """Hand on what either side says, until both are done, or neither says anything for long."""
    try:
        far_reader, far_writer = await asyncio.open_connection(sock=upstream, limit=_CHUNK)
    except BaseException:
        upstream.close()
        raise
    try:
        if request.tunnel:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            far_writer.write(request.forwarded)
        try:
            async with asyncio.timeout(IDLE_SECONDS) as idle:
                asking = asyncio.ensure_future(_hand_on(reader, far_writer, idle))
                answering = asyncio.ensure_future(_hand_on(far_reader, writer, idle))
                try:
                    await answering  # whoever asked may have done so and wait for this
                    await asyncio.wait((asking,), timeout=_LINGER_SECONDS)
                finally:
                    asking.cancel()
                    answering.cancel()
                    await asyncio.gather(asking, answering, return_exceptions=True)
        except TimeoutError:
            return
        await _flushed(writer)
    finally:
        far_writer.transport.abort()


async def _hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, idle: asyncio.Timeout) -> None:
    loop = asyncio.get_running_loop()
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
        idle.reschedule(loop.time() + IDLE_SECONDS)
    writer.write_eof()


def _answer(writer: asyncio.StreamWriter, status: int, message: str) -> None:
    words = {400: "Bad Request", 403: "Forbidden", 408: "Request Timeout", 431: "Request Header Fields Too Large"}
    words |= {502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}
    body = f"toolcrib: {message}\n".encode("ascii", "backslashreplace")
    head = f"HTTP/1.1 {status} {words[status]}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)


async def _flushed(writer: asyncio.StreamWriter) -> None:
    """What was written is on its way, or nobody reads it."""
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_LINGER_SECONDS):
            await writer.wait_closed()


def _split(text: str) -> tuple[str, int]:
    """A host, and its port or 0. Raises: `ValueError`."""
    if text.count(":") > 1 and not text.startswith("["):  # an IPv6 address, as it is shown
        return f"[{text}]", 0
    if ":" not in text or text.endswith("]"):
        return text, 0
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536):
        raise ValueError(f"{text!r} is not a host, or a host and a port")
    return host, int(port)


def _listening(directory: str, path: str) -> socket.socket:
    os.makedirs(directory, 0o700, exist_ok=True)
    made = socket.socket(socket.AF_UNIX)
    inside = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fchmod(inside, 0o700)
        with suppress(FileNotFoundError):
            os.unlink(path)
        short = len(os.fsencode(path)) <= _LONGEST_NAME
        made.bind(path if short else f"/proc/self/fd/{inside}/{os.path.basename(path)}")
        os.chmod(path, 0o600)
        made.listen(MOST_CONNECTIONS)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    finally:
        os.close(inside)
    return made
