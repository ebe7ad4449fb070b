"""Asks PostgreSQL, by psycopg: one statement in one transaction, over a connection to an address that was looked at."""

import asyncio
import math
import os
import socket
import struct
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection, AsyncRawCursor, AsyncRawServerCursor, conninfo
from psycopg import errors as problems
from psycopg.abc import Buffer
from psycopg.adapt import Loader

from ..core.context import Context
from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, dump, parse
from ..core.limits import ARTIFACT_BYTES
from .network import Vetted
from .spill import Spill
from .sql_connection import MODES, PORT, Server, refused_setting
from .sql_rows import table
from .url import BadUrl, parse_host

MOST_RECEIVED = 96 * 1024 * 1024
"""Bytes that are taken from a server for one batch of rows."""
_BATCH_BYTES = 1024 * 1024
_BATCH_ROWS = 500
_LOOK_SECONDS = 0.02
_CANCEL_SECONDS = 1.0
_TCP_INFO_BYTES, _RECEIVED_AT = 256, 128
_KNOWN = frozenset(("host", "port", "dbname", "user", "password", "sslmode"))
_AS_TEXT = """
    text varchar bpchar name numeric date time timetz timestamp timestamptz interval uuid inet cidr
    int4range int8range numrange daterange tsrange tstzrange
    int4multirange int8multirange nummultirange datemultirange tsmultirange tstzmultirange
"""
_UNKNOWN, _UNTYPED = 705, 0
_NEVER_BY_ITSELF = 1_000_000  # only what asks for it is prepared; None would turn off that too
_NO_FILE = f"{os.devnull}/none"
_Connection = AsyncConnection[tuple[Any, ...]]


class _Text(Loader):
    """As the server writes it: no date or number is beyond what can be said so. Readable whatever the bytes are."""

    def load(self, data: Buffer) -> str:
        return bytes(data).decode("utf-8", "backslashreplace")


class _Document(Loader):
    """JSON, exact."""

    def load(self, data: Buffer) -> JSON:
        try:
            return parse(bytes(data))
        except InvalidJson:  # deeper than anybody reads
            return bytes(data).decode("utf-8", "backslashreplace")


class _Flood(Exception):
    """More came than is taken."""


def server(url: str, name: str) -> Server:
    """The parts of an address that is a secret by this name. Raises: `Refused`."""
    try:
        found = conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise refused_setting(
            name, "is not an address of PostgreSQL, such as postgresql://user:password@host/db"
        ) from None
    if other := sorted(set(found) - _KNOWN):
        raise refused_setting(name, f"has {', '.join(other)}, which cannot be set here; leave it out")
    about = {key: str(found.get(key) or "") for key in _KNOWN}
    if not about["user"] or not about["dbname"] or about["sslmode"] not in ("", *MODES):
        raise refused_setting(name, f"needs a user and a database; an sslmode is one of {', '.join(MODES)}")
    try:
        host, port = parse_host(about["host"]), int(about["port"] or PORT)
    except (BadUrl, ValueError):
        raise refused_setting(name, "has to name one host and one port") from None
    return Server(host, port, about["dbname"], about["user"], about["password"], about["sslmode"])


async def query(
    server: Server, addresses: list[Vetted], text: str, values: list[JSON], ctx: Context, *, write: bool, max_rows: int
) -> JSON:
    """The rows that a statement gives. Raises: `ToolError`."""
    work = _Work(server, addresses, ctx, write=write, max_rows=max_rows)
    inner = asyncio.ensure_future(work.done(text, values))
    try:
        return await asyncio.shield(inner)
    except asyncio.CancelledError:
        if await work.give_up():
            await asyncio.wait((inner,), timeout=_CANCEL_SECONDS)  # it wakes up by itself; cancelled, it would linger
        raise
    finally:
        inner.cancel()
        await asyncio.wait((inner,))
        work.close()


