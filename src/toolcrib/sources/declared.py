"""A tool that is declared in a file, with a `backend:` that says how it runs: one form, wherever it stands."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

from ..backends.declared import Declared, Maker, Place, Surroundings, Unfit
from ..backends.quantity import duration
from ..backends.wishes import Wishes
from ..core.context import Context
from ..core.errors import InvalidJson, Refused, ToolcribError
from ..core.jsontext import JSON, canonical
from ..core.limits import Limits
from ..core.policy import Decision
from ..core.schema import Schema
from ..core.tool import NAME, Tool
from ..store.yamltext import Document
from .executable import Settings
from .form import At, Fault, Form, is_number, kind, shown

BACKENDS = ("binary", "http", "script", "sql", "websocket")
"""The types of `backend:`; each is a module of `backends` that has a `make`."""
KEYS = dict.fromkeys(
    (
        "name", "description", "backend", "parameters", "version", "output_schema", "timeout", "needs_approval",
        "network", "files",
    )
)  # fmt: skip
MOST_WORDS = 16 * 1024
"""Longest description, in characters: what a model is shown of a tool."""
_OPENING = frozenset(
    (
        "additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames", "$ref", "$dynamicRef",
        "allOf", "anyOf", "oneOf", "if", "dependentSchemas",
    )
)  # fmt: skip
"""What a schema can say of arguments beyond those in its `properties`."""


class Stand(NamedTuple):
    """Where a declaration stands, and what it goes with."""

    origin: str
    """Path of the file that is known for it, or words."""
    folder: str
    """The directory that relative paths count from; empty for what was handed over as text."""
    digest: str
    """Of all that it came with."""
    version: str = "0.0.0"
    about: str = ""
    """What to say of a tool that says nothing of itself."""
    source: str = "skill"
    prefix: str = ""
    """What is put before a tool's name where it is offered."""


class _Nothing:
    """What a tool gets that is only looked at."""

    def __call__(self, tool: str, name: str, *, host: str, own: str | None) -> str:
        raise Refused(f"{tool} is only looked at", code="ENV_NOT_ALLOWED")

    async def obtained(self, url: str, sha256: str, member: str, ctx: Context) -> str:
        raise Refused("it is only looked at", code="DOWNLOAD_UNVERIFIED")


LOOKED_AT = Surroundings(_Nothing(), _Nothing())
"""For tools that are made to find their faults, and never run."""


class Made(NamedTuple):
    """What a declaration came to."""

    tool: Tool | None
    faults: tuple[Fault, ...] = ()
    """Why there is none; or, beside a tool, what of its declaration does not count."""


@dataclass(frozen=True, slots=True)
class Known:
    """Refuses arguments that a tool does not have, which its schema would let pass."""

    names: tuple[str, ...]
    further: Callable[[Mapping[str, JSON]], Any] | None = None
    """What the backend has to say."""

    def __call__(self, args: Mapping[str, JSON]) -> list[str]:
        has = ", ".join(self.names) or "none"
        found = [f"{name!r} is not an argument of this tool; it has {has}" for name in args if name not in self.names]
        return found or list(self.further(args) if self.further else ())


def declared_tool(
    document: Document, at: At, *, stand: Stand, around: Surroundings, settings: Settings | None = None
) -> Made:
    """The tool whose declaration stands at a place of a document. Nothing is started, fetched or connected to."""
    reader = _Declaration(document, at)
    tool = reader.read(stand, around, settings or Settings())
    return Made(tool, reader.faults)


def maker_of(backend: str) -> Maker:
    """What makes this type of backend. Imported late: most cribs have few of them."""
    module: Any = import_module(f"..backends.{backend}", __package__)
    found: Maker = module.make
    return found


def mark_of(digest: str, declaration: JSON) -> str:
    """The digest of a tool: of its declaration, and of all that came with it. Raises: `InvalidJson`."""
    return "sha256:" + hashlib.sha256(canonical([digest, declaration])).hexdigest()


