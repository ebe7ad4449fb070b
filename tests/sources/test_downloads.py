"""Downloaded programs: fetched once, held to a digest, and nothing is left of what is not the right file."""

import asyncio
import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import toolcrib
from toolcrib.backends import archive
from toolcrib.backends.binary import make
from toolcrib.backends.network import Network
from toolcrib.core.errors import ToolError
from toolcrib.core.policy import Answer
from toolcrib.core.tool import Tool
from toolcrib.sources import download_fetch
from toolcrib.sources.downloads import DownloadCache
from toolcrib.store.blobs import Blobs
from toolcrib.store.download_pins import DownloadPins
from toolcrib.store.home import Home
from toolcrib.testing import FakeHands, fake_context

from ..backends.archives import entry, honest_tar, tar
from ..backends.http_server import Server, answered, serving
from ..backends.programs import Bench

PROGRAM = b"#!/bin/sh\necho downloaded\n"
SHA = hashlib.sha256(PROGRAM).hexdigest()
ROOT = Path(__file__).parents[2]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Depot(Bench):
    """A home that downloads what a server on loopback has."""

    def cache(self, server: Server, **more: object) -> DownloadCache:
        home = Home(self.home)
        return DownloadCache(home, Network((server.netloc,)), Blobs(home), **more)

    def offered(self, server: Server, cache: DownloadCache | None = None, **fields: object) -> Tool:
        """A tool whose program the server has."""
        said = {"url": server.url("/tool"), "sha256": SHA} | fields
        backend = {key: value for key, value in said.items() if value is not None}
        return self.tool(make, backend, downloads=cache or self.cache(server))

    async def run(self, tool: Tool, **about: object):
        async with self.open(tool) as crib:
            return await crib.call("tool", {}, **about)

    def kept(self) -> dict[str, bytes]:
        """All that is in the cache of the home, as files, but what is remembered of the tiers."""
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in (self.home / "cache").rglob("*")
            if path.is_file() and path.name != "tiers.json"
        }


class Silent:
    """An answer that begins, and does not go on until the story is over."""

    def __init__(self, begin: bytes = b"") -> None:
        self.begin, self.over = begin, asyncio.Event()

    async def __call__(self, seen, writer) -> None:
        writer.write(self.begin)
        await writer.drain()
        await self.over.wait()


@pytest.fixture
def depot(tmp_path: Path) -> Depot:
    return Depot(tmp_path)


def test_a_program_is_downloaded_once(depot) -> None:
    """A6: automatic, and cached, also for the next process."""

    async def story() -> None:
        async with serving(answered(PROGRAM)) as server:
            for _ in range(2):  # each time with a cache that knows nothing yet
                tool = depot.offered(server)
                assert (await depot.run(tool)).data == "downloaded\n"
                assert (await depot.run(tool)).data == "downloaded\n"
            assert len(server.seen) == 1
            assert server.seen[0].header("accept-encoding") == "identity"

    asyncio.run(story())
    assert list(depot.kept()) == [f"cache/programs/{SHA}/tool"]
    assert stat.S_IMODE((depot.home / f"cache/programs/{SHA}/tool").stat().st_mode) == 0o500


def test_how_far_it_is(depot) -> None:
    data = PROGRAM + b"#" * 1_000_000
    told: list[tuple[float, float | None, str | None]] = []

    async def story() -> None:
        async with serving(answered(data)) as server:
            tool = depot.offered(server, sha256=sha(data))
            await depot.run(tool, progress=lambda *step: told.append(step))

    asyncio.run(story())
    assert told[-1] == (len(data), len(data), "downloading from 127.0.0.1")
    assert [step[0] for step in told] == sorted(step[0] for step in told) and len(told) > 2


def refused(depot: Depot, answer, code: str, **fields: object) -> str:
    """The call fails so, nothing ran, and nothing is kept. The words of the error."""
    ran = depot.workspace / "ran"

    async def story() -> str:
        async with serving(answer) as server:
            result = await depot.run(depot.offered(server, **fields))
            if isinstance(answer, Silent):
                answer.over.set()
            assert result.error is not None and result.error.code == code, result
            return result.error.message

    message = asyncio.run(story())
    assert not ran.exists()
    assert depot.kept() == {}
    assert list((depot.home / "cache").rglob("*/*")) == []
    return message


def test_another_file_than_it_should_be(depot) -> None:
    evil = f"#!/bin/sh\n: > {depot.workspace}/ran\n".encode()
    message = refused(depot, answered(evil), "DIGEST_MISMATCH")
    assert SHA in message and sha(evil) in message


