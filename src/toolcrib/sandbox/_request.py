"""What is asked of a proxy. Read strictly: where two readers could understand different hosts, none is understood."""

import re
from collections.abc import Callable
from typing import NamedTuple

_LINE = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]{1,8192}) (HTTP/1\.[01])")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}):([\t\x20-\x7e\x80-\xff]*)")
_URL = re.compile(r"http://([^/?#]*)((?:[/?][^#]*)?)", re.IGNORECASE)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?")
_OURS = frozenset(b"host connection keep-alive proxy-connection proxy-authorization te upgrade".split())
"""Between a program and its proxy, or for us to say."""


class Unreadable(ValueError):
    """It is not a request that is answered. The message says why."""


class Request(NamedTuple):
    host: str
    """As it is compared; an IPv6 address without brackets."""
    port: int
    forwarded: bytes = b""
    """What to say to the host on the program's behalf; empty for a tunnel."""

    @property
    def tunnel(self) -> bool:
        return not self.forwarded


def read_request(head: bytes, parse: Callable[[str], str]) -> Request:
    """From the lines of a request up to the empty one. `parse` reads a host.

    Raises:
        Unreadable: for all that is not plainly written.
    """
    first, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise Unreadable("a first line that is not a request's")
    method, target, version = line[1], line[2].decode("ascii"), line[3]
    kept = _kept(fields)
    if method == b"CONNECT":
        host, port = _authority(target, 0, parse)
        if not port:
            raise Unreadable("CONNECT without a port")
        return Request(host, port)
    url = _URL.fullmatch(target)
    if url is None:
        raise Unreadable("neither CONNECT host:port nor a request for http://host/")
    host, port = _authority(url[1], 80, parse)
    shown = (f"[{host}]" if ":" in host else host) + (f":{port}" if port != 80 else "")
    path = url[2] if url[2].startswith("/") else f"/{url[2]}"
    lines = [method + f" {path} ".encode() + version, b"Host: " + shown.encode(), *kept, b"Connection: close"]
    return Request(host, port, b"\r\n".join(lines) + b"\r\n\r\n")


def _kept(fields: list[bytes]) -> list[bytes]:
    """Those that go on to the host."""
    read = [_FIELD.fullmatch(field) for field in fields]
    if not all(read):
        raise Unreadable("a header that is not one")
    named = {(field[1].lower(), field[2]) for field in read if field}
    between = {word.strip().lower() for name, value in named if name == b"connection" for word in value.split(b",")}
    return [field[0] for field in read if field and field[1].lower() not in _OURS | between]


def _authority(text: str, default: int, parse: Callable[[str], str]) -> tuple[str, int]:
    found = _AUTHORITY.fullmatch(text)
    if found is None or found[1].endswith("."):
        raise Unreadable("a host that is not plainly written")
    port = int(found[2]) if found[2] else default
    if found[2] and not 0 < port < 65536:
        raise Unreadable("a port that is none")
    try:
        return parse(found[1]), port
    except ValueError:
        raise Unreadable("a host that is not plainly written") from None
