"""A loop with a poller, for what is told of descriptors."""

import asyncio
from collections.abc import Awaitable, Callable

from toolcrib.sandbox.poller import Poller


def in_a_loop(work: Callable[[Poller], Awaitable[None]]) -> None:
    """Do this, within ten seconds."""

    async def bounded() -> None:
        poller = Poller(asyncio.get_running_loop())
        try:
            async with asyncio.timeout(10):
                await work(poller)
        finally:
            poller.close()

    asyncio.run(bounded())