def test_a_file_that_is_cut_short(depot) -> None:
    assert "cut short" in refused(depot, answered(PROGRAM[:-5], length=len(PROGRAM)), "EXECUTION_ERROR")


def test_a_file_that_is_cut_short_without_a_length(depot) -> None:
    refused(depot, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + PROGRAM[:-5], "DIGEST_MISMATCH")


def test_a_file_that_has_no_end(depot, monkeypatch) -> None:
    monkeypatch.setattr(download_fetch, "MOST_BYTES", 1 << 20)
    sent = 0

    async def endless(seen, writer) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while True:
            writer.write(bytes(1 << 16))
            await writer.drain()
            sent += 1 << 16

    assert "longer than 1048576" in refused(depot, endless, "INPUT_TOO_LARGE")
    assert sent < 32 << 20


def test_a_file_that_says_it_is_too_long_is_not_read(depot) -> None:
    refused(depot, answered(b"", length=300 * 1024**2), "INPUT_TOO_LARGE")


def test_a_server_that_falls_silent(depot, monkeypatch) -> None:
    monkeypatch.setattr(download_fetch, "STALL_SECONDS", 0.2)

    assert "stopped sending" in refused(depot, Silent(answered(b"#!", length=1000)), "EXECUTION_ERROR")


def test_a_download_that_takes_too_long(depot, monkeypatch) -> None:
    monkeypatch.setattr(download_fetch, "MOST_SECONDS", 0.2)

    refused(depot, Silent(answered(b"#!", length=1000)), "TIMEOUT")


def test_an_answer_that_is_no_file(depot) -> None:
    assert "status 404" in refused(depot, answered(b"nothing here", status="404 Not Found"), "EXECUTION_ERROR")


def test_a_redirect_is_followed(depot) -> None:
    def answer(seen, writer) -> bytes:
        if seen.target == "/tool":
            return answered(b"", "Location: /real", status="302 Found")
        return answered(PROGRAM)

    async def story() -> None:
        async with serving(answer) as server:
            assert (await depot.run(depot.offered(server))).data == "downloaded\n"
            assert [seen.target for seen in server.seen] == ["/tool", "/real"]

    asyncio.run(story())


def test_a_redirect_to_where_nobody_may_go(depot) -> None:
    """The other server is on the same machine, and not listed: no connection is made to it."""

    async def story() -> None:
        async with serving(answered(PROGRAM)) as inner:
            to = answered(b"", f"Location: {inner.url('/tool')}", status="302 Found")
            async with serving(to) as server:
                result = await depot.run(depot.offered(server))
                assert result.error.code == "NETWORK_DENIED"
            assert inner.connections == 0

    asyncio.run(story())
    assert depot.kept() == {}


def test_a_host_that_is_not_listed_is_not_asked(depot) -> None:
    async def story() -> None:
        async with serving(answered(PROGRAM)) as server:
            home = Home(depot.home)
            cache = DownloadCache(home, Network(()), Blobs(home))
            result = await depot.run(depot.offered(server, cache))
            assert (result.error.code, server.connections) == ("NETWORK_DENIED", 0)
            assert "network: {allow:" in result.error.message

    asyncio.run(story())
    assert depot.kept() == {}


def test_without_a_digest_and_without_a_person_nothing_is_fetched(depot) -> None:
    """A yes that was said beforehand is no person."""

    async def story() -> None:
        async with serving(answered(PROGRAM)) as server:
            result = await depot.run(depot.offered(server, sha256=None))
            assert (result.error.code, server.connections) == ("DOWNLOAD_UNVERIFIED", 0)
            assert "add the line `sha256: …`" in result.error.message and "of tool in" in result.error.message

    asyncio.run(story())
    assert not depot.kept() and not (depot.home / "download_pins.json").exists()


class Person:
    """Says yes to each call, and to what a running tool asks, what it was told to say."""

    def __init__(self, *, takes: bool) -> None:
        self.takes, self.asked = takes, []

    async def approve(self, question) -> Answer:
        if question.message is None:
            return Answer(allowed=True, by="terminal")
        self.asked.append(question.message)
        return Answer(allowed=self.takes, by="terminal")


async def with_person(depot: Depot, tool: Tool, person: Person):
    async with toolcrib.open(workspace=depot.workspace, home=depot.home, tools=[tool], approver=person) as crib:
        return await crib.call("tool", {})


