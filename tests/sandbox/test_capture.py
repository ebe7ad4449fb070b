"""Output of any size and any bytes: bounded in memory, exact in number, whole in a file."""

import asyncio
import errno
import fcntl
import os
import random
import resource
import sys
import tracemalloc

import pytest

from toolcrib.core.limits import ARTIFACT_BYTES, VIEW_BYTES
from toolcrib.core.process import Captured
from toolcrib.policy.redact import Redactor
from toolcrib.sandbox import capture as module
from toolcrib.sandbox.capture import CHUNK, Capture

MEBIBYTE = 1024 * 1024


class Files:
    """Artifacts in a directory."""

    def __init__(self, root) -> None:
        self.root = root

    def create(self, name: str) -> tuple[str, str, int]:
        path = self.root / name
        return name, str(path), os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)


class FullDisk(Files):
    def create(self, name: str) -> tuple[str, str, int]:
        return name, "/dev/full", os.open("/dev/full", os.O_WRONLY)


class NoRoom(Files):
    def create(self, name: str) -> tuple[str, str, int]:
        raise OSError(28, "No space left on device")


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def taken(*chunks: bytes, keep: int, artifacts=None, filter=None) -> Captured:
    """What a capture makes of these chunks, written one by one."""
    reads, writes = os.pipe()
    os.set_blocking(reads, False)
    capture = Capture(reads, name="stream", keep=keep, artifacts=artifacts, filter=filter)
    for chunk in chunks:
        os.write(writes, chunk)
        assert capture.read()
    os.close(writes)
    assert not capture.read()
    capture.close()
    return capture.result()


