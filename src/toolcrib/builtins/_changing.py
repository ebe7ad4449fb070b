"""What the tools that write have in common."""

import asyncio
from collections.abc import Callable

from ..core.context import Context
from ..core.errors import ToolError
from ..sandbox.readings import Stale
from ._text import difference

_WAITS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 1.6)
"""Seconds between tries, while another program holds the directory."""

Make = Callable[[bytes | None], bytes]


async def changed(ctx: Context, path: str, make: Make) -> tuple[bytes | None, bytes]:
    """Write what `make` makes of a file; gives its content before and after.

    Raises:
        ToolError: with the difference, where the file is not what the session has read.
    """
    versions: list[tuple[bytes | None, bytes]] = []

    def noting(old: bytes | None) -> bytes:
        new = make(old)
        versions.append((old, new))
        return new

    await patiently(lambda: ctx.workspace.change(path, noting), path)
    return versions[-1]


async def patiently(work: Callable[[], None], path: str) -> None:
    """Do it, as soon as nobody else writes there."""
    for wait in (*_WAITS, None):
        try:
            return work()
        except Stale as exc:
            raise _explained(exc, path) from None
        except ToolError as exc:
            if exc.code != "RESOURCE_EXHAUSTED" or wait is None:
                raise
            await asyncio.sleep(wait)
    return None


def present(ctx: Context, path: str) -> bytes | None:
    """A file's content, for a preview; None where there is no file."""
    return ctx.workspace.read(path) if ctx.workspace.exists(path) else None


def _explained(exc: Stale, path: str) -> ToolError:
    if exc.before is None or exc.after is None:
        return exc
    shown = difference(exc.before, exc.after, path)
    return ToolError(f"{exc}\n{shown}", details={**exc.details, "difference": shown}, before_effect=True)
