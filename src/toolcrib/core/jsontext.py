"""JSON in and out: strict, exact and bounded, the same at every entrance."""

import json
import re
from typing import Any

import orjson

from .errors import InvalidJson

JSON = Any
"""Whatever JSON can say. The one place where the type system gives up."""

_STRICT = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_DIGITS = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))
_LONG_NUMBER = b"0" * 19
_HALF = re.compile(rb"(\\\\|\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..")


def parse(data: bytes | str, *, exact: bool = True) -> JSON:
    """Read one JSON document. Integers of any length stay exact; NaN and lone surrogates are refused.

    What we wrote ourselves may be read with `exact` off, which is quicker: it has no integer beyond 64 bits.

    Raises:
        InvalidJson: with the place where the text stops being JSON.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    try:
        value = orjson.loads(raw)
        # orjson turns an integer beyond 64 bits into a float without a word; the standard library does not.
        return json.loads(raw.decode()) if exact and _LONG_NUMBER in raw.translate(_DIGITS) else value
    except (ValueError, RecursionError) as exc:
        raise InvalidJson(f"not valid JSON: {exc}") from None


def dump(value: JSON) -> bytes:
    """Compact UTF-8 on one line.

    Raises:
        InvalidJson: for what JSON cannot say (a cycle, a set, a lone surrogate).
    """
    try:
        return orjson.dumps(value, option=_STRICT)
    except TypeError:
        return _slow(value, ascii_only=False)


def dump_ascii(value: JSON) -> bytes:
    """Compact, one line, and nothing in it that a terminal or a log could trip over.

    Half a character (a file's name that is not UTF-8 has them) is spelled out: no report fails because of one.
    """
    try:
        raw = dump(value)
        raw = raw if raw.isascii() else _slow(value, ascii_only=True)
    except InvalidJson:
        raw = _HALF.sub(lambda half: half[0] if half[1] else b"\\" + half[0], _slow(value, ascii_only=True))
    return raw.replace(b"\x7f", b"\\u007f")


def canonical(value: JSON) -> bytes:
    """The same bytes for the same value, whatever the order of its keys: for digests."""
    try:
        return orjson.dumps(value, option=_STRICT | orjson.OPT_SORT_KEYS)
    except TypeError:
        return _slow(value, ascii_only=False, sort_keys=True)


def _slow(value: JSON, *, ascii_only: bool, sort_keys: bool = False) -> bytes:
    """What orjson cannot write: integers beyond 64 bits, and ASCII."""
    try:
        text = json.dumps(value, ensure_ascii=ascii_only, sort_keys=sort_keys, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidJson(f"cannot be written as JSON: {exc}") from None
