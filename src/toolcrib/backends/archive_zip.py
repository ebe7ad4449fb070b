"""Members of a `.zip`: its directory, the header before each member, and what both must agree about."""

import stat
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from .archive_member import MOST_MEMBERS, Bounds, Member, Unsafe

_END, _ENTRY, _LOCAL = struct.Struct("<4s4H2LH"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s5H3L2H")
_END_MARK, _ENTRY_MARK, _LOCAL_MARK, _DESCRIPTOR_MARK = b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04", b"PK\x07\x08"
_LONGEST_COMMENT = 0xFFFF
_LONGEST_DIRECTORY = MOST_MEMBERS * 1024
_DESCRIPTOR = 0x0008
"""The lengths stand behind the data."""
_UTF8 = 0x0800
_FLAGS = _DESCRIPTOR | _UTF8 | 0x0006
_STORED, _DEFLATED = 0, 8
_TOO_LONG = 0xFFFFFFFF
_ZIP64, _OTHER_NAME = 0x0001, 0x7075
_CHUNK = 1 << 16


class _Entry(NamedTuple):
    """What the directory says of a member."""

    name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    length: int
    offset: int
    mode: int
    dos: int


def members(archive: BinaryIO, length: int, bounds: Bounds) -> Iterator[Member]:
    """Raises: `Unsafe`."""
    end = _end(archive, length)
    entries = sorted(_directory(archive, end, bounds), key=lambda entry: entry.offset)
    before = 0
    for entry in entries:
        if entry.offset < before:
            raise Unsafe(f"{_shown(entry)} overlaps what stands before it in the archive")
        start = _agreed(archive, entry, end.offset)
        before = _descriptor(archive, entry, start + entry.packed, end.offset)
        is_directory = _is_directory(entry)
        path = bounds.named(_text(entry), is_directory=is_directory)
        if path:
            yield Member(path, is_directory, bool(entry.mode & 0o111), _data(archive, entry, start, bounds))


class _Directory(NamedTuple):
    """Where the directory stands, and how many entries it says it has."""

    offset: int
    length: int
    entries: int


def _end(archive: BinaryIO, length: int) -> _Directory:
    """The record at the very end, of which there is but one."""
    at = max(0, length - _END.size - _LONGEST_COMMENT)
    archive.seek(at)
    tail = archive.read(length - at)
    ends = [where for where in _marks(tail) if where + _END.size + _comment(tail, where) == len(tail)]
    if len(ends) != 1:
        raise Unsafe(
            "the archive has two ends" if ends else "the archive has no end; it is cut off, or goes on behind it"
        )
    where = ends[0]
    _, disk, first, here, count, size, offset, _ = _END.unpack_from(tail, where)
    if disk or first or here != count:
        raise Unsafe("the archive is one of several parts")
    if offset + size != at + where or _TOO_LONG in (offset, size) or count == 0xFFFF:
        raise Unsafe("the directory of the archive is not where it says, or is in the form for huge archives")
    if count > MOST_MEMBERS or size > _LONGEST_DIRECTORY:
        raise Unsafe(f"the archive has more than {MOST_MEMBERS} members, or a directory of {size} bytes")
    return _Directory(offset, size, count)


def _marks(tail: bytes) -> Iterator[int]:
    """Where the archive might end. A file in it that is an archive itself has such marks as well."""
    where = tail.find(_END_MARK)
    while where >= 0:
        yield where
        where = tail.find(_END_MARK, where + 1)


def _comment(tail: bytes, where: int) -> int:
    """How long the comment is that follows an end; of half an end, longer than anything."""
    return int(_END.unpack_from(tail, where)[7]) if len(tail) - where >= _END.size else 1 << 32


def _directory(archive: BinaryIO, end: _Directory, bounds: Bounds) -> Iterator[_Entry]:
    archive.seek(end.offset)
    data, at = archive.read(end.length), 0
    for _ in range(end.entries):
        bounds.header()
        if len(data) - at < _ENTRY.size or not data.startswith(_ENTRY_MARK, at):
            raise Unsafe("the directory of the archive is not well formed")
        fields = _ENTRY.unpack_from(data, at)
        flags, method = fields[3:5]
        crc, packed, length, names, extra, comment, disk, _, attributes, offset = fields[7:]
        at += _ENTRY.size
        entry = _Entry(
            data[at : at + names], flags, method, crc, packed, length, offset, attributes >> 16, attributes & 0xFFFF
        )
        more = data[at + names : at + names + extra]
        at += names + extra + comment
        if at > len(data):
            raise Unsafe("the directory of the archive is cut off")
        _fit(entry, more, disk)
        yield entry
    if at != len(data):
        raise Unsafe("the directory of the archive has more entries than it says")


def _fit(entry: _Entry, extra: bytes, disk: int) -> None:
    if entry.flags & 0x2041:
        raise Unsafe(f"{_shown(entry)} in the archive is encrypted")
    if entry.flags & ~_FLAGS or entry.method not in (_STORED, _DEFLATED):
        raise Unsafe(f"{_shown(entry)} is packed in a way that is not taken: method {entry.method}")
    if (
        disk
        or _TOO_LONG in (entry.packed, entry.length, entry.offset)
        or not _extra_ids(extra).isdisjoint((_ZIP64, _OTHER_NAME))
    ):
        raise Unsafe(f"{_shown(entry)} is in the form for huge archives, has a second name, or is elsewhere")
    if entry.method == _STORED and entry.packed != entry.length:
        raise Unsafe(f"{_shown(entry)} is not packed, and has two lengths")


def _extra_ids(extra: bytes) -> set[int]:
    found, at = set(), 0
    while at + 4 <= len(extra):
        ident, size = struct.unpack_from("<2H", extra, at)
        found.add(ident)
        at += 4 + size
    return found


def _agreed(archive: BinaryIO, entry: _Entry, most: int) -> int:
    """Where the data begins, behind a header that says the same as the directory."""
    archive.seek(entry.offset)
    header = archive.read(_LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(_LOCAL_MARK):
        raise Unsafe(f"{_shown(entry)} is not where the archive says")
    _, _, flags, method, _, _, crc, packed, length, names, extra = _LOCAL.unpack(header)
    name = archive.read(names)
    said, known = (crc, packed, length), (entry.crc, entry.packed, entry.length)
    later = bool(flags & _DESCRIPTOR) and said == (0, 0, 0)
    if (name, flags, method) != (entry.name, entry.flags, entry.method) or not (said == known or later):
        raise Unsafe(f"{_shown(entry)} is something else in the archive's directory than where it stands")
    start = entry.offset + _LOCAL.size + names + extra
    if start + entry.packed > most:
        raise Unsafe(f"{_shown(entry)} goes on behind the end of the archive's files")
    return int(start)


def _descriptor(archive: BinaryIO, entry: _Entry, at: int, most: int) -> int:
    """Where a member ends: behind its data, or behind the lengths that follow it."""
    if not entry.flags & _DESCRIPTOR:
        return at
    archive.seek(at)
    behind = archive.read(16)
    said = struct.pack("<3L", entry.crc, entry.packed, entry.length)
    marked = behind == _DESCRIPTOR_MARK + said
    end = at + (16 if marked else 12)
    if not (marked or behind.startswith(said)) or end > most:
        raise Unsafe(f"{_shown(entry)} is followed by other lengths than the archive's directory has")
    return end


def _is_directory(entry: _Entry) -> bool:
    """A directory by its name; whatever else is said of its kind must agree."""
    named, kind = entry.name.endswith(b"/"), stat.S_IFMT(entry.mode)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Unsafe(f"{_shown(entry)} in the archive is a link, a device or a pipe")
    if (kind and named != (kind == stat.S_IFDIR)) or (entry.dos & 0x10 and not named):
        raise Unsafe(f"{_shown(entry)} is both a file and a directory in the archive")
    if named and (entry.length or entry.packed > 2):
        raise Unsafe(f"the directory {_shown(entry)} has content in the archive")
    return named


def _data(archive: BinaryIO, entry: _Entry, start: int, bounds: Bounds) -> Iterator[bytes]:
    archive.seek(start)
    inflate = zlib.decompressobj(wbits=-15) if entry.method == _DEFLATED else None
    left, length, crc = entry.packed, 0, 0
    while True:
        packed = b"" if inflate is None else inflate.unconsumed_tail
        if not packed:
            packed = archive.read(min(left, _CHUNK))
            left -= len(packed)
        try:
            chunk = packed if inflate is None else inflate.decompress(packed, _CHUNK)
        except zlib.error as exc:
            raise Unsafe(f"{_shown(entry)} in the archive is damaged: {exc}") from None
        bounds.grown(len(chunk))
        length, crc = length + len(chunk), zlib.crc32(chunk, crc)
        if length > entry.length or not (chunk or packed):
            break
        yield chunk
    whole = inflate is None or (inflate.eof and not inflate.unused_data)
    if left or not whole or (length, crc) != (entry.length, entry.crc):
        raise Unsafe(f"{_shown(entry)} in the archive has another length or checksum than it says")


def _text(entry: _Entry) -> str:
    if not entry.name or not (entry.name.isascii() or entry.flags & _UTF8):
        raise Unsafe(f"{_shown(entry)} is a name in an unknown encoding, or none; make the archive with UTF-8 names")
    try:
        return entry.name.decode()
    except UnicodeDecodeError:
        raise Unsafe(f"{_shown(entry)} is not UTF-8, as the archive says") from None


def _shown(entry: _Entry) -> str:
    return repr(entry.name[:80].decode("utf-8", "backslashreplace"))
