"""Archives: honest ones come out as they went in; of the others nothing comes out, anywhere."""

import gzip
import io
import os
import random
import stat
import struct
import tarfile
import threading
import time
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest

from toolcrib.backends import archive_member
from toolcrib.backends.archive import contents, unpack
from toolcrib.backends.archive_member import Unsafe, is_member
from toolcrib.core.errors import ToolError

from .archives import Zipped, entry, honest_tar, long_name, pax, tar, zipped

FILES = {"bin/tool": b"#!/bin/sh\necho hi\n", "lib/data.txt": b"words\n" * 5000, "README": b""}
GNU = b"ustar  \0"
FLAG, UTF8 = 0x0008, 0x0800


def honest_zip(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            about = zipfile.ZipInfo(name)
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = (0o755 if data.startswith(b"#!") else 0o644) << 16
            made.writestr(about, data)
    return packed.getvalue()


class Unseekable(io.BytesIO):
    """Makes a writer put the lengths behind the data."""

    def seekable(self) -> bool:
        return False


def streamed_zip(files: dict[str, bytes]) -> bytes:
    packed = Unseekable()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return packed.getvalue()


HONEST = {
    "pax": honest_tar(FILES),
    "gnu": honest_tar(FILES, form=tarfile.GNU_FORMAT),
    "ustar": honest_tar(FILES, form=tarfile.USTAR_FORMAT),
    "zip": honest_zip(FILES),
    "streamed zip": streamed_zip(FILES),
    "zip with a comment": zipped(*(Zipped(name.encode(), data) for name, data in FILES.items()), comment=b"made by us"),
    "git": tar(pax(("comment", "0" * 40), kind=b"g"), *(entry(name, data) for name, data in FILES.items())),
    "from here": tar(entry("./", kind=b"5"), *(entry(f"./{name}", data) for name, data in FILES.items())),
    "with directories": tar(
        entry("bin/", kind=b"5"), entry("lib", kind=b"5"), *(entry(name, data) for name, data in FILES.items())
    ),
}


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("packed", HONEST.values(), ids=HONEST)
def test_what_went_in_comes_out(tmp_path, packed) -> None:
    found = unpack(io.BytesIO(packed), str(tmp_path / "out"))
    assert tree(tmp_path / "out") == FILES
    assert [each.path for each in found] == sorted(FILES)
    assert contents(io.BytesIO(packed)) == found


def test_an_archive_in_an_archive_is_a_file_like_any_other(tmp_path) -> None:
    packed = zipped(Zipped(b"inner.zip", HONEST["zip"], method=0))
    unpack(io.BytesIO(packed), str(tmp_path / "out"))
    assert tree(tmp_path / "out") == {"inner.zip": HONEST["zip"]}


@pytest.mark.parametrize("kind", ["pax", "zip"])
def test_only_the_right_to_execute_is_taken_over(tmp_path, kind) -> None:
    unpack(io.BytesIO(HONEST[kind]), str(tmp_path / "out"))
    assert stat.S_IMODE((tmp_path / "out/bin/tool").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "out/README").stat().st_mode) == 0o644


@pytest.mark.parametrize(
    "packed", [tar(entry("tool", b"x", mode=0o6755)), zipped(Zipped(b"tool", mode=0o106755))], ids=["tar", "zip"]
)
def test_no_file_comes_out_with_rights_of_somebody_else(tmp_path, packed) -> None:
    unpack(io.BytesIO(packed), str(tmp_path / "out"))
    assert stat.S_IMODE((tmp_path / "out/tool").stat().st_mode) == 0o755


def test_long_names_of_both_kinds(tmp_path) -> None:
    name = "/".join(["part" * 20] * 3)
    for at, packed in enumerate(
        (tar(long_name(name), entry("cut", b"1", magic=GNU)), tar(pax(("path", name)), entry("c", b"1")))
    ):
        assert [each.path for each in unpack(io.BytesIO(packed), str(tmp_path / str(at)))] == [name]


def test_names_of_other_languages(tmp_path) -> None:
    for at, packed in enumerate((tar(entry("häuser/字", b"1")), zipped(Zipped("häuser/字".encode(), flags=UTF8)))):
        assert [each.path for each in unpack(io.BytesIO(packed), str(tmp_path / str(at)))] == ["häuser/字"]


