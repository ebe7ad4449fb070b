"""Asking the person at the terminal."""

import asyncio
import sys

from ..core.jsontext import dump
from ..core.policy import Answer, Question
from ..store.home import Home
from ..store.state import State
from ._text import visible

SCOPE = "terminal"
"""What is remembered here counts for a person who types the call, and for nobody else."""


class TerminalApprover:
    """Shows what would run, and asks. The default is no."""

    def __init__(self, home: Home, *, sandbox: str) -> None:
        self._state, self._sandbox = State(home), sandbox

    async def approve(self, question: Question) -> Answer:
        sys.stderr.write(self._describe(question))
        sys.stderr.flush()
        # A thread, so that Ctrl-C and cancellation still work while a person thinks.
        typed = await asyncio.to_thread(sys.stdin.readline)
        return Answer(allowed=typed.strip().lower() in ("y", "yes"), by="terminal")

    def _describe(self, question: Question) -> str:
        tool, call = question.tool, question.call
        if question.message is not None:
            return f"\n{tool.name} asks: {visible(question.message)}\n  Allow? [y/N] "
        changed = self._state.knew(tool.id, SCOPE)
        arguments = [f"    {visible(name)} = {visible(_shown(value))}" for name, value in call.args.items()]
        lines = [
            "",
            f"  {tool.name} {'has CHANGED since you last allowed it' if changed else 'is new here'}",
            f"    what it says  {visible(tool.description.strip().splitlines()[0])[:200]}",
            f"    program       {visible(tool.origin)}",
            f"    digest        {tool.digest[:23]}…",
            f"    asked by      {visible(call.asker)}",
            f"    why ask       {visible(question.reason)}",
            f"    confinement   {self._sandbox}: it runs with your rights",
            "  with" if arguments else "  with no arguments",
            *arguments,
            "  Run it, and not ask again when you type it, until it changes? [y/N] ",
        ]
        return "\n".join(lines)


def _shown(value: object, limit: int = 2000) -> str:
    text = dump(value).decode()
    return text if len(text) <= limit else f"{text[:limit]}… {len(text) - limit} more characters"
