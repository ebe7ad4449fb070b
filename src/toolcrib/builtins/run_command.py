"""`run_command`: a program, or a line of shell, in the workspace."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..backends.process import plain_answer, run_program
from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._tool import builtin

_SHELLS = (("/bin/bash", "-p"), ("/usr/bin/bash", "-p"), ("/bin/sh",))
"""With `-p`, bash takes no functions and no start-up files from its environment: a text means what it says."""


class CommandBackend(NamedTuple):
    """Starts what it is given: words as they are, or a text by way of a shell."""

    pin: str
    variables: tuple[str, ...] = ("PATH", "HOME", "USER")
    """Names that are passed on from the host's environment."""

    @property
    def starts_process(self) -> bool:
        return True

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        words = tuple(args["argv"]) if "argv" in args else None
        argv = _shell(args["command"]) if words is None else (_found(words[0], ctx), *words[1:])
        done = await run_program(argv, ctx, variables=self.variables)
        return plain_answer(done, ctx)

    def digest(self) -> str:
        return self.pin


def _shell(text: str) -> tuple[str, ...]:
    for shell in _SHELLS:
        if os.path.exists(shell[0]):
            return (*shell, "-c", text)
    raise ToolError("there is no shell here; give the program and its words as argv", before_effect=True)


def _found(program: str, ctx: Context) -> str:
    """Where a program lies: a name is looked for on the PATH, a path is below the workspace."""
    if "/" in program:
        return os.path.join(ctx.cwd, program)
    for directory in ctx.host.environ.get("PATH", os.defpath).split(":"):
        path = os.path.join(directory, program)
        if os.path.isabs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise ToolError(f"there is no program {program!r} on the PATH", code="FILE_NOT_FOUND", before_effect=True)


def _touches(args: Mapping[str, JSON]) -> list[Subject]:
    return [Subject("command", tuple(args["argv"])) if "argv" in args else Subject("shell", (args["command"],))]


run_command = builtin(
    "run_command",
    "Run a command in the workspace and return its standard output. Give either `command`, a line of shell, or `argv`, "
    "a program and its words, which no shell looks at. Simple commands, also several joined by && ; or |, are judged "
    "one by one; keep to those, and you are rarely asked.",
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1, "description": "A line of shell, such as: git status"},
            "argv": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": 'A program and its words, such as ["git", "status"].',
            },
        },
        "oneOf": [{"required": ["command"]}, {"required": ["argv"]}],
        "additionalProperties": False,
    },
    CommandBackend,
    capabilities=Capabilities(executes_commands=True, writes_files=True),
    hooks=Hooks(touches=_touches),
)
