"""Which messages of a WebSocket a tool waits for, and when it has enough of them."""

from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple

from ..core.errors import InvalidJson
from ..core.jsontext import JSON, parse
from .declared import Unfit
from .field import mapping, number
from .template import Named, SecretOf, document_names, filled_json

MAX_MESSAGES = 100
MAX_BYTES = 1024 * 1024
IDLE_MS = 5000
_MOST_MESSAGES = 10_000
_MOST_BYTES = 16 * 1024 * 1024
_LONGEST_MS = 3_600_000
_MISSING = object()


class Until(NamedTuple):
    """What the last message looks like; with its values."""

    json: tuple[tuple[str, JSON], ...] = ()
    """Pointers into a message that is JSON, and what stands there."""
    text: str = ""
    messages: int = 0

    def met(self, message: JSON, raw: str | bytes, count: int) -> bool:
        if self.messages:
            return count >= self.messages
        if self.text:
            return isinstance(raw, str) and self.text in raw
        return bool(self.json) and all(_equal(_at(message, pointer), value) for pointer, value in self.json)


class Collect(NamedTuple):
    """`collect:` as it is declared."""

    until: Mapping[str, JSON]
    max_messages: int
    max_bytes: int
    idle: float
    """Seconds without a message after which no more is waited for."""

    @property
    def named(self) -> Named:
        return document_names(dict(self.until), "/collect/until")

    def filled(self, args: Mapping[str, JSON], secret: SecretOf) -> Until:
        about = filled_json(dict(self.until), args, secret)
        return Until(tuple(about.get("json", {}).items()), about.get("text", ""), about.get("count", 0))


def collect(fields: Mapping[str, JSON]) -> Collect:
    """From the field `collect`. Raises: `Unfit`."""
    about = mapping(fields, "collect", "until", "max_messages", "max_bytes", "idle_ms")
    until = mapping(about, "until", "json", "text", "count", above="/collect")
    if len(until) > 1:
        raise Unfit("/collect/until", "until is one of json, text and count")
    if "json" in until and not _is_pointers(until["json"]):
        raise Unfit("/collect/until/json", "json is a mapping of JSON pointers to values, such as {/type: done}")
    if "text" in until and (not isinstance(until["text"], str) or not until["text"]):
        raise Unfit("/collect/until/text", "text is a part of the message that is waited for")
    if "count" in until:
        number(until, "count", 1, _MOST_MESSAGES, above="/collect/until")
    above = "/collect"
    document_names(until, "/collect/until")
    return Collect(
        until,
        number(about, "max_messages", MAX_MESSAGES, _MOST_MESSAGES, above=above),
        number(about, "max_bytes", MAX_BYTES, _MOST_BYTES, above=above),
        number(about, "idle_ms", IDLE_MS, _LONGEST_MS, above=above) / 1000,
    )


def document(raw: str | bytes) -> JSON:
    """A message for the answer: JSON objects and arrays as such, other text as it is, and bytes in base64."""
    if isinstance(raw, bytes):
        return {"base64": b64encode(raw).decode(), "note": f"a binary message of {len(raw)} bytes"}
    if raw.lstrip()[:1] in ("{", "["):
        try:
            return parse(raw)
        except InvalidJson:
            pass
    return raw


def _is_pointers(value: JSON) -> bool:
    return isinstance(value, dict) and bool(value) and all(not key or key.startswith("/") for key in value)


def _at(message: JSON, pointer: str) -> object:
    """What stands at an RFC 6901 pointer."""
    found = message
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name, _MISSING)
        elif isinstance(found, list) and name.isascii() and name.isdigit() and len(name) < 10:
            found = found[int(name)] if int(name) < len(found) else _MISSING
        else:
            return _MISSING
    return found


def _equal(found: object, value: JSON) -> bool:
    """True is not 1 here."""
    return found == value and isinstance(found, bool) == isinstance(value, bool)
