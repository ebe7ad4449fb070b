"""Members of a `.tar.gz`, header by header: what a tar of plain files and directories has, and nothing else."""

import re
import zlib
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from .archive_member import Bounds, Member, Unsafe

_BLOCK = 512
_CHUNK = 1 << 16
_LONGEST_EXTENSION = 64 * 1024
_OCTAL = re.compile(rb" *([0-7]+)[ \0]*")
_GNU, _USTAR = b"ustar  \0", b"ustar\x0000"
_REGULAR, _DIRECTORY = (b"0", b"\0"), b"5"
_EXTENDED, _GLOBAL, _LONG_NAME = b"x", b"g", b"L"
_KINDS = {
    b"1": "a hard link", b"2": "a symbolic link", b"3": "a device", b"4": "a device", b"6": "a pipe", b"S": "sparse",
    b"K": "a link with a long target", b"M": "a part of a file in another archive",
}  # fmt: skip
_HARMLESS = re.compile(r"mtime|atime|ctime|uid|gid|uname|gname|comment|(SCHILY|LIBARCHIVE)\.[\w.:-]+")
"""Records that change neither the name, nor the length, nor the kind of a member."""
_TEXT = "ISO-IR 10646 2000 UTF-8"
_DIGITS = re.compile(rb"([1-9][0-9]{0,5}) ")


def members(archive: BinaryIO, bounds: Bounds) -> Iterator[Member]:
    """Raises: `Unsafe`."""
    stream = _Inflated(archive, bounds)
    pending: tuple[str | None, int | None] | None = None
    """What the header before this one says of it: its name, its length."""
    while (header := stream.block()) != bytes(_BLOCK):
        bounds.header()
        _sum(header)
        kind, length = header[156:157], _number(header[124:136], "length")
        if kind in (_EXTENDED, _LONG_NAME) and pending is None:
            text = stream.whole(length)
            pending = (_long_name(text), None) if kind == _LONG_NAME else _extended(_records(text))
            continue
        if kind == _GLOBAL and pending is None:
            _only_harmless(_records(stream.whole(length)))
            continue
        if kind not in (*_REGULAR, _DIRECTORY):
            what = _KINDS.get(kind, f"of the kind {kind!r}, or extended twice")
            raise Unsafe(f"{_name(header)!r} in the archive is {what}; only files and directories are taken")
        name, size = pending or (None, None)
        pending = None
        if size not in (None, length):
            raise Unsafe(f"{_name(header)!r} has two lengths in the archive, {length} and {size}")
        is_directory = kind == _DIRECTORY
        if header[157:257].strip(b"\0") or (is_directory and length):
            raise Unsafe(f"{_name(header)!r} is a link or a directory with content in the archive")
        path = bounds.named(name or _name(header), is_directory=is_directory)
        program = bool(_number(header[100:108], "mode") & 0o111)
        if path:
            yield Member(path, is_directory, program, stream.data(length))
        stream.expect_read()
    if pending is not None:
        raise Unsafe("the archive ends with a header that belongs to nothing")
    stream.expect_end()


