"""Answers told while they come, and files sent while they are read."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from toolcrib.backends.http_stream import LONGEST, Events, Lines
from toolcrib.core.call import Result

from .http_server import Seen, answered, ask, calling, http_tool


def streamed(root: Path, content_type: str, *chunks: bytes) -> tuple[Result, list[str | None]]:
    """A call of a tool that streams. Each chunk is written when what the one before it holds was told."""
    told: list[str | None] = []
    heard = asyncio.Event()

    def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(message)
        heard.set()

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for chunk in chunks:
            heard.clear()
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await writer.drain()
            await asyncio.wait_for(heard.wait(), 10)
        writer.write(b"0\r\n\r\n")

    result, _ = ask(root, answer, stream=True, call={"progress": progress})
    return result, told


def test_each_event_is_told_when_it_comes(tmp_path: Path) -> None:
    """A47: the server waits with the next one until the one before was told."""
    result, told = streamed(
        tmp_path,
        "text/event-stream",
        b"data: one\n\n",
        b"event: x\nid: 1\ndata: two\ndata: lines\n\n: note\ndata:3\r\n\r\n",
    )
    assert told == ["one", "two\nlines", "3"]
    assert result.data == "data: one\n\nevent: x\nid: 1\ndata: two\ndata: lines\n\n: note\ndata:3\r\n\r\n"


def test_each_line_is_told_when_it_comes(tmp_path: Path) -> None:
    """A47."""
    result, told = streamed(tmp_path, "application/x-ndjson", b'{"a": 1}\n', b'{"b": 2}\n{"c"', )  # fmt: skip
    assert told == ['{"a": 1}', '{"b": 2}', '{"c"']
    assert result.data == '{"a": 1}\n{"b": 2}\n{"c"'


def test_of_bytes_it_is_told_how_many(tmp_path: Path) -> None:
    """A47."""
    result, told = streamed(tmp_path, "application/octet-stream", b"\0" * 10, b"\0" * 5)
    assert told == ["10 bytes", "15 bytes", "15 bytes"]
    assert result.data["bytes"] == 15


def test_json_that_streams_is_data_in_the_end(tmp_path: Path) -> None:
    """A47."""
    result, told = streamed(tmp_path, "application/json", b'{"a":\n', b"1}\n")
    assert told == ['{"a":', "1}"]
    assert result.data == {"a": 1}


def test_a_secret_that_comes_in_two_pieces_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMED_SECRET", "hunter2-hunter2")
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "config.yaml").write_text("tools: {ask: {secrets: [STREAMED_SECRET]}}\n")
    told: list[str | None] = []
    answer = answered("first hunter2-" + "hunter2 last\nmore\n", "content-type: text/plain")
    result, _ = ask(tmp_path, answer, stream=True, call={"progress": lambda done, total, message: told.append(message)})
    assert "hunter2" not in str(told)
    assert "hunter2" not in str(result.data)


def test_a_stream_that_does_not_end_meets_the_time_limit_with_what_came(tmp_path: Path) -> None:
    """A47, A14."""

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: one\n\n")
        await seen.reader.read()

    result, server = ask(tmp_path, answer, stream=True, timeout_ms=300)
    assert result.error is not None
    assert result.error.code == "TIMEOUT"
    assert result.error.details["body"] == "data: one\n\n"
    assert server.closed.is_set()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_however_it_is_cut_the_lines_are_the_same(end: str) -> None:
    text = end.join(["one", "", "zwei €", "x" * (LONGEST + 5), "last"]).encode()
    whole = [*Lines().feed(text, end=True)]
    for size in (1, 2, 3, 7):
        lines = Lines()
        cut = [line for at in range(0, len(text), size) for line in lines.feed(text[at : at + size])]
        cut += lines.feed(b"", end=True)
        assert "".join(cut) == "".join(whole)
        assert [each for each in cut if len(each) < LONGEST][:3] == ["one", "", "zwei €"]


def test_a_line_and_an_event_without_an_end_are_told_in_parts() -> None:
    lines, events = Lines(), Events()
    told = [each for _ in range(100) for each in lines.feed(b"x" * 10_000)]
    assert max(map(len, told)) <= LONGEST
    told = [each for _ in range(100) for each in events.feed(b"data: " + b"x" * 10_000 + b"\n")]
    assert max(map(len, told)) <= LONGEST
    assert sum(map(len, told)) > 900_000


def parts_of(seen: Seen) -> list[tuple[str, bytes]]:
    kind = seen.header("content-type")
    assert kind is not None
    boundary = kind.removeprefix("multipart/form-data; boundary=").encode()
    pieces = seen.body.split(b"--" + boundary)
    assert (pieces[0], pieces[-1]) == (b"", b"--\r\n")
    split = (each[2:-2].partition(b"\r\n\r\n") for each in pieces[1:-1])
    return [(head.decode(), body) for head, _, body in split]


WHISPER = {
    "method": "POST",
    "files": {"file": "${audio_file}"},
    "body_template": {"model": "whisper-1", "language": "${language}"},
}


def test_a_file_of_the_workspace_is_sent(tmp_path: Path) -> None:
    """A48."""
    audio = os.urandom(300_000)
    (tmp_path / "work" / "sub").mkdir(parents=True)
    (tmp_path / "work" / "sub" / "talk.mp3").write_bytes(audio)
    result, server = ask(tmp_path, answered('{"text": "hi"}', "content-type: application/json"),
                         {"audio_file": "sub/talk.mp3"}, **WHISPER)  # fmt: skip
    assert result.data == {"text": "hi"}
    assert parts_of(server.seen[0]) == [
        ('Content-Disposition: form-data; name="model"', b"whisper-1"),
        ('Content-Disposition: form-data; name="file"; filename="talk.mp3"\r\nContent-Type: audio/mpeg', audio),
    ]
    assert "talk.mp3" in str(result.metadata["files_accessed"])


def test_arguments_beside_a_file_are_fields(tmp_path: Path) -> None:
    """A48."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.bin").write_bytes(b"")
    _, server = ask(tmp_path, answered("ok"), {"path": "a.bin", "n": 1, "tags": ["x"], "none": None},
                    method="PUT", files={"f": "${path}"})  # fmt: skip
    assert parts_of(server.seen[0]) == [
        ('Content-Disposition: form-data; name="n"', b"1"),
        ('Content-Disposition: form-data; name="tags"', b'["x"]'),
        ('Content-Disposition: form-data; name="f"; filename="a.bin"\r\nContent-Type: application/octet-stream', b""),
    ]


