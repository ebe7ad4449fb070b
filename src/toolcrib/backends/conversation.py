"""The protocol of a program that stays running: one JSON object per line.

    it  {"serve": 1}                                   first of all, when it is ready
    we  {"id": "…", "input": {…}}
    it  {"id": "…", "progress": {"done": 1, "total": 3, "message": "…"}}      as often as it likes
    it  {"id": "…", "output": …}   or   {"id": "…", "error": "…"}             once

One that does not say that it is ready was not asked anything either, so it can be run in the ordinary way instead.
"""

import asyncio
from collections.abc import Callable, Hashable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeGuard

from ..core.context import Context
from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON, parse
from ..core.process import Captured, Command, Sandbox
from .view import view

_ANSWERS = ({"id", "progress"}, {"id", "output"}, {"id", "error"})
_PROGRESS = {"done", "total", "message"}
_SHOWN = 200
_TOLD_BYTES = 4096


class Peer(Protocol):
    """A running program that is spoken to in lines."""

    fresh: bool
    """It has not said anything yet."""

    def send(self, line: bytes, /) -> bool:
        """Say something. False: not a single byte of it was taken."""
        ...

    async def receive(self) -> bytes:
        """The next line, with its end; nothing when no more will come. Raises: `ToolError`, when it is too long."""
        ...

    def heard(self) -> Captured:
        """What stood on its errors since this call began."""
        ...

    async def end(self) -> int:
        """End it with all it started. Returns its exit status. Raises: `ToolError`, when nothing of it ever ran."""
        ...


class Lends(Protocol):
    """A sandbox that keeps programs running from call to call."""

    def lend(self, command: Command, *, key: Hashable, marks: Callable[[], str]) -> AbstractAsyncContextManager[Peer]:
        """A program for one call. It is kept if the call leaves it in peace, and ended if that raises."""
        ...


def lends(sandbox: Sandbox) -> TypeGuard[Lends]:
    """Whether a sandbox does. Every call asks, so a look at the name has to do."""
    return hasattr(sandbox, "lend")


async def greeting(peer: Peer, seconds: float, conceal: Callable[[JSON], JSON]) -> str | None:
    """Wait for a fresh one to be ready. Says what is wrong if it is not; then it has been ended."""
    try:
        async with asyncio.timeout(seconds):
            line = await peer.receive()
    except TimeoutError:
        await peer.end()
        return f'it did not print {{"serve": 1}} within {seconds:g} s' + _said(peer)
    except ToolError as exc:
        await peer.end()
        return str(exc)
    if not line.endswith(b"\n"):
        code = await peer.end()
        return f'it ended with exit status {code} and had not printed {{"serve": 1}}' + _said(peer)
    try:
        value = parse(line)
    except InvalidJson:
        value = None
    version = value.get("serve") if isinstance(value, dict) else None
    if type(version) is int and version == 1:
        return None
    await peer.end()
    return f'its first line is {_cut(line, conceal)!r}, and should be {{"serve": 1}}'


async def answer(peer: Peer, ctx: Context) -> dict[str, JSON]:
    """What it says to the call in the end. What it says before that goes to whoever wants to know.

    Raises:
        ToolError: it died, or does not keep to the protocol. It is not to be asked again.
    """
    done: float = 0
    while True:
        line = await peer.receive()
        if not line.endswith(b"\n"):
            raise await _died(peer, line, ctx)
        try:
            said = parse(line)
        except InvalidJson as exc:
            raise _broken(f"is {exc}", line, ctx) from None
        if not isinstance(said, dict) or said.keys() not in _ANSWERS:
            raise _broken("is no object with `id` and one of `progress`, `output` and `error`", line, ctx)
        if said["id"] != ctx.call_id:
            raise _broken(f"has another `id` than {ctx.call_id}", line, ctx)
        if "progress" not in said:
            return said
        try:
            done = _progressed(said["progress"], done, ctx)
        except ValueError as exc:
            raise _broken(str(exc), line, ctx) from None


def _progressed(value: JSON, done: float, ctx: Context) -> float:
    """Pass on how far it is. A number is `done`, a text is `message`.

    Raises:
        ValueError: it says something else.
    """
    about = value if isinstance(value, dict) else {"message" if isinstance(value, str) else "done": value}
    reached: float
    reached, total, message = about.get("done", done), about.get("total"), about.get("message")
    if not about.keys() <= _PROGRESS or not _is_number(reached) or not (total is None or _is_number(total)):
        raise ValueError("has a `progress` that is not a number, a text, or an object of `done`, `total` and `message`")
    if not (message is None or isinstance(message, str)):
        raise ValueError("has a `message` that is no text")
    if message is not None and len(message) > _TOLD_BYTES:
        message = view(ctx.host.conceal(message), _TOLD_BYTES)
    ctx.progress(reached, total, message)
    return reached


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


async def _died(peer: Peer, line: bytes, ctx: Context) -> ToolError:
    code = await peer.end()
    stderr = peer.heard().text()
    details = {"exit_code": code, "stdout": _cut(line, ctx.host.conceal), "stderr": stderr}
    if code < 0:
        return ToolError("the exit status was collected by somebody else", code="OUTCOME_UNKNOWN", details=details)
    ctx.report["exit_code"] = code
    said = stderr.strip()
    message = f"{ctx.tool_name} ended with exit status {code} before it answered"
    return ToolError(message + (f": {said}" if said else ""), details=details)


def _broken(what: str, line: bytes, ctx: Context) -> ToolError:
    cut = _cut(line, ctx.host.conceal)
    message = f"{ctx.tool_name} was ended, because it printed a line that {what}: {cut!r}"
    return ToolError(message, details={"line": cut})


def _cut(line: bytes, conceal: Callable[[JSON], JSON]) -> str:
    """The beginning of a line, without the half of a secret."""
    return str(conceal(line.decode("utf-8", "backslashreplace").removesuffix("\n")))[:_SHOWN]


def _said(peer: Peer) -> str:
    said = peer.heard().text().strip()
    return f"; on stderr: {said[-_SHOWN:]}" if said else ""