def test_yes_is_counted_exactly_and_kept_in_an_artifact(yard, tmp_path) -> None:
    """K32, K36, K51: memory grows by less than 20 MiB, the number is exact, the artifact is the beginning."""
    yard.sh("head -c 3000000 /dev/zero", artifacts=Files(tmp_path))
    ended = []
    command = yard.command("/usr/bin/env", "yes", artifacts=Files(tmp_path))
    peak = [resident()] * 2

    async def flooded() -> None:
        task = asyncio.create_task(yard.sandbox.exec(command, ended=ended.append))
        artifact = tmp_path / f"{command.mark}.stdout"
        while not (artifact.exists() and artifact.stat().st_size >= ARTIFACT_BYTES):
            await asyncio.sleep(0.005)
            peak[1] = max(peak[1], resident())
        for _ in range(20):  # past the artifact's limit it is drained and counted
            await asyncio.sleep(0.005)
            peak[1] = max(peak[1], resident())
        task.cancel()
        await asyncio.wait((task,))

    asyncio.run(flooded())
    assert peak[1] - peak[0] < 20 * MEBIBYTE
    out = ended[0].stdout
    assert out.total > ARTIFACT_BYTES
    assert (len(out.head), len(out.tail), out.omitted) == (MEBIBYTE // 2, MEBIBYTE // 2, out.total - MEBIBYTE)
    ident, path, length = out.artifact
    assert (ident, length, os.path.getsize(path)) == (f"{command.mark}.stdout", ARTIFACT_BYTES, ARTIFACT_BYTES)
    with open(path, "rb") as file:
        assert all(chunk == b"y\n" * (MEBIBYTE // 2) for chunk in iter(lambda: file.read(MEBIBYTE), b""))
    assert f"{out.omitted} of {out.total} bytes left out" in out.text()
    assert ident in out.text()


def test_the_exact_number_of_bytes_of_a_known_flood(yard, tmp_path) -> None:
    """ "More than 1 MB turned into "command failed"" and "Output cut at the limit without a word." """
    done = yard.sh("head -c 100000000 /dev/zero; head -c 7654321 /dev/zero >&2", artifacts=Files(tmp_path))
    assert (done.code, done.stdout.total, done.stderr.total) == (0, 100_000_000, 7_654_321)
    assert done.stdout.artifact[2] == ARTIFACT_BYTES
    assert done.stderr.artifact[2] == 7_654_321 == os.path.getsize(done.stderr.artifact[1])


def test_one_line_of_a_hundred_mebibytes(yard) -> None:
    done = yard.sh("head -c 104857600 /dev/zero | tr '\\0' x", keep=64 * 1024)
    assert (done.code, done.stdout.total) == (0, 104857600)
    assert set(done.stdout.head + done.stdout.tail) == {ord("x")}


def test_the_artifact_holds_the_stream_byte_for_byte(yard, tmp_path) -> None:
    sent = os.urandom(3 * MEBIBYTE + 17)
    done = yard.run("/bin/cat", stdin=sent, artifacts=Files(tmp_path), keep=1000)
    with open(done.stdout.artifact[1], "rb") as file:
        assert file.read() == sent
    assert (done.stdout.head, done.stdout.tail) == (sent[:500], sent[-500:])


def test_what_fits_makes_no_artifact(yard, tmp_path) -> None:
    done = yard.run("/bin/cat", stdin=b"x" * 1000, artifacts=Files(tmp_path), keep=1000)
    assert (done.stdout, os.listdir(tmp_path)) == (Captured(b"x" * 1000, total=1000), [])


@pytest.mark.parametrize("disk", [FullDisk, NoRoom])
def test_a_full_disk_costs_the_artifact_not_the_call(yard, tmp_path, disk) -> None:
    done = yard.sh("head -c 3000000 /dev/zero; echo end", artifacts=disk(tmp_path))
    assert (done.code, done.stdout.total, done.stdout.tail[-4:]) == (0, 3000004, b"end\n")
    assert done.stdout.artifact is None


def test_a_second_attempt_of_a_call_has_an_artifact_too(yard, tmp_path) -> None:
    """A retried call keeps its id, so the name of its artifact is taken."""
    command = yard.command("/bin/sh", "-c", "head -c 2000000 /dev/zero", artifacts=Files(tmp_path))
    first, second = (asyncio.run(yard.sandbox.exec(command)).stdout.artifact for _ in range(2))
    assert first[1] != second[1]
    assert os.path.getsize(first[1]) == os.path.getsize(second[1]) == 2_000_000


@pytest.mark.parametrize("keep", [1, 2, 3, 10, 11, 4096])
def test_head_and_tail_are_the_ends_of_the_stream(keep, tmp_path) -> None:
    sent = bytes(range(256)) * 40
    chunks = [sent[at : at + 97] for at in range(0, len(sent), 97)]
    got = taken(*chunks, keep=keep)
    assert got.total == len(sent)
    assert len(got.head) + len(got.tail) == keep
    assert sent.startswith(got.head) and sent.endswith(got.tail)
    assert got.omitted == len(sent) - keep


@pytest.mark.parametrize("size", [9, 10, 11])
def test_at_the_limit_and_one_beside_it(size) -> None:
    got = taken(b"a" * size, keep=10)
    assert (got.total, got.omitted) == (size, max(0, size - 10))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"caf\xe9 au lait", "caf\\xe9 au lait"),
        (b"\xff", "\\xff"),
        (b"a\0b", "a\0b"),
        ("naïve ☃ 𝄞".encode(), "naïve ☃ 𝄞"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
        (b"cut \xe2\x98", "cut \\xe2\\x98"),
        (b"  kept \r\n\n", "  kept \r\n\n"),
    ],
)
def test_any_bytes_stay_readable(yard, raw, shown) -> None:
    """ "One invalid UTF-8 byte made output empty with exit 0." """
    done = yard.run("/bin/cat", stdin=raw)
    assert (done.code, done.stdout.head, done.stdout.text()) == (0, raw, shown)


def test_a_cut_through_a_character_leaves_no_half(yard) -> None:
    done = yard.run("/bin/cat", stdin="☃".encode() * 1000, keep=100)
    text = done.stdout.text()
    assert "\\x" not in text
    assert text.startswith("☃" * 16 + "\n[… 2900 of 3000 bytes left out")


def test_bytes_that_are_no_text_are_shown_in_a_cut_output_too(yard) -> None:
    done = yard.run("/bin/cat", stdin=b"\xff\xfe" + b"x" * 5000, keep=100)
    assert done.stdout.text().startswith("\\xff\\xfexx")


def test_a_flood_on_stderr_does_not_drown_stdout(yard) -> None:
    done = yard.sh("head -c 20000000 /dev/zero >&2; echo answer", keep=1000)
    assert (done.code, done.stdout.head, done.stderr.total) == (0, b"answer\n", 20_000_000)


def test_one_loud_program_does_not_keep_the_loop_from_a_quiet_one(yard) -> None:
    async def both() -> bytes:
        loud = asyncio.create_task(yard.exec("/usr/bin/env", "yes", keep=1000))
        quiet = await asyncio.wait_for(yard.exec("/bin/sh", "-c", "echo quiet"), 10)
        loud.cancel()
        await asyncio.wait((loud,))
        return quiet.stdout.head

    assert asyncio.run(both()) == b"quiet\n"


def test_an_artifact_that_holds_the_beginning_only_is_not_called_the_whole() -> None:
    stream = Captured(b"head", b"tail", ARTIFACT_BYTES + 8, ("id", "/path", ARTIFACT_BYTES))
    assert "the whole is artifact" not in stream.text()
    assert str(ARTIFACT_BYTES) in stream.text()


SECRET = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz012345"


def test_a_secret_reaches_neither_memory_nor_file_however_it_is_cut(tmp_path) -> None:
    """All numbers are of what was let through, and the file is that byte for byte."""
    redactor, chance = Redactor({"TOKEN": SECRET}), random.Random(7)
    sent = b"".join(b"x" * chance.randint(0, 300) + SECRET.encode() for _ in range(200)) + b"end"
    clean = redactor.bytes(sent)
    cuts = sorted(chance.sample(range(len(sent)), 300))
    chunks = [sent[start:end] for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    got = taken(*chunks, keep=1000, artifacts=Files(tmp_path), filter=redactor.stream())
    assert (got.head, got.tail, got.total) == (clean[:500], clean[-500:], len(clean))
    assert got.omitted == len(clean) - 1000
    ident, path, length = got.artifact
    with open(path, "rb") as file:
        assert file.read() == clean
    assert (length, os.listdir(tmp_path)) == (len(clean), [ident])
    assert SECRET.encode() not in clean


def test_what_a_filter_held_back_comes_at_the_end_and_once() -> None:
    class Holds:
        held = b""

        def feed(self, chunk: bytes, /) -> bytes:
            self.held += chunk
            return b""

        def end(self) -> bytes:
            return self.held + b"!"

    assert taken(b"a", b"b", keep=10, filter=Holds()) == Captured(b"ab!", total=3)


def test_what_comes_after_the_result_goes_nowhere(tmp_path) -> None:
    """By then the filter has said its last word."""
    reads, writes = os.pipe()
    os.set_blocking(reads, False)
    stream = Redactor({"TOKEN": SECRET}).stream()
    capture = Capture(reads, name="stream", keep=100, artifacts=Files(tmp_path), filter=stream)
    os.write(writes, b"before")
    assert capture.read()
    first = capture.result()
    os.write(writes, SECRET.encode() * 10)
    os.close(writes)
    assert not capture.read()
    capture.close()
    assert (capture.result(), capture.so_far(), os.listdir(tmp_path)) == (first, first, [])


def test_held_bytes_that_go_over_the_limit_begin_the_file(tmp_path) -> None:
    """The last bytes of a filter count as all others do."""
    stream = Redactor({"TOKEN": SECRET}).stream()
    got = taken(b"x" * 20, keep=10, artifacts=Files(tmp_path), filter=stream)
    assert (got.head, got.tail, got.total, got.artifact[2]) == (b"x" * 5, b"x" * 5, 20, 20)


def test_each_stream_of_a_program_has_its_own_filter(yard, tmp_path) -> None:
    """A secret on either is taken out, and what one holds back does not come out of the other."""
    redactor = Redactor({"TOKEN": SECRET})
    command = yard.command(
        "/bin/sh", "-c", "cat; echo $SECRET >&2", stdin=f"({SECRET})".encode(), env={"SECRET": SECRET}
    )
    done = asyncio.run(yard.sandbox.exec(command._replace(filters=redactor.stream)))
    assert (done.code, done.stdout.head, done.stderr.head) == (0, b"([redacted:TOKEN])", b"[redacted:TOKEN]\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only there can a pipe be made larger")
def test_a_program_that_fills_the_pipe_gets_a_larger_one() -> None:
    """It works on while others are looked after, instead of standing still for a turn after each 64 KiB."""
    reads, writes = os.pipe()
    os.set_blocking(reads, False)
    os.set_blocking(writes, False)
    capture = Capture(reads, name="x", keep=MEBIBYTE, artifacts=None)
    room = os.write(writes, b"x" * MEBIBYTE)
    assert capture.read()
    assert os.write(writes, b"y" * MEBIBYTE) >= 4 * room
    os.close(writes)
    while capture.read():
        pass
    capture.close()
    assert capture.result().total >= 5 * room


# One capture, step by step


class Taken(Files):
    """A directory in which names are taken already."""

    def __init__(self, root, *names: str) -> None:
        super().__init__(root)
        self.names, self.asked = names, []

    def create(self, name: str) -> tuple[str, str, int]:
        self.asked.append(name)
        if name in self.names or not self.names:
            raise FileExistsError(name)
        return super().create(name)


def begun(*chunks: bytes, keep: int, artifacts=None) -> tuple[Capture, int]:
    """A capture of which these chunks were read, and the end to write more to."""
    reads, writes = os.pipe()
    os.set_blocking(reads, False)
    capture = Capture(reads, name="stream", keep=keep, artifacts=artifacts)
    for chunk in chunks:
        os.write(writes, chunk)
        assert capture.read()
    return capture, writes


def ended(capture: Capture, writes: int) -> Captured:
    os.close(writes)
    assert not capture.read()
    capture.close()
    return capture.result()


def test_what_came_up_to_now_can_be_asked_for_at_any_time(tmp_path) -> None:
    capture, writes = begun(b"abc", keep=4, artifacts=Files(tmp_path))
    assert capture.so_far() == Captured(b"abc", total=3)
    path = str(tmp_path / "stream")
    for chunk, expected in (
        (b"def", Captured(b"ab", b"ef", 6, ("stream", path, 6))),
        (b"gh", Captured(b"ab", b"gh", 8, ("stream", path, 8))),
        (b"i", Captured(b"ab", b"hi", 9, ("stream", path, 9))),
    ):
        os.write(writes, chunk)
        assert capture.read()
        assert capture.so_far() == expected
        assert os.path.getsize(path) == expected.total
    last = ended(capture, writes)
    assert last == capture.result() == capture.so_far() == Captured(b"ab", b"hi", 9, ("stream", path, 9))
    assert (tmp_path / "stream").read_bytes() == b"abcdefghi"


@pytest.mark.parametrize(("size", "in_a_file"), [(VIEW_BYTES, False), (VIEW_BYTES + 1, True)])
def test_what_is_longer_than_a_model_is_shown_is_in_a_file_also_when_it_is_kept(tmp_path, size, in_a_file) -> None:
    got = taken(b"x" * (size - 7), b"y" * 7, keep=MEBIBYTE, artifacts=Files(tmp_path))
    artifact = ("stream", str(tmp_path / "stream"), size) if in_a_file else None
    assert got == Captured(b"x" * (size - 7) + b"y" * 7, b"", size, artifact)
    assert not in_a_file or (tmp_path / "stream").read_bytes() == got.head


def test_no_descriptor_is_left_and_none_of_somebody_else_is_closed(tmp_path) -> None:
    before = len(os.listdir("/dev/fd"))
    capture, writes = begun(b"x" * 100, keep=10, artifacts=Files(tmp_path))
    assert capture.open
    ended(capture, writes)
    assert (capture.open, len(os.listdir("/dev/fd"))) == (False, before)
    other = [os.open(tmp_path, os.O_RDONLY) for _ in range(4)]  # among them the numbers that were given back
    capture.close()
    capture.result()
    for fd in other:
        os.fstat(fd)
        os.close(fd)


def test_a_stream_that_never_pauses_is_left_after_some_reads() -> None:
    capture = Capture(os.open("/dev/zero", os.O_RDONLY), name="stream", keep=10, artifacts=None)
    assert capture.read()
    assert capture.so_far() == Captured(bytes(5), bytes(5), 16 * CHUNK)
    capture.close()


def test_a_stream_that_breaks_is_at_its_end(tmp_path) -> None:
    capture = Capture(os.open(tmp_path, os.O_RDONLY), name="stream", keep=10, artifacts=None)  # it cannot be read
    assert not capture.read()
    capture.close()
    assert capture.result() == Captured(b"")


def test_of_what_is_not_kept_nothing_stays_in_memory() -> None:
    capture = Capture(os.open("/dev/zero", os.O_RDONLY), name="stream", keep=CHUNK, artifacts=None)
    tracemalloc.start()
    try:
        for _ in range(4):
            assert capture.read()
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    capture.close()
    assert held < 3 * CHUNK and peak < 4 * CHUNK


@pytest.mark.skipif(not hasattr(fcntl, "F_GETPIPE_SZ"), reason="only Linux makes pipes larger")
def test_only_a_program_that_fills_the_pipe_takes_room_for_a_larger_one() -> None:
    capture, writes = begun(b"x" * 1000, b"x" * 65535, keep=10)
    before = fcntl.fcntl(capture.fd, fcntl.F_GETPIPE_SZ)
    os.write(writes, b"x" * 65536)
    assert capture.read()
    assert before == 65536 < fcntl.fcntl(capture.fd, fcntl.F_GETPIPE_SZ)
    ended(capture, writes)


def test_a_pipe_that_cannot_be_made_larger_is_read_all_the_same(monkeypatch) -> None:
    def refuses(*args: object) -> int:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(fcntl, "fcntl", refuses)
    assert taken(b"x" * 65536, b"y", keep=2) == Captured(b"x", b"y", 65537)


# Its file


def test_a_file_of_another_name_is_begun_where_the_name_is_taken(tmp_path) -> None:
    files = Taken(tmp_path, "stream", "stream.2")
    got = taken(b"abc", b"def", keep=2, artifacts=files)
    assert files.asked == ["stream", "stream.2", "stream.3"]
    assert got.artifact == ("stream.3", str(tmp_path / "stream.3"), 6)
    assert (tmp_path / "stream.3").read_bytes() == b"abcdef"


def test_names_are_tried_so_often_and_then_no_more(tmp_path) -> None:
    files = Taken(tmp_path)
    assert taken(b"abc", b"def", b"ghi", keep=2, artifacts=files) == Captured(b"a", b"i", 9)
    assert files.asked == ["stream", *(f"stream.{number}" for number in range(2, 100))]


def test_where_there_is_no_room_it_is_asked_once(tmp_path) -> None:
    asked = []

    class Full(NoRoom):
        def create(self, name: str) -> tuple[str, str, int]:
            asked.append(name)
            return super().create(name)

    assert taken(b"abc", b"def", b"ghi", keep=2, artifacts=Full(tmp_path)) == Captured(b"a", b"i", 9)
    assert asked == ["stream"]


@pytest.mark.parametrize("sizes", [(250,), (99, 1, 150), (60, 60, 130), (1, 99, 100, 50)])
def test_a_file_ends_at_its_limit(tmp_path, monkeypatch, sizes) -> None:
    monkeypatch.setattr(module, "ARTIFACT_BYTES", 100)
    sent = os.urandom(250)
    starts = [sum(sizes[:at]) for at in range(len(sizes))]
    chunks = [sent[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    got = taken(*chunks, keep=20, artifacts=Files(tmp_path))
    assert got == Captured(sent[:10], sent[-10:], 250, ("stream", str(tmp_path / "stream"), 100))
    assert (tmp_path / "stream").read_bytes() == sent[:100]


def test_a_disk_that_fills_up_leaves_the_beginning(tmp_path, monkeypatch) -> None:
    """Written in pieces, as a system may; and what comes after the disk was full is not appended behind a hole."""
    before = len(os.listdir("/dev/fd"))
    capture, writes = begun(keep=4, artifacts=Files(tmp_path))
    real, room = os.write, [3, 5]

    def write(fd: int, data: bytes) -> int:
        if fd == writes:
            return real(fd, data)
        if not room:
            room.append(1000)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(fd, data[: room.pop(0)])

    monkeypatch.setattr(module.os, "write", write)
    for chunk in (b"0123456789", b"abcdef"):
        os.write(writes, chunk)
        assert capture.read()
    assert ended(capture, writes) == Captured(b"01", b"ef", 16, ("stream", str(tmp_path / "stream"), 8))
    assert (tmp_path / "stream").read_bytes() == b"01234567"
    assert len(os.listdir("/dev/fd")) == before