NAMES = {
    "above": "../evil",
    "above, deeper": "a/../../evil",
    "above, at the end": "a/..",
    "from the root": "/tmp/evil",
    "from the root, twice": "//evil",
    "a drive": "C:/evil",
    "a drive, bare": "c:evil",
    "a backslash": "..\\evil",
    "a network name": "\\\\host\\evil",
    "a line end": "a\nb",
    "an escape": "a\x1b[2Jb",
    "right to left": "a\u202etxt.exe",
    "no name between": "a//b",
    "a dot between": "a/./b",
    "too long a part": "a" * 256,
    "too long": "/".join(["a" * 200] * 6),
    "too deep": "/".join("a" * 40),
}
PAIRS = {
    "twice": ("a", "a"),
    "twice, from here": ("a", "./a"),
    "case": ("Makefile", "makefile"),
    "case of a directory": ("Bin/a", "bin/b"),
    "composed": ("\u00e9", "e\u0301"),
    "sharp s": ("straße", "STRASSE"),
    "a file as a directory": ("a", "a/b"),
    "a directory as a file": ("a/b", "a"),
}
TARS = {
    "hard link": tar(entry("a", b"x"), entry("b", kind=b"1", link=b"a")),
    "hard link out": tar(entry("b", kind=b"1", link=b"/etc/passwd")),
    "symbolic link": tar(entry("b", kind=b"2", link=b"a")),
    "symbolic link out, then a file through it": tar(entry("b", kind=b"2", link=b".."), entry("b/evil", b"x")),
    "a file that says where it links to": tar(entry("b", b"x", link=b"/etc/passwd")),
    "character device": tar(entry("b", kind=b"3")),
    "block device": tar(entry("b", kind=b"4")),
    "pipe": tar(entry("b", kind=b"6")),
    "contiguous": tar(entry("b", b"x", kind=b"7")),
    "sparse": tar(entry("b", b"x", kind=b"S", magic=GNU)),
    "sparse by a record": tar(pax(("GNU.sparse.major", "1"), ("GNU.sparse.name", "../evil")), entry("b", b"x")),
    "another volume": tar(entry("b", b"x", kind=b"M", magic=GNU)),
    "unknown kind": tar(entry("b", b"x", kind=b"Z")),
    "long link": tar(entry("././@LongLink", b"/etc/passwd\0", kind=b"K", magic=GNU), entry("b", kind=b"2")),
    "wrong checksum": tar(entry("b", b"x", sum=b"000000\0 ")),
    "no checksum": tar(entry("b", b"x", sum=b"        ")),
    "negative length": tar(entry("b", b"x", size=b"-0000000001\0")),
    "length in binary": tar(entry("b", b"x", size=b"\x80" + bytes(10) + b"\1")),
    "negative length in binary": tar(entry("b", b"x", size=b"\xff" * 12)),
    "length that is no number": tar(entry("b", b"x", size=b"0x1 \0\0\0\0\0\0\0\0")),
    "length beyond the end": tar(entry("b", b"x", size=1 << 30), end=b""),
    "an old form": tar(entry("b", b"x", magic=bytes(8))),
    "a name that goes on behind its end": tar(entry(b"good\0/../evil", b"x")),
    "a name that is not UTF-8": tar(entry(b"a\xff", b"x")),
    "front part above": tar(entry("evil", b"x", prefix=b"../..")),
    "long name above": tar(long_name("../evil"), entry("b", b"x", magic=GNU)),
    "long name, empty": tar(long_name(""), entry("b", b"x", magic=GNU)),
    "long name twice": tar(long_name("a"), long_name("../b"), entry("b", b"x", magic=GNU)),
    "long name of a pax header": tar(long_name("a"), pax(("path", "../b")), entry("b", b"x")),
    "pax name above": tar(pax(("path", "../evil")), entry("b", b"x")),
    "pax name, empty": tar(pax(("path", "")), entry("b", b"x")),
    "pax name twice": tar(pax(("path", "a"), ("path", "../b")), entry("b", b"x")),
    "pax header twice": tar(pax(("path", "a")), pax(("path", "../b")), entry("b", b"x")),
    "pax link": tar(pax(("linkpath", "/etc/passwd")), entry("b", b"x")),
    "pax length that differs": tar(pax(("size", "513")), entry("b", b"x")),
    "pax length that is none": tar(pax(("size", "-1")), entry("b", b"x")),
    "pax in another encoding": tar(pax(("hdrcharset", "BINARY"), ("path", "a")), entry("b", b"x")),
    "pax not well formed": tar(entry("pax", b"99 path=a\n", kind=b"x"), entry("b", b"x")),
    "pax without a length": tar(entry("pax", b"path=a\n", kind=b"x"), entry("b", b"x")),
    "pax with a NUL": tar(entry("pax", b"12 path=a\0b\n", kind=b"x"), entry("b", b"x")),
    "pax name for all": tar(pax(("path", "../evil"), kind=b"g"), entry("b", b"x")),
    "pax that belongs to nothing": tar(entry("b", b"x"), pax(("path", "a"))),
    "a very long pax header": tar(pax(("comment", "x" * 70_000)), entry("b", b"x")),
    "a directory with content": tar(entry("b/", b"x", kind=b"5")),
    "a file that ends in a slash": tar(entry("b/", b"x")),
    "something behind the end": tar(entry("b", b"x"), end=bytes(1024) + entry("../evil", b"x")),
    "no end": tar(entry("b", b"x"), end=b"")[:-4],
    "cut off": tar(entry("b", b"x" * 5000))[:60],
    "another stream behind": tar(entry("b", b"x")) + tar(entry("c", b"x")),
    "garbage behind": tar(entry("b", b"x")) + b"garbage",
    "empty": tar(),
    "nothing but directories": tar(entry("b/", kind=b"5")),
    "damaged": tar(entry("b", b"x" * 5000))[:30] + b"\xff" * 40,
    "a tar that is not packed": entry("b", b"x") + bytes(1024),
    "no archive": b"#!/bin/sh\necho hi\n",
    "nothing": b"",
}  # fmt: skip
DOUBLE = zipped(Zipped(b"a", b"one"), Zipped(b"b", b"two"))
ZIPS = {
    "symbolic link": zipped(Zipped(b"b", b"/etc/passwd", mode=0o120777)),
    "symbolic link of another system": zipped(Zipped(b"b", b"/etc/passwd", mode=0o120777, host=0)),
    "device": zipped(Zipped(b"b", b"", mode=0o020644)),
    "pipe": zipped(Zipped(b"b", b"", mode=0o010644)),
    "socket": zipped(Zipped(b"b", b"", mode=0o140644)),
    "a directory by its mode only": zipped(Zipped(b"b", b"", mode=0o040755)),
    "a directory by its attribute only": zipped(Zipped(b"b", b"", mode=0, dos=0x10, host=0)),
    "a file by its mode, a directory by its name": zipped(Zipped(b"b/", b"", mode=0o100644)),
    "a directory with content": zipped(Zipped(b"b/", b"x", mode=0o040755)),
    "encrypted": zipped(Zipped(b"b", flags=1)),
    "strongly encrypted": zipped(Zipped(b"b", flags=0x41)),
    "headers hidden": zipped(Zipped(b"b", flags=0x2000)),
    "patched": zipped(Zipped(b"b", flags=0x20)),
    "another method": zipped(Zipped(b"b", method=12)),
    "another name in its own header": zipped(Zipped(b"good", local_name=b"../e")),
    "other flags in its own header": zipped(Zipped(b"b", local_flags=FLAG)),
    "other lengths in its own header": zipped(Zipped(b"b", local_sizes=(1, 1, 1))),
    "no lengths in its own header": zipped(Zipped(b"b", local_sizes=(0, 0, 0))),
    "wrong checksum": zipped(Zipped(b"b", crc=1)),
    "longer than it says": zipped(Zipped(b"b", b"x" * 1000, length=10)),
    "shorter than it says": zipped(Zipped(b"b", b"x", length=10)),
    "two lengths, and not packed": zipped(Zipped(b"b", b"xxxx", method=0, length=2)),
    "cut off inside": zipped(Zipped(b"b", b"x" * 1000, packed=b"\x00")),
    "garbage behind the packed bytes": zipped(Zipped(b"b", packed=zlib.compress(b"x", wbits=-15) + b"evil")),
    "damaged": zipped(Zipped(b"b", packed=b"\xff" * 20)),
    "lengths behind, wrong": zipped(Zipped(b"b", flags=FLAG, local_sizes=(0, 0, 0), descriptor=bytes(16))),
    "lengths behind, none": zipped(Zipped(b"b", flags=FLAG, local_sizes=(0, 0, 0))),
    "overlapping": zipped(Zipped(b"a", b"x"), Zipped(b"b", b"x", offset=0, local_name=b"b")),
    "one inside the other": zipped(Zipped(b"a", zipped(Zipped(b"b"))[:33], method=0), Zipped(b"b", offset=31)),
    "beyond the end": zipped(Zipped(b"b", offset=1 << 20)),
    "huge form, by its length": zipped(Zipped(b"b", length=0xFFFFFFFF)),
    "huge form, by its offset": zipped(Zipped(b"b", offset=0xFFFFFFFF)),
    "huge form, by a field": zipped(Zipped(b"b", extra=struct.pack("<2HQ", 1, 8, 1 << 40))),
    "a second name": zipped(Zipped(b"b", extra=struct.pack("<2H", 0x7075, 11) + b"\1" + bytes(4) + b"../x/y")),
    "a name in an unknown encoding": zipped(Zipped(b"a\x81")),
    "a name that is not UTF-8": zipped(Zipped(b"a\xff", flags=UTF8)),
    "no name": zipped(Zipped(b"")),
    "a name with a NUL": zipped(Zipped(b"good\0/../evil")),
    "more entries than it says": zipped(Zipped(b"a"), Zipped(b"b"), count=1),
    "fewer entries than it says": zipped(Zipped(b"a"), count=2),
    "more than can be": zipped(Zipped(b"a"), count=0xFFFF),
    "directory elsewhere": zipped(Zipped(b"a"), shift=1),
    "something before": b"PK\x03\x04" + zipped(Zipped(b"a")),
    "something behind": zipped(Zipped(b"a"), tail=b"garbage"),
    "two ends": zipped(Zipped(b"a"), comment=zipped(Zipped(b"../evil"))),
    "two archives": zipped(Zipped(b"a")) + zipped(Zipped(b"../evil")),
    "several parts": DOUBLE[:-18] + b"\1\0" + DOUBLE[-16:],
    "no directory": zipped(Zipped(b"a"))[:40],
    "empty": zipped(),
}  # fmt: skip


