"""Text in the charset that its sender names, piece by piece, into UTF-8. No byte is dropped in silence."""

import codecs

_NO_CHARSETS = frozenset(
    """
    ascii idna iso2022_jp_1 iso2022_jp_2 iso2022_jp_2004 iso2022_jp_3 iso2022_jp_ext iso2022_kr mbcs oem punycode
    raw-unicode-escape undefined unicode-escape utf-7 utf-8 utf-8-sig
    """.split()  # noqa: SIM905
)
"""Codecs of Python that are no charsets of the web, or that are UTF-8 in substance."""
_UNMARKED = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""How the web takes those that do not begin with their mark."""


def charset_of(content_type: str) -> str:
    """The codec that a `Content-Type` names, where it is not UTF-8. One that nobody knows is taken as UTF-8."""
    options = (each.strip() for each in content_type.split(";")[1:])
    said = next((each[8:].strip(" \"'") for each in options if each.lower().startswith("charset=")), "")
    try:
        found = codecs.lookup(said)
    except (LookupError, ValueError):
        return ""
    is_text = getattr(found, "_is_text_encoding", False) and found.incrementaldecoder is not None
    return found.name if is_text and found.name not in _NO_CHARSETS else ""


class Transcoder:
    """Makes UTF-8 of what comes. What is not of the charset is shown as `\\xNN`."""

    def __init__(self, charset: str) -> None:
        self._charset = charset
        self._decoder = codecs.getincrementaldecoder(charset)("backslashreplace")

    def feed(self, piece: bytes, *, end: bool = False) -> bytes:
        held = self._decoder.getstate()[0]
        try:
            text = self._decoder.decode(piece, final=end)
        except UnicodeError:  # no mark, or more than its decoder can hold back
            instead = _UNMARKED.get(self._charset, "utf-8")
            self._decoder = codecs.getincrementaldecoder(instead)("backslashreplace")
            text = self._decoder.decode(held + piece, final=end)
        return text.encode("utf-8", "backslashreplace")
