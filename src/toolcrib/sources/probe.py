"""Asking a program what it is.

One start serves both dialects: argv says `description`, and `TOOLBOX_ACTION=describe` says the same to an Amp toolbox
program, which without it would *execute*. The answer tells which dialect it speaks.
"""

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..backends.conversation import greeting, lends
from ..backends.process import callers, file_digest, in_terms_of, readable
from ..backends.quantity import duration
from ..backends.serve import START_SECONDS, VERB
from ..backends.wishes import Wishes
from ..core.errors import InvalidJson, ToolcribError, ToolError
from ..core.jsontext import JSON, dump, dump_ascii, parse
from ..core.limits import Limits
from ..core.process import Command, Completed, Programs, Sandbox
from ..core.tool import NAME
from .wish import files, hosts, variables

SECONDS = 5.0
"""How long a program may take to say what it is."""
_OUTPUT_BYTES = 512 * 1024
_SAID = 500
_ASKED_FOR: dict[str, Callable[[Any], Any]] = {
    "network": hosts, "files": files, "env": variables, "secrets": variables
}  # fmt: skip
_WORDS = 16 * 1024
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)\s*:\s*(.*)")
_TYPES = {"string", "number", "integer", "boolean", "array", "object"}
_OPTIONAL = re.compile(r"\(?optional\)?[:,]?\s*", re.IGNORECASE)


class Description(NamedTuple):
    """What a program says of itself, checked."""

    name: str
    description: str
    schema: str
    """JSON text, so that a cached one need not be parsed to be listed."""
    dialect: str
    version: str
    digest: str
    seconds: float | None = None
    """Its own wish for a time limit."""
    serve: bool = False
    """It can stay running, and answer call after call."""
    warm: bool = False
    """It would like to be run by a worker that has its libraries at hand."""
    needs: Sequence[Sequence[str]] = ()
    """As `backends.wishes` orders them; none at all for one that asks for nothing."""


