"""What becomes of the answers that real servers give, the broken and the hostile ones too."""

import asyncio
import gzip
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.limits import ARTIFACT_BYTES

from .http_server import Seen, Vault, answered, as_json, ask, calling, http_tool, serving

LIMIT = 102_400


def test_json_is_data(tmp_path: Path) -> None:
    result, _ = ask(
        tmp_path, answered('{"n": 12345678901234567890123, "x": [1]}', "content-type: application/vnd.a+json")
    )
    assert result.data == {"n": 12345678901234567890123, "x": [1]}


def test_json_that_is_none_is_text(tmp_path: Path) -> None:
    result, _ = ask(tmp_path, as_json('{"a": NaN}'))
    assert result.data == '{"a": NaN}'


def test_a_byte_order_mark_is_no_part_of_it(tmp_path: Path) -> None:
    result, _ = ask(tmp_path, as_json('\ufeff{"a": 1}'))
    assert result.data == {"a": 1}


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("text/plain", "grüße".encode(), "grüße"),
        ("text/plain; charset=iso-8859-1", "grüße".encode("latin-1"), "grüße"),
        ('text/html; charset="utf-16"', "grüße".encode("utf-16"), "grüße"),
        ("text/plain; charset=shift_jis", "日本".encode("shift_jis"), "日本"),
        ("text/plain; charset=nobody-knows", "grüße".encode(), "grüße"),
        ("text/plain; charset=rot13", b"abc", "abc"),
        ("text/plain; charset=zlib", b"abc", "abc"),
        ("text/plain; charset=idna", b"abc", "abc"),
        ("text/plain; charset=unicode_escape", b"a\\u0041", "a\\u0041"),
        ("text/plain; charset=\x00", b"abc", "abc"),
        ("text/plain", b"a\xff\xfeb", "a\\xff\\xfeb"),
        ("text/plain; charset=utf-16", b"a\x00b", "a\\x62"),
        ("", b"plain", "plain"),
    ],
)
def test_text_is_text_whatever_its_bytes(tmp_path: Path, content_type: str, body: bytes, text: str) -> None:
    if "\0" in content_type:  # no header carries it
        content_type = content_type.replace("\0", "")
    result, _ = ask(tmp_path, answered(body, *([f"Content-Type: {content_type}"] if content_type else [])))
    assert result.data == text


@pytest.mark.parametrize("header", [["Content-Type: image/png"], []])
def test_anything_else_is_an_artifact(tmp_path: Path, header: list[str]) -> None:
    body = b"\x89PNG\r\n\x1a\n\0\0" + bytes(range(256))
    result, _ = ask(tmp_path, answered(body, *header))
    [artifact] = result.metadata["artifacts"]
    kind = "image/png" if header else "application/octet-stream"
    assert result.data == {"content_type": kind, "bytes": len(body), "artifact": artifact["id"]}
    assert Path(artifact["path"]).read_bytes() == body


def test_an_empty_answer_is_an_empty_text(tmp_path: Path) -> None:
    assert ask(tmp_path, answered(status="204 No Content"))[0].data == ""
    assert ask(tmp_path, as_json(""))[0].data == ""


def test_a_head_tells_the_headers(tmp_path: Path) -> None:
    result, _ = ask(tmp_path, answered("", "ETag: 1", "Set-Cookie: a=b", length=5), method="HEAD")
    assert result.data == {"status": 200, "headers": {"etag": "1", "content-length": "5"}}


@pytest.mark.parametrize(
    ("status", "says"), [("404 Gone Fishing", "answered 404 Not Found"), ("599 X", "answered 599")]
)
def test_a_failure_by_status_is_one(tmp_path: Path, status: str, says: str) -> None:
    result, server = ask(
        tmp_path, answered('{"error": "no such city"}', "content-type: application/json", status=status)
    )
    assert result.error is not None
    assert result.error.code == "EXECUTION_ERROR"
    assert says in result.error.message
    assert "no such city" in result.error.message
    assert result.error.details == {"status": int(status[:3]), "body": {"error": "no such city"}}


def test_the_body_of_a_failure_is_bounded(tmp_path: Path) -> None:
    result, _ = ask(tmp_path, answered("x" * 500_000, status="500 Oops"))
    assert result.error is not None
    assert len(result.error.details["body"]) < 20_000
    assert len(result.error.message) < 1000


def test_a_longer_answer_keeps_its_ends_and_is_whole_in_an_artifact(tmp_path: Path) -> None:
    """A8, A37: 100 KiB."""
    body = "".join(f"line {n}\n" for n in range(100_000))
    result, _ = ask(tmp_path, answered(body, "content-type: text/plain"))
    assert isinstance(result.data, str)
    assert LIMIT - 10 <= len(result.data) <= LIMIT + 200
    assert result.data.startswith("line 0\n")
    assert result.data.endswith("line 99999\n")
    assert result.metadata["truncated"] is True
    [artifact] = result.metadata["artifacts"]
    assert artifact["id"] in result.data
    assert Path(artifact["path"]).read_text() == body


