"""Python source that says in its first lines in which encoding it is written."""

import re

_COOKIE = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_KNOWN = re.compile(
    r"(?:latin|iso-?8859|cp|windows|ibm|mac|koi8|gb|big5|euc|shift|s?jis|iso-?2022|tis-?620|ptcp|kz|hp)[-\w]*", re.I
)
"""Tables of characters. The other codecs of Python do other things, and some of them slowly."""


def recoded(data: bytes) -> bytes:
    """The same text as UTF-8; as it is, where that is what it says, or where it says nothing that is known."""
    found = _COOKIE.match(data)
    if found is None:
        return data
    name = found.group(1).decode("ascii", "replace").replace("_", "-")
    if not _KNOWN.fullmatch(name):
        return data
    try:
        return data.decode(name, "replace").encode("utf-8", "replace")
    except LookupError:
        return data
