"""The one parser for URLs that a tool reaches: what it reads is what is judged, connected to and sent.

Strict where parsers differ: no user, no backslash, no space or control character, and a host that is a plain name or a
plainly written address. Other spellings of an address (`0177.0.0.1`, `2130706433`, `0x7f.1`, circled digits) are none.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple
from urllib.parse import quote

from .address import Address

PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
SECURE = frozenset({"https", "wss"})

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,31}):")
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\x9f\\]")
_KEPT = "!#$%&'()*+,/:;=?@[]~-._"
"""What stays as it is in a path and query; the rest is percent-encoded. A `%` is the writer's own."""
_DOTS = re.compile(r"(?:\.|%2[eE]){1,2}")
_LONGEST = 64 * 1024
_SHOWN = 200


class BadUrl(ValueError):
    """A URL that nothing is sent to. The message says why."""


class Url(NamedTuple):
    """Where a request goes."""

    scheme: str
    host: str
    """In lower case, without the dot at the end, and an IPv6 address without brackets."""
    port: int
    path: str = "/"
    query: str | None = None

    @property
    def secure(self) -> bool:
        return self.scheme in SECURE

    @property
    def authority(self) -> str:
        """As the `Host` header says it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def subject(self) -> str:
        """Host and port, as rules name it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def target(self) -> str:
        """What is asked for at the host."""
        return self.path if self.query is None else f"{self.path}?{self.query}"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_url(text: str, *, schemes: tuple[str, ...] = ("http", "https")) -> Url:
    """A URL with a host. What follows a `#` is for the reader alone and is left out.

    Raises:
        BadUrl: for what is not one, or is not written plainly.
    """
    _plain(text)
    scheme, rest = _scheme(text)
    if scheme not in schemes:
        raise BadUrl(f"{_shown(text)} is not an {' or '.join(schemes)} URL")
    if not rest.startswith("//"):
        raise BadUrl(f"after {scheme}: a URL has two slashes and a host")
    authority, path, query = _parts(rest[2:])
    host, port = _authority(authority, PORTS[scheme])
    return Url(scheme, host, port, _path(path or "/"), query)


def joined_url(base: Url, reference: str, *, schemes: tuple[str, ...] = ("http", "https")) -> Url:
    """Where a reference leads that was found at `base`: a URL, or a part of one.

    Raises:
        BadUrl: it leads nowhere that a request may go.
    """
    _plain(reference)
    if _SCHEME.match(reference):
        return parse_url(reference, schemes=schemes)
    if reference.startswith("//"):
        return parse_url(f"{base.scheme}:{reference}", schemes=schemes)
    path, query = _path_and_query(reference)
    if not path:
        return base._replace(query=base.query if query is None else query)
    if not path.startswith("/"):
        path = base.path.rpartition("/")[0] + "/" + path
    return base._replace(path=_path(path), query=query)


def parse_host(text: str) -> str:
    """A host as it is compared: a name in lower case, an address in its one spelling, IPv6 without brackets.

    Raises:
        BadUrl: for what is neither.
    """
    if text.startswith("[") and text.endswith("]"):
        return _address6(text[1:-1])
    if not text.isascii():
        raise BadUrl(f"the host {_shown(text)} is not ASCII; write an international name in its xn-- form")
    host = text.lower().removesuffix(".")
    last = host.rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        try:
            return str(IPv4Address(host))  # four numbers without leading zeros, nothing else
        except AddressValueError:
            raise BadUrl(
                f"the host {_shown(text)} is a number; write an IPv4 address as four, like 192.0.2.1"
            ) from None
    if not _NAME.fullmatch(host):
        raise BadUrl(f"{_shown(text) or 'nothing'} is not a host name")
    return host


def literal_address(host: str) -> Address | None:
    """The address that a parsed host is; None for a name."""
    if ":" in host:
        return IPv6Address(host)
    return IPv4Address(host) if _NUMBER.fullmatch(host.rpartition(".")[2]) else None


def _plain(text: str) -> None:
    if len(text) > _LONGEST:
        raise BadUrl(f"a URL of {len(text)} characters is too long; at most {_LONGEST}")
    if found := _FORBIDDEN.search(text):
        raise BadUrl(f"a URL holds no {found[0]!r}; percent-encode it, or leave it out")


def _scheme(text: str) -> tuple[str, str]:
    found = _SCHEME.match(text)
    if found is None:
        raise BadUrl(f"{_shown(text)} is not a URL; it begins with https://")
    return found[1].lower(), text[found.end() :]


def _parts(rest: str) -> tuple[str, str, str | None]:
    """Authority, path and query of what follows the two slashes."""
    end = next((at for at, char in enumerate(rest) if char in "/?#"), len(rest))
    return rest[:end], *_path_and_query(rest[end:])


def _path_and_query(text: str) -> tuple[str, str | None]:
    path, mark, query = text.partition("#")[0].partition("?")
    return _encoded(path), _encoded(query) if mark else None


def _authority(text: str, usual: int) -> tuple[str, int]:
    if "@" in text:
        raise BadUrl("a URL here has no user or password in it; send them in a header")
    if text.startswith("["):
        host, bracket, rest = text.partition("]")
        if rest and not rest.startswith(":"):
            raise BadUrl(f"{_shown(text)} is not a host and a port")
        return parse_host(host + bracket), _port(rest[1:], usual)
    host, _, port = text.partition(":")
    return parse_host(host), _port(port, usual)


def _port(text: str, usual: int) -> int:
    if not text:
        return usual
    if not text.isascii() or not text.isdigit() or len(text) > 5 or not 0 < int(text) < 65536:
        raise BadUrl(f"{_shown(text)} is not a port; there are 1 to 65535")
    return int(text)


def _address6(text: str) -> str:
    try:
        address = IPv6Address(text)
    except (AddressValueError, ValueError):
        raise BadUrl(f"[{_shown(text)}] is not an IPv6 address") from None
    if address.scope_id is not None:
        raise BadUrl("a URL names no network interface; leave out what follows the %")
    return str(address)


def _path(path: str) -> str:
    """Without `.` and `..`: a server must not be asked for something else than what was judged."""
    segments = path.split("/")
    if not any(_DOTS.fullmatch(each) for each in segments):
        return path
    kept: list[str] = []
    for at, each in enumerate(segments):
        dots = each.lower().replace("%2e", ".")
        if dots not in (".", ".."):
            kept.append(each)
            continue
        if dots == ".." and len(kept) > 1:
            kept.pop()
        if at == len(segments) - 1:
            kept.append("")
    return "/".join(kept)


def _encoded(text: str) -> str:
    try:
        return quote(text, safe=_KEPT)
    except UnicodeEncodeError:
        raise BadUrl("a URL holds half of a character; write whole ones") from None


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