def test_json_over_the_limit_is_shown_as_text(tmp_path: Path) -> None:
    """A8."""
    result, _ = ask(tmp_path, as_json('["' + "x" * LIMIT + '"]'))
    assert isinstance(result.data, str)
    assert result.metadata["truncated"] is True


def test_json_within_the_limit_is_data(tmp_path: Path) -> None:
    """A8."""
    result, _ = ask(tmp_path, as_json('["' + "x" * (LIMIT - 4) + '"]'))
    assert result.data == ["x" * (LIMIT - 4)]
    assert result.metadata["truncated"] is False


def test_a_limit_can_be_smaller(tmp_path: Path) -> None:
    """A8."""
    result, _ = ask(tmp_path, answered("abcdefghij", "content-type: text/plain"), max_output=4)
    assert result.data.startswith("ab\n[… 6 of 10 bytes left out")
    assert result.data.endswith("…]\nij")


def test_a_secret_in_an_answer_is_taken_out_of_the_artifact_too(tmp_path: Path) -> None:
    """The values are those that the configuration names."""
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "config.yaml").write_text("tools: {ask: {secrets: [W1_SECRET]}}\n")
    os.environ["W1_SECRET"] = "hunter2-hunter2"
    try:
        body = "a" * 200_000 + "hunter2-hunter2" + "b" * 200_000
        result, _ = ask(tmp_path, answered(body, "content-type: text/plain"))
    finally:
        del os.environ["W1_SECRET"]
    kept = Path(result.metadata["artifacts"][0]["path"]).read_text()
    assert "hunter2" not in kept
    assert "[redacted:W1_SECRET]" in kept


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"hello ", mtime=0) + gzip.compress(b"there", mtime=0)),
        ("x-gzip", gzip.compress(b"hello there", mtime=0)),
        ("GZIP", gzip.compress(b"hello there", mtime=0)),
        ("deflate", zlib.compress(b"hello there")),
        ("deflate", zlib.compress(b"hello there")[2:-4]),
        ("identity", b"hello there"),
    ],
)
def test_compressed_answers_are_unpacked(tmp_path: Path, encoding: str, body: bytes) -> None:
    result, server = ask(tmp_path, answered(body, "content-type: text/plain", f"Content-Encoding: {encoding}"))
    assert result.data == "hello there"
    assert server.seen[0].header("accept-encoding") == "gzip, deflate"


@pytest.mark.parametrize(
    ("encoding", "body", "says"),
    [
        ("br", b"x", "not asked for"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), "not asked for"),
        ("gzip", b"not gzip at all", "not the gzip data"),
        ("gzip", gzip.compress(bytes(range(256)), mtime=0)[:-20], "cut short"),
        ("deflate", b"\xff\xff\xff", "not the deflate data"),
    ],
)
def test_what_cannot_be_unpacked_is_an_error(tmp_path: Path, encoding: str, body: bytes, says: str) -> None:
    result, _ = ask(tmp_path, answered(body, "content-type: text/plain", f"Content-Encoding: {encoding}"))
    assert result.error is not None
    assert says in result.error.message


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (answered("short", length=100), "cut short"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n", "cut short"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "cut short"),
        (b"", "no answer"),
        (b"SSH-2.0-OpenSSH_9\r\n", "no answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "no answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nab", "no answer"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-Flood: %s\r\n" % (b"x" * 1000) * 1000 + b"\r\n", "no answer"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000, "no answer"),
    ],
)
def test_a_broken_answer_is_an_error_that_says_so(tmp_path: Path, answer: bytes, says: str) -> None:
    result, server = ask(tmp_path, answer)
    assert result.error is not None
    assert result.error.code == "EXECUTION_ERROR"
    assert says in result.error.message
    assert len(server.seen) == 1


def test_what_came_of_a_broken_answer_is_in_the_details(tmp_path: Path) -> None:
    result, _ = ask(tmp_path, answered("the first half", length=100))
    assert result.error is not None
    assert result.error.details == {"status": 200, "body": "the first half"}


def test_whether_a_post_without_an_answer_was_carried_out_is_not_known(tmp_path: Path) -> None:
    result, server = ask(tmp_path, b"", method="POST")
    assert result.error is not None
    assert result.error.code == "OUTCOME_UNKNOWN"
    assert len(server.seen) == 1


def test_what_announces_an_answer_is_none(tmp_path: Path) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 50
    result, _ = ask(tmp_path, b"HTTP/1.1 100 Continue\r\n\r\n" + early + answered("then"))
    assert result.data == "then"


def test_nobody_switches_to_another_protocol(tmp_path: Path) -> None:
    answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello"
    result, _ = ask(tmp_path, answer)
    assert not result.success


