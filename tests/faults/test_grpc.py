"""The gRPC door: a call that is asked for again by its name runs once, a full queue says so, and SIGTERM lets calls finish."""

import asyncio
import os
import resource
import select
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolcrib import ToolcribError

pytest.importorskip("grpc", reason="gRPC is not installed: pip install 'toolcrib[grpc]'")
from toolcrib.serve.client import ToolClient  # it brings grpc
from toolcrib.serve.grpc_front import PREFACE, Front


@asynccontextmanager
async def serving(site: Any, *options: str) -> AsyncIterator[tuple[Any, ToolClient]]:
    """`toolcrib serve grpc` on the site's home, and a client of it."""
    process = await asyncio.create_subprocess_exec(
        *site.command("serve", "grpc", *options),
        cwd=site.workspace,
        env=site.environment,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        line = await asyncio.wait_for(process.stderr.readline(), 30)  # type: ignore[union-attr]
        assert b"serving gRPC at" in line, line
        async with ToolClient(home=site.home) as client:
            yield process, client
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))


@pytest.fixture
def open_site(warm: Any) -> Any:
    (warm.home / "config.yaml").write_text("approval: {default: preApproved}\n")
    return warm


async def marked(site: Any, count: int) -> None:
    while site.marks() < count:
        await asyncio.sleep(0.01)


def test_a_server_that_was_killed_does_not_run_the_call_again(open_site: Any) -> None:
    """kill -9 while it runs: the same call, asked of the next server, is OUTCOME_UNKNOWN; under a new name it runs."""
    site = open_site

    async def go() -> None:
        async with serving(site) as (process, client):
            session = await client.create_session("mine")
            done = await client.call(session, "custom_tool_mark", call_id="done")
            assert done.data == "done\n"
            lost = asyncio.create_task(client.call(session, "custom_tool_slow", call_id="lost"))
            await marked(site, 2)
            process.kill()
            with pytest.raises(ToolcribError):
                await lost
        async with serving(site) as (process, client):
            again = await client.call("mine", "custom_tool_slow", call_id="lost")
            assert again.error is not None and again.error.code == "OUTCOME_UNKNOWN"
            assert "it was not run again; see what it did (toolcrib audit show)" in again.error.message
            same = await client.call("mine", "custom_tool_mark", call_id="done")
            assert same == done, "the answer that was given before, under the id of the call that ran"
            assert site.marks() == 2
            fresh = await client.call("mine", "custom_tool_mark", call_id="anew")
            assert (fresh.data, site.marks()) == ("done\n", 3)
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0

    run(go)
    site.assert_nothing_is_left()
    site.assert_recovers()


def test_a_stream_that_is_asked_for_again_does_not_run_again(open_site: Any) -> None:
    site = open_site

    async def go() -> None:
        async with serving(site) as (_, client):
            session = await client.create_session()
            first = [event async for event in client.stream(session, "custom_tool_mark", call_id="a")]
            second = [event async for event in client.stream(session, "custom_tool_mark", call_id="a")]
            assert second[-1] == first[-1] and site.marks() == 1

    run(go)


def test_other_arguments_under_the_same_name_are_a_mistake(open_site: Any) -> None:
    site = open_site

    async def go() -> None:
        async with serving(site) as (_, client):
            session, other = await client.create_session(), await client.create_session()
            assert (await client.call(session, "custom_tool_mark", {"n": 1}, call_id="a")).success
            with pytest.raises(ToolcribError) as caught:
                await client.call(session, "custom_tool_mark", {"n": 2}, call_id="a")
            assert caught.value.code == "VALIDATION_ERROR" and site.marks() == 1
            assert (await client.call(other, "custom_tool_mark", {"n": 2}, call_id="a")).success, "another session's"
            assert (await client.call(session, "no_such_tool", call_id="b")).error.code == "TOOL_NOT_FOUND"
            assert (await client.call(session, "custom_tool_mark", call_id="b")).success, "nothing ran under this name"
            assert (await client.call(session, "custom_tool_mark", call_id="c", dry_run=True)).success
            assert (await client.call(session, "custom_tool_mark", call_id="c")).success, "a dry run takes no name"
            assert site.marks() == 4
            assert await client.end_session(session)
            assert len(list((site.home / "calls").rglob("*"))) == 2, "the other session and its one call"

    run(go)


def test_a_server_lets_a_call_finish_and_then_ends(open_site: Any) -> None:
    """The gRPC door on SIGTERM: the answer is given, the record is whole, the status is 0."""
    site = open_site

    async def go() -> None:
        async with serving(site) as (process, client):
            session = await client.create_session()
            slow = asyncio.create_task(client.call(session, "custom_tool_slow"))
            await marked(site, 1)
            process.send_signal(signal.SIGTERM)
            while (site.home / "grpc" / "socket").exists():
                await asyncio.sleep(0.01)
            with pytest.raises(ToolcribError):
                await client.call(session, "custom_tool_mark")
            (site.workspace / "go").touch()
            assert (await slow).data == "done\n"
            assert await process.wait() == 0

    run(go)
    assert site.marks() == 1
    assert [each["code"] for each in site.records("call")] == [None, None]
    site.assert_nothing_is_left()


def test_a_front_without_a_descriptor_for_a_caller_goes_on(home: Path) -> None:
    """EMFILE between a caller's first word and the connection behind it: that caller is turned away, the next is not."""
    inner = socket.socket(socket.AF_UNIX)
    inner.bind(str(home / "inner"))
    inner.listen()
    inner.settimeout(20)
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    front = Front(listener, str(home / "inner"), secure=False, told=lambda why, peer: None)
    front.start()
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.create_connection(address) as first:
        first.settimeout(20)
        first.sendall(PREFACE[:5])
        while not any(each.said for each in list(front._newcomers.values())):
            select.select([], [], [], 0.01)
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, usual[1]))
        try:
            first.sendall(PREFACE[5:])
            assert first.recv(1) == b""
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    with socket.create_connection(address) as second:
        second.sendall(PREFACE)
        with inner.accept()[0] as accepted:
            assert accepted.recv(100) == PREFACE
    front.close()
    inner.close()


def test_a_queue_that_is_full_says_when_to_ask_again(open_site: Any) -> None:
    """Back-pressure: what has no place does not wait in our memory, and is told in how many seconds one may be free."""
    site = open_site

    async def go() -> None:
        async with serving(site, "--queue", "1") as (_, client):
            session = await client.create_session()
            slow = asyncio.create_task(client.call(session, "custom_tool_slow"))
            await marked(site, 1)
            with pytest.raises(ToolcribError) as caught:
                await client.call(session, "custom_tool_mark", call_id="later")
            assert (caught.value.code, caught.value.details) == ("RESOURCE_EXHAUSTED", {"retry_after": 1.0})
            assert site.marks() == 1
            (site.workspace / "go").touch()
            assert (await slow).success
            assert (await client.call(session, "custom_tool_mark", call_id="later")).data == "done\n"

    run(go)
