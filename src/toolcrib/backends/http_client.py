"""One HTTP request over the vetted network, and where it leads. The integration of httpcore2.

Nothing is kept from one request to the next: no cookie, no connection. No proxy and no password file is looked for.
"""

import os
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

import httpcore2

from ..core.errors import Refused, ToolError
from .http_message import Request, Response
from .network import Network
from .url import BadUrl, joined_url

MOST_REDIRECTS = 5
CONNECT_SECONDS = 10.0
_FOLLOWED = frozenset({301, 302, 303, 307, 308})
_SAFE = frozenset({"GET", "HEAD"})
_FAILURES = (httpcore2.ProtocolError, httpcore2.NetworkError, httpcore2.TimeoutException, OSError)
"""The last one for what TLS says in the middle of an answer."""


class Unanswered(ToolError):
    """The request was sent, wholly or in part, and no answer came."""


class Broken(ToolError):
    """The answer ended before its end."""


class _Vetted(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that were looked at, whatever the name would lead to a moment later."""

    def __init__(self, network: Network, *, secure: bool) -> None:
        self._network, self._secure = network, secure
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception | None = None
        for each in await self._network.vetted(host, port, secure=self._secure, timeout=timeout):
            try:
                return await self._inner.connect_tcp(each.address, port, timeout=timeout)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as exc:
                failure = exc
        why = f"no answer within {timeout:g} s" if isinstance(failure, httpcore2.ConnectTimeout) else str(failure)
        raise ToolError(
            f"{host}:{port} did not take the connection: {why}; check that it is running", before_effect=True
        )


@asynccontextmanager
async def exchange(request: Request, network: Network, *, redirects: int = MOST_REDIRECTS) -> AsyncIterator[Response]:
    """Send a request, and again where the answer says so; the answer that counts is handed over unread.

    A redirect is judged as the first URL was. To another origin only a GET or HEAD goes, without the body and with no
    headers but those that may go abroad; never from https to http; and what the user listed is for those who name it:
    no other host leads there.

    Raises:
        Refused: `NETWORK_DENIED`; nothing was sent to what was refused.
        Unanswered: nothing came back.
        ToolError: no connection, or a redirect that leads nowhere.
    """
    hops: tuple[str, ...] = ()
    came = ""
    while True:
        try:
            network.admits(request.url)
            async with _sent(request, network) as response:
                location = response.header("location")
                if response.status not in _FOLLOWED or not location or not redirects:
                    yield response._replace(hops=hops)
                    return
                if len(hops) == redirects:
                    raise ToolError(f"{_where(request)} and {redirects} more URLs each lead to another; it is given up")
                following = _redirected(request, response.status, location)
        except Refused as exc:
            raise Refused(f"{came}{exc}", code=exc.code) from None
        if following.url.host != request.url.host:
            network = network.unlisted()
        came = f"{_where(request)} was answered with another place to ask, and nothing was sent there: "
        request, hops = following, (*hops, str(following.url))


@asynccontextmanager
async def _sent(request: Request, network: Network) -> AsyncIterator[Response]:
    """One request and its answer."""
    url, body = request.url, request.body
    headers = [("Host", url.authority), *request.headers]
    if body is not None:
        headers += [("Content-Type", body.content_type)] if body.content_type else []
        headers.append(("Content-Length", str(body.length)))
    elif request.method not in _SAFE:
        headers.append(("Content-Length", "0"))
    async with httpcore2.AsyncConnectionPool(
        ssl_context=_authorities() if url.secure else None,
        max_connections=1,
        max_keepalive_connections=0,
        network_backend=_Vetted(network, secure=url.secure),
    ) as pool:
        wire = httpcore2.Request(
            request.method,
            httpcore2.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.target),
            headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in headers],
            content=None if body is None else body.chunks(),
            extensions={"timeout": {"connect": CONNECT_SECONDS}},
        )
        try:
            answer = await pool.handle_async_request(wire)
        except httpcore2.ConnectTimeout:
            raise ToolError(f"{_where(request)} did not answer the handshake in time", before_effect=True) from None
        except httpcore2.ConnectError as exc:
            raise ToolError(f"{_where(request)} cannot be reached: {_why(exc)}", before_effect=True) from None
        except _FAILURES as exc:
            raise Unanswered(f"{_where(request)} gave no answer that could be read: {_why(exc)}") from None
        try:
            found = tuple((key.decode("latin-1"), value.decode("latin-1")) for key, value in answer.headers)
            yield Response(answer.status, found, _chunks(answer), url, ())
        finally:
            await answer.aclose()


async def _chunks(answer: httpcore2.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_stream():
            yield chunk
    except _FAILURES as exc:
        raise Broken(f"the answer is cut short: {_why(exc)}") from None


def _authorities() -> ssl.SSLContext:
    file, directory = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    try:
        return _trusting(file, directory)
    except OSError as exc:
        message = (
            f"the authorities that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read ({file or directory}): {exc}"
        )
        raise ToolError(message, before_effect=True) from None


@lru_cache(maxsize=4)
def _trusting(file: str | None, directory: str | None) -> ssl.SSLContext:
    """The authorities that the machine trusts, or those that its user named. To read them takes longer than a call."""
    return httpcore2.default_ssl_context()


def _redirected(request: Request, status: int, location: str) -> Request:
    """What is sent next."""
    came = f"{_where(request)} answered {status} and leads to"
    try:
        # A server sends bytes; those of UTF-8 are what it means.
        url = joined_url(request.url, location.encode("latin-1").decode("utf-8", "replace"))
    except BadUrl as exc:
        raise ToolError(f"{came} what is no place for a request: {exc}") from None
    if request.url.secure and not url.secure:
        raise Refused(f"{came} {url.host} without encryption; that is never followed", code="NETWORK_DENIED")
    method, body = request.method, request.body
    if status == 303 and method != "HEAD" or status in (301, 302) and method == "POST":
        method, body = "GET", None
    if url.origin == request.url.origin:
        headers = request.headers
        if body is None:  # nothing is there that it could be the type of
            headers = tuple(each for each in headers if each[0].lower() != "content-type")
        return request._replace(method=method, url=url, headers=headers, body=body)
    if method not in _SAFE or body is not None:
        raise Refused(
            f"{came} another origin, {url.subject}; a {method} is not sent there: if that is where it belongs, write "
            "that URL into the tool",
            code="NETWORK_DENIED",
        )
    return Request(method, url, request.abroad, None, request.abroad)


def _where(request: Request) -> str:
    """Without the query, where people have their secrets."""
    return f"{request.method} {request.url._replace(query=None)}"


def _why(exc: Exception) -> str:
    return str(exc) or "the connection was closed"