def test_there_are_many_attacks() -> None:
    assert 2 * len(NAMES) + 2 * len(PAIRS) + len(TARS) + len(ZIPS) > 140


def refused(packed: bytes, tmp_path: Path) -> None:
    """Nothing comes out, neither where it should nor elsewhere, and not for a look either."""
    place = tmp_path / "deep" / "down"
    place.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    began = time.monotonic()
    with pytest.raises(Unsafe) as raised:
        unpack(io.BytesIO(packed), str(place / "out"))
    with pytest.raises(Unsafe):
        contents(io.BytesIO(packed))
    assert raised.value.code == "ARCHIVE_UNSAFE"
    assert sorted(tmp_path.rglob("*")) == before
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("packed", TARS.values(), ids=TARS)
def test_a_tar_that_is_refused(tmp_path, packed) -> None:
    refused(packed, tmp_path)


@pytest.mark.parametrize("packed", ZIPS.values(), ids=ZIPS)
def test_a_zip_that_is_refused(tmp_path, packed) -> None:
    refused(packed, tmp_path)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_is_refused(tmp_path, name) -> None:
    refused(tar(entry("first", b"1"), pax(("path", name)), entry("b", b"2")), tmp_path)
    refused(zipped(Zipped(b"first"), Zipped(name.encode(), flags=UTF8)), tmp_path / "zip")
    assert not is_member(name)