def test_a_person_takes_a_file_for_the_right_one(depot) -> None:
    """They see where it came from, how long it is, and its digest; from then on nobody is asked."""
    person = Person(takes=True)

    async def story() -> None:
        async with serving(answered(PROGRAM)) as server:
            tool = depot.offered(server, depot.cache(server, person=lambda: True), sha256=None)
            assert (await with_person(depot, tool, person)).data == "downloaded\n"
            assert len(person.asked) == 1
            for shown in (server.url("/tool"), "127.0.0.1", f"{len(PROGRAM)} bytes", SHA):
                assert shown in person.asked[0]
            assert (await depot.run(depot.offered(server, sha256=None))).data == "downloaded\n"
            assert len(server.seen) == 1

    asyncio.run(story())
    pins = depot.home / "download_pins.json"
    assert list(json.loads(pins.read_text()).values()) == [f"sha256:{SHA}"]
    assert stat.S_IMODE(pins.stat().st_mode) == 0o600


def test_a_person_does_not_take_it(depot) -> None:
    async def story() -> None:
        async with serving(answered(PROGRAM)) as server:
            tool = depot.offered(server, depot.cache(server, person=lambda: True), sha256=None)
            result = await with_person(depot, tool, Person(takes=False))
            assert result.error.code == "DOWNLOAD_UNVERIFIED"
            assert f"add the line `sha256: {SHA}`" in result.error.message

    asyncio.run(story())
    assert depot.kept() == {} and not (depot.home / "download_pins.json").exists()


def test_a_pinned_file_that_was_replaced(depot) -> None:
    """The pin holds for this URL and this digest."""

    async def story() -> None:
        async with serving(answered(b"#!/bin/sh\necho evil\n")) as server:
            DownloadPins(Home(depot.home)).add(server.url("/tool"), f"sha256:{SHA}")
            result = await depot.run(depot.offered(server, sha256=None))
            assert result.error.code == "DIGEST_MISMATCH"
            result = await depot.run(depot.offered(server, sha256=None, url=server.url("/other")))
            assert result.error.code == "DOWNLOAD_UNVERIFIED"
            assert len(server.seen) == 1

    asyncio.run(story())
    assert depot.kept() == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"https://x": "abc"}'])
def test_pins_that_cannot_be_read_are_no_pins(depot, text) -> None:
    (depot.home / "download_pins.json").write_text(text)

    async def story() -> None:
        async with serving(answered(PROGRAM)) as server:
            result = await depot.run(depot.offered(server, sha256=None))
            assert (result.error.code, server.connections) == ("CONFIG_INVALID", 0)

    asyncio.run(story())


def test_pins_of_many_at_once_are_all_kept(tmp_path) -> None:
    pins = DownloadPins(Home(tmp_path / "home"))

    async def story() -> None:
        await asyncio.gather(*(asyncio.to_thread(pins.add, f"u{at}", f"sha256:{SHA}") for at in range(50)))

    asyncio.run(story())
    assert all(pins.get(f"u{at}") for at in range(50))


def test_a_hundred_callers_make_one_request(depot) -> None:
    async def story() -> None:
        gate = asyncio.Event()

        async def held(seen, writer) -> None:
            await gate.wait()
            writer.write(answered(PROGRAM))
            await writer.drain()

        async with serving(held) as server, depot.open(depot.offered(server)) as crib:
            calls = [asyncio.ensure_future(crib.call("tool", {})) for _ in range(100)]
            while not server.seen:
                await asyncio.sleep(0)
            gate.set()
            assert {result.data for result in await asyncio.gather(*calls)} == {"downloaded\n"}
            assert len(server.seen) == 1

    asyncio.run(story())


def test_a_hundred_callers_of_a_wrong_file_make_one_request(depot) -> None:
    async def story() -> None:
        async with serving(answered(b"evil")) as server:
            cache, wanted = depot.cache(server), f"sha256:{SHA}"
            calls = [cache.obtained(server.url("/tool"), wanted, "", fake_context()) for _ in range(100)]
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            assert {getattr(each, "code", each) for each in outcomes} == {"DIGEST_MISMATCH"}
            assert len(server.seen) == 1

    asyncio.run(story())


def test_several_processes_make_one_request(depot) -> None:
    """Each with a cache of its own: only the lock on the disk is between them."""

    async def story() -> None:
        async with serving(answered(PROGRAM)) as server:
            url, wanted = server.url("/tool"), f"sha256:{SHA}"
            calls = [depot.cache(server).obtained(url, wanted, "", fake_context()) for _ in range(20)]
            assert len(set(await asyncio.gather(*calls))) == 1
            assert len(server.seen) == 1

    asyncio.run(story())
    assert list(depot.kept()) == [f"cache/programs/{SHA}/tool"]


