"""Headers with placeholders in their values. A value stays inside its line, and the line inside its header."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..core.jsontext import JSON
from .declared import Unfit
from .template import Missing, Named, Pieces, SecretOf, as_header, filled, names, pieces

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_OURS = frozenset(
    """
    accept-encoding connection content-encoding content-length expect host http2-settings keep-alive proxy-authenticate
    proxy-authorization proxy-connection te trailer transfer-encoding upgrade
    """.split()  # noqa: SIM905
)
"""They say how the request is carried, which is not the tool's business."""
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
_MOST = 64


class HeaderTemplate(NamedTuple):
    """One header."""

    name: str
    value: Pieces

    @property
    def harmless(self) -> bool:
        """Whether it may go to another host than the tool's own: it says nothing of who asks."""
        return self.name.lower() in _HARMLESS and not names(self.value).envs


Headers = tuple[HeaderTemplate, ...]


def header_templates(fields: JSON, pointer: str = "/headers", *, ours: frozenset[str] = frozenset()) -> Headers:
    """A mapping of names to values. `ours` are names that the caller keeps for itself besides those of HTTP.

    Raises:
        Unfit: for one that no tool sets, or that is not a header.
    """
    if not isinstance(fields, dict) or len(fields) > _MOST:
        raise Unfit(pointer, f"headers are a mapping of at most {_MOST} names to values")
    found, seen = [], set()
    for name, value in fields.items():
        at = f"{pointer}/{name}"
        if not _NAME.fullmatch(name):
            raise Unfit(at, f"{name!r} is not the name of a header; it holds letters, digits and -")
        if name.lower() in _OURS | ours:
            raise Unfit(at, f"{name} says how the request is carried and is set for you; leave it out")
        if name.lower() in seen:
            raise Unfit(at, f"{name} stands here twice; a header is set once")
        seen.add(name.lower())
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise Unfit(at, f"the value of {name} has to be text")
        template = pieces(str(value), at)
        if any(ord(char) < 0x20 or ord(char) > 0x7E for piece in template for char in piece.text):
            raise Unfit(at, f"the value of {name} holds a character that no header has; write plain ASCII on one line")
        found.append(HeaderTemplate(name, template))
    return tuple(found)


def named_in(headers: Headers) -> Named:
    """What headers ask for."""
    return names(piece for header in headers for piece in header.value)


def filled_headers(headers: Headers, args: Mapping[str, JSON], secret: SecretOf) -> list[tuple[str, str]]:
    """The headers with their values.

    Raises:
        ToolError: `VALIDATION_ERROR`, for a value that no header carries, or that is missing.
    """
    return [(header.name, _filled(header, args, secret)) for header in headers]


def _filled(header: HeaderTemplate, args: Mapping[str, JSON], secret: SecretOf) -> str:
    for name in names(header.value).args:
        if args.get(name) is None:
            raise Missing(name)
    return filled(header.value, args, secret, as_header).strip(" \t")  # blanks around a value are no part of it
