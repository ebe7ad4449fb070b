"""Archives that nobody honest makes, byte by byte."""

import gzip
import io
import struct
import tarfile
import zlib
from typing import NamedTuple


def entry(name: str | bytes, data: bytes = b"", *, kind: bytes = b"0", mode: int = 0o644, **more: bytes | int) -> bytes:
    """A tar header with its data. `size`, `link`, `magic`, `prefix` and `sum` are written as they are given."""
    raw = name.encode() if isinstance(name, str) else name
    size = more.get("size", len(data))
    header = bytearray(512)
    header[:100] = raw[:100].ljust(100, b"\0")
    header[100:108] = b"%07o\0" % mode
    header[108:116] = header[116:124] = b"%07o\0" % 0
    header[124:136] = size if isinstance(size, bytes) else b"%011o\0" % size
    header[136:148] = b"%011o\0" % 0
    header[148:156] = b" " * 8
    header[156:157] = kind
    header[157:257] = bytes(more.get("link", b"")).ljust(100, b"\0")
    header[257:265] = bytes(more.get("magic", b"ustar\x0000"))
    header[345:500] = bytes(more.get("prefix", b"")).ljust(155, b"\0")
    header[148:156] = bytes(more.get("sum", b"%06o\0 " % sum(header)))
    return bytes(header) + data + bytes(-len(data) % 512)


def pax(*records: tuple[str, str], kind: bytes = b"x") -> bytes:
    """An extended header."""
    text = b""
    for key, value in records:
        body = f" {key}={value}\n".encode()
        length = len(body) + 1
        while len(str(length)) + len(body) != length:
            length += 1
        text += str(length).encode() + body
    return entry("pax", text, kind=kind)


def long_name(name: str) -> bytes:
    return entry("././@LongLink", name.encode() + b"\0", kind=b"L", magic=b"ustar  \0")


def tar(*entries: bytes, end: bytes = bytes(1024)) -> bytes:
    """Packed as a `.tar.gz`."""
    return gzip.compress(b"".join(entries) + end, mtime=0)


def honest_tar(files: dict[str, bytes], *, form: int = tarfile.PAX_FORMAT) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=form) as made:
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size, about.mode = len(data), 0o755 if data.startswith(b"#!") else 0o644
            made.addfile(about, io.BytesIO(data))
    return packed.getvalue()


class Zipped(NamedTuple):
    """A member of a `.zip`, as its directory and its own header have it; None: as they should be."""

    name: bytes
    data: bytes = b"x"
    mode: int = 0o100644
    flags: int = 0
    method: int = 8
    local_name: bytes | None = None
    local_flags: int | None = None
    local_sizes: tuple[int, int, int] | None = None
    crc: int | None = None
    length: int | None = None
    packed: bytes | None = None
    extra: bytes = b""
    descriptor: bytes | None = None
    offset: int | None = None
    dos: int = 0
    host: int = 3


def zipped(
    *members: Zipped, comment: bytes = b"", count: int | None = None, shift: int = 0, tail: bytes = b""
) -> bytes:
    """Packed as a `.zip`. `shift` moves where the directory is said to be."""
    body, directory = b"", b""
    for each in members:
        deflate = zlib.compressobj(wbits=-15)
        packed = each.data if each.method == 0 else deflate.compress(each.data) + deflate.flush()
        packed = packed if each.packed is None else each.packed
        crc = zlib.crc32(each.data) if each.crc is None else each.crc
        length = len(each.data) if each.length is None else each.length
        sizes = (crc, len(packed), length)
        local = sizes if each.local_sizes is None else each.local_sizes
        name = each.name if each.local_name is None else each.local_name
        flags = each.flags if each.local_flags is None else each.local_flags
        offset = len(body) if each.offset is None else each.offset
        body += struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, flags, each.method, 0, 33, *local, len(name), 0) + name
        body += packed + (each.descriptor or b"")
        directory += struct.pack(
            "<4s6H3L5H2L", b"PK\x01\x02", each.host << 8 | 20, 20, each.flags, each.method, 0, 33, *sizes,
            len(each.name), len(each.extra), 0, 0, 0, each.mode << 16 | each.dos, offset,
        ) + each.name + each.extra  # fmt: skip
    many = len(members) if count is None else count
    end = struct.pack(
        "<4s4H2LH", b"PK\x05\x06", 0, 0, many, many, len(directory), len(body) + shift, len(comment)
    )  # fmt: skip
    return body + directory + end + comment + tail