class _Declaration(Form):
    """Looks at one key after the other."""

    def __init__(self, document: Document, at: At) -> None:
        super().__init__(document)
        self._at = at
        self._fatal = False
        self._value: Any = document.value
        for step in at:
            self._value = self._value[step]

    def read(self, stand: Stand, around: Surroundings, settings: Settings) -> Tool | None:
        value = self._value
        if not isinstance(value, dict):
            self._refuse(f"a tool is a map, not {kind(value)}", "write `- name: …`, and its other keys below", ())
            return None
        self._unknown(value)
        name, description = self._name(value), self._description(value, stand)
        schema = self._schema(value)
        version = self._text_or_number(value, "version", stand.version)
        seconds, claim, answers = self._seconds(value), self._claim(value), self._output(value)
        made = None
        mark = self._mark(stand)
        if schema is not None and mark:
            special = settings.per_tool.get(stand.prefix + name)
            variables = (*around.variables, *(special.variables if special else ()))
            made = self._made(value, schema, Place(stand.folder, mark), around._replace(variables=variables))
            seconds = (special.seconds if special else None) or seconds
        if self._fatal or made is None or schema is None:
            return None
        limits = Limits(
            seconds or made.limits.seconds,
            made.limits.output_bytes,
            made.limits.memory_bytes or settings.limits.memory_bytes,
        )
        backend = self._wishing(value, made.backend)
        if backend is None:
            return None
        hooks = made.hooks if _is_open(schema) else replace(made.hooks, validate=_known(schema, made))
        return Tool(
            stand.prefix + name,
            description,
            Schema(schema),
            backend,
            source=stand.source,
            origin=stand.origin,
            version=version,
            digest=made.backend.digest(),
            capabilities=made.capabilities,
            limits=limits,
            hooks=hooks,
            needs_approval=claim,
            output_schema=answers,
        )

    def _refuse(self, message: str, fix: str, at: At, *, code: str = "CONFIG_INVALID") -> None:
        """A fault for which there is no tool."""
        self._fatal = True
        self.wrong(message, fix, (*self._at, *at), code=code)

    def _unknown(self, value: dict[str, Any]) -> None:
        """A key that is nearly a known one was meant to say something; any other is somebody else's."""
        for key in [key for key in value if key not in KEYS][:20]:
            near = get_close_matches(key, KEYS, n=1, cutoff=0.75) if len(key) <= 100 else []
            if near:
                self._refuse(f"unknown key {shown(key)}", f"did you mean {near[0]}?", (key,))
            else:
                self.wrong(
                    f"unknown key {shown(key)}, which says nothing here",
                    f"the keys here are {', '.join(KEYS)}",
                    (*self._at, key),
                )

    def _name(self, value: dict[str, Any]) -> str:
        name = value.get("name")
        if isinstance(name, str) and NAME.fullmatch(name):
            return name
        said = f"`name` is {shown(name)}" if "name" in value else "`name` is missing"
        fix = "give it a name such as word_count"
        self._refuse(f"{said}; a tool name is 1 to 64 of A-Z a-z 0-9 _ -", fix, ("name",), code="TOOL_NAME_INVALID")
        return ""

    def _description(self, value: dict[str, Any], stand: Stand) -> str:
        found = value.get("description")
        if not isinstance(found, str) or not found.strip():
            said = f"is {kind(found)}, not words" if "description" in value else "is missing"
            self.wrong(f"`description` {said}", "say what it does, in a sentence", (*self._at, "description"))
            return stand.about or str(value.get("name"))
        if len(found) > MOST_WORDS:
            message = f"`description` has {len(found)} characters; a model is shown at most {MOST_WORDS}"
            self._refuse(message, "shorten it", ("description",))
        return found.strip()

    def _text_or_number(self, value: dict[str, Any], key: str, default: str) -> str:
        found = value.get(key, default)
        if (isinstance(found, str) and found.strip()) or is_number(found):
            return str(found).strip()
        fix = f'write it in quotes: {key}: "{default}"'
        self.wrong(f"`{key}` is {kind(found)}, not words", fix, (*self._at, key))
        return default

    def _schema(self, value: dict[str, Any]) -> dict[str, JSON] | None:
        """A JSON Schema; of a tool without parameters, one that takes none."""
        found = value.get("parameters")
        if found is None:
            return {"type": "object", "properties": {}, "additionalProperties": False}
        if not isinstance(found, dict):
            fix = "write a JSON Schema: `type: object`, and `properties:` below"
            self._refuse(f"`parameters` is {kind(found)}, not a map", fix, ("parameters",), code="SCHEMA_REJECTED")
            return None
        if not _is_schema(found):
            self._refuse(
                "`parameters` has no `type: object` and no `properties`, so it is no schema of arguments",
                "write `type: object`, and the arguments below `properties:`",
                ("parameters",),
                code="SCHEMA_REJECTED",
            )
            return None
        schema: dict[str, JSON] = {"type": "object", **found}
        if schema.get("properties", {}) is None:  # the key, and nothing below it
            schema["properties"] = {}
        if not isinstance(schema.get("properties", {}), dict):
            fix = "write one key for each argument"
            self._refuse("`properties` is no map", fix, ("parameters", "properties"), code="SCHEMA_REJECTED")
            return None
        try:
            Schema(schema).check({})
        except ToolcribError as exc:
            self._refuse(str(exc), "put the schema right", ("parameters",), code=exc.code)
            return None
        return schema

    def _output(self, value: dict[str, Any]) -> dict[str, JSON] | None:
        found = value.get("output_schema")
        if found is None:
            return None
        if not isinstance(found, dict):
            self._refuse(
                f"`output_schema` is {kind(found)}, not a map", "write a JSON Schema", ("output_schema",),
                code="SCHEMA_REJECTED",
            )  # fmt: skip
            return None
        return found

    def _seconds(self, value: dict[str, Any]) -> float | None:
        try:
            return duration(value["timeout"]) if "timeout" in value else None
        except ValueError as exc:
            message, _, fix = str(exc).partition("; ")
            self._refuse(f"`timeout`: {message}", fix, ("timeout",))
            return None

    def _claim(self, value: dict[str, Any]) -> str | None:
        """What the tool says of its own approval, which can only make it stricter."""
        found = value.get("needs_approval")
        if found is None:
            return None
        if found is True or found in (Decision.ASK.wire, Decision.BLOCKED.wire):
            return Decision.ASK.wire if found is True else str(found)
        if found is False or found == Decision.PRE_APPROVED.wire:
            message = f"`needs_approval` is {shown(found)}, and no tool approves itself: it does not count"
            self.wrong(message, "remove it; the user's policy.yaml can say so", (*self._at, "needs_approval"))
            return None
        self._refuse(f"`needs_approval` is {shown(found)}", "write true, ask or blocked", ("needs_approval",))
        return None

    def _wishing(self, value: dict[str, Any], backend: Any) -> Any:
        """The backend, with what the tool asks for beyond what every program has; None when that is wrong."""
        if not value.keys() & {"network", "files"}:
            return backend
        if not hasattr(backend, "wishes"):
            key = "network" if "network" in value else "files"
            self._refuse(f"`{key}` is for programs, and this tool starts none", "remove it", (key,))
            return None
        faults = len(self._faults)
        ro, rw = self.files(value, self._at)
        wishes = Wishes(network=self.hosts(value, self._at), ro=ro, rw=rw)
        return backend._replace(wishes=wishes) if len(self._faults) == faults else None

    def _mark(self, stand: Stand) -> str:
        try:
            return mark_of(stand.digest, self._value)
        except InvalidJson as exc:
            self._refuse(f"it holds what JSON has no word for: {exc}", "write it another way", ())
            return ""

    def _made(
        self, value: dict[str, Any], schema: Mapping[str, JSON], place: Place, around: Surroundings
    ) -> Declared | None:
        fields = value.get("backend")
        if not isinstance(fields, dict):
            said = f"`backend` is {kind(fields)}, not a map" if "backend" in value else "`backend` is missing"
            self._refuse(said, "write `backend:`, and `type: script` below it", ("backend",))
            return None
        backend = fields.get("type")
        if backend not in BACKENDS:
            near = get_close_matches(str(backend)[:100], BACKENDS, n=1)
            fix = f"did you mean {near[0]}?" if near else f"there are {', '.join(BACKENDS)}"
            said = f"`type` is {shown(backend)}" if "type" in fields else "`type` is missing"
            self._refuse(said, fix, ("backend", "type"))
            return None
        inner = {name: each for name, each in fields.items() if name != "type"}
        try:
            return maker_of(str(backend))(inner, schema, place, around)
        except Unfit as exc:
            message, _, fix = str(exc).partition("; ")
            self._refuse(message, fix or "put it right", ("backend", *_steps(exc.pointer)))
            return None


def _is_schema(found: dict[str, JSON]) -> bool:
    return not found or not _OPENING.isdisjoint(found) or "type" in found or "properties" in found


def _is_open(schema: Mapping[str, JSON]) -> bool:
    """Whether the schema itself says what holds for arguments beyond its `properties`."""
    return not _OPENING.isdisjoint(schema)


def _known(schema: Mapping[str, JSON], made: Declared) -> Known:
    return Known(tuple(schema.get("properties", {})), made.hooks.validate)


def _steps(pointer: str) -> At:
    """The keys of a JSON pointer. Places in lists are numbers there as well as here."""
    parts = [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]
    return tuple(int(each) if each.isascii() and each.isdigit() else each for each in parts)