class _Work:
    """One query under way."""

    def __init__(self, server: Server, addresses: list[Vetted], ctx: Context, *, write: bool, max_rows: int) -> None:
        self._server, self._addresses, self._ctx = server, addresses, ctx
        self._write, self._max_rows = write, max_rows
        self._connection: _Connection | None = None
        self._rows = Spill(ctx, "rows")

    async def done(self, text: str, values: list[JSON]) -> JSON:
        with _readable(self._server, write=self._write):
            connection = self._connection = await self._connected()
            await connection.set_read_only(not self._write)
            await connection.execute(_settings(self._ctx.limits.seconds))
            bound = [_bound(each) for each in values]
            end = await (self._change(connection, text, bound) if self._write else self._read(connection, text, bound))
        return table(self._rows.end(), end, max_rows=self._max_rows)

    async def give_up(self) -> bool:
        """Tell the server, which would go on otherwise, and hang up. Says whether there was a connection."""
        if self._connection is None or self._connection.closed:
            return False
        with suppress(psycopg.Error, TimeoutError, OSError):
            await self._connection.cancel_safe(timeout=_CANCEL_SECONDS)
        _hang_up(self._connection)
        return True

    def close(self) -> None:
        self._rows.close()
        if self._connection is not None and not self._connection.closed:
            self._connection.pgconn.finish()

    async def _connected(self) -> _Connection:
        """Everything is said: what is left out, libpq takes from the environment or from files of the user."""
        at, count = self._server, len(self._addresses)
        try:
            connection = await _Connection.connect(
                host=",".join([at.host] * count), hostaddr=",".join(each.address for each in self._addresses),
                port=at.port, dbname=at.dbname, user=at.user, password=at.password, passfile=_NO_FILE,
                sslmode=at.sslmode, sslrootcert="system" if at.sslmode == "verify-full" else _NO_FILE,
                sslcertmode="disable", sslcrl="", sslcrldir="", sslnegotiation="postgres", gssencmode="disable",
                require_auth="!gss,!sspi", channel_binding="prefer", options="", application_name="toolcrib",
                client_encoding="utf8", target_session_attrs="any", load_balance_hosts="disable",
                connect_timeout=max(2, math.ceil(self._ctx.limits.seconds)), tcp_user_timeout=0, keepalives=1,
                autocommit=False, prepare_threshold=_NEVER_BY_ITSELF,
            )  # fmt: skip
        except psycopg.Error as exc:
            message = f"{at.host}:{at.port} did not let us in: {_said(exc)}; check address, user and password"
            raise ToolError(message, before_effect=True) from None
        connection.server_cursor_factory = AsyncRawServerCursor
        as_text: tuple[int | str, ...] = (*_AS_TEXT.split(), _UNKNOWN, _UNTYPED)
        for kind in as_text:
            connection.adapters.register_loader(kind, _Text)
        for name in ("json", "jsonb"):
            connection.adapters.register_loader(name, _Document)
        return connection

    async def _read(self, connection: _Connection, text: str, bound: list[Any]) -> dict[str, JSON]:
        """By a cursor on the server, which takes nothing but one query, and sends no more than is asked for."""
        async with connection.cursor("toolcrib") as cursor:
            await cursor.execute(text.encode(), bound)
            self._say({"columns": [each.name for each in cursor.description or ()]})
            count, batch = 0, 1
            while True:
                before = self._rows.total
                with _bounded(connection):
                    rows = await cursor.fetchmany(min(batch, self._max_rows + 1 - count))
                for row in rows:
                    if count == self._max_rows or not self._say([_plain(each) for each in row]):
                        return {"row_count": count, "more": True}
                    count += 1
                if len(rows) < batch:
                    return {"row_count": count, "more": False}
                size = max(1, (self._rows.total - before) // len(rows))
                batch = max(1, min(_BATCH_ROWS, batch * 4, _BATCH_BYTES // size))

    async def _change(self, connection: _Connection, text: str, bound: list[Any]) -> dict[str, JSON]:
        """Prepared first, which takes one statement and not two."""
        async with AsyncRawCursor(connection) as cursor:
            with _bounded(connection):
                await cursor.execute(text.encode(), bound, prepare=True)
            self._say({"columns": [each.name for each in cursor.description or ()]})
            count, more = 0, False
            while cursor.description and (rows := await cursor.fetchmany(_BATCH_ROWS)) and not more:
                for row in rows:
                    if count == self._max_rows or not self._say([_plain(each) for each in row]):
                        more = True
                        break
                    count += 1
            affected = max(cursor.rowcount, 0)
        try:
            await connection.commit()
        except problems.OperationalError as exc:
            message = f"the connection was lost while the change was being made final: {_said(exc)}"
            raise ToolError(f"{message}; look whether it was made", code="OUTCOME_UNKNOWN") from None
        return {"row_count": count, "more": more, "rows_affected": affected}

    def _say(self, value: JSON) -> bool:
        line = dump(value) + b"\n"
        if self._rows.total + len(line) > ARTIFACT_BYTES:
            return False
        self._rows.add(line)
        return True


def _settings(seconds: float) -> bytes:
    """For this transaction alone. The server ends by itself what nobody waits for any more."""
    limit = max(1, math.ceil(seconds * 1000))
    return (
        f"SET LOCAL statement_timeout = {limit}; SET LOCAL lock_timeout = {limit}; "
        f"SET LOCAL idle_in_transaction_session_timeout = {limit}; "
        "SET LOCAL standard_conforming_strings = on; "
        "SET LOCAL datestyle = 'ISO'; SET LOCAL intervalstyle = 'iso_8601'; SET LOCAL bytea_output = 'hex'"
    ).encode()


@contextmanager
def _bounded(connection: _Connection) -> Iterator[None]:
    """Ends the connection when a server sends more for one batch than is taken: a row may have a gigabyte."""
    loop, start = asyncio.get_running_loop(), _received(connection.pgconn.socket)
    timer: asyncio.TimerHandle | None = None
    flooded = False

    def look() -> None:
        nonlocal timer, flooded
        if connection.closed:
            return
        if _received(connection.pgconn.socket) - start > MOST_RECEIVED:
            flooded = True
            _hang_up(connection)
            return
        timer = loop.call_later(_LOOK_SECONDS, look)

    look()
    try:
        yield
    except psycopg.Error:
        if not flooded:
            raise
        raise _Flood from None
    finally:
        if timer is not None:
            timer.cancel()


def _hang_up(connection: _Connection) -> None:
    """Whoever waits for the connection wakes up. Its number stays taken until it is let go of."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.pgconn.socket)) as held:
        held.shutdown(socket.SHUT_RDWR)


def _received(fd: int) -> int:
    """How many bytes came over a connection; 0 where the system does not say."""
    number = getattr(socket, "TCP_INFO", None)
    if number is None:
        return 0
    try:
        with socket.socket(fileno=os.dup(fd)) as held:
            about = held.getsockopt(socket.IPPROTO_TCP, number, _TCP_INFO_BYTES)
    except OSError:
        return 0
    return int(struct.unpack_from("=Q", about, _RECEIVED_AT)[0]) if len(about) >= _RECEIVED_AT + 8 else 0


@contextmanager
def _readable(server: Server, *, write: bool) -> Iterator[None]:
    """The server's errors, for whoever wrote the statement."""
    try:
        yield
    except _Flood:
        message = f"the rows have more than {MOST_RECEIVED} bytes at once; ask for fewer, or for a part of them"
        raise ToolError(message, code="RESOURCE_EXHAUSTED") from None
    except problems.QueryCanceled as exc:
        raise ToolError(f"PostgreSQL ended the query: {_said(exc)}", code="TIMEOUT") from None
    except problems.ReadOnlySqlTransaction as exc:
        raise ToolError(f"this tool only reads: {_said(exc)}", details=_details(exc)) from None
    except psycopg.DataError as exc:
        code = "EXECUTION_ERROR" if exc.sqlstate else "VALIDATION_ERROR"
        raise ToolError(f"a value does not fit: {_said(exc)}", code=code, details=_details(exc)) from None
    except psycopg.Error as exc:
        raise ToolError(f"PostgreSQL says: {_said(exc)}", details=_details(exc)) from None


def _said(exc: psycopg.Error) -> str:
    primary, hint = exc.diag.message_primary, exc.diag.message_hint
    said = primary or (str(exc).strip().splitlines() or [type(exc).__name__])[0]
    return f"{said} ({hint})" if hint else said


def _details(exc: psycopg.Error) -> JSON:
    return {"sqlstate": exc.sqlstate} if exc.sqlstate else None


def _bound(value: JSON) -> Any:
    """A list of plain values is an array of PostgreSQL; everything deeper is JSON, for a json or jsonb."""
    deep = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(each, list | dict) for each in value))
    return dump(value).decode() if deep else value


def _plain(value: Any) -> JSON:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes | memoryview):
        return {"base64": b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, str | int | float | dict):
        return value
    return str(value)
