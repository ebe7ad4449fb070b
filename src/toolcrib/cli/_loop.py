"""The loop that a verb's work runs on: a signal to end is heard as Ctrl-C is, and what came of the work is not lost."""

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`.

    Raises:
        SystemExit: with the status that a shell shows of a signal, once the work has cleaned up after itself.
    """
    heard: list[signal.Signals] = []
    with _loop() as runner:
        try:
            return runner.run(_heeding(work, heard))
        except asyncio.CancelledError:
            if heard:
                raise SystemExit(128 + heard[0]) from None
            raise


@contextmanager
def _loop() -> Iterator[asyncio.Runner]:
    """One that ends without the thread that the standard library starts in order to wait for the others."""
    runner = asyncio.Runner()
    try:
        yield runner
    finally:
        try:
            runner.close()
        except RuntimeError as exc:
            if str(exc) != "can't start new thread":
                raise


async def _heeding(work: Coroutine[Any, Any, T], heard: list[signal.Signals]) -> T:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None

    def end(number: signal.Signals) -> None:
        if not heard:  # a terminal that is closed sends it more than once, and the work is cleaning up by then
            task.cancel()
        heard.append(number)

    if threading.current_thread() is threading.main_thread():
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` means that it goes on
                loop.add_signal_handler(number, end, number)
    return await work