@pytest.mark.parametrize("names", PAIRS.values(), ids=PAIRS)
def test_names_that_fall_together(tmp_path, names) -> None:
    refused(tar(*(entry(name, b"x") for name in names)), tmp_path)
    refused(zipped(*(Zipped(name.encode(), flags=UTF8) for name in names)), tmp_path / "zip")


def test_a_directory_may_be_named_again(tmp_path) -> None:
    packed = tar(entry("a/", kind=b"5"), entry("a/b", b"1"), entry("a/", kind=b"5"), entry("a/c", b"2"))
    assert [each.path for each in unpack(io.BytesIO(packed), str(tmp_path / "out"))] == ["a/b", "a/c"]


BOMB = 700 * 1024**2


def bomb_tar() -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        file.write(entry("b", size=BOMB))
        for _ in range(BOMB >> 20):
            file.write(bytes(1 << 20))
    return packed.getvalue()


def bomb_zip() -> bytes:
    deflate, crc = zlib.compressobj(wbits=-15), 0
    packed = bytearray()
    for _ in range(100):
        packed += deflate.compress(bytes(1 << 20))
        crc = zlib.crc32(bytes(1 << 20), crc)
    packed += deflate.flush()
    return zipped(Zipped(b"b", packed=bytes(packed), length=100 << 20, crc=crc))


