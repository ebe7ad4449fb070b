"""What a `tool.yaml` says, and everything that is wrong with it, each fault with its place and what puts it right."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, NamedTuple

from .. import __version__
from ..backends.folder import FILE, LINK, MANIFEST, File
from ..backends.quantity import duration, size
from ..backends.wishes import NO_WISHES, Wishes
from ..core.errors import ToolcribError
from ..core.jsontext import JSON, dump
from ..core.schema import Schema
from ..core.tool import NAME, Capabilities
from ..store.yamltext import Document, NotPlain, parse
from . import wish
from .declared import LOOKED_AT, Stand, declared_tool
from .form import At, Fault, Form, kind, shown
from .requirement import REQUIREMENT, UNMET, is_older

MOST_BYTES = 256 * 1024
_WORDS = 16 * 1024
"""Longest description and usage together, in characters: what a model is shown of a tool."""
_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
_PLAIN_VERSION = re.compile(r"\d{1,9}(\.\d{1,9}){0,3}", re.ASCII)
_FLAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_TYPES = ("string", "number", "boolean")
_CLAIMS = dict.fromkeys(each.name for each in fields(Capabilities))
KEYS = dict.fromkeys(
    (
        "name", "description", "version", "entrypoint", "usage", "parameters", "input_schema", "build", "env",
        "secrets", "network", "files", "limits", "capabilities", "examples", "requires", "replaces", "min_toolcrib",
        "warm",
    )
)  # fmt: skip
_PARAMETER_KEYS = dict.fromkeys(("name", "type", "required", "description"))
_EXAMPLE_KEYS = dict.fromkeys(("name", "input", "exit", "output"))
_LIMIT_KEYS = dict.fromkeys(("timeout", "output"))


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
    replaces: tuple[str, ...]
    warm: bool
    closed: bool
    """Whether its schema takes no other arguments than those it names."""
    declaration: str = ""
    """All of it as JSON, where a `backend:` says how it runs and not an entrypoint."""


def read_manifest(
    data: bytes, path: str, *, folder: str, files: Sequence[File]
) -> tuple[Manifest | None, tuple[Fault, ...]]:
    """The manifest of the folder of that name, which has these files; or its faults."""
    if len(data) > MOST_BYTES:
        fix = "shorten it; long texts belong into files of the folder"
        return None, (Fault("INPUT_TOO_LARGE", f"it is longer than {MOST_BYTES} bytes", fix),)
    try:
        document = parse(data, path)
    except NotPlain as exc:
        return None, (Fault(exc.code, exc.message, "put that line right", "", *(exc.mark or ())),)
    if isinstance(document.value, dict) and "backend" in document.value:
        return _declared(document, folder)
    return _Reader(document).read(folder, files)


def _declared(document: Document, folder: str) -> tuple[Manifest | None, tuple[Fault, ...]]:
    """One of the form that skills have as well."""
    stand = Stand(document.path, os.path.dirname(document.path), "")
    tool, faults = declared_tool(document, (), stand=stand, around=LOOKED_AT)
    if tool is None or faults:
        return None, faults
    if tool.name != folder:
        message = f"`name` is {tool.name}, and the folder is called {shown(folder)}"
        line, column = document.mark("name") or (1, 1)
        return None, (Fault("TOOL_NAME_INVALID", message, "rename one of them", "/name", line, column),)
    about = (tool.name, tool.description, tool.version, "", tool.input_schema, None, None, (), NO_WISHES, (), False)
    return Manifest(*about, closed=True, declaration=dump(document.value).decode()), ()


class _Reader(Form):
    """Looks at one key after the other."""

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self._value: Any = document.value

    def read(self, folder: str, files: Sequence[File]) -> tuple[Manifest | None, tuple[Fault, ...]]:
        value = self._value
        if not isinstance(value, dict):
            self.wrong("a manifest is a map of keys, such as `name: …`", "begin with `name: " + folder + "`")
            return None, self.faults
        if "min_toolcrib" in value:
            self._least_version(value)
            if self.faults:  # what a newer version knows may look wrong to this one
                return None, self.faults
        self.known((), value, KEYS)
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
        replaces = self._replaces(value["replaces"], folder) if "replaces" in value else ()
        warm = self._is_true(value, "warm")
        if "build" in value:
            self._build(value["build"])
        if "examples" in value:
            self._examples(value["examples"], schema)
        if self._faults:
            return None, self.faults
        about = (name, description, version, entrypoint, schema, seconds, output, claims, wishes, replaces, warm)
        return Manifest(*about, closed="input_schema" not in value), ()

    def _least_version(self, value: dict[str, Any]) -> None:
        wanted, at = self.text(value, "min_toolcrib", f'"{__version__}"'), ("min_toolcrib",)
        if wanted is not None and not _PLAIN_VERSION.fullmatch(wanted):
            message = f"`min_toolcrib` is {shown(wanted)}, which is not a version"
            self.wrong(message, f'write numbers, such as "{__version__}"', at)
        elif wanted is not None and is_older(__version__, wanted):
            message = f"it needs toolcrib ≥ {wanted}, and this is {__version__}"
            self.wrong(message, "install a newer one", at, code=UNMET)

    def _name(self, value: dict[str, Any], folder: str) -> str:
        name = self.text(value, "name", folder)
        if name is None:
            return ""
        if not NAME.fullmatch(name):
            message = f"`name` is {shown(name)}; a tool name is 1 to 64 of A-Z a-z 0-9 _ -"
            fix = "give it, and its folder, a name such as word_count"
            self.wrong(message, fix, ("name",), code="TOOL_NAME_INVALID")
        elif name != folder:
            message = f"`name` is {name}, and the folder is called {shown(folder)}"
            self.wrong(message, "rename one of them", ("name",), code="TOOL_NAME_INVALID")
        return name

    def _description(self, value: dict[str, Any]) -> str:
        text = self.text(value, "description", "What it does, in a sentence.") or ""
        usage = self.text(value, "usage", "How to use it.") if "usage" in value else None
        whole = f"{text}\n\nUsage:\n{usage.rstrip()}" if usage else text
        if len(whole) > _WORDS:
            message = f"description and usage have {len(whole)} characters; a model is shown at most {_WORDS}"
            self.wrong(message, "shorten them", ("usage" if usage else "description",))
        return whole

    def _version(self, value: dict[str, Any]) -> str:
        version = self.text(value, "version", '"1.0.0"') or ""
        if version and not _VERSION.fullmatch(version):
            message = f"`version` is {shown(version)}, which is not a semantic version"
            self.wrong(message, 'write three numbers, such as "1.0.0"', ("version",))
        return version

    def _entrypoint(self, value: dict[str, Any], files: Sequence[File]) -> str:
        path = self.text(value, "entrypoint", "run.sh")
        if path is None:
            return ""
        at = ("entrypoint",)
        if path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")) or not path.isprintable():
            message = f"`entrypoint` is {shown(path)}, which is no path of a file below this folder"
            self.wrong(message, "name a file of this folder, such as run.sh", at, code="PATH_OUTSIDE_WORKSPACE")
            return ""
        what = next((each[1] for each in files if each[0] == path), None)
        if what is None:
            names = [each[0] for each in files if each[0] != MANIFEST]
            nearest = get_close_matches(path, names, n=1)
            fix = f"did you mean {shown(nearest[0])}?" if nearest else "put it there, or build it"
            self.wrong(f"`entrypoint` is {shown(path)}, which is not in this folder", fix, at, code="FILE_NOT_FOUND")
        elif what == LINK:
            message = f"`entrypoint` is {shown(path)}, which is a link"
            self.wrong(message, "name the file itself", at, code="PATH_NOT_REGULAR")
        elif what == FILE:
            message = f"`entrypoint` is {shown(path)}, which cannot be executed"
            self.wrong(message, f"chmod +x {path}, or name what was compiled", at, code="EXECUTION_ERROR")
        return path

    def _schema(self, value: dict[str, Any]) -> dict[str, JSON]:
        if "input_schema" not in value:
            return self._parameters(value.get("parameters", []))
        at, schema = ("input_schema",), value["input_schema"]
        if "parameters" in value:
            self.wrong("`parameters` and `input_schema` both say what the arguments are", "keep one of them", at)
        from ..core.validator import compiled  # late: what is listed from the cache is not compiled

        try:
            compiled(schema)
        except ToolcribError as exc:
            inner = str(exc).partition("rejected: ")[2].partition(": ")[0]
            fix = "write a JSON Schema (2020-12) of an object, with no references to other documents"
            place = tuple(inner.split("/")[1:]) if inner.startswith("/") else ()
            self.wrong(str(exc), fix, (*at, *place), code=exc.code)
            return {}
        properties = schema.get("properties", {})
        for name in properties:
            self._flag(name, (*at, "properties", name))
        return dict(schema) | {"type": "object"}

    def _parameters(self, value: Any) -> dict[str, JSON]:
        properties: dict[str, JSON] = {}
        required = []
        if not isinstance(value, list):
            self.wrong(f"`parameters` is {kind(value)}, not a list", "begin each with `- name: …`", ("parameters",))
            value = []
        for index, each in enumerate(value):
            at: At = ("parameters", index)
            if not isinstance(each, dict):
                self.wrong(f"a parameter is a map, not {kind(each)}", "write `- name: …` and `type: string`", at)
                continue
            self.known(at, each, _PARAMETER_KEYS)
            name = self.text(each, "name", "since", at)
            its_type, needed = each.get("type"), each.get("required", False)
            if its_type not in _TYPES or not isinstance(its_type, str):
                said = f"`type` is {shown(its_type)}" if "type" in each else "`type` is missing"
                self.wrong(f"{said}; it is one of {', '.join(_TYPES)}", "write `type: string`", (*at, "type"))
            if not isinstance(needed, bool):
                self.wrong(f"`required` is {shown(needed)}", "write true or false", (*at, "required"))
            about = self.text(each, "description", "What it is for.", at) if "description" in each else None
            if name is None or not self._flag(name, (*at, "name")):
                continue
            if name in properties:
                self.wrong(f"the parameter {name} stands here for the second time", "remove one", (*at, "name"))
            properties[name] = {"type": its_type} | ({"description": about} if about else {})
            if needed:
                required.append(name)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def _flag(self, name: str, at: At) -> bool:
        if _FLAG.fullmatch(name):
            return True
        message = f"the parameter name {shown(name)} cannot be written as --name"
        self.wrong(message, "use A-Z a-z 0-9 _ . - and no - in front", at)
        return False

    def _limits(self, value: Any) -> tuple[float | None, int | None]:
        if not isinstance(value, dict):
            self.wrong(f"`limits` is {kind(value)}, not a map", "write `limits: {timeout: 30s}`", ("limits",))
            return None, None
        self.known(("limits",), value, _LIMIT_KEYS)
        return self._quantity(value, "timeout", duration), self._quantity(value, "output", size)

    def _quantity(self, value: dict[str, Any], key: str, read: Callable[[object], Any]) -> Any:
        try:
            return read(value[key]) if key in value else None
        except ValueError as exc:
            message, _, fix = str(exc).partition("; ")
            self.wrong(f"`{key}`: {message}", fix, ("limits", key))
            return None

    def _claims(self, value: Any) -> tuple[str, ...]:
        claimed = value
        if isinstance(value, dict):
            for name, held in value.items():
                if not isinstance(held, bool):
                    self.wrong(f"{shown(name)} is {shown(held)}", "write true or false", ("capabilities", name))
            claimed = [name for name, held in value.items() if held is True]
            self.known(("capabilities",), value, _CLAIMS)
        elif not isinstance(value, list):
            fix = f"list some of {', '.join(_CLAIMS)}"
            self.wrong(f"`capabilities` is {kind(value)}, not a list", fix, ("capabilities",))
            return ()
        for index, name in enumerate(claimed):
            if name not in _CLAIMS and not isinstance(value, dict):
                nearest = get_close_matches(str(name), _CLAIMS, n=1)
                fix = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(_CLAIMS)}"
                self.wrong(f"unknown capability {shown(name)}", fix, ("capabilities", index))
        return tuple(str(name) for name in claimed)

    def _wishes(self, value: dict[str, Any]) -> Wishes:
        if not value.keys() & {"env", "secrets", "network", "files", "requires"}:
            return NO_WISHES
        return Wishes(
            self.names("env", value.get("env", []), wish.VARIABLE, "names of variables, such as [LANG]"),
            self.names("secrets", value.get("secrets", []), wish.VARIABLE, "names of secrets, such as [API_KEY]"),
            self.hosts(value),
            self.names("requires", value.get("requires", []), REQUIREMENT, "programs, such as [git, jq >= 1.6]"),
            *self.files(value),
        )

    def _replaces(self, value: Any, folder: str) -> tuple[str, ...]:
        listed = [value] if isinstance(value, str) else value
        found = self.names("replaces", listed, NAME, "names of tools beside this one, such as [old_name]")
        if folder in found:
            self.wrong("`replaces` names the tool itself", "name the tool that it takes the place of", ("replaces",))
        return found

    def _is_true(self, value: dict[str, Any], key: str) -> bool:
        said = value.get(key, False)
        if not isinstance(said, bool):
            self.wrong(f"`{key}` is {shown(said)}", "write true or false", (key,))
        return said is True

    def _build(self, value: Any) -> None:
        words = value if isinstance(value, list) else [value]
        if not words or not all(isinstance(word, str) and word.strip() for word in words):
            self.wrong("`build` is not a command", "write it as text, or as a list of words", ("build",))

    def _examples(self, value: Any, schema: dict[str, JSON]) -> None:
        if not isinstance(value, list):
            self.wrong(f"`examples` is {kind(value)}, not a list", "begin each with `- input: {…}`", ("examples",))
            return
        for index, each in enumerate(value):
            at: At = ("examples", index)
            if not isinstance(each, dict):
                self.wrong(f"an example is a map, not {kind(each)}", "write `- input: {…}`", at)
                continue
            self.known(at, each, _EXAMPLE_KEYS)
            for key, its_type, words in (("exit", int, "a number"), ("output", str, "text"), ("name", str, "text")):
                if key in each and (not isinstance(each[key], its_type) or isinstance(each[key], bool)):
                    self.wrong(f"`{key}` is {kind(each[key])}, not {words}", f"write {words}", (*at, key))
            given = each.get("input", {})
            if not isinstance(given, dict):
                self.wrong(f"`input` is {kind(given)}, not a map", "write `input: {…}`", (*at, "input"))
            elif schema and not self._faults:  # against a schema that is itself right
                for fault in Schema(schema).check(given):
                    self.wrong(f"`input` does not fit: {fault['message']}", "put the example right", (*at, "input"))
