"""Text as it lies in a file: its encoding and line ends, what is no text at all, and how two versions differ."""

import codecs
import re
from difflib import unified_diff
from itertools import islice
from typing import NamedTuple

HEAD = 8192
"""Bytes that are looked at to tell text from what is none."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""The longer of two that begin alike stands first."""
_TYPES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\0\0\1\0", "image/x-icon"),
    (b"%PDF-", "application/pdf"),
    (b"PK\3\4", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x7fELF", "application/x-executable"),
    (b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"MZ", "application/x-msdownload"),
    (b"\0asm", "application/wasm"),
    (b"SQLite format 3\0", "application/x-sqlite3"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
)
_SAMPLE = 64 * 1024
_COMMON = ("cp1252", "latin_1")
_GUESSED_FROM = 16
"""In fewer bytes no encoding can be recognised."""
_LONGEST_COMPARED = 4 * 1024 * 1024
_LINES_COMPARED = 4000
_LONGEST_SHOWN = 64 * 1024


class Text(NamedTuple):
    """What a file says. `encoded` gives back the very bytes it was made from."""

    content: str
    encoding: str = "utf-8"
    """With a BOM, where the file has one."""
    order: str = ""
    """Of the bytes, where the encoding leaves that open: `-le` or `-be`."""

    def encoded(self, content: str) -> bytes:
        """Other content, in this file's encoding.

        Raises:
            UnicodeEncodeError: it has no way to write a character.
        """
        if self.order:
            bom = codecs.BOM_UTF16_LE if self.order == "-le" else codecs.BOM_UTF16_BE
            if self.encoding == "utf-32":
                bom = codecs.BOM_UTF32_LE if self.order == "-le" else codecs.BOM_UTF32_BE
            return bom + content.encode(self.encoding + self.order)
        return content.encode(self.encoding, "surrogateescape" if self.encoding.startswith("utf-8") else "strict")

    @property
    def crlf(self) -> bool:
        """Whether its lines end as on Windows, all or most of them."""
        return self.content.count("\r\n") * 2 > self.content.count("\n")


def type_of(head: bytes) -> str:
    """The media type of what is no text; empty for text."""
    if any(head.startswith(bom) for bom, _ in _BOMS):
        return ""
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}.get(
            head[8:12], "application/octet-stream"
        )
    if head[4:8] == b"ftyp":
        return "video/mp4"
    known = next((kind for magic, kind in _TYPES if head.startswith(magic)), "")
    odd = b"\0" in head or len(head.translate(None, _PRINTABLE)) * 10 > len(head)
    if known and (odd or not known.startswith(("image/bmp", "application/x-msdownload", "application/gzip"))):
        return known
    return "application/octet-stream" if odd and not _utf16_without_bom(head) else ""


_PRINTABLE = bytes(byte for byte in range(256) if byte >= 32 or byte in b"\t\n\r\f\b\x1b")


def text_of(data: bytes) -> Text:
    """The text in some bytes that are text. What is in no encoding we know keeps its bytes, as half characters."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                if encoding == "utf-8-sig":
                    return Text(data.decode(encoding, "surrogateescape"), encoding)
                order = "-le" if bom in (codecs.BOM_UTF16_LE, codecs.BOM_UTF32_LE) else "-be"
                return Text(data[len(bom) :].decode(encoding + order), encoding, order)
            except UnicodeDecodeError:
                break
    guessed = _utf16_without_bom(data[:HEAD])  # before all else: such bytes are valid UTF-8, with many a NUL
    if not guessed:
        try:
            return Text(data.decode())
        except UnicodeDecodeError:
            guessed = _guessed(data[:_SAMPLE])
    if guessed:
        try:
            found = Text(data.decode(guessed), guessed)
            if found.encoded(found.content) == data:
                return found
        except UnicodeError:
            pass
    return Text(data.decode("utf-8", "surrogateescape"))


def readable(text: str) -> str:
    """With bytes that are in no encoding we know shown as `\\xNN`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _utf16_without_bom(head: bytes) -> str:
    """Every second byte of it is zero, as in Western text."""
    whole = len(head) // 2
    if whole >= 8 and head[1::2].count(0) * 10 > whole * 7 and not head[0::2].count(0):
        return "utf-16-le"
    if whole >= 8 and head[0::2].count(0) * 10 > whole * 7 and not head[1::2].count(0):
        return "utf-16-be"
    return ""


def _guessed(sample: bytes) -> str:
    if len(sample) < _GUESSED_FROM:
        return ""
    from charset_normalizer import from_bytes  # late: hardly any file needs it

    best = from_bytes(sample).best()
    if best is None:
        return ""
    # Of encodings that read this text alike, the one that most such files are in.
    return next((name for name in _COMMON if name in best.could_be_from_charset), best.encoding)


def difference(old: bytes | None, new: bytes | None, path: str) -> str:
    """The unified difference, bounded; None is a file that is not there."""
    before = _lines(old)
    after = _lines(new, None if old is None else text_of(old[:_SAMPLE]).encoding)
    if before is None or after is None:
        return f"binary: {path} differs ({len(old or b'')} bytes before, {len(new or b'')} after)"
    # What is alike at both ends is no work, and most changes are small: only the middle is compared.
    alike = min(len(before), len(after))
    start = next((at for at in range(alike) if before[at] != after[at]), alike)
    ending = next((at for at in range(alike - start) if before[-1 - at] != after[-1 - at]), alike - start)
    lead, rest = max(0, start - 3), max(0, ending - 3)
    middle = (before[lead : len(before) - rest], after[lead : len(after) - rest])
    names = (f"a/{path}" if old is not None else "/dev/null", f"b/{path}" if new is not None else "/dev/null")
    if max(map(len, middle)) > _LINES_COMPARED and all(middle) and old is not None and new is not None:
        said = f"lines {start + 1} to {len(before) - ending} became {len(after) - ending - start} others"
        return f"--- {names[0]}\n+++ {names[1]}\n[… {said} …]"
    lines = unified_diff(*middle, *names, lineterm="")
    text = "\n".join(_placed(line, lead) for line in islice(lines, _LINES_COMPARED * 3))
    if len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[:_LONGEST_SHOWN]}\n[… {len(text) - _LONGEST_SHOWN} more characters of the difference left out …]"


_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def _placed(line: str, lead: int) -> str:
    """A hunk's heading counts from the start of the file."""
    if not lead or not (found := _HUNK.fullmatch(line)):
        return line
    old, old_count, new, new_count = found.groups()
    return f"@@ -{int(old) + lead}{old_count or ''} +{int(new) + lead}{new_count or ''} @@"


def _lines(data: bytes | None, encoding: str | None = None) -> list[str] | None:
    if data is None:
        return []
    if len(data) > _LONGEST_COMPARED or type_of(data[:HEAD]):
        return None
    if encoding and encoding != "utf-8":
        try:
            return data.decode(encoding).split("\n")
        except UnicodeError:
            pass
    return readable(text_of(data).content).split("\n")
