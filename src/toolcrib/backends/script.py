"""A script as a tool: a few lines in the declaration, or a file beside it, run by an interpreter of the machine.

Each argument is a variable of its own, `TOOL_ARG_<NAME>`, and `TOOL_ARGS` has all of them as JSON. No argument is ever
a part of the script's text, a word of its command line, or a variable of another name.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ..core.context import Context
from ..core.errors import Refused, ToolError
from ..core.jsontext import JSON
from ..core.tool import Hooks
from .declared import Declared, Place, Surroundings, Unfit, only, text_of
from .declared_program import (
    CAPABILITIES,
    FOLDER,
    Beside,
    beside,
    joined_digest,
    on_path,
    program_limits,
    search_path,
    whole_folder,
)  # fmt: skip
from .process import in_terms_of, plain_answer, readable, run_program
from .script_variables import IN_FILE, carry, check_distinct, variables_of
from .wishes import NO_WISHES, Wishes

INTERPRETERS = {
    "bash": ("sh", "install bash"),
    "sh": ("sh", "install a POSIX shell, such as dash"),
    "zsh": ("sh", "install zsh"),
    "python": ("py", "install Python 3"),
    "python3": ("py", "install Python 3"),
    "node": ("js", "install Node.js"),
}
"""What may run a script: how the names of its scripts end, and what to do where it is missing."""
MOST_SCRIPT = 1024 * 1024
_INSTEAD = {"python": ("python", "python3")}


@runtime_checkable
class Texts(Protocol):
    """Where scripts are kept that may run: files that nobody changes."""

    def verified_text(self, data: bytes, name: str, /) -> str:
        """The path of a file with these very bytes. Raises: `ToolError`."""
        ...


class ScriptBackend(NamedTuple):
    """`<interpreter> <script>`, with nothing on stdin."""

    interpreter: str
    text: bytes
    """The very bytes that run."""
    name: str
    """Of the file that they are in, or are put into."""
    mark: str
    beside: Beside | None = None
    """The file that has them, or, for a script of the declaration that looks for it, the folder it came with."""
    in_file: bool = False
    variables: tuple[str, ...] = ("PATH", "HOME", "USER")
    wishes: Wishes = NO_WISHES

    @property
    def starts_process(self) -> bool:
        return True

    @property
    def kind(self) -> str:
        """By which settings of the confinement it runs."""
        return "script"

    @property
    def program(self) -> str:
        """What people are shown before it runs; empty where the declaration has all of it."""
        return self.beside.path if self.in_file and self.beside is not None else ""

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        carried = carry(args)
        if carried.left_out:  # a script that looks for them in variables alone misses them; the result says why
            ctx.report["arguments_in_file"] = list(carried.left_out)
        interpreter = self._interpreter(ctx)
        folder = "" if self.beside is None else await self.beside.copied(ctx)
        with self._startable(ctx, folder) as script, variables_of(carried, ctx) as own:
            own[FOLDER] = folder or os.path.dirname(script)
            try:
                reads = readable(folder, script, own.get(IN_FILE, ""))
                done = await run_program((interpreter, script), ctx, variables=self.variables, own=own, reads=reads)
            except ToolError as exc:
                raise in_terms_of(self.name, script, exc) from None
        return plain_answer(done, ctx)

    def digest(self) -> str:
        return self.mark if self.beside is None else joined_digest(self.mark, self.beside.digest())

    def faults(self, args: Mapping[str, JSON]) -> list[str]:
        """What of these arguments cannot be handed over, said before anybody is asked."""
        try:
            carry(args)
        except ToolError as exc:
            return [str(exc)]
        return []

    def _interpreter(self, ctx: Context) -> str:
        search = search_path(ctx, self.variables)
        for name in _INSTEAD.get(self.interpreter, (self.interpreter,)):
            if found := on_path(name, search):
                return found
        message = f"{self.interpreter} is not on the PATH of this tool ({search}); {INTERPRETERS[self.interpreter][1]}"
        raise ToolError(message, code="ENGINE_NOT_AVAILABLE", before_effect=True)

    @contextmanager
    def _startable(self, ctx: Context, folder: str) -> Iterator[str]:
        """The path of a file with the script, which the script cannot write."""
        programs = ctx.host.programs
        if self.in_file and self.beside is not None:
            yield f"{folder}/{self.beside.relative}"
        elif programs is None:
            with tempfile.TemporaryDirectory() as place:
                path = os.path.join(place, self.name)
                with open(path, "wb") as file:
                    file.write(self.text)
                yield path
        elif isinstance(programs, Texts):
            yield programs.verified_text(self.text, self.name)
        else:
            message = f"{self.name} was not started: this host keeps no verified copies of scripts"
            raise Refused(message, code="TOOL_PIN_MISMATCH")


def make(fields: Mapping[str, JSON], parameters: Mapping[str, JSON], place: Place, around: Surroundings) -> Declared:
    """A script's tool. Nothing is started. Raises: `Unfit`."""
    only(fields, "interpreter", "script", "file", "timeout_ms", "max_output")
    interpreter = text_of(fields, "interpreter")
    if interpreter not in INTERPRETERS:
        raise Unfit("/interpreter", f"{interpreter!r} runs no scripts here; there are {', '.join(INTERPRETERS)}")
    check_distinct(parameters)
    name, found = f"script.{INTERPRETERS[interpreter][0]}", None
    if "file" in fields:
        if "script" in fields:
            raise Unfit("/file", "there is a script and a file; keep one of them")
        found = beside(text_of(fields, "file"), place, "/file")
        name, text = found.relative, _content(found.path)
    else:
        text = _inline(text_of(fields, "script"))
        if FOLDER.encode() in text and place.folder:
            found = whole_folder(place, "/script")
    backend = ScriptBackend(interpreter, text, name, place.mark, found, "file" in fields, around.variables)
    return Declared(backend, program_limits(fields), CAPABILITIES, Hooks(validate=backend.faults))


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            text = file.read(MOST_SCRIPT + 1)
    except OSError as exc:
        raise Unfit("/file", f"{path} cannot be read: {exc.strerror}; put the script there") from None
    return _bounded(text, "/file")


def _inline(text: str) -> bytes:
    try:
        return _bounded(text.encode(), "/script")
    except UnicodeEncodeError:
        raise Unfit("/script", "the script holds half of a character; write whole ones") from None


def _bounded(text: bytes, pointer: str) -> bytes:
    if len(text) > MOST_SCRIPT:
        raise Unfit(pointer, f"the script is longer than {MOST_SCRIPT} bytes; shorten it")
    return text
