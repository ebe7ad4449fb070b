"""Asking the person at the terminal."""

import asyncio
import os
import sys
import termios

from ..core.jsontext import dump
from ..core.policy import Answer, Question
from ..store.home import Home
from ..store.state import State
from ._text import visible

SCOPE = "terminal"
"""What is remembered here counts for a person who types the call, and for nobody else."""
_MOST_ARGUMENTS = 40
_LONGEST_VALUE = 2000
_LONGEST_LINE = 200


def at_terminal() -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class TerminalApprover:
    """Shows what would run, and asks. The default is no."""

    def __init__(self, home: Home) -> None:
        self._state = State(home)

    async def approve(self, question: Question) -> Answer:
        return Answer(allowed=await asks(self._describe(question)), by="terminal")

    def _describe(self, question: Question) -> str:
        tool, call = question.tool, question.call
        if question.message is not None:
            return f"\n{tool.name} asks: {visible(question.message)}\n  Allow? [y/N] "
        changed = self._state.knew(tool.id, SCOPE)
        arguments = [f"    {visible(name)} = {_shown(value)}" for name, value in call.args.items()]
        more = len(arguments) - _MOST_ARGUMENTS
        lines = [
            "",
            f"  {tool.name} {'has CHANGED since you last allowed it' if changed else 'is new here'}",
            f"    what it says  {visible((tool.description.strip().splitlines() or [''])[0][:_LONGEST_LINE])}",
            f"    program       {visible(tool.origin)}",
            f"    digest        {tool.digest[:23]}…",
            f"    asked by      {visible(call.asker)}",
            f"    why ask       {visible(question.reason)}",
            "    confinement   none: it runs with your rights",
            "  with" if arguments else "  with no arguments",
            *arguments[:_MOST_ARGUMENTS],
            *([f"    … and {more} more"] if more > 0 else []),
            "  Run it, and not ask again when you type it, until it changes? [y/N] ",
        ]
        return "\n".join(lines)


async def asks(question: str) -> bool:
    """Whether the person says yes. Anything else is a no, and so is the end of input.

    The line is awaited on the event loop, not read in a thread: a thread that waits for a person cannot be cancelled,
    so Ctrl-C would wait for Enter. What was typed before the question was shown is not an answer to it.
    """
    fd = sys.stdin.fileno()
    termios.tcflush(fd, termios.TCIFLUSH)
    sys.stderr.write(question)
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
    return typed.strip().lower() in (b"y", b"yes")


def _shown(value: object) -> str:
    text = dump(value).decode()
    rest = len(text) - _LONGEST_VALUE
    return visible(text) if rest <= 0 else f"{visible(text[:_LONGEST_VALUE])}… {rest} more characters"