@pytest.mark.parametrize("make", [bomb_tar, bomb_zip])
def test_a_bomb_is_bounded_in_memory_time_and_space(tmp_path, make) -> None:
    packed = make()
    tracemalloc.start()
    try:
        refused(packed, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 16 * 1024**2
    finally:
        tracemalloc.stop()


def test_a_bomb_of_extended_headers(tmp_path) -> None:
    refused(tar(*[pax(("comment", "x" * 60_000), kind=b"g")] * 200, entry("b", b"x")), tmp_path)


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_too_many_members(tmp_path, monkeypatch, kind) -> None:
    monkeypatch.setattr(archive_member, "MOST_MEMBERS", 50)
    names = [f"f{at}" for at in range(51)]
    packed = tar(*map(entry, names)) if kind == "tar" else zipped(*(Zipped(name.encode()) for name in names))
    refused(packed, tmp_path)


def test_more_bytes_than_any_archive_may_have(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(archive_member, "MOST_BYTES", 100_000)
    refused(tar(entry("b", os.urandom(200_000))), tmp_path)


def test_it_stops_when_nobody_waits(tmp_path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(ToolError) as raised:
        unpack(io.BytesIO(HONEST["pax"]), str(tmp_path / "out"), stopped=stop.is_set)
    assert raised.value.code == "CANCELLED"
    assert not (tmp_path / "out").exists()


def test_time_is_bounded(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(archive_member, "MOST_SECONDS", -1.0)
    refused(HONEST["zip"], tmp_path)


def test_a_directory_that_is_there_already_is_left_alone(tmp_path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")
    with pytest.raises(FileExistsError):
        unpack(io.BytesIO(HONEST["pax"]), str(tmp_path / "out"))
    assert tree(tmp_path / "out") == {"mine": b"kept"}


@pytest.mark.parametrize("kind", ["pax", "gnu", "zip", "streamed zip"])
def test_every_changed_byte_is_either_harmless_or_refused(tmp_path, kind) -> None:
    """Whatever is done to an archive, what comes out lies below its directory and is bounded."""
    packed = bytearray(HONEST[kind] if len(HONEST[kind]) < 4000 else honest_tar({"a/b": b"#!x", "c": b"words"}))
    for at in range(len(packed)):
        changed = bytes(packed[:at]) + bytes([packed[at] ^ 0x15]) + bytes(packed[at + 1 :])
        place = tmp_path / f"out{at}"
        try:
            unpack(io.BytesIO(changed), str(place))
        except Unsafe:
            assert not place.exists()
        else:
            assert len(tree(place)) <= len(FILES)
    assert {path.name.rstrip("0123456789") for path in tmp_path.iterdir()} <= {"out"}


def glued(chance: random.Random, packed: bytes) -> bytes:
    """An archive in which something was changed, put in or cut out; the checksums of its headers are right again."""
    is_tar = packed.startswith(b"\x1f\x8b")
    data = bytearray(gzip.decompress(packed) if is_tar else packed)
    for _ in range(chance.randint(1, 6)):
        at, length = chance.randrange(len(data)), chance.randint(1, 600)
        match chance.choice(("change", "change", "put in", "cut out")):
            case "change":
                data[at] = chance.randrange(256)
            case "put in":
                data[at:at] = chance.randbytes(length)
            case _:
                del data[at : at + length]
        data = data or bytearray(1)
    if not is_tar:
        return bytes(data)
    for at in range(0, len(data) - 511, 512):
        if data[at + 257 : at + 262] == b"ustar":
            data[at + 148 : at + 156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
    return gzip.compress(bytes(data), 1)


def test_three_thousand_archives_that_were_cut_and_glued() -> None:
    """Each is read, or refused in our own words; no other error, and no time to speak of."""
    chance, outcomes = random.Random(4), {"read": 0, "refused": 0}
    for at in range(3000):
        packed = glued(chance, [*HONEST.values()][at % len(HONEST)])
        began = time.monotonic()
        try:
            contents(io.BytesIO(packed))
            outcomes["read"] += 1
        except Unsafe:
            outcomes["refused"] += 1
        assert time.monotonic() - began < 5
    assert min(outcomes.values()) > 10
