"""What the client makes of what its library says."""

import asyncio
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from toolcrib.core.errors import ToolcribError
from toolcrib.serve.client import ToolClient

CANCELLED = grpc.aio.AioRpcError(grpc.StatusCode.CANCELLED, grpc.aio.Metadata(), grpc.aio.Metadata(), "CANCELLED")


def client(answer: Any) -> ToolClient:
    made = ToolClient("unix:/nowhere", token="word")
    made._stub = SimpleNamespace(EndSession=answer)
    return made


async def test_whoever_gave_a_call_up_is_told_that_alone() -> None:
    """The library now and then raises an error of the call in the place of the cancellation that it was sent."""
    waiting = asyncio.Event()

    async def forgetful(*_: Any, **__: Any) -> None:
        try:
            waiting.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise CANCELLED from None

    async with client(forgetful) as made:
        asking = asyncio.create_task(made.end_session("a"))
        await waiting.wait()
        asking.cancel()
        await asyncio.wait([asking])
    assert asking.cancelled()


async def test_a_call_that_the_other_side_gave_up_is_an_error() -> None:
    async def refused(*_: Any, **__: Any) -> None:
        raise CANCELLED

    async with client(refused) as made:
        with pytest.raises(ToolcribError) as caught:
            await made.end_session("a")
    assert caught.value.code == "CANCELLED"
