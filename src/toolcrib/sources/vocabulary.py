"""Built-in tools under the names and parameters that other systems gave theirs, which models know by heart.

Nothing is written twice: a word says which tool is meant and what its parameters are called there. The arguments are
put into our own words before anything is judged or run, so that a tool is judged, limited and run as the one it is.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple

from ..core.call import Call
from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON, canonical
from ..core.schema import Schema
from ..core.tool import Claim, Hooks, Tool

Args = Mapping[str, JSON]


class Parameter(NamedTuple):
    """What one parameter of theirs is called here."""

    ours: str = ""
    """Empty: it changes nothing about what is done, and is put aside."""
    description: str = ""
    """Where ours would not fit."""
    convert: Callable[[JSON], JSON] | None = None
    """Into the values that ours takes."""
    schema: Mapping[str, JSON] | None = None
    """Of their values, where these are others than ours."""


class Word(NamedTuple):
    """A built-in tool as another system calls it."""

    own: str
    name: str
    description: str
    parameters: Mapping[str, Parameter]
    required: tuple[str, ...] = ()
    """Beyond those that ours cannot do without."""
    otherwise: Args = MappingProxyType({})
    """Of ours, what holds when nothing is said; theirs and ours differ in what they take for granted."""


class Spoken(NamedTuple):
    """Runs the tool that is meant, with the arguments that it understands."""

    own: Tool
    word: Word
    pin: str

    @property
    def starts_process(self) -> bool:
        return self.own.backend.starts_process

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the environment that it passes on, to be shown to people."""
        return tuple(getattr(self.own.backend, "variables", ()))

    def run(self, args: Args, ctx: Context) -> Coroutine[Any, Any, Any]:
        return self.own.backend.run(self.translated(args), ctx)

    def digest(self) -> str:
        return self.pin if self.own.backend.digest() == self.own.digest else ""

    def translated(self, args: Args) -> dict[str, JSON]:
        """The arguments in our own words.

        Raises:
            ToolError: one that is not known, which only a caller who skips validation can bring.
        """
        known = _known(self.own, self.word)
        made: dict[str, JSON] = {}
        for theirs, value in args.items():
            if theirs not in known:
                raise ToolError(f"{self.word.name} has no parameter {ascii(theirs)}", code="VALIDATION_ERROR")
            ours, _, convert, _ = known[theirs]
            value = value if convert is None else convert(value)
            if ours:
                made[ours] = max(made[ours], value) if ours in made else value
        takes = self.own.input_schema.get("properties", {})
        return {**{ours: value for ours, value in self.word.otherwise.items() if ours in takes}, **made}

    def faults(self, args: Args) -> list[str]:
        """What our own tool has against arguments that their schema lets pass."""
        translated = self.translated(args)
        found = [str(fault["message"]) for fault in self.own.schema.check(translated)]
        return found or [*(self.own.hooks.validate(translated) if self.own.hooks.validate else ())]


def spoken(tools: Iterable[Tool], words: Iterable[Word]) -> list[Tool]:
    """The tools; those that have words under these instead of their own names. What is not there is not offered."""
    by_own: dict[str, list[Word]] = {}
    for word in words:
        by_own.setdefault(word.own, []).append(word)
    return [called for tool in tools for called in _called(tool, by_own.get(tool.name, ()))]


def own_tool(tool: Tool) -> Tool:
    """The one that is meant by a tool under another system's name; any other as it is."""
    return tool.backend.own if isinstance(tool.backend, Spoken) else tool


def own_call(call: Call, tool: Tool) -> Call:
    """The call as it would be made of the tool that is meant."""
    backend = tool.backend
    if not isinstance(backend, Spoken):
        return call
    return call._replace(name=backend.own.name, args=backend.translated(call.args))


def _called(tool: Tool, words: Iterable[Word]) -> list[Tool]:
    return [_spoken(tool, word) for word in words] or [tool]


def _spoken(own: Tool, word: Word) -> Tool:
    schema = _schema(own, word)
    about = canonical([own.digest, word.name, word.description, schema])
    backend = Spoken(own, word, "sha256:" + sha256(about).hexdigest())
    return own._replace(
        name=word.name,
        description=word.description,
        schema=Schema(schema),
        backend=backend,
        digest=backend.pin,
        hooks=_hooks(own.hooks, backend),
        needs_approval=_claim(own.needs_approval, backend),
    )


def _known(own: Tool, word: Word) -> dict[str, Parameter]:
    """Their parameters, without those for which ours has nothing: what would be ignored is rather refused."""
    takes = own.input_schema.get("properties", {})
    return {theirs: each for theirs, each in word.parameters.items() if not each.ours or each.ours in takes}


def _schema(own: Tool, word: Word) -> dict[str, JSON]:
    takes, needs = own.input_schema.get("properties", {}), own.input_schema.get("required", ())
    known = _known(own, word)
    properties = {}
    for theirs, (ours, description, _, schema) in known.items():
        plain = takes.get(ours, {}) if schema is None else schema
        properties[theirs] = {**plain, **({"description": description} if description else {})}
    required = [theirs for theirs, each in known.items() if each.ours in needs or theirs in word.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _hooks(own: Hooks, backend: Spoken) -> Hooks:
    """The same, for arguments in their words."""
    touches, preview = own.touches, own.dry_run
    return Hooks(
        validate=backend.faults,
        dry_run=preview and (lambda args, ctx: preview(backend.translated(args), ctx)),
        initialize=own.initialize,
        shutdown=own.shutdown,
        touches=touches and (lambda args: touches(backend.translated(args))),
    )


def _claim(claim: Claim | None, backend: Spoken) -> Claim | None:
    return (lambda args: claim(backend.translated(args))) if callable(claim) else claim
