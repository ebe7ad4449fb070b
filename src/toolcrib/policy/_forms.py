"""The spellings in which a secret value comes back: in a URL, in JSON, in a page, in a shell's trace, in base64."""

import re
import string
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

LINE = 60
"""The shortest line into which encoders break base64 and hex: `xxd` 60, PEM 64, MIME 76."""
_SHORTEST_FORM = 4
_SHORTEST_LINE = 16
_MARKER = re.compile(r"-----(?:BEGIN|END) [A-Z0-9 ]+-----")
"""The first and last line of a key file. Everybody knows them; they are no secret."""
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
"""Text that every escaping leaves alone."""

_ALNUM = (string.ascii_letters + string.digits).encode()
_URL_SAFE = (
    _ALNUM + b"-_.~",
    _ALNUM + b"-_.~/",
    _ALNUM + b"-_.~!*'()",
    _ALNUM + b"-_.~!*'();,/?:@&=+$#",
    _ALNUM + b"-_.~$&+:=@",
    _ALNUM + b"-_.*",
)
"""What is left as it is by `quote`, for a path, by JavaScript's two functions, for a path in Go, and in a form."""
_JSON_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_HTML_QUOTES = (("&quot;", "&#x27;"), ("&quot;", "&#39;"), ("&#34;", "&#39;"), ("&quot;", "&apos;"), ('"', "'"))
_SHELL_SPECIAL = re.compile(r"[^A-Za-z0-9_@%+=:,./-]")
_DETERMINED_FROM = (0, 2, 3)
"""Base64 after 0, 1 or 2 bytes of something else: the first character that depends on the value alone."""


@dataclass(frozen=True, slots=True, repr=False)
class Form:
    """One spelling. Never shown: it is the secret."""

    core: bytes
    tails: tuple[bytes, ...] = ()
    """What may follow and tells of the value too, longest first."""
    wraps: bool = False
    """It may be broken into lines."""

    @property
    def longest(self) -> int:
        breaks = 2 * (len(self.core) // LINE + 1) if self.wraps else 0
        return len(self.core) + breaks + max(map(len, self.tails), default=0)


def forms(value: str) -> list[Form]:
    """Every spelling of a value that is looked for, none of them twice."""
    found: dict[bytes, Form] = {}
    for part in _parts(value):
        for form in _spellings(part):
            if len(form.core) >= _SHORTEST_FORM:
                found.setdefault(form.core, form)
    return list(found.values())


def _parts(value: str) -> dict[str, None]:
    """The value, without the line end that a file gave it, and the lines of a long one, which travel alone."""
    lines = (line.strip() for line in value.splitlines())
    long = [line for line in lines if len(line) >= _SHORTEST_LINE and not _MARKER.fullmatch(line)]
    return dict.fromkeys((value, value.strip(), *long))


def _spellings(value: str) -> Iterator[Form]:
    raw = _raw(value)
    yield Form(raw)
    yield Form(value.encode("utf-8", "surrogatepass"))
    if not _PLAIN.fullmatch(value):
        for text in (*_percent(raw), *_json(value), *_html(value), *_shell(value), *_python(value, raw)):
            yield Form(text.encode("utf-8", "surrogatepass"))
    yield from _digits(raw, value)
    yield from _base64(raw)


def _raw(value: str) -> bytes:
    """The bytes that a program gets. A variable of the environment need not be UTF-8."""
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")


def _percent(raw: bytes) -> Iterator[str]:
    for safe, digits, space in product(_URL_SAFE, ("%%%02X", "%%%02x"), ("%20", "+")):
        yield "".join(chr(byte) if byte in safe else space if byte == 32 else digits % byte for byte in raw)


def _json(value: str) -> Iterator[str]:
    for ascii_only, slash, page, digits in product((False, True), ("/", "\\/"), ("", "<>&'"), ("%04x", "%04X")):
        yield "".join(
            _JSON_SHORT.get(char)
            or (slash if char == "/" else None)
            or (_units(char, digits) if char < " " or char in page or (ascii_only and char > "~") else char)
            for char in value
        )


def _units(text: str, digits: str) -> str:
    """`\\uXXXX`, two of them for a character beyond the sixteenth bit."""
    raw = text.encode("utf-16-be", "surrogatepass")
    return "".join("\\u" + digits % int.from_bytes(raw[at : at + 2]) for at in range(0, len(raw), 2))


def _html(value: str) -> Iterator[str]:
    inner = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for double, single in _HTML_QUOTES:
        yield inner.replace('"', double).replace("'", single)


def _shell(value: str) -> Iterator[str]:
    yield value.replace("'", "'\\''")
    yield value.replace("'", "'\"'\"'")
    yield re.sub(r'([$`"\\])', r"\\\1", value)
    yield _SHELL_SPECIAL.sub(lambda found: "\\" + found[0], value)


def _python(value: str, raw: bytes) -> Iterator[str]:
    yield repr(value)[1:-1]
    yield repr(raw)[2:-1]


def _digits(raw: bytes, value: str) -> Iterator[Form]:
    """Every byte, or every character, as a number."""
    yield Form(raw.hex().encode(), wraps=True)
    yield Form(raw.hex().upper().encode(), wraps=True)
    for digits in ("%%%02X", "%%%02x", "\\x%02x", "\\x%02X"):
        yield Form("".join(digits % byte for byte in raw).encode())
    for digits in ("%04x", "%04X"):
        yield Form(_units(value, digits).encode())


def _base64(raw: bytes) -> Iterator[Form]:
    """The part that the value alone decides, wherever in a longer text it begins.

    Of the characters beside it, which it shares with its neighbours, up to eight bits can be read.
    """
    for before in range(3):
        text = b64encode(bytes(before) + raw).rstrip(b"=")[_DETERMINED_FROM[before] :]
        core, tails = text, [b""]
        if pad := -(before + len(raw)) % 3:
            core, last = text[:-1], text[-1:]
            tails = [last + b"%3D" * pad, last + b"%3d" * pad, last + b"=" * pad, last]
        yield Form(core, tuple(tails), wraps=True)
        for plus, slash in ((b"-", b"_"), (b"%2B", b"%2F"), (b"%2b", b"%2f"), (b"+", b"\\/")):
            other = core.replace(b"+", plus).replace(b"/", slash)
            yield Form(other, tuple(tail.replace(b"+", plus).replace(b"/", slash) for tail in tails), wraps=True)