def test_a_file_is_sent_again_where_a_redirect_asks_for_it(tmp_path: Path) -> None:
    """A48."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_bytes(b"content")

    def answer(seen: Seen, writer: Any) -> bytes:
        return answered("ok") if seen.target == "/next" else answered("", "Location: /next", status="307 Again")

    result, server = ask(tmp_path, answer, {"p": "a.txt"}, method="POST", files={"f": "${p}"})
    assert result.data == "ok"
    assert [parts_of(seen)[0][1] for seen in server.seen] == [b"content", b"content"]


@pytest.mark.parametrize("path", ["missing.txt", "../outside.txt", "/etc/passwd", "link", "fifo", "dir", "a\0b", ""])
def test_what_is_no_file_of_the_workspace_is_not_sent(tmp_path: Path, path: str) -> None:
    """A48, A35."""
    work = tmp_path / "work"
    (work / "dir").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("secret")
    (work / "link").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(work / "fifo")
    result, server = ask(tmp_path, answered("ok"), {"p": path}, method="POST", files={"f": "${p}"})
    assert result.error is not None
    assert server.connections == 0


def test_files_that_are_too_much_are_not_sent(tmp_path: Path) -> None:
    """A48."""
    (tmp_path / "work").mkdir()
    with (tmp_path / "work" / "huge").open("wb") as file:
        file.truncate(300 * 1024 * 1024)  # of nothing, on most disks
    result, server = ask(tmp_path, answered("ok"), {"p": "huge"}, method="POST", files={"f": "${p}"})
    assert result.error is not None
    assert result.error.code == "INPUT_TOO_LARGE"
    assert server.connections == 0


def test_a_file_that_gets_shorter_is_not_sent_as_if_it_were_whole(tmp_path: Path) -> None:
    """A48."""
    path = tmp_path / "work" / "shrinking"
    path.parent.mkdir()
    path.write_bytes(b"x" * 50_000_000)

    async def run() -> tuple[Result, bytes]:
        end: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")  # it has begun to come
            os.truncate(path, 10)
            last = b""
            while chunk := await reader.read(1 << 20):
                last = chunk
            writer.close()
            await writer.wait_closed()
            end.set_result(last)

        listening = await asyncio.start_server(cut, "127.0.0.1", 0)
        netloc = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        fields = {"url": f"http://{netloc}/", "method": "POST", "files": {"f": "shrinking"}}
        async with listening, calling(tmp_path, http_tool(fields, allow=(netloc,))) as call:
            return await call({}), await asyncio.wait_for(end, 10)

    result, last = asyncio.run(run())
    assert not last.endswith(b"--\r\n")
    assert result.error is not None
    assert "shorter" in result.error.message


def test_a_server_that_does_not_read_meets_the_time_limit(tmp_path: Path) -> None:
    """A48, A14."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "big").write_bytes(bytes(50_000_000))

    async def run() -> Result:
        begun, over = asyncio.Event(), asyncio.Event()

        async def idle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.transport.pause_reading()  # type: ignore[attr-defined]  # it is a socket's
            begun.set()
            await over.wait()
            writer.transport.abort()

        listening = await asyncio.start_server(idle, "127.0.0.1", 0)
        netloc = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        fields = {"url": f"http://{netloc}/", "method": "POST", "files": {"f": "big"}, "timeout_ms": 300}
        async with listening, calling(tmp_path, http_tool(fields, allow=(netloc,))) as call:
            result = await call({})
            assert begun.is_set()
            over.set()
            await asyncio.sleep(0)  # the other side sees it
            return result

    result = asyncio.run(run())
    assert result.error is not None
    assert result.error.code == "TIMEOUT"


def test_the_gate_judges_the_files(tmp_path: Path) -> None:
    """A48: a rule for a path holds for what is sent from it."""
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "policy.yaml").write_text(
        "rules:\n  - id: not for others\n    paths: [private/**]\n    approval: blocked\n"
    )
    (tmp_path / "work" / "private").mkdir(parents=True)
    (tmp_path / "work" / "private" / "a.txt").write_text("x")
    result, server = ask(tmp_path, answered("ok"), {"p": "private/a.txt"}, method="POST", files={"f": "${p}"})
    assert result.error is not None
    assert result.error.code == "BLOCKED_BY_POLICY"
    assert server.connections == 0
