"""Asking the person at the terminal."""

import asyncio
import os
import sys
import termios
import time

from ..core.errors import Refused
from ..core.policy import Answer, Question
from ..policy.approvers import TERMINAL, Standing, nobody
from ..policy.request import FullQuestion, Request
from ._prompt import CHOICE, HELP, brief, drawn

SCOPE = TERMINAL
"""What is remembered here counts for a person who types the call, and for nobody else."""
GUARD_SECONDS = 0.3
"""After a question is drawn, what is typed was meant for something else."""
_SCOPES = {"y": "once", "yes": "once", "s": "session", "p": "project", "u": "user"}


def at_terminal() -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class TerminalApprover:
    """Shows what would run, and asks. The default is no.

    A person who typed the call is asked briefly, and a yes lasts until the tool changes.
    """

    is_person = True

    def __init__(self, *, typed: bool) -> None:
        self._typed = typed

    async def approve(self, question: Question) -> Answer:
        if not isinstance(question, FullQuestion):  # nothing to show, so nothing to ask
            raise Refused(nobody(question), code="APPROVAL_REQUIRED")
        request = question.request
        if not self._typed:
            return await choose(request)
        if request.message is not None:
            return Answer(allowed=await _typed(request, "  Allow? [y/N] "), by="terminal")
        last = "  Run it, and not ask again when you type it, until it changes? [y/N] "
        return Standing(await _typed(request, last), "terminal", TERMINAL)


async def _typed(request: Request, last: str) -> bool:
    whole = False
    while (typed := await reply(brief(request, width=columns(), whole=whole) + last)) == "v":
        whole = True
    return typed in ("y", "yes")


async def choose(request: Request) -> Standing:
    """The person's answer to a request, and how long it lasts."""
    whole, more = False, ""
    last = CHOICE if request.message is None else "  Allow? [y, v, N] "
    while True:
        page = more or drawn(request, width=columns(), now=time.time(), whole=whole)
        typed = await reply(page + last)
        if typed in ("v", "?"):
            whole, more = typed == "v", HELP if typed == "?" else ""
            continue
        scope = _SCOPES.get(typed.removesuffix("="))
        if scope is None or (request.message is not None and scope != "once"):
            return Standing(allowed=False, by="terminal")
        return Standing(True, "terminal", scope, exactly=typed.endswith("="))


def columns() -> int:
    """The width of the terminal, or of a page where there is none."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


async def asks(question: str) -> bool:
    """Whether the person says yes. Anything else is a no, and so is the end of input."""
    return await reply(question) in ("y", "yes")


async def reply(question: str) -> str:
    """What the person typed, in small letters; empty at the end of input.

    The line is awaited on the event loop, not read in a thread: a thread that waits for a person cannot be cancelled,
    so Ctrl-C would wait for Enter. What was typed before the last line of the question was drawn is no answer to it:
    that line comes a moment after the rest.
    """
    fd = sys.stdin.fileno()
    page, line_end, last = question.rpartition("\n")
    sys.stderr.write(page + line_end)
    sys.stderr.flush()
    await asyncio.sleep(GUARD_SECONDS)
    termios.tcflush(fd, termios.TCIFLUSH)
    sys.stderr.write(last)
    sys.stderr.flush()
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(fd, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(fd)
    try:
        typed = os.read(fd, 1024)
    except OSError:  # the terminal is gone
        typed = b""
    if not typed.endswith(b"\n"):
        sys.stderr.write("\n")
    return typed.strip().lower().decode("ascii", "replace")
