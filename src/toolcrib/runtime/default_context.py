"""A context for running one tool alone, on the real files of a workspace."""

import inspect
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from ..core.call import Call, Result
from ..core.context import Context, Host
from ..core.errors import Refused, ToolError
from ..core.jsontext import JSON
from ..core.limits import Limits
from ..core.process import Command, Completed, Ended
from ..sandbox.guard import GuardedFiles
from ..sandbox.places import Places

Confirm = Callable[[str], bool | Awaitable[bool]]
"""Asked with a few words; only `True` is a yes."""
_INSTEAD = "open a crib with toolcrib.open(), which judges and records what is called"


def create_default_context(
    workspace: str | os.PathLike[str] = ".", *, confirm: Confirm | None = None, session: str = ""
) -> Context:
    """What a tool needs to run by itself: guarded files of the workspace, a directory, a log, and whom to ask.

    There is no gate in front of it, and so it starts no programs and calls no other tools.
    """
    at = os.path.abspath(workspace)
    host = Host(at, _NoPrograms(), partial(GuardedFiles, Places(at)), dict(os.environ))
    return Context(host, Call("", {}, host.next_id(), session), Limits(), _Alone(confirm))


async def confirmed(confirm: Confirm | None, message: str) -> bool:
    """Nobody to ask means no, and so does everything but `True`."""
    if confirm is None:
        return False
    answer = confirm(message)
    return (await answer if inspect.isawaitable(answer) else answer) is True


class _NoPrograms:
    """Starts nothing."""

    name = "none"

    async def exec(self, command: Command, *, ended: Ended | None = None) -> Completed:
        raise Refused(f"this context starts no programs; {_INSTEAD}", code="SANDBOX_UNAVAILABLE")


class _Alone:
    """What there is of an executor, where there is none (`core.context.Hands`)."""

    def __init__(self, confirm: Confirm | None) -> None:
        self._confirm = confirm

    async def confirm(self, ctx: Context, message: str) -> bool:
        return await confirmed(self._confirm, message)

    async def call_from(self, ctx: Context, name: str, args: Mapping[str, JSON], limit: float | None) -> Result:
        raise ToolError(f"this context has no other tools, and no {name}; {_INSTEAD}", code="TOOL_NOT_FOUND")

    def log(self, ctx: Context, level: str, message: str) -> None:
        import logging  # late: most tools log nothing

        logging.getLogger("toolcrib.tool").log(_LEVELS[level], "%s", message)


_LEVELS = {"debug": 10, "info": 20, "warn": 30, "error": 40}
