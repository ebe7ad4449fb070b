"""Where a tool may connect to: public addresses by an encrypted connection, and what the user's configuration lists.

A name is resolved once, every address it has is looked at, and the connection goes to an address that was looked at:
nobody can answer differently the second time. Proxies that the environment names are not used.
"""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from ..core.errors import Refused, ToolError
from .address import Address, not_public
from .url import BadUrl, Url, literal_address, parse_host

WEB_PORTS = (80, 443)
_MOST_ADDRESSES = 64
_RESOLVE_SECONDS = 10.0

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host. Raises: `OSError`."""


class Vetted(NamedTuple):
    """An address that may be connected to."""

    family: socket.AddressFamily
    address: str


class Entry(NamedTuple):
    """What one line of the configuration's `network: allow` says."""

    host: str
    port: int | None
    """None: any."""


def entry(text: str) -> Entry:
    """A host, `host:port`, an address or `address:port`; an IPv6 address with a port stands in brackets.

    Raises:
        ValueError: for anything else, with what to write.
    """
    plain = text.strip()
    host, port = plain, ""
    if plain.startswith("["):
        inside, bracket, rest = plain.partition("]")
        host, port = inside + bracket, rest[1:]
        if rest and (not rest.startswith(":") or not port):
            raise _no_entry(text)
    elif plain.count(":") > 1:
        host = f"[{plain}]"
    elif ":" in plain:
        host, _, port = plain.partition(":")
        if not port:
            raise _no_entry(text)
    if port and not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536):
        raise _no_entry(text)
    try:
        return Entry(parse_host(host), int(port) if port else None)
    except BadUrl as exc:
        raise _no_entry(text, str(exc)) from None


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """What the system's resolver says. It cannot be interrupted: it is asked in a thread that nobody waits for."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def tell(found: list[str], failure: OSError | UnicodeError | None) -> None:
        if answer.done():
            return
        if failure is None:
            answer.set_result(found)
        else:
            answer.set_exception(failure)

    def ask() -> None:
        found: list[str] = []
        failure: OSError | UnicodeError | None = None
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            found = [str(info[4][0]) for info in infos]
        except (OSError, UnicodeError) as exc:
            failure = exc
        with suppress(RuntimeError):  # the loop is closed by now
            loop.call_soon_threadsafe(tell, found, failure)

    threading.Thread(target=ask, name=f"where is {host}", daemon=True).start()
    return await answer


class Network:
    """The network as tools may use it."""

    def __init__(self, allow: tuple[str, ...] = (), *, resolve: Resolve = system_resolve) -> None:
        """`allow` are entries of the user's configuration. Raises: `ValueError`, for one that is none."""
        self._allow = frozenset(map(entry, allow))
        self._resolve = resolve

    def listed(self, host: str, port: int) -> bool:
        """Whether the user's configuration names this host, as the tool writes it."""
        return Entry(host, None) in self._allow or Entry(host, port) in self._allow

    def unlisted(self) -> "Network":
        """The same network without what the user listed."""
        return Network(resolve=self._resolve)

    def admits(self, url: Url) -> None:
        """All that can be said of a URL before its host is looked up: scheme, port, and an address that it names.

        Raises:
            Refused: `NETWORK_DENIED`.
        """
        self._admit(url.host, url.port, secure=url.secure, ports=WEB_PORTS)
        if (address := literal_address(url.host)) is not None:
            self._judge(url.host, url.port, address)

    async def vetted(
        self, host: str, port: int, *, secure: bool, ports: tuple[int, ...] = WEB_PORTS, timeout: float | None = None
    ) -> list[Vetted]:
        """The addresses to connect to for a host, for a client that connects by itself.

        `ports` are those that are usual for what is spoken. One address that is not allowed refuses all.

        Raises:
            Refused: `NETWORK_DENIED`, with the line that would allow it.
            ToolError: the host has no address, or the resolver did not answer in time.
        """
        try:
            host = parse_host(f"[{host}]" if ":" in host and not host.startswith("[") else host)
        except BadUrl as exc:
            raise _denied(str(exc)) from None
        self._admit(host, port, secure=secure, ports=ports)
        address = literal_address(host)
        found = [address] if address is not None else await self._addresses(host, port, timeout)
        for each in found:
            self._judge(host, port, each)
        return [Vetted(_family(each), str(each)) for each in found]

    async def connect(
        self, host: str, port: int, *, secure: bool, timeout: float, ports: tuple[int, ...] = WEB_PORTS
    ) -> socket.socket:
        """A connected socket, not blocking, to the first address of a host that takes a connection.

        It is without encryption: whoever is `secure` wraps it, for the name of the host.

        Raises:
            Refused: `NETWORK_DENIED`, with the line that would allow it.
            ToolError: nobody there took the connection in time; nothing was sent.
        """
        failure = ""
        try:
            async with asyncio.timeout(timeout):
                for each in await self.vetted(host, port, secure=secure, ports=ports, timeout=timeout):
                    try:
                        return await _connected(each, port)
                    except OSError as exc:
                        failure = exc.strerror or str(exc) or type(exc).__name__
        except TimeoutError:
            failure = f"no answer within {timeout:g} s"
        raise _unreachable(f"{host}:{port} did not take the connection: {failure}; check that it is running")

    async def _addresses(self, host: str, port: int, timeout: float | None) -> list[Address]:
        limit = _RESOLVE_SECONDS if timeout is None else min(timeout, _RESOLVE_SECONDS)
        try:
            async with asyncio.timeout(limit):
                texts = await self._resolve(host, port)
        except TimeoutError:
            raise _unreachable(f"no answer within {limit:g} s to where {host} is; try again") from None
        except (OSError, UnicodeError) as exc:
            raise _unreachable(f"{host} has no address: {exc}; check the name") from None
        found = [_address(each) for each in dict.fromkeys(texts)]
        if not found:
            raise _unreachable(f"{host} has no address; check the name")
        if len(found) > _MOST_ADDRESSES:
            raise _denied(f"{host} has {len(found)} addresses, which is more than anybody needs")
        return found

    def _admit(self, host: str, port: int, *, secure: bool, ports: tuple[int, ...]) -> None:
        """Refuse what is not encrypted, and ports where something else is listening, unless the user listed it."""
        if self.listed(host, port):
            return
        if not secure:
            raise _denied(f"a connection to {host} without encryption is refused", host, port)
        if port not in ports:
            raise _denied(f"port {port} of {host} is refused", host, port)

    def _judge(self, host: str, port: int, address: Address) -> None:
        """Refuse an address that is not public, unless the user listed the host, and by its address where it must."""
        row = not_public(address)
        if row is None:
            return
        by_address = literal_address(host) is not None
        if self.listed(host, port) and (by_address or row.near):
            return
        where = host if by_address else f"{host} is at {address}"
        what = f"{where}, which is not on the public network ({row.what})"
        if by_address or row.near:
            raise _denied(what, host, port)
        raise _denied(f"{what}, where no name may lead")


async def _connected(to: Vetted, port: int) -> socket.socket:
    made = socket.socket(to.family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(made, (to.address, port))
    except BaseException:
        made.close()
        raise
    return made


def _address(text: str) -> Address:
    try:
        return IPv6Address(text.partition("%")[0]) if ":" in text else IPv4Address(text)
    except ValueError:
        raise _unreachable(f"the resolver gave {text!r}, which is not an address") from None


def _family(address: Address) -> socket.AddressFamily:
    return socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6


def _denied(message: str, host: str = "", port: int = 0) -> Refused:
    if host:
        listed = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        message += f'; to allow it, write into config.yaml: `network: {{allow: ["{listed}"]}}`'
    return Refused(message, code="NETWORK_DENIED")


def _unreachable(message: str) -> ToolError:
    return ToolError(message, before_effect=True)


def _no_entry(text: str, why: str = "") -> ValueError:
    reason = f": {why}" if why else ""
    return ValueError(f"{text!r} is not a host, host:port, address or address:port{reason}")