def test_who_waits_goes_on_when_the_first_gives_up(depot) -> None:
    async def story() -> None:
        never = Silent()

        async def first_never(seen, writer) -> None:
            if len(server.seen) == 1:
                await never(seen, writer)
            else:
                writer.write(answered(PROGRAM))

        async with serving(first_never) as server:
            cache, url, wanted = depot.cache(server), server.url("/tool"), f"sha256:{SHA}"
            first = asyncio.ensure_future(cache.obtained(url, wanted, "", fake_context()))
            while not server.seen:
                await asyncio.sleep(0.001)
            second = asyncio.ensure_future(cache.obtained(url, wanted, "", fake_context()))
            await asyncio.sleep(0)
            first.cancel()
            assert (await second).endswith("/tool")
            assert first.cancelled() and len(server.seen) == 2
            never.over.set()

    asyncio.run(story())
    assert list(depot.kept()) == [f"cache/programs/{SHA}/tool"]


KILLED = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from toolcrib.backends.network import Network
from toolcrib.sources.downloads import DownloadCache
from toolcrib.store.blobs import Blobs
from toolcrib.store.home import Home
from toolcrib.testing import fake_context
home = Home(sys.argv[2])
cache = DownloadCache(home, Network((sys.argv[3],)), Blobs(home))
asyncio.run(cache.obtained(f"http://{sys.argv[3]}/tool", sys.argv[4], "", fake_context()))
"""


def test_a_killed_download_leaves_nothing_that_is_taken_for_whole(depot) -> None:
    async def story() -> None:
        half = Silent(answered(PROGRAM[:10], length=len(PROGRAM)))

        async def first_half(seen, writer) -> None:
            if len(server.seen) == 1:
                await half(seen, writer)
            else:
                writer.write(answered(PROGRAM))

        async with serving(first_half) as server:
            words = [sys.executable, "-c", KILLED, str(ROOT), str(depot.home), server.netloc, f"sha256:{SHA}"]
            process = await asyncio.to_thread(subprocess.Popen, words)
            try:
                part = depot.home / "cache" / "downloads" / SHA / "tool"
                async with asyncio.timeout(30):
                    while not (part.exists() and part.stat().st_size == 10):
                        await asyncio.sleep(0.005)
            finally:
                process.kill()
                process.wait()
                half.over.set()
            assert list(depot.kept().values()) == [PROGRAM[:10]]
            assert (await depot.run(depot.offered(server))).data == "downloaded\n"

    asyncio.run(story())
    assert list(depot.kept()) == [f"cache/programs/{SHA}/tool"]


def test_it_is_looked_at_each_time(depot) -> None:
    """What was changed on the disk does not run, and is fetched anew."""
    ran = depot.workspace / "ran"

    async def story() -> None:
        async with serving(answered(PROGRAM)) as server:
            cache = depot.cache(server)
            tool = depot.offered(server, cache)
            await depot.run(tool)
            copy = depot.home / f"cache/programs/{SHA}/tool"
            for changed in (tool, depot.offered(server)):
                copy.chmod(0o700)
                copy.write_text(f"#!/bin/sh\n: > {ran}\n")
                copy.chmod(0o500)
                assert (await depot.run(changed)).data == "downloaded\n"
            assert len(server.seen) == 3

    asyncio.run(story())
    assert not ran.exists()


def test_a_home_that_cannot_be_written(depot) -> None:
    (depot.home / "cache").mkdir(exist_ok=True)
    (depot.home / "cache" / "downloads").write_text("in the way")

    async def story() -> None:
        async with serving(answered(PROGRAM)) as server:
            result = await depot.run(depot.offered(server))
            assert (result.error.code, server.connections) == ("RESOURCE_EXHAUSTED", 0)

    asyncio.run(story())


TREE = {
    "pack/bin/tool": b'#!/bin/sh\ncat "$(dirname "$0")/../share/words"\n',
    "pack/share/words": b"from beside\n",
}


def packed_zip() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as into:
        for name, data in TREE.items():
            into.writestr(name, data)  # without any right to execute
    return made.getvalue()


@pytest.mark.parametrize(("name", "data"), [("p.tar.gz", honest_tar(TREE)), ("p.zip", packed_zip())])
def test_a_program_in_an_archive(depot, name, data) -> None:
    """It runs beside the other files of the archive; one request, also for the next process."""

    async def story() -> None:
        async with serving(answered(data)) as server:
            for _ in range(2):
                tool = depot.offered(server, url=server.url(f"/{name}"), sha256=sha(data), member="pack/bin/tool")
                for _ in range(2):
                    assert (await depot.run(tool)).data == "from beside\n"
            assert len(server.seen) == 1

    asyncio.run(story())
    assert not list((depot.home / "cache" / "downloads").iterdir())


def test_a_changed_file_beside_the_program_does_not_count(depot) -> None:
    data = honest_tar(TREE)

    async def story() -> None:
        async with serving(answered(data)) as server:
            fields = {"url": server.url("/p.tgz"), "sha256": sha(data), "member": "pack/bin/tool"}
            await depot.run(depot.offered(server, **fields))
            (words,) = (depot.home / "cache" / "programs").rglob("share/words")
            words.chmod(0o600)
            words.write_text("evil\n")
            words.chmod(0o400)
            assert (await depot.run(depot.offered(server, **fields))).data == "from beside\n"

    asyncio.run(story())


def test_many_callers_of_an_archive(depot) -> None:
    data = honest_tar(TREE)

    async def story() -> None:
        async with serving(answered(data)) as server:
            fields = {"url": server.url("/p.tgz"), "sha256": sha(data), "member": "pack/bin/tool"}
            async with depot.open(depot.offered(server, **fields)) as crib:
                found = await asyncio.gather(*(crib.call("tool", {}) for _ in range(40)))
            assert {each.data for each in found} == {"from beside\n"} and len(server.seen) == 1

    asyncio.run(story())


def test_an_archive_that_is_not_taken_apart(depot) -> None:
    """Its digest is right, and still nothing of it is unpacked."""
    outside = depot.home / "evil"
    data = tar(entry("tool", PROGRAM, mode=0o755), entry("../../../evil", b"x"))

    async def story() -> None:
        async with serving(answered(data)) as server:
            fields = {"url": server.url("/p.tgz"), "sha256": sha(data), "member": "tool"}
            result = await depot.run(depot.offered(server, **fields))
            assert result.error.code == "ARCHIVE_UNSAFE"

    asyncio.run(story())
    assert not outside.exists() and PROGRAM not in depot.kept().values()


def test_time_that_is_over_ends_the_unpacking(depot, monkeypatch) -> None:
    """The thread that unpacks has ended when the call has, and nothing of its work is left."""
    data, ended = honest_tar(TREE), []

    def slow(archive, folder, *, stopped) -> None:
        os.mkdir(folder)
        while not stopped():
            time.sleep(0.001)
        ended.append(folder)

    monkeypatch.setattr(archive, "unpack", slow)

    async def story() -> None:
        async with serving(answered(data)) as server:
            fields = {"url": server.url("/p.tgz"), "sha256": sha(data), "member": "pack/bin/tool", "timeout_ms": 500}
            result = await depot.run(depot.offered(server, **fields))
            assert (result.error.code, len(ended)) == ("TIMEOUT", 1)

    asyncio.run(story())
    assert not list((depot.home / "cache" / "downloads").iterdir())


def test_a_member_that_is_not_there(depot) -> None:
    data = honest_tar(TREE)

    async def story() -> None:
        async with serving(answered(data)) as server:
            fields = {"url": server.url("/p.tgz"), "sha256": sha(data), "member": "bin/tool"}
            result = await depot.run(depot.offered(server, **fields))
            assert result.error.code == "FILE_NOT_FOUND" and "pack/bin/tool" in result.error.message

    asyncio.run(story())


def test_time_that_is_over_ends_a_download(depot) -> None:
    """A38"""

    async def story() -> None:
        never = Silent()
        async with serving(never) as server:
            began = time.monotonic()
            result = await depot.run(depot.offered(server, timeout_ms=300))
            assert result.error.code == "TIMEOUT" and time.monotonic() - began < 10
            never.over.set()

    asyncio.run(story())
    assert depot.kept() == {}


def test_without_the_http_client(depot, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "toolcrib.sources.download_fetch", None)

    async def story() -> None:
        async with serving(answered(PROGRAM)) as server:
            with pytest.raises(ToolError) as raised:
                await depot.cache(server).obtained(
                    server.url("/tool"), f"sha256:{SHA}", "", fake_context(hands=FakeHands())
                )
            assert raised.value.code == "ENGINE_NOT_AVAILABLE"

    asyncio.run(story())
    assert os.listdir(depot.home / "cache" / "downloads") == []