def test_nobody_listens(tmp_path: Path) -> None:
    async def run() -> Any:
        async with serving(b"") as server:
            netloc = server.netloc
        async with calling(
            tmp_path, http_tool({"url": f"http://{netloc}/", "method": "POST"}, allow=(netloc,))
        ) as call:
            return await call({}, retry=None)

    result = asyncio.run(run())
    assert result.error.code == "EXECUTION_ERROR"
    assert "did not take the connection" in result.error.message


@pytest.mark.parametrize(
    "begin", [b"", b"HTTP/1.1 200 OK\r\n", answered("some", "content-type: text/plain", length=10)]
)
def test_a_slow_server_meets_the_time_limit_and_the_connection_ends(tmp_path: Path, begin: bytes) -> None:
    """A14, A38."""

    async def hang(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(begin)
        await seen.reader.read()  # until the other side is gone

    result, server = ask(tmp_path, hang, timeout_ms=300)
    assert result.error is not None
    assert result.error.code == "TIMEOUT"
    assert server.closed.is_set()
    if begin.endswith(b"some"):
        assert result.error.details["body"] == "some"


def endless(head: bytes, chunk: bytes, times: int) -> Any:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        for _ in range(times):
            writer.write(chunk)
            await writer.drain()

    return answer


def test_a_body_of_a_gibibyte_is_cut_and_fills_no_disk(tmp_path: Path) -> None:
    """A8, A37."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1073741824\r\n\r\n"
    result, _ = ask(tmp_path, endless(head, b"x" * 65536, 16384))
    assert result.success
    assert len(result.data) < LIMIT + 200
    assert result.metadata["cut_off"] is True
    [artifact] = result.metadata["artifacts"]
    assert artifact["bytes"] == os.path.getsize(artifact["path"]) == ARTIFACT_BYTES


def test_a_gzip_bomb_is_not_taken(tmp_path: Path) -> None:
    packed = zlib.compressobj(6, zlib.DEFLATED, 31)
    bomb = b"".join(packed.compress(bytes(1024 * 1024)) for _ in range(40)) + packed.flush()
    result, _ = ask(tmp_path, answered(bomb, "content-type: text/plain", "content-encoding: gzip"))
    assert result.error is not None
    assert "100 times" in result.error.message
    assert result.metadata["bytes"] < 12 * 1024 * 1024


_MEASURED = """
import asyncio, resource, sys, zlib
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from http_server import answered, calling, http_tool, serving

packed = zlib.compressobj(6, zlib.DEFLATED, 31)
bomb = b"".join(packed.compress(bytes(1024 * 1024)) for _ in range(150)) + packed.flush()

async def flood(seen, writer):
    if seen.target == "/bomb":
        return writer.write(answered(bomb, "content-type: text/plain", "content-encoding: gzip"))
    kind = b"text/plain" if seen.target == "/text" else b"application/octet-stream"
    writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: " + kind + b"\\r\\n\\r\\n")
    while not writer.transport.is_closing():
        writer.write(b"x" * 65536)
        await writer.drain()

async def main():
    async with serving(flood) as server:
        async with calling(Path(sys.argv[1]), http_tool({"url": server.url("/warm")}, allow=(server.netloc,))):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for path in ("/bomb", "/text", "/binary"):
            tool = http_tool({"url": server.url(path), "stream": path == "/text"}, allow=(server.netloc,))
            async with calling(Path(sys.argv[1]), tool) as call:
                await call({})
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)

asyncio.run(main())
"""


def test_memory_stays_bounded_whatever_comes(tmp_path: Path) -> None:
    """A37: a bomb and two endless bodies, in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, str(tmp_path), str(Path(__file__).parent)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 48, f"{done.stdout.strip()} MiB more than before"


def test_a_hundred_calls_at_once_leave_no_descriptor_behind(tmp_path: Path) -> None:
    async def run() -> tuple[list[Any], int]:
        async with serving(as_json('{"ok": 1}')) as server:
            tool = http_tool({"url": server.url("/")}, allow=(server.netloc,))
            async with calling(tmp_path, tool) as call:
                await call({})
                await server.closed.wait()
                before = len(os.listdir("/dev/fd"))
                results = await asyncio.gather(*(call({"n": n}) for n in range(100)))
                await asyncio.wait_for(server.closed.wait(), 10)
                return [each.data for each in results], len(os.listdir("/dev/fd")) - before

    data, more = asyncio.run(run())
    assert data == [{"ok": 1}] * 100
    assert more <= 0


def test_a_secret_is_in_no_error(tmp_path: Path) -> None:
    result, server = ask(
        tmp_path,
        b"",
        secret=Vault(KEY="s3cr3t-s3cr3t"),
        path="/p?k=${env:KEY}",
        headers={"Authorization": "${env:KEY}"},
    )
    assert result.error is not None
    assert "s3cr3t" in server.seen[0].target
    assert "s3cr3t" not in str(result.to_dict())