class _Inflated:
    """The tar inside, read once from its begin to its end, in bounded pieces."""

    def __init__(self, archive: BinaryIO, bounds: Bounds) -> None:
        archive.seek(0)
        self._archive, self._bounds = archive, bounds
        self._inflate = zlib.decompressobj(wbits=31)
        self._held = b""
        self._unread = 0

    def block(self) -> bytes:
        return self._exactly(_BLOCK)

    def whole(self, length: int) -> bytes:
        """A short text, and what it is padded with."""
        if length > _LONGEST_EXTENSION:
            raise Unsafe(f"a header of the archive has an extension of {length} bytes")
        return self._exactly(length + _padding(length))[:length]

    def data(self, length: int) -> Iterator[bytes]:
        """A file's, which has to be read before the next header."""
        self._unread = length
        return self._chunks(length)

    def _chunks(self, length: int) -> Iterator[bytes]:
        while self._unread:
            chunk = self._exactly(min(self._unread, _CHUNK))
            self._unread -= len(chunk)
            yield chunk
        self._exactly(_padding(length))

    def expect_read(self) -> None:
        if self._unread:
            raise AssertionError("a member was left before it was read")

    def expect_end(self) -> None:
        """Nothing but zeros after the end: another reader could go on where this one stops."""
        while more := self._some():
            if more.strip(b"\0"):
                raise Unsafe("something stands behind the end of the archive")

    def _exactly(self, length: int) -> bytes:
        parts = []
        while length:
            chunk = self._some()
            if not chunk:
                raise Unsafe("the archive is cut off")
            parts.append(chunk[:length])
            self._held = chunk[length:]
            length -= len(parts[-1])
        return b"".join(parts)

    def _some(self) -> bytes:
        """What comes next; empty at the end."""
        if self._held:
            chunk, self._held = self._held, b""
            return chunk
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail or self._archive.read(_CHUNK)
            try:
                chunk = self._inflate.decompress(packed, _CHUNK)
            except zlib.error as exc:
                raise Unsafe(f"the archive is damaged: {exc}") from None
            self._bounds.grown(len(chunk))
            if chunk:
                return chunk
            if not packed and not self._inflate.eof:
                raise Unsafe("the archive is cut off")
        if self._inflate.unused_data or self._archive.read(1):
            raise Unsafe("something stands behind the compressed part of the archive")
        return b""


def _sum(header: bytes) -> None:
    said = _number(header[148:156], "checksum")
    if said != sum(header[:148]) + sum(header[156:]) + 8 * 32:
        raise Unsafe("a header of the archive has another checksum than it says")
    if header[257:265] not in (_GNU, _USTAR):
        raise Unsafe("the archive is in an old form of tar; make it again with a current one")


def _number(field: bytes, what: str) -> int:
    found = _OCTAL.fullmatch(field)
    if found is None:
        raise Unsafe(f"a header of the archive has no plain number as {what}: {field!r}")
    return int(found[1], 8)


def _name(header: bytes) -> str:
    """As the header itself has it. GNU keeps other things where the front part of a long name stands elsewhere."""
    name, front = _until_nul(header[:100]), _until_nul(header[345:500]) if header[257:265] == _USTAR else b""
    return _text(front + b"/" + name if front else name)


def _until_nul(field: bytes) -> bytes:
    name, _, rest = field.partition(b"\0")
    if rest.strip(b"\0"):
        raise Unsafe(f"a name in the archive goes on behind its end: {field!r}")
    return name


def _long_name(data: bytes) -> str:
    name = _text(_until_nul(data))
    if not name:
        raise Unsafe("a long name in the archive is empty")
    return name


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Unsafe(f"a name in the archive is not UTF-8: {data[:80]!r}") from None


def _records(data: bytes) -> dict[str, str]:
    """`<length> <key>=<value>` and a line end, each; no key twice."""
    found: dict[str, str] = {}
    while data:
        length = _DIGITS.match(data)
        record = data[: int(length[1])] if length else b""
        if length is None or len(record) != int(length[1]) or not record.endswith(b"\n") or b"\0" in record:
            raise Unsafe("an extended header of the archive is not well formed")
        key, equals, value = _text(record[length.end() : -1]).partition("=")
        if not equals or key in found:
            raise Unsafe("an extended header of the archive is not well formed, or says something twice")
        found[key] = value
        data = data[len(record) :]
    return found


def _extended(records: Mapping[str, str]) -> tuple[str | None, int | None]:
    """The name and the length that it gives to the next member."""
    size = records.get("size")
    if size is not None and not (size.isascii() and size.isdigit() and len(size) < 16):
        raise Unsafe(f"an extended header of the archive has no plain number as length: {size[:40]!r}")
    if records.get("path") == "":
        raise Unsafe("an extended header of the archive has an empty name")
    _only_harmless({key: value for key, value in records.items() if key not in ("path", "size")})
    return records.get("path"), None if size is None else int(size)


def _only_harmless(records: Mapping[str, str]) -> None:
    for key, value in records.items():
        if not _HARMLESS.fullmatch(key) and (key, value) != ("hdrcharset", _TEXT):
            raise Unsafe(f"an extended header of the archive says {key[:80]!r}, which is not taken from one")


def _padding(length: int) -> int:
    return -length % _BLOCK