class Prober:
    """Starts programs to be described, each in its own directory, with the plain environment of a tool.

    With `programs`, what is started is a verified copy, so that what was hashed is what is asked.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        environ: Mapping[str, str],
        variables: tuple[str, ...],
        *,
        marks: Callable[[], str],
        programs: Programs | None = None,
        confine: Callable[[str], Sandbox] | None = None,
    ) -> None:
        """`confine` gives the sandbox for what lies in a folder; without it, that is `sandbox`."""
        self._environ, self._variables = environ, variables
        self._confine = confine or (lambda folder: sandbox)
        self._next_mark, self._programs = marks, programs

    async def describe(self, program: str, *, pinned: str | None = None) -> Description:
        """What it says of itself. With `pinned`, nothing is started that has another digest.

        Raises:
            ToolcribError: with what is wrong and how to put it right.
        """
        digest = file_digest(program) if pinned is None else pinned
        startable = self._startable(program, digest, strict=pinned is not None)
        mentions_config = _mentions_config(startable)
        done = await self._ask(program, startable, "description")
        value = _parsed(done)
        dialect, name, text, schema = _understood(value)
        _check_name(name)
        if not isinstance(text, str) or not text.strip():
            raise _malformed("`description` must say in words what the tool does")
        if len(text) > _WORDS:
            raise _malformed(f"`description` has {len(text)} characters; a model is shown at most {_WORDS}")
        from ..core.validator import compiled  # late: what is listed from the cache is not compiled

        compiled(schema)
        wishes = Configured()
        # A program that does not know the verb should answer with its usage. One that takes every verb for `run` must
        # not be run by this question, so only a program that mentions the word is asked.
        if dialect == "run" and mentions_config:
            wishes = _configured(await self._ask(program, startable, "config"))
        if startable == program and file_digest(program) != digest:
            raise ToolError("it changed while it was being asked; list again")
        version = value.get("version") if isinstance(value, dict) else None
        return Description(
            name,
            text,
            dump(schema).decode(),
            dialect,
            version if isinstance(version, str) else "0.0.0",
            digest,
            *wishes,
        )

    async def ask(self, program: str, verb: str, *, pinned: str | None = None) -> Completed:
        """How a program answers to a word. Raises: `ToolError` when it does not within its time."""
        digest = file_digest(program) if pinned is None else pinned
        return await self._ask(program, self._startable(program, digest, strict=pinned is not None), verb)

    async def version(self, program: str) -> Completed:
        """How a program of the system answers to `--version`. It is started itself: a copy may not find its parts."""
        return await self._ask(program, program, "--version")

    async def why_not_serving(self, program: str, *, pinned: str | None = None) -> str | None:
        """What is wrong with a program that says it can serve. It is started, asked nothing, and ended."""
        sandbox = self._confine(os.path.dirname(program))
        if not lends(sandbox):
            return None
        digest = file_digest(program) if pinned is None else pinned
        startable = self._startable(program, digest, strict=pinned is not None)
        command = self._command(program, startable, VERB)
        async with sandbox.lend(command, key=object(), marks=self._next_mark) as peer:
            fault = await greeting(peer, START_SECONDS, lambda value: value)
            await peer.end()
        return fault

    def _command(self, program: str, startable: str, verb: str) -> Command:
        mark, folder = self._next_mark(), os.path.dirname(program)
        env = {name: self._environ[name] for name in self._variables if name in self._environ}
        env |= {"TOOLCRIB_CALL_ID": mark, "TOOLCRIB_TOOL_DIR": folder} | callers(self._environ)
        if verb == "description":
            env["TOOLBOX_ACTION"] = "describe"
        limits = Limits(SECONDS, output_bytes=_OUTPUT_BYTES)
        return Command((startable, verb), folder, mark, env, limits=limits, reads=readable(startable))

    async def _ask(self, program: str, startable: str, verb: str) -> Completed:
        command = self._command(program, startable, verb)
        try:
            async with asyncio.timeout(SECONDS):
                return await self._confine(os.path.dirname(program)).exec(command)
        except TimeoutError:
            message = f"`{verb}` took longer than {SECONDS:g} s; it should print its answer and exit at once"
            raise ToolError(message, code="TIMEOUT") from None
        except ToolError as exc:
            raise in_terms_of(program, startable, exc) from None

    def _startable(self, program: str, digest: str, *, strict: bool) -> str:
        """What to start in place of a program: its copy. Where none can be made, itself, unless that is `strict`."""
        if self._programs is None:
            if file_digest(program) != digest:
                raise ToolError("it changed while it was being asked; list again", before_effect=True)
            return program
        if not os.access(program, os.X_OK):  # a copy could be executed; the program itself is not meant to be
            raise ToolError(f"{program} could not be started; make it executable with chmod +x", before_effect=True)
        if not digest:
            raise ToolError(f"{program} cannot be read, and so not verified; make it readable", code="READ_ERROR")
        try:
            return self._programs.verified(program, digest)
        except ToolError as exc:
            if strict or exc.code != "RESOURCE_EXHAUSTED":
                raise
            return program  # a full or read-only home: what is there can still be listed, and cannot be called


def _parsed(done: Completed) -> Any:
    """The JSON object it printed, or, if it is not JSON, the text."""
    said = (done.stderr.text().strip() or done.stdout.text().strip())[:_SAID]
    if done.code:
        hint = f": {said}" if said else " and said nothing"
        raise ToolError(f"`description` failed with exit status {done.code}{hint}")
    text = done.stdout.text()
    if done.stdout.omitted:
        raise _malformed(f"`description` printed more than {_OUTPUT_BYTES} bytes")
    if not text.strip():
        raise _malformed("`description` printed nothing" + (f" on stdout; on stderr: {said}" if said else ""))
    try:
        return parse(text)
    except InvalidJson as exc:
        if _LINE.match(text.lstrip()) and not text.lstrip().startswith(("{", "[")):
            return text
        raise _malformed(f"`description` must print one JSON object: {exc}") from None


def _understood(value: Any) -> tuple[str, Any, Any, Any]:
    """Dialect, name, description and schema."""
    if isinstance(value, str):
        return ("amp-text", *_from_lines(value))
    if not isinstance(value, dict):
        raise _malformed("`description` must print one JSON object with name, description and input_schema")
    name, text = value.get("name"), value.get("description")
    if "input_schema" in value:
        return "run", name, text, value["input_schema"]
    if "inputSchema" in value:
        return "amp-json", name, text, value["inputSchema"]
    if isinstance(value.get("args"), dict):
        args = {key: (spec if isinstance(spec, list) else [spec]) for key, spec in value["args"].items()}
        if empty := [key for key, spec in args.items() if not spec]:
            raise _malformed(f"the parameter {empty[0]!r} has no type; `args` maps a name to [type, description]")
        parameters = {key: (str(spec[0]), str(spec[1]) if len(spec) > 1 else "") for key, spec in args.items()}
        return "amp-json", name, text, _object_schema(parameters)
    raise _malformed("`input_schema` is missing: a JSON Schema of the arguments, with `type: object`")


def _from_lines(text: str) -> tuple[Any, Any, Any]:
    """`name: …`, `description: …`, then `parameter: type description`."""
    about: dict[str, str] = {}
    parameters: dict[str, tuple[str, str]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        found = _LINE.fullmatch(line)
        if found is None:
            raise _malformed(f"the line {line[:80]!r} is not `key: value`")
        key, rest = found[1], found[2]
        if key in ("name", "description") and key not in about:
            about[key] = rest
        else:
            kind, _, words = rest.partition(" ")
            parameters[key] = (kind, words.strip())
    return about.get("name"), about.get("description"), _object_schema(parameters)


def _object_schema(parameters: Mapping[str, tuple[str, str]]) -> dict[str, JSON]:
    """A schema from (type, words) pairs; `type?` and the word `optional` mark what may be left out."""
    properties: dict[str, JSON] = {}
    required = []
    for key, (kind, words) in parameters.items():
        optional = kind.endswith("?") or _OPTIONAL.match(words)
        kind = kind.rstrip("?").lower()
        if kind not in _TYPES:
            raise _malformed(f"the parameter {key!r} has the type {kind!r}; use one of {', '.join(sorted(_TYPES))}")
        properties[key] = {"type": kind, "description": words}
        if not optional:
            required.append(key)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


class Configured(NamedTuple):
    """What a program says under `config`."""

    seconds: float | None = None
    serve: bool = False
    warm: bool = False
    needs: Sequence[Sequence[str]] = ()


def _configured(done: Completed) -> Configured:
    """What `config` asks for. A program that does not know the verb has no wishes."""
    if done.code:
        return Configured()
    try:
        value = parse(done.stdout.text())
    except InvalidJson:
        return Configured()
    if not isinstance(value, dict):
        return Configured()
    for key in ("serve", "warm"):
        if not isinstance(value.get(key, False), bool):
            raise _malformed(f"`config`: {key}: {dump_ascii(value[key]).decode()[:100]} is not true or false")
    try:
        seconds = duration(value["timeout"]) if "timeout" in value else None
    except ValueError as exc:
        raise _malformed(f"`config`: timeout: {exc}") from None
    return Configured(seconds, value.get("serve", False), value.get("warm", False), _needs(value))


def _needs(value: dict[str, Any]) -> Sequence[Sequence[str]]:
    """The network, the files, the variables and the secrets that it asks for."""
    read: dict[str, Any] = {}
    for key in [key for key in _ASKED_FOR if key in value]:
        try:
            read[key] = _ASKED_FOR[key](value[key])
        except ValueError as exc:
            raise _malformed(f"`config`: {key}: {ascii(str(exc))[1:-1][:_SAID]}") from None
    found = Wishes(**read.pop("files", {}), **read)
    return tuple(found) if any(found) else ()


def _mentions_config(program: str) -> bool:
    try:
        with open(program, "rb") as file:
            overlap = b""
            while chunk := file.read(1 << 20):
                if b"config" in overlap + chunk:
                    return True
                overlap = chunk[-5:]
    except OSError:
        pass
    return False


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        shown = dump_ascii(name).decode()[:100]
        message = f"`name` is {shown}; a tool name is 1 to 64 of A-Z a-z 0-9 _ -"
        raise ToolcribError(message, code="TOOL_NAME_INVALID")


def _malformed(message: str) -> ToolcribError:
    return ToolcribError(message, code="VALIDATION_ERROR")
