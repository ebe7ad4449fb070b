"""One file from elsewhere: fetched over the vetted network, hashed while it comes, bounded in size and time."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from typing import NamedTuple

from ..backends.http_client import exchange
from ..backends.http_message import Request
from ..backends.network import Network
from ..backends.url import parse_url
from ..core.context import Context
from ..core.errors import ToolError

MOST_BYTES = 256 * 1024**2
MOST_SECONDS = 600.0
STALL_SECONDS = 30.0
_HEADERS = (("Accept", "*/*"), ("Accept-Encoding", "identity"), ("User-Agent", "toolcrib"))
_TOLD_BYTES = 256 * 1024
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Fetched(NamedTuple):
    """What came."""

    digest: str
    bytes: int
    host: str
    """Where it came from in the end."""


async def fetch(url: str, path: str, network: Network, ctx: Context) -> Fetched:
    """Put the file at `url` into a new file. Nothing is left of one that does not come whole.

    Raises:
        Refused: `NETWORK_DENIED`.
        ToolError: nobody answered, or not with the file.
    """
    fd = os.open(path, _NEW_FILE, 0o600)
    try:
        async with asyncio.timeout(MOST_SECONDS):
            return await _received(url, fd, network, ctx)
    except TimeoutError:
        os.unlink(path)
        raise ToolError(f"{url} did not come within {MOST_SECONDS:g} s; try again", code="TIMEOUT") from None
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(fd)


async def _received(url: str, fd: int, network: Network, ctx: Context) -> Fetched:
    async with exchange(Request("GET", parse_url(url), _HEADERS, None, _HEADERS), network) as response:
        if response.status != 200:
            raise ToolError(f"{url} answered with status {response.status}; see that it is the right address")
        said = response.header("content-length")
        total = int(said) if said.isascii() and said.isdigit() else None
        _within_reason(url, total or 0)
        hashed, done, told = hashlib.sha256(), 0, -_TOLD_BYTES
        chunks = response.chunks
        while (chunk := await _next(url, chunks)) is not None:
            done += len(chunk)
            _within_reason(url, done)
            hashed.update(chunk)
            _write(fd, chunk)
            if done - told >= _TOLD_BYTES or done == total:
                ctx.progress(done, total, f"downloading from {response.url.host}")
                told = done
        if total not in (None, done):
            raise ToolError(f"{url} was cut short: {done} of {total} bytes came; try again")
        return Fetched(f"sha256:{hashed.hexdigest()}", done, response.url.host)


async def _next(url: str, chunks: AsyncIterator[bytes]) -> bytes | None:
    """The next piece; None at the end."""
    try:
        async with asyncio.timeout(STALL_SECONDS):
            return await anext(chunks, None)
    except TimeoutError:
        raise ToolError(f"{url} stopped sending for {STALL_SECONDS:g} s; try again") from None


def _within_reason(url: str, size: int) -> None:
    if size > MOST_BYTES:
        raise ToolError(f"{url} is longer than {MOST_BYTES} bytes, which no download may be", code="INPUT_TOO_LARGE")


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError as exc:
        raise ToolError(f"the download could not be written: {exc}; make room", code="RESOURCE_EXHAUSTED") from None
