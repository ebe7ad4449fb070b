"""What a `tool.yaml` says, and everything that is wrong with it, each fault with its line and what puts it right."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, NamedTuple

from ..backends.folder import FILE, LINK, MANIFEST, File, Wishes
from ..core.errors import ConfigError, ToolcribError
from ..core.jsontext import JSON
from ..core.limits import duration, size
from ..core.schema import Schema, pointer
from ..core.tool import NAME, Capabilities
from ..store import yamltext

MOST_BYTES = 256 * 1024
_WORDS = 16 * 1024
"""Longest description and usage together, in characters: what a model is shown of a tool."""
_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
_FLAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOST = re.compile(r"[A-Za-z0-9.*:\[\]-]+")
_REQUIRED = re.compile(r"([A-Za-z0-9_.+-]+)\s*((?:>=|==|<=|>|<)\s*[0-9]+(?:\.[0-9]+)*)?")
_TYPES = ("string", "number", "boolean")
_CLAIMS = tuple(each.name for each in fields(Capabilities))
KEYS = (
    "name", "description", "version", "entrypoint", "usage", "parameters", "input_schema", "build", "env", "secrets",
    "network", "limits", "capabilities", "examples", "requires",
)  # fmt: skip
_PARAMETER_KEYS = ("name", "type", "required", "description")
_EXAMPLE_KEYS = ("name", "input", "exit", "output")
_LIMIT_KEYS = ("timeout", "output")

At = tuple[str | int, ...]


class Fault(NamedTuple):
    """One thing that is wrong."""

    code: str
    message: str
    fix: str
    pointer: str = ""
    line: int | None = None

    def __str__(self) -> str:
        return f"{f'line {self.line}: ' if self.line else ''}{self.message}; {self.fix}"


class Manifest(NamedTuple):
    """A `tool.yaml` in which nothing is wrong."""

    name: str
    description: str
    """With the usage."""
    version: str
    entrypoint: str
    schema: dict[str, JSON]
    seconds: float | None
    output_bytes: int | None
    claims: tuple[str, ...]
    wishes: Wishes


def read_manifest(
    data: bytes, path: str, *, folder: str, files: Sequence[File]
) -> tuple[Manifest | None, tuple[Fault, ...]]:
    """The manifest of the folder of that name, which has these files; or its faults."""
    if len(data) > MOST_BYTES:
        fix = "shorten it; long texts belong into files of the folder"
        return None, (Fault("INPUT_TOO_LARGE", f"it is longer than {MOST_BYTES} bytes", fix, line=1),)
    try:
        document = yamltext.parse(data, path)
    except ConfigError as exc:
        where = f"{path}:{exc.line}: " if exc.line else f"{path}: "
        fix = "put that line right"
        return None, (Fault(exc.code, str(exc).removeprefix(where), fix, line=exc.line or 1),)
    return _Reader(document).read(folder, files)


class _Reader:
    """Looks at one thing after the other, and remembers what is wrong."""

    def __init__(self, document: yamltext.Document) -> None:
        self._document = document
        self._faults: list[Fault] = []

    def read(self, folder: str, files: Sequence[File]) -> tuple[Manifest | None, tuple[Fault, ...]]:
        value = self._document.value
        if not isinstance(value, dict):
            self._wrong("a manifest is a map of keys, such as `name: …`", "begin with `name: " + folder + "`")
            return None, tuple(self._faults)
        self._known((), value, KEYS)
        name = self._name(value, folder)
        description = self._description(value)
        version = self._version(value)
        entrypoint = self._entrypoint(value, files)
        schema = self._schema(value)
        seconds = output = None
        if "limits" in value:
            seconds, output = self._limits(value["limits"])
        claims = self._claims(value["capabilities"]) if "capabilities" in value else ()
        wishes = self._wishes(value)
        if "build" in value:
            self._build(value["build"])
        if "examples" in value:
            self._examples(value["examples"], schema)
        if self._faults:
            return None, tuple(sorted(self._faults, key=lambda fault: fault.line or 0))
        return Manifest(name, description, version, entrypoint, schema, seconds, output, claims, wishes), ()

    def _wrong(self, message: str, fix: str, at: At = (), *, code: str = "CONFIG_INVALID") -> None:
        line = next((line for end in range(len(at), -1, -1) if (line := self._document.line(*at[:end]))), 1)
        self._faults.append(Fault(code, message, fix, pointer(at), line))

    def _known(self, at: At, value: dict[str, Any], keys: Collection[str]) -> None:
        for key in value:
            if key not in keys:
                nearest = get_close_matches(key, keys, n=1)
                fix = f"did you mean {nearest[0]}?" if nearest else f"the keys here are {', '.join(keys)}"
                self._wrong(f"unknown key {_shown(key)}", fix, (*at, key))

    def _text(self, value: dict[str, Any], key: str, example: str, at: At = ()) -> str | None:
        """A text that must be there; None when it is not one, which is said."""
        found = value.get(key)
        if isinstance(found, str) and found.strip():
            return found
        if key not in value:
            self._wrong(f"`{key}` is missing", f"add `{key}: {example}`", at)
        else:
            fix = f'write it in quotes: {key}: "{found}"' if _is_number(found) else f"write `{key}: {example}`"
            self._wrong(f"`{key}` is {_kind(found)}, not words", fix, (*at, key))
        return None

    def _name(self, value: dict[str, Any], folder: str) -> str:
        name = self._text(value, "name", folder)
        if name is None:
            return ""
        if not NAME.fullmatch(name):
            message = f"`name` is {_shown(name)}; a tool name is 1 to 64 of A-Z a-z 0-9 _ -"
            fix = "give it, and its folder, a name such as word_count"
            self._wrong(message, fix, ("name",), code="TOOL_NAME_INVALID")
        elif name != folder:
            message = f"`name` is {name}, and the folder is called {_shown(folder)}"
            self._wrong(message, "rename one of them", ("name",), code="TOOL_NAME_INVALID")
        return name

    def _description(self, value: dict[str, Any]) -> str:
        text = self._text(value, "description", "What it does, in a sentence.") or ""
        usage = self._text(value, "usage", "How to use it.") if "usage" in value else None
        whole = f"{text}\n\nUsage:\n{usage.rstrip()}" if usage else text
        if len(whole) > _WORDS:
            message = f"description and usage have {len(whole)} characters; a model is shown at most {_WORDS}"
            self._wrong(message, "shorten them", ("usage" if usage else "description",))
        return whole

    def _version(self, value: dict[str, Any]) -> str:
        version = self._text(value, "version", '"1.0.0"') or ""
        if version and not _VERSION.fullmatch(version):
            message = f"`version` is {_shown(version)}, which is not a semantic version"
            self._wrong(message, 'write three numbers, such as "1.0.0"', ("version",))
        return version

    def _entrypoint(self, value: dict[str, Any], files: Sequence[File]) -> str:
        path = self._text(value, "entrypoint", "run.sh")
        if path is None:
            return ""
        at = ("entrypoint",)
        if path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")) or not path.isprintable():
            message = f"`entrypoint` is {_shown(path)}, which is no path of a file below this folder"
            self._wrong(message, "name a file of this folder, such as run.sh", at, code="PATH_OUTSIDE_WORKSPACE")
            return ""
        kind = next((each[1] for each in files if each[0] == path), None)
        if kind is None:
            names = [each[0] for each in files if each[0] != MANIFEST]
            nearest = get_close_matches(path, names, n=1)
            fix = f"did you mean {_shown(nearest[0])}?" if nearest else "put it there, or build it"
            self._wrong(f"`entrypoint` is {_shown(path)}, which is not in this folder", fix, at, code="FILE_NOT_FOUND")
        elif kind == LINK:
            message = f"`entrypoint` is {_shown(path)}, which is a link"
            self._wrong(message, "name the file itself", at, code="PATH_NOT_REGULAR")
        elif kind == FILE:
            message = f"`entrypoint` is {_shown(path)}, which cannot be executed"
            self._wrong(message, f"chmod +x {path}, or name what was compiled", at, code="EXECUTION_ERROR")
        return path

    def _schema(self, value: dict[str, Any]) -> dict[str, JSON]:
        if "input_schema" not in value:
            return self._parameters(value.get("parameters", []))
        at, schema = ("input_schema",), value["input_schema"]
        if "parameters" in value:
            self._wrong("`parameters` and `input_schema` both say what the arguments are", "keep one of them", at)
        from ..core.validator import compiled  # late: what is listed from the cache is not compiled

        try:
            compiled(schema)
        except ToolcribError as exc:
            inner = str(exc).partition("rejected: ")[2].partition(": ")[0]
            fix = "write a JSON Schema (2020-12) of an object, with no references to other documents"
            place = tuple(inner.split("/")[1:]) if inner.startswith("/") else ()
            self._wrong(str(exc), fix, (*at, *place), code=exc.code)
            return {}
        properties = schema.get("properties", {})
        for name in properties:
            self._flag(name, (*at, "properties", name))
        return dict(schema) | {"type": "object"}

    def _parameters(self, value: Any) -> dict[str, JSON]:
        properties: dict[str, JSON] = {}
        required = []
        if not isinstance(value, list):
            self._wrong(f"`parameters` is {_kind(value)}, not a list", "begin each with `- name: …`", ("parameters",))
            value = []
        for index, each in enumerate(value):
            at: At = ("parameters", index)
            if not isinstance(each, dict):
                self._wrong(f"a parameter is a map, not {_kind(each)}", "write `- name: …` and `type: string`", at)
                continue
            self._known(at, each, _PARAMETER_KEYS)
            name = self._text(each, "name", "since", at)
            kind, needed = each.get("type"), each.get("required", False)
            if kind not in _TYPES or not isinstance(kind, str):
                said = f"`type` is {_shown(kind)}" if "type" in each else "`type` is missing"
                self._wrong(f"{said}; it is one of {', '.join(_TYPES)}", "write `type: string`", (*at, "type"))
            if not isinstance(needed, bool):
                self._wrong(f"`required` is {_shown(needed)}", "write true or false", (*at, "required"))
            about = self._text(each, "description", "What it is for.", at) if "description" in each else None
            if name is None or not self._flag(name, (*at, "name")):
                continue
            if name in properties:
                self._wrong(f"the parameter {name} stands here for the second time", "remove one", (*at, "name"))
            properties[name] = {"type": kind} | ({"description": about} if about else {})
            if needed:
                required.append(name)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def _flag(self, name: str, at: At) -> bool:
        if _FLAG.fullmatch(name):
            return True
        message = f"the parameter name {_shown(name)} cannot be written as --name"
        self._wrong(message, "use A-Z a-z 0-9 _ . - and no - in front", at)
        return False

    def _limits(self, value: Any) -> tuple[float | None, int | None]:
        if not isinstance(value, dict):
            self._wrong(f"`limits` is {_kind(value)}, not a map", "write `limits: {timeout: 30s}`", ("limits",))
            return None, None
        self._known(("limits",), value, _LIMIT_KEYS)
        return self._quantity(value, "timeout", duration), self._quantity(value, "output", size)

    def _quantity(self, value: dict[str, Any], key: str, read: Callable[[object], Any]) -> Any:
        try:
            return read(value[key]) if key in value else None
        except ValueError as exc:
            message, _, fix = str(exc).partition("; ")
            self._wrong(f"`{key}`: {message}", fix, ("limits", key))
            return None

    def _claims(self, value: Any) -> tuple[str, ...]:
        claimed = value
        if isinstance(value, dict):
            for name, held in value.items():
                if not isinstance(held, bool):
                    self._wrong(f"{_shown(name)} is {_shown(held)}", "write true or false", ("capabilities", name))
            claimed = [name for name, held in value.items() if held is True]
            self._known(("capabilities",), value, _CLAIMS)
        elif not isinstance(value, list):
            fix = f"list some of {', '.join(_CLAIMS)}"
            self._wrong(f"`capabilities` is {_kind(value)}, not a list", fix, ("capabilities",))
            return ()
        for index, name in enumerate(claimed):
            if name not in _CLAIMS and not isinstance(value, dict):
                nearest = get_close_matches(str(name), _CLAIMS, n=1)
                fix = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(_CLAIMS)}"
                self._wrong(f"unknown capability {_shown(name)}", fix, ("capabilities", index))
        return tuple(str(name) for name in claimed)

    def _wishes(self, value: dict[str, Any]) -> Wishes:
        if not value.keys() & {"env", "secrets", "network", "requires"}:
            return Wishes()
        network = value.get("network", [])
        if isinstance(network, bool):
            network = ["*"] if network else []
        return Wishes(
            self._names("env", value.get("env", []), _VARIABLE, "names of variables, such as [LANG]"),
            self._names("secrets", value.get("secrets", []), _VARIABLE, "names of secrets, such as [API_KEY]"),
            self._names("network", network, _HOST, "true, false, or hosts such as [api.example.com]"),
            self._names("requires", value.get("requires", []), _REQUIRED, "programs, such as [git, jq >= 1.6]"),
        )

    def _names(self, key: str, value: Any, form: "re.Pattern[str]", example: str) -> tuple[str, ...]:
        """A list of names, or a map from each name to words about it."""
        if isinstance(value, dict):
            found = []
            for name, about in value.items():
                if not isinstance(about, str | None):
                    message = f"{_shown(name)} is {_kind(about)}, not words"
                    self._wrong(message, "say in words what it is for, in quotes if need be", (key, name))
                found.append((name, f"{name} {about}".strip() if key == "requires" and about else name, (key, name)))
        elif isinstance(value, list):
            found = [(each, each, (key, index)) for index, each in enumerate(value)]
        else:
            self._wrong(f"`{key}` is {_kind(value)}, not a list", f"list {example}", (key,))
            return ()
        for _, text, at in found:
            if not isinstance(text, str) or not form.fullmatch(text):
                self._wrong(f"`{key}` names {_shown(text)}", f"list {example}", at)
        return tuple(str(text) for _, text, _ in found)

    def _build(self, value: Any) -> None:
        words = value if isinstance(value, list) else [value]
        if not words or not all(isinstance(word, str) and word.strip() for word in words):
            self._wrong("`build` is not a command", "write it as text, or as a list of words", ("build",))

    def _examples(self, value: Any, schema: dict[str, JSON]) -> None:
        if not isinstance(value, list):
            self._wrong(f"`examples` is {_kind(value)}, not a list", "begin each with `- input: {…}`", ("examples",))
            return
        for index, each in enumerate(value):
            at: At = ("examples", index)
            if not isinstance(each, dict):
                self._wrong(f"an example is a map, not {_kind(each)}", "write `- input: {…}`", at)
                continue
            self._known(at, each, _EXAMPLE_KEYS)
            for key, kind, words in (("exit", int, "a number"), ("output", str, "text"), ("name", str, "text")):
                if key in each and (not isinstance(each[key], kind) or isinstance(each[key], bool)):
                    self._wrong(f"`{key}` is {_kind(each[key])}, not {words}", f"write {words}", (*at, key))
            given = each.get("input", {})
            if not isinstance(given, dict):
                self._wrong(f"`input` is {_kind(given)}, not a map", "write `input: {…}`", (*at, "input"))
            elif schema and not self._faults:  # against a schema that is itself right
                for fault in Schema(schema).check(given):
                    self._wrong(f"`input` does not fit: {fault['message']}", "put the example right", (*at, "input"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    names = {dict: "a map", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "nothing")


def _shown(value: Any) -> str:
    return ascii(value)[:80]
